"""What an import reads is said or reported, in random files of each system: none of it is lost."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from policies.errors import Invalid
from policies.policy_files import imports
from policies.policy_files.imports import Draft

SAID = ("gives", "grant", "holder", "owner")
Make = Callable[[int], Any]
"""A statement as its system writes it, about principal pN or table tN."""


def ranger(n: int, **more: Any) -> dict[str, Any]:
    accesses = more.pop("accesses", ["select"])
    who = more.pop("who", {"users": [f"p{n}"]})
    item = {"accesses": [{"type": access, "isAllowed": True} for access in accesses], **who}
    table = {"database": {"values": ["sales"]}, "table": {"values": [f"t{n}"]}, "column": {"values": ["*"]}}
    return {"name": f"p{n}", "serviceType": "hive", "resources": table, "policyItems": [item], **more}


def lake(n: int, resource: Any = None, *rights: str, who: str = "", **more: Any) -> dict[str, Any]:
    principal = {"DataLakePrincipalIdentifier": who or f"arn:aws:iam::1:user/p{n}"}
    table = {"Table": {"DatabaseName": "sales", "Name": f"t{n}"}}
    return {"Principal": principal, "Resource": resource or table, "Permissions": list(rights), **more}


def unity(n: int, right: Any, type_: str = "TABLE", **more: Any) -> dict[str, Any]:
    given = [{"principal": f"p{n}", "privileges": [right]}]
    name = {"TABLE": f"main.sales.t{n}", "METASTORE": "", "VOLUME": f"main.sales.t{n}"}[type_]
    return {"securable_type": type_, "full_name": name, "privilege_assignments": given, **more}


def role(n: int, privilege: str, condition: str = "ALLOW", type_: str = "TABLE") -> dict[str, Any]:
    given = {"name": privilege, "condition": condition}
    place = {"fullName": f"shop.sales.t{n}", "type": type_, "privileges": [given]}
    return {"code": 0, "role": {"name": f"p{n}", "securableObjects": [place]}}


DATABASE = {"Database": {"Name": "sales"}}
FILES: dict[str, tuple[Callable[[Sequence[Any]], str], list[Make]]] = {
    "ranger": (
        lambda some: json.dumps({"policies": some}),
        [
            lambda n: ranger(n),
            lambda n: ranger(n, accesses=["update"]),
            lambda n: ranger(n, accesses=["drop", "index"]),
            lambda n: ranger(n, accesses=[], who={"users": [f"p{n}"], "delegateAdmin": True}),
            lambda n: ranger(n, accesses=["update"], resources={"database": {"values": [f"t{n}"]}}),
            lambda n: ranger(n, accesses=["lock"], resources={"database": {"values": [f"t{n}"]}}),
            lambda n: ranger(n, resources={}),
            lambda n: ranger(n, resources={"database": {"values": ["sales"]}, "url": {"values": ["x"]}}),
            lambda n: ranger(n, who={"groups": ["public"]}),
            lambda n: ranger(n, who={"roles": [f"p{n}"]}),
            lambda n: ranger(n, isEnabled=False),
            lambda n: ranger(n, serviceType="kafka"),
            lambda n: ranger(
                n,
                policyItems=[],
                denyPolicyItems=[{"accesses": [], "users": [f"p{n}"], "delegateAdmin": True}],
            ),
        ],
    ),
    "postgresql": (
        ";\n".join,
        [
            lambda n: f"GRANT SELECT ON TABLE sales.t{n} TO p{n}",
            lambda n: f"GRANT INSERT ON TABLE sales.t{n} TO p{n}",
            lambda n: f"GRANT SELECT (id) ON TABLE sales.t{n} TO p{n}",
            lambda n: f"GRANT SELECT ON TABLE sales.t{n} TO PUBLIC",
            lambda n: f"GRANT USAGE ON SEQUENCE sales.t{n} TO p{n}",
            lambda n: f"GRANT readers{n} TO p{n}",
            lambda n: f"GRANT SELECT ON sales.t{n}",
            lambda n: f"ALTER ROLE p{n} WITH SUPERUSER LOGIN",
            lambda n: f"ALTER TABLE sales.t{n} OWNER TO p{n}",
            lambda n: f"ALTER FUNCTION sales.f() OWNER TO p{n}",
            lambda n: f"CREATE POLICY p{n} ON sales.t{n} USING (true)",
            lambda n: f"REVOKE SELECT ON TABLE sales.t{n} FROM p{n}",
            lambda n: f"ALTER DEFAULT PRIVILEGES FOR ROLE p{n} GRANT SELECT ON TABLES TO p{n}",
        ],
    ),
    "mariadb": (
        "\n".join,
        [
            lambda n: f"GRANT SELECT ON `sales`.`t{n}` TO `p{n}`@`%`",
            lambda n: f"GRANT DROP ON `sales`.`t{n}` TO `p{n}`@`%`",
            lambda n: f"GRANT SELECT ON `sales`.`t{n}` TO `p{n}`@`10.%`",
            lambda n: f"GRANT SELECT ON `sales`.`t{n}` TO `a`@`%`, `p{n}`@`%`",
            lambda n: f"GRANT SELECT (`id`) ON `sales`.`t{n}` TO `p{n}`@`%`",
            lambda n: f"GRANT SELECT ON `dev_%`.* TO `p{n}`@`%`",
            lambda n: f"GRANT `readers` TO `p{n}`@`%`",
            lambda n: f"GRANT SELECT ON `sales`.`t{n}`",
        ],
    ),
    "unity": (
        json.dumps,
        [
            lambda n: unity(n, "SELECT"),
            lambda n: unity(n, "MODIFY"),
            lambda n: unity(n, {"privilege": "SELECT", "inherited_from_name": "main"}),
            lambda n: unity(n, "READ_VOLUME", "VOLUME"),
            lambda n: {**unity(n, "SELECT"), "owner": f"p{n}@x.org", "privilege_assignments": []},
            lambda n: {**unity(n, "x", "METASTORE"), "owner": f"p{n}@x", "privilege_assignments": []},
        ],
    ),
    "lakeformation": (
        lambda some: json.dumps({"PrincipalResourcePermissions": some}),
        [
            lambda n: lake(n, None, "SELECT"),
            lambda n: lake(n, None, "DESCRIBE"),
            lambda n: lake(n, None, "INSERT"),
            lambda n: lake(n, DATABASE, "DROP"),
            lambda n: lake(n, None, "SELECT", who="IAM_ALLOWED_PRINCIPALS"),
            lambda n: lake(n, None, PermissionsWithGrantOption=["SELECT"]),
            lambda n: lake(n, {"DataLocation": {"Name": f"t{n}"}}, "DATA_LOCATION_ACCESS"),
            lambda n: lake(n, {"LFTag": {"TagKey": "x"}}, "ASSOCIATE"),
            lambda n: lake(n, None, "SELECT", Condition={"Expression": "x"}),
        ],
    ),
    "gravitino": (
        json.dumps,
        [
            lambda n: role(n, "select_table"),
            lambda n: role(n, "select_table", "DENY"),
            lambda n: role(n, "select_table", "MAYBE"),
            lambda n: role(n, "fly"),
            lambda n: role(n, "select_table", type_="GALAXY"),
            lambda n: {"users": [f"p{n}"]},
            lambda n: {"groups": [{"name": f"p{n}", "roles": ["readers"]}]},
            lambda n: {"roles": [f"p{n}"]},
            lambda n: {"owner": {"name": f"p{n}", "type": "USER"}, "type": "table", "fullName": f"a.b.t{n}"},
            lambda n: {"owner": {"name": f"p{n}", "type": "ROBOT"}, "type": "table", "fullName": f"a.b.t{n}"},
        ],
    ),
    "csv": (
        lambda some: "\n".join(("principal,privilege,object,until", *some)),
        [
            lambda n: f"user:p{n},SELECT_TABLE,table:shop.sales.t{n},",
            lambda n: f"user:p{n},FLY,table:shop.sales.t{n},",
            lambda n: f"user:p{n},SELECT_TABLE,table:shop.sales.t{n},2030-01-01",
            lambda n: f"user:p{n},SELECT_TABLE,table:shop.sales.t{n},,DENY",
            lambda n: f"p{n},SELECT_TABLE,table:shop.sales.t{n},",
            lambda n: f"group:p{n},HOLDS,role:readers,",
        ],
    ),
}


def numbers(texts: Sequence[str]) -> set[int]:
    return {int(number) for text in texts for number in re.findall(r"\b(?:denied_user_)?[pt](\d+)\b", text)}


def outcome(source: str, some: Sequence[Any]) -> Draft:
    write = FILES[source][0]
    text = write(some) + ("\nGRANT x TO y" if source in ("postgresql", "mariadb") else "")
    if source == "postgresql":
        text = text.replace("\nGRANT x", ";\nGRANT x")
    return imports.read(source, text, realm="demo", catalog="shop")


@pytest.mark.parametrize("source", imports.SOURCES)
def test_every_statement_is_said_or_reported(source: str) -> None:
    chance, makes = random.Random(f"nothing is lost {source}"), FILES[source][1]
    statements = [make(n) for n, make in enumerate(makes)]
    statements += [chance.choice(makes)(n) for n in range(len(makes), 80)]
    draft = outcome(source, statements)
    stated = numbers([str(item) for item in draft.statements if item.kind in SAID])
    reported = numbers([item.what for item in draft.left_out])
    assert all(item.why for item in draft.left_out)
    lost = [statements[n] for n in range(80) if n not in stated | reported]
    assert lost == []
    assert len(stated) + len(reported - stated) == len(statements)


@pytest.mark.parametrize("source", imports.SOURCES)
def test_each_kind_of_statement_alone_is_said_or_reported(source: str) -> None:
    for make in FILES[source][1]:
        draft = outcome(source, [make(7)])
        stated = numbers([str(item) for item in draft.statements if item.kind in SAID])
        assert 7 in stated | numbers([item.what for item in draft.left_out]), make(7)


@pytest.mark.parametrize(
    ("source", "text", "what"),
    [
        ("postgresql", "GRANT r TO ana WITH ADMIN OPTION", "the admin option"),
        ("postgresql", "GRANT r TO ana WITH ADMIN TRUE, INHERIT FALSE", "only after SET ROLE"),
        ("mariadb", "GRANT `r` TO `ana`@`%` WITH ADMIN OPTION", "the admin option"),
        ("csv", "principal,privilege,object,effect\nuser:ana,SELECT_TABLE,table:a.b.c,deny", "line 2"),
    ],
)
def test_what_goes_with_a_statement_is_reported_too(source: str, text: str, what: str) -> None:
    draft = imports.read(source, text, realm="demo", catalog="shop")
    assert any(what in item.what for item in draft.left_out)


def test_a_second_owner_is_reported_and_does_not_replace_the_first() -> None:
    text = "GRANT x TO y; ALTER TABLE s.t OWNER TO ana; ALTER TABLE s.t OWNER TO bo"
    draft = imports.read("postgresql", text, realm="demo", catalog="shop")
    assert [item.who for item in draft.statements if item.kind == "owner"] == ["user:ana"]
    assert any("user:bo owns" in item.what for item in draft.left_out)


def report(draft: Draft) -> str:
    return "\n".join(f"{item.what} {item.why}" for item in draft.left_out)


def stated(draft: Draft) -> set[str]:
    return {str(item) for item in draft.statements if item.kind in SAID}


@pytest.mark.parametrize(
    ("source", "text", "what"),
    [
        ("ranger", [ranger(1, service="hive_prod"), ranger(2, service="hive_dev")], "hive_dev, hive_prod"),
        (
            "lakeformation",
            [
                lake(n, {"Table": {"CatalogId": f"{n}" * 12, "DatabaseName": "s", "Name": "t"}})
                for n in (1, 2)
            ],
            "several catalogs: 1",
        ),
        ("unity", [{**unity(1, "SELECT"), "next_page_token": "x"}], "one page of several"),
        (
            "postgresql",
            [
                f"\\connect {name}\n\nSET x = 0;\nGRANT SELECT ON TABLE s.t TO {name}_reader"
                for name in ("shop", "hr")
            ],
            "several databases: hr, shop",
        ),
        (
            "postgresql",
            [
                "GRANT SELECT ON TABLE s.t TO ana",
                "COPY s.t (a) FROM stdin;\nGRANT SELECT ON s.u TO bo;\n\\.\n",
            ],
            "--schema-only",
        ),
    ],
)
def test_what_would_become_one_thing_or_is_not_all_is_refused(source: str, text: Any, what: str) -> None:
    with pytest.raises(Invalid, match=what):
        imports.read(source, FILES[source][0](text), realm="demo", catalog="shop")


def test_two_principals_of_aws_do_not_become_one_person() -> None:
    others = "arn:aws:quicksight:eu-west-1:1:user/default/p1"
    draft = outcome("lakeformation", [lake(1, None, "SELECT"), lake(1, None, "SELECT", "ALTER", who=others)])
    assert others in report(draft) and "is arn:aws:iam::1:user/p1 already" in report(draft)


def test_all_of_lake_formation_is_reported_for_each_kind_of_resource() -> None:
    left = report(outcome("lakeformation", [lake(1, DATABASE, "ALL"), lake(2, {"Catalog": {}}, "ALL")]))
    for lost in ("p1: DROP on schema", "p1: ALTER on schema", "p2: DROP on catalog", "p2: ALTER on catalog"):
        assert lost in left


def test_an_object_of_unity_on_which_nobody_has_anything_is_nothing_wrong() -> None:
    entry = {"securable_type": "TABLE", "full_name": "main.sales.t1", "owner": "ana@x.org"}
    assert stated(outcome("unity", [entry])) == {"user:ana@x.org owns table:main.sales.t1"}


def test_a_policy_of_ranger_that_overrides_others_says_that_it_does_not_here() -> None:
    draft = outcome("ranger", [ranger(1, policyPriority=1)])
    assert "policy p1: its priority" in report(draft)
    assert "user:p1 has SELECT_TABLE on table:shop.sales.t1" in stated(draft)


def test_one_user_of_gravitino_is_read_like_several() -> None:
    draft = outcome("gravitino", [{"code": 0, "user": {"name": "p1", "roles": ["readers"]}}])
    assert stated(draft) == {"user:p1 holds role readers"}


CLUSTER = r"""
\restrict abc
CREATE ROLE ana; ALTER ROLE ana WITH LOGIN CREATEROLE;
CREATE ROLE bo; ALTER ROLE bo WITH LOGIN;
GRANT ana TO bo; GRANT pg_read_all_data TO ana;
\unrestrict abc
\connect shop
GRANT CONNECT ON DATABASE shop TO ana;
GRANT CONNECT ON DATABASE hr TO bo;
ALTER SCHEMA public OWNER TO pg_database_owner;
CREATE SEQUENCE sales.ids;
ALTER TABLE sales.ids OWNER TO ana;
CREATE MATERIALIZED VIEW sales.totals AS SELECT 1;
ALTER MATERIALIZED VIEW sales.totals OWNER TO bo;
GRANT SELECT ON TABLE sales.totals TO ana;
"""


def test_a_dump_of_a_cluster_with_one_database() -> None:
    draft = imports.read("postgresql", CLUSTER, realm="demo", catalog="main")
    assert stated(draft) == {
        "user:ana holds role ana",
        "user:bo holds role ana",
        "role ana allows USE_CATALOG on catalog:main",
        "role ana allows SELECT_VIEW on view:main.sales.totals",
        "user:bo owns view:main.sales.totals",
    }
    left = report(draft)
    assert "CREATEROLE" in left and "pg_read_all_data" in left and "pg_database_owner" in left
    assert "another database" in left and "sales . ids" in left


def test_the_answers_of_mariadb_in_a_file() -> None:
    text = """Grants for ana@%
GRANT ALL PRIVILEGES ON `my\\\\_db`.* TO `ana`@`%`
Grants for PUBLIC
GRANT SELECT ON `sales`.`orders` TO PUBLIC
"""
    draft = imports.read("mariadb", text, realm="demo", catalog="shop")
    assert "user:ana has MODIFY_TABLE on schema:shop.my_db" in stated(draft)
    assert "all else of ALL PRIVILEGES" in report(draft) and "everybody" in report(draft)
    assert not [line for line in stated(draft) if "PUBLIC" in line or "orders" in line]
