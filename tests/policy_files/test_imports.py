"""Access of other systems as policy files: what can be said is said, the rest is reported with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakewarden.__main__ import main
from policies.errors import Invalid
from policies.policy_files import document, imports
from policies.policy_files.imports import Draft
from tests.factories import a_metalake
from tests.policy_files.world import applied, plan


def said(draft: Draft) -> set[str]:
    return {str(item) for item in draft.statements if item.kind in ("gives", "grant", "holder", "owner")}


def reasons(draft: Draft) -> dict[str, str]:
    return {item.what: item.why for item in draft.left_out}


def a_policy(**more: Any) -> dict[str, Any]:
    resources = {
        "database": {"values": ["sales"]},
        "table": {"values": ["orders"]},
        "column": {"values": ["*"]},
    }
    return {"name": "p", "serviceType": "hive", "isEnabled": True, "resources": resources, **more}


def item(*accesses: str, **who: Any) -> dict[str, Any]:
    return {"accesses": [{"type": access, "isAllowed": True} for access in accesses], **who}


def ranger(*policies: dict[str, Any]) -> Draft:
    text = json.dumps({"policies": list(policies)})
    return imports.read("ranger", text, realm="demo", catalog="shop")


def test_ranger_s_policies_are_said_and_what_is_not_is_reported() -> None:
    whole = {"database": {"values": ["stock"]}, "table": {"values": ["*"]}, "column": {"values": ["*"]}}
    draft = ranger(
        a_policy(policyItems=[item("select", "update", "alter", "drop", users=["ana"], groups=["staff"])]),
        a_policy(policyItems=[item("select", roles=["readers"])], resources=whole, name="stock"),
        a_policy(denyPolicyItems=[item("select", users=["carl"])], name="no"),
    )
    assert {
        "user:ana has MODIFY_TABLE on table:shop.sales.orders",
        "user:ana has USE_SCHEMA on schema:shop.sales",
        "group:staff has SELECT_TABLE on table:shop.sales.orders",
        "role readers allows SELECT_TABLE on schema:shop.stock",
        "role denied_user_carl denies SELECT_TABLE on table:shop.sales.orders",
        "user:carl holds role denied_user_carl",
    } <= said(draft)
    left = reasons(draft)
    assert "owner" in left["user:ana: drop on table shop.sales.orders"]
    assert "members of role readers" in left
    assert any(policy.what.startswith("user:ana has USE_SCHEMA") for policy in draft.added)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"isEnabled": False}, "disabled"),
        ({"isEnabled": "false"}, "disabled"),
        ({"policyType": 2}, "row filters"),
        ({"validitySchedules": [{"startTime": "2026/01/01 00:00:00"}]}, "only at some times"),
        ({"conditions": [{"type": "ip-range"}]}, "conditions"),
        ({"isDenyAllElse": True}, "deny everything else"),
        ({"zoneName": "eu"}, "security zone"),
        ({"serviceType": "kafka"}, "kafka"),
        ({"resources": {"database": {"values": ["sales"], "isExcludes": True}}}, "everything but"),
        ({"resources": {"url": {"values": ["s3://x"]}}}, "no url"),
        ({"resources": {"database": {"values": ["sales_*"]}}}, "no patterns"),
        ({"resources": {"database": {"values": ["s"]}, "column": {"values": ["iban"]}}}, "columns"),
        ({"allowExceptions": [item("select", users=["bo"])]}, "exceptions"),
        ({"policyItems": [item("select", groups=["public"])]}, "everybody"),
        ({"policyItems": [item("update", users=["ana"])]}, "would give more"),
        ({"policyItems": [item("select", users=["ana"], conditions=[{"type": "ip"}])]}, "conditions"),
    ],
)
def test_what_ranger_says_and_the_law_cannot_is_never_lost(more: dict[str, Any], why: str) -> None:
    draft = ranger(a_policy(**{"policyItems": [item("select", users=["ana"])], **more}))
    assert why in " ".join(reasons(draft).values())
    assert not {line for line in said(draft) if "SELECT_TABLE" in line}


POSTGRESQL = r"""
-- PostgreSQL database dump
CREATE ROLE readers; ALTER ROLE readers WITH NOSUPERUSER NOLOGIN;
ALTER ROLE ana WITH LOGIN;
GRANT readers TO ana WITH INHERIT TRUE GRANTED BY postgres;
CREATE FUNCTION sales.f() RETURNS int AS $$ GRANT ALL ON x TO y; $$ LANGUAGE sql;
CREATE VIEW sales.totals AS SELECT 'GRANT it; TO all' AS x;
ALTER TABLE sales.orders OWNER TO olivia;
GRANT USAGE ON SCHEMA sales TO readers;
GRANT SELECT ON TABLE sales.orders TO readers;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE sales."Odd.Name" TO ana WITH GRANT OPTION;
GRANT SELECT ON TABLE sales.totals TO ana;
GRANT INSERT ON TABLE sales.orders TO bo;
GRANT SELECT(id),UPDATE(note) ON TABLE sales.orders TO carl;
GRANT SELECT ON TABLE sales.orders TO PUBLIC;
GRANT USAGE ON SEQUENCE sales.ids TO ana;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE olivia IN SCHEMA sales GRANT SELECT ON TABLES TO ana;
"""


def test_a_dump_of_postgresql() -> None:
    draft = imports.read("postgresql", POSTGRESQL, realm="demo", catalog="shop")
    assert said(draft) == {
        "user:ana holds role readers",
        "user:olivia owns table:shop.sales.orders",
        "role readers allows USE_SCHEMA on schema:shop.sales",
        "role readers allows SELECT_TABLE on table:shop.sales.orders",
        "role readers allows USE_CATALOG on catalog:shop",
        'user:ana has SELECT_TABLE on table:shop.sales."Odd.Name"',
        'user:ana has MODIFY_TABLE on table:shop.sales."Odd.Name"',
        "user:ana has SELECT_VIEW on view:shop.sales.totals",
        "user:ana has USE_CATALOG on catalog:shop",
    }
    left = " ".join(f"{what} {why}" for what, why in reasons(draft).items())
    for lost in (
        "user:bo: INSERT",
        "(id)",
        "note",
        "PUBLIC: SELECT",
        "SEQUENCE",
        "DEFAULT PRIVILEGES",
        "option",
    ):
        assert lost in left or f"{lost} )" in left or lost.strip("()") in left, lost


MARIADB = """
GRANT USAGE ON *.* TO `ana`@`%` IDENTIFIED BY PASSWORD '*AB;C'
GRANT SELECT, INSERT, UPDATE, DELETE ON `sales`.* TO `ana`@`%`
GRANT `readers` TO `ana`@`%`
SET DEFAULT ROLE `readers` FOR `ana`@`%`
GRANT SELECT (`id`), INSERT ON `sales`.`orders` TO `readers`
GRANT SELECT ON `sales`.`orders` TO `readers`
GRANT SELECT ON `my\\_db`.* TO `bo`@`%`
GRANT SELECT ON `dev_`.* TO `bo`@`%`
GRANT SELECT ON `sales`.`orders` TO `carl`@`10.0.%` WITH GRANT OPTION
"""


def test_the_grants_of_mariadb() -> None:
    draft = imports.read("mariadb", MARIADB, realm="demo", catalog="shop")
    assert {
        "user:ana has MODIFY_TABLE on schema:shop.sales",
        "user:ana holds role readers",
        "role readers allows SELECT_TABLE on table:shop.sales.orders",
        "user:bo has SELECT_TABLE on schema:shop.my_db",
        "user:bo has USE_SCHEMA on schema:shop.my_db",
    } <= said(draft)
    assert not [line for line in said(draft) if "carl" in line or "dev" in line]
    left = " ".join(f"{what} {why}" for what, why in reasons(draft).items())
    assert "columns" in left and "10.0.%" in left and "pattern" in left and "role:readers: INSERT" in left


def test_permissions_of_unity_catalog() -> None:
    answers = [
        {
            "securable_type": "TABLE",
            "full_name": "main.sales.orders",
            "owner": "olivia@x.org",
            "privilege_assignments": [
                {"principal": "ana@x.org", "privileges": ["SELECT", "MODIFY", "APPLY_TAG"]},
                {"principal": "analysts", "privileges": [{"privilege": "SELECT"}]},
                {"principal": "b", "privileges": [{"privilege": "SELECT", "inherited_from_name": "main"}]},
            ],
        },
        {
            "securable_type": "CATALOG",
            "full_name": "main",
            "privilege_assignments": [
                {"principal": "account users", "privileges": ["USE_CATALOG"]},
                {"principal": "analysts", "privileges": ["USE_CATALOG", "ALL_PRIVILEGES"]},
            ],
        },
        {"securable_type": "EXTERNAL_LOCATION", "full_name": "lake", "privilege_assignments": []},
    ]
    draft = imports.read("unity", json.dumps(answers), realm="demo")
    assert said(draft) == {
        "user:olivia@x.org owns table:main.sales.orders",
        "user:ana@x.org has SELECT_TABLE on table:main.sales.orders",
        "user:ana@x.org has MODIFY_TABLE on table:main.sales.orders",
        "group:analysts has SELECT_TABLE on table:main.sales.orders",
        "group:analysts has USE_CATALOG on catalog:main",
    }
    assert len(draft.left_out) == 5


def test_permissions_of_lake_formation() -> None:
    def given(resource: dict[str, Any], *rights: str, who: str = "arn:aws:iam::1:user/ana") -> dict[str, Any]:
        principal = {"DataLakePrincipalIdentifier": who}
        return {"Principal": principal, "Resource": resource, "Permissions": list(rights)}

    orders = {"Table": {"DatabaseName": "sales", "Name": "orders"}}
    every = {"Table": {"DatabaseName": "sales", "TableWildcard": {}}}
    columns = {"TableWithColumns": {"DatabaseName": "sales", "Name": "orders", "ColumnNames": ["id"]}}
    grants = [
        given(orders, "SELECT", "DESCRIBE", "DROP"),
        given(every, "SELECT", who="arn:aws:iam::1:role/etl/nightly"),
        given(columns, "SELECT"),
        given({"LFTagPolicy": {"ResourceType": "TABLE"}}, "SELECT"),
        given(orders, "SELECT", who="IAM_ALLOWED_PRINCIPALS"),
        {**given(orders, "INSERT"), "PermissionsWithGrantOption": ["INSERT"]},
    ]
    text = json.dumps({"PrincipalResourcePermissions": grants})
    draft = imports.read("lakeformation", text, realm="demo", catalog="shop")
    data = {line for line in said(draft) if "USE_" not in line}
    assert data == {
        "user:ana has SELECT_TABLE on table:shop.sales.orders",
        "service:nightly has SELECT_TABLE on schema:shop.sales",
    }
    assert len(draft.left_out) == 6
    with pytest.raises(Invalid, match="one page"):
        more = json.dumps({"PrincipalResourcePermissions": [], "NextToken": "x"})
        imports.read("lakeformation", more, realm="demo", catalog="shop")


def test_a_metalake_of_gravitino() -> None:
    role = {
        "name": "readers",
        "securableObjects": [
            {
                "fullName": "files.raw.landing",
                "type": "FILESET",
                "privileges": [
                    {"name": "read_fileset", "condition": "ALLOW"},
                    {"name": "write_fileset", "condition": "DENY"},
                    {"name": "fly", "condition": "ALLOW"},
                ],
            }
        ],
    }
    answers = [
        {"code": 0, "role": role},
        {"code": 0, "users": [{"name": "ana", "roles": ["readers"]}, "bo"]},
        {"code": 0, "owner": {"name": "olivia", "type": "USER"}, "type": "schema", "fullName": "files.raw"},
    ]
    draft = imports.read("gravitino", json.dumps(answers), realm="demo")
    assert said(draft) == {
        "role readers allows READ_FILESET on fileset:files.raw.landing",
        "role readers denies WRITE_FILESET on fileset:files.raw.landing",
        "user:ana holds role readers",
        "user:olivia owns schema:files.raw",
    }
    assert set(reasons(draft)) == {"role readers: allow FLY on fileset files.raw.landing", "roles of user:bo"}
    assert "kind: fileset" in draft.text()


CSV = """principal,privilege,object
user:ana,SELECT_TABLE,table:shop.sales.orders
role:readers,USE_CATALOG,catalog:shop
group:staff,HOLDS,role:readers
user:ana,FLY,table:shop.sales.orders
user:ana,CREATE_CATALOG,table:shop.sales.orders
nobody,SELECT_TABLE,table:shop.sales.orders
"""


def test_a_table_in_csv() -> None:
    draft = imports.read("csv", CSV, realm="demo")
    assert said(draft) == {
        "user:ana has SELECT_TABLE on table:shop.sales.orders",
        "role readers allows USE_CATALOG on catalog:shop",
        "group:staff holds role readers",
    }
    assert len(draft.left_out) == 3 and all("line" in what for what in list(reasons(draft))[:2])


@pytest.mark.django_db
@pytest.mark.parametrize(("source", "text"), [("postgresql", POSTGRESQL), ("mariadb", MARIADB), ("csv", CSV)])
def test_the_file_can_be_applied_to_an_empty_realm(source: str, text: str) -> None:
    root = a_metalake("demo")
    imported = imports.read(source, text, realm="demo", catalog="shop").text()
    assert not plan(root, imported).removals
    applied(root, imported)
    assert not plan(root, imported).steps


@pytest.mark.parametrize("service", ["hive", "trino"])
def test_a_denial_of_ranger_is_not_lost_by_the_case_of_a_name(service: str) -> None:
    """Ranger compares names of objects in any case; here they are as the metastore has them."""
    names = {"database" if service == "hive" else "schema": "Sales", "table": "ORDERS", "column": "*"}
    levels = names if service == "hive" else {"catalog": "Shop"} | names
    resources = {level: {"values": [name]} for level, name in levels.items()}
    denied = a_policy(
        denyPolicyItems=[item("select", users=["carl"])], resources=resources, serviceType=service
    )
    assert "role denied_user_carl denies SELECT_TABLE on table:shop.sales.orders" in said(ranger(denied))


@pytest.mark.parametrize("allowed", [False, "false"])
def test_an_access_of_ranger_that_is_not_allowed_says_nothing(allowed: object) -> None:
    entry = {"type": "select", "isAllowed": allowed}
    assert said(ranger(a_policy(policyItems=[{"users": ["ana"], "accesses": [entry]}]))) == set()


@pytest.mark.parametrize("source", imports.SOURCES)
@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[1]", '{"policies": 1}', "GRANT", "a,b\n1", "\0", '"', "[[]]"]
)
def test_what_makes_no_sense_is_refused_or_says_nothing(source: str, text: str) -> None:
    try:
        draft = imports.read(source, text, realm="demo", catalog="shop")
    except Invalid:
        return
    assert not said(draft)


def test_a_source_without_catalogs_needs_one() -> None:
    with pytest.raises(Invalid, match="catalog"):
        imports.read("mariadb", MARIADB, realm="demo")
    with pytest.raises(Invalid, match="known are ranger"):
        imports.read("oracle", "", realm="demo")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_the_file_and_reports(
    shell: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lakewarden.client import Client

    def answer(self: Client, source: str, text: str, **where: str) -> dict[str, Any]:
        draft = imports.read(source, text, **where)
        left = [{"what": item.what, "why": item.why} for item in draft.left_out]
        return {"file": draft.text(), "left_out": left, "added": []}

    monkeypatch.setattr(Client, "import_policies", answer)
    monkeypatch.setattr(Client, "__init__", lambda self, **more: None)
    (shell / "grants.csv").write_text(CSV)
    assert main(["import", "csv", "grants.csv", "--realm", "demo", "--out", "access.yaml"]) == 0
    assert document.read((shell / "access.yaml").read_text()).realm == "demo"
    assert "LEFT OUT line 5: user:ana, FLY" in capsys.readouterr().out
