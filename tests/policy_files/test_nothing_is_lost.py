"""What an import reads is said or reported, in random files of each system: none of it is lost."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

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
