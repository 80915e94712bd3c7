"""Trino's plug-in for Open Policy Agent: its requests as it documents and sends them, answered by the law."""

from __future__ import annotations

from typing import Any

import pytest

from accounts import people, tokens
from accounts.models import Principal
from authzsite.api.trino.operations import OPERATIONS
from policies.models import AccessRecord
from policies.services import members, objects, roles
from policies.services.objects import NewObject
from tests.api.world import BY, Caller, Shop, token, user

ALLOW, BATCH = "/v1/data/trino/allow", "/v1/data/trino/batch"
pytestmark = pytest.mark.seed("S4-003")


def asked(user: str, operation: str, **action: Any) -> dict[str, Any]:
    """A request as Trino's documentation shows it."""
    return {
        "input": {
            "context": {
                "identity": {"user": user, "groups": ["some-group"]},
                "queryId": "20250718_081710_03427_trino",
                "softwareStack": {"trinoVersion": "434"},
            },
            "action": {"operation": operation, **action},
        }
    }


def table(name: str = "orders", schema: str = "sales", catalog: str = "shop", **more: Any) -> dict[str, Any]:
    return {"table": {"catalogName": catalog, "schemaName": schema, "tableName": name, **more}}


def schema(name: str = "sales", catalog: str = "shop") -> dict[str, Any]:
    return {"schema": {"catalogName": catalog, "schemaName": name}}


def function(name: str = "f", schema: str = "sales", catalog: str = "shop") -> dict[str, Any]:
    return {
        "function": {"catalogSchema": {"catalogName": catalog, "schemaName": schema}, "functionName": name}
    }


def flat(name: str = "f", schema: str = "sales", catalog: str = "shop") -> dict[str, Any]:
    """The same as Trino 476 sends it."""
    return {"function": {"catalogName": catalog, "schemaName": schema, "functionName": name}}


def may(
    caller: Caller, who: str, operation: str, resource: Any = None, query: str = "", **action: Any
) -> bool:
    sent = {**({"resource": resource} if resource else {}), **action}
    answer = caller.send(f"{ALLOW}{query}", asked(who, operation, **sent))
    assert answer.status_code == 200, answer.content
    assert list(answer.json()) == ["result"]
    return bool(answer.json()["result"])


CATALOG, USER = {"catalog": {"name": "shop"}}, {"user": {"user": "ana", "groups": []}}
SESSION = {"catalogSessionProperty": {"catalogName": "shop", "propertyName": "x"}}
COLUMNS = table(columns=["column1", "column2", "column3"])
RENAMED = {"targetResource": table("new_table_name")}
ROWS: list[tuple[str, Any, dict[str, Any], str]] = [
    # operation, resource, the rest of the action, and who may: r(eader), w(riter), o(wner of schema), m(arek)
    ("ExecuteQuery", None, {}, "rwom"),
    ("SetSystemSessionProperty", {"systemSessionProperty": {"name": "x"}}, {}, "rwom"),
    ("ReadSystemInformation", None, {}, "m"),
    ("WriteSystemInformation", None, {}, "m"),
    ("ViewQueryOwnedBy", USER, {}, "rm"),
    ("FilterViewQueryOwnedBy", USER, {}, "rm"),
    ("KillQueryOwnedBy", USER, {}, "rm"),
    ("ImpersonateUser", USER, {}, "r"),
    ("AccessCatalog", CATALOG, {}, "rwm"),
    ("FilterCatalogs", CATALOG, {}, "rwm"),
    ("ShowSchemas", CATALOG, {}, "rwm"),
    ("SetCatalogSessionProperty", SESSION, {}, "rwm"),
    ("CreateCatalog", {"catalog": {"name": "new"}}, {}, "m"),
    ("DropCatalog", CATALOG, {}, "m"),
    ("CreateSchema", schema("new"), {}, "m"),
    ("DropSchema", schema(), {}, "m"),
    ("RenameSchema", schema(), {"targetResource": schema("new")}, "m"),
    ("SetSchemaAuthorization", schema(), {"grantee": {"type": "USER", "name": "ana"}}, "m"),
    ("ShowCreateSchema", schema(), {}, "rwm"),
    ("ShowTables", schema(), {}, "rwm"),
    ("ShowFunctions", schema(), {}, "rwm"),
    ("FilterSchemas", schema(), {}, "rwm"),
    ("FilterTables", table(), {}, "rwm"),
    ("FilterColumns", COLUMNS, {}, "rwm"),
    ("ShowColumns", table(), {}, "rwm"),
    ("ShowCreateTable", table(), {}, "rwm"),
    ("SelectFromColumns", COLUMNS, {}, "rwm"),
    ("CreateViewWithSelectFromColumns", COLUMNS, {}, "m"),
    ("InsertIntoTable", table(), {}, "wm"),
    ("DeleteFromTable", table(), {}, "wm"),
    ("TruncateTable", table(), {}, "wm"),
    ("UpdateTableColumns", COLUMNS, {}, "wm"),
    ("ExecuteTableProcedure", {**table(), "function": {"functionName": "optimize"}}, {}, "wm"),
    ("AddColumn", table(), {}, "wm"),
    ("AlterColumn", table(), {}, "wm"),
    ("DropColumn", table(), {}, "wm"),
    ("RenameColumn", table(), {}, "wm"),
    ("SetTableProperties", table(properties={"x": None, "n": 32}), {}, "wm"),
    ("SetTableComment", table(), {}, "wm"),
    ("SetColumnComment", table(), {}, "wm"),
    ("CreateTable", table("new", properties={"x": "y"}), {}, "m"),
    ("DropTable", table(), {}, "m"),
    ("RenameTable", table(), RENAMED, "m"),
    ("SetTableAuthorization", table(), {"grantee": {"type": "USER", "name": "ana"}}, "m"),
    ("CreateView", table("new"), {}, "m"),
    ("DropView", table("top"), {}, "m"),
    ("RenameView", table("top"), RENAMED, "m"),
    ("SetViewComment", table("top"), {}, "m"),
    ("SetViewAuthorization", table("top"), {}, "m"),
    ("CreateMaterializedView", table("new"), {}, "m"),
    ("RefreshMaterializedView", table("top"), {}, "m"),
    ("SetMaterializedViewProperties", table("top"), {}, "m"),
    ("SetMaterializedViewComment", table("top"), {}, "m"),
    ("SetMaterializedViewAuthorization", table("top"), {}, "m"),
    ("RenameMaterializedView", table("top"), RENAMED, "m"),
    ("DropMaterializedView", table("top"), {}, "m"),
    ("FilterFunctions", function(), {}, "m"),
    ("ExecuteFunction", function(), {}, "m"),
    ("CreateViewWithExecuteFunction", function(), {}, "m"),
    ("ShowCreateFunction", function(), {}, "m"),
    ("CreateFunction", function("new"), {}, "m"),
    ("DropFunction", function(), {}, "m"),
]


@pytest.fixture
def trino(shop: Shop, etl: Caller) -> Caller:
    """Ana reads orders, Wim reads and writes them; Olivia owns the schema, but may not use the catalog."""
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    writers = roles.create(shop.realm, "writers", **BY)
    members.add(shop.realm, user("wim"), **BY)
    roles.assign(writers, user("wim"), **BY)
    for node, code in [
        (shop.catalog, "USE_CATALOG"),
        (shop.sales, "USE_SCHEMA"),
        (shop.tables["orders"], "SELECT_TABLE"),
        (shop.tables["orders"], "MODIFY_TABLE"),
    ]:
        roles.add_privileges(writers, node, [roles.Privilege(code, "allow")], **BY)
    objects.register(shop.sales, [NewObject("view", "top"), NewObject("function", "f")], **BY)
    return etl


def test_every_operation_is_decided_by_the_law(trino: Caller) -> None:
    assert {row[0] for row in ROWS} == set(OPERATIONS)
    wrong = {}
    for operation, resource, action, expected in ROWS:
        who = {"r": "ana", "w": "wim", "m": "marek"}
        allowed = "".join(key for key, name in who.items() if may(trino, name, operation, resource, **action))
        if allowed != expected.replace("o", ""):
            wrong[operation] = allowed
        assert not may(trino, "stranger", operation, resource, **action), operation
    assert wrong == {}


def test_an_unknown_operation_is_refused(trino: Caller) -> None:
    for operation in ("", "ExecuteProcedure", "SelectFromEverything", "DropEverything"):
        assert not may(trino, "marek", operation, table())


def test_a_view_is_read_as_a_view(trino: Caller, shop: Shop) -> None:
    from catalog.queries import find
    from lakewarden.law.objects import ObjectRef

    assert not may(trino, "ana", "SelectFromColumns", table("top", columns=["n"]))
    view = find(ObjectRef("view", "demo", ("shop", "sales", "top")))
    assert view is not None
    shop.allow(view, "SELECT_VIEW")
    assert may(trino, "ana", "SelectFromColumns", table("top", columns=["n"]))


def test_what_trino_itself_shows_of_a_catalog(trino: Caller) -> None:
    own = table("tables", "information_schema", columns=["table_name"])
    assert may(trino, "ana", "SelectFromColumns", own) and not may(trino, "bob", "SelectFromColumns", own)
    jdbc = table("types", "jdbc", "system", columns=["x"])
    assert may(trino, "ana", "SelectFromColumns", jdbc) and not may(trino, "zoe", "SelectFromColumns", jdbc)
    queries = table("queries", "runtime", "system", columns=["query"])
    assert not may(trino, "marek", "SelectFromColumns", queries)
    assert not may(trino, "marek", "DropTable", own)
    assert may(trino, "ana", "ExecuteFunction", function("abs", "builtin", "system"))
    assert not may(trino, "ana", "ExecuteFunction", function("query", "system", "shop"))


@pytest.mark.parametrize("form", [function, flat])
def test_a_function_is_known_in_either_form(trino: Caller, form: Any) -> None:
    assert may(trino, "marek", "ExecuteFunction", form()) and not may(trino, "ana", "ExecuteFunction", form())
    assert may(trino, "marek", "CreateFunction", form("new"))
    assert not may(trino, "marek", "ExecuteFunction", form("query", "system"))
    filtered = asked("marek", "FilterFunctions", filterResources=[form("none"), form()])
    assert trino.send(BATCH, filtered).json()["result"] == [1]


def test_a_batch_answers_with_the_places_of_what_is_allowed(trino: Caller) -> None:
    def places(operation: str, *resources: Any) -> Any:
        answer = trino.send(BATCH, asked("ana", operation, filterResources=list(resources)))
        assert answer.status_code == 200, answer.content
        return answer.json()["result"]

    assert places("FilterTables", table("items"), table(), table("none"), table("plans", "secret")) == [1]
    assert places("FilterCatalogs", {"catalog": {"name": "other"}}, CATALOG) == [1]
    assert places("FilterSchemas", schema("secret"), schema()) == [1]
    assert places("FilterColumns", COLUMNS) == [0, 1, 2]
    assert places("FilterColumns", table("items", columns=["a", "b"])) == []
    assert places("FilterTables") == []
    refused = AccessRecord.objects.filter(kind=AccessRecord.Kind.REFUSED)
    assert not refused.exists(), "what a list leaves out was refused to nobody"


def test_a_refusal_is_recorded_with_its_way(trino: Caller) -> None:
    assert not may(trino, "ana", "SelectFromColumns", table("items", columns=["a"]))
    record = AccessRecord.objects.filter(kind=AccessRecord.Kind.REFUSED).latest("pk")
    assert record.via == "trino" and record.object_name.endswith("shop.sales.items")


def test_row_filters_and_column_masks_are_none(trino: Caller) -> None:
    column = {"column": {"catalogName": "shop", "schemaName": "sales", "tableName": "orders"}}
    filters = trino.send("/v1/data/trino/rowFilters", asked("ana", "GetRowFilters", resource=table()))
    mask = trino.send("/v1/data/trino/columnMask", asked("ana", "GetColumnMask", resource=column))
    masks = trino.send(
        "/v1/data/trino/batchColumnMasks", asked("ana", "GetColumnMask", filterResources=[column])
    )
    assert [response.json() for response in (filters, mask, masks)] == [{"result": []}, {}, {"result": []}]


def test_the_address_names_the_metalake_and_what_its_catalogs_are_called(trino: Caller) -> None:
    there = table(catalog="lake", columns=["a"])
    assert not may(trino, "ana", "SelectFromColumns", there)
    assert may(trino, "ana", "SelectFromColumns", there, "?realm=demo&catalog=lake:shop")
    assert not may(trino, "ana", "SelectFromColumns", table(), "?realm=other")
    assert trino.send(f"{ALLOW}?catalog=lake", asked("ana", "ExecuteQuery")).status_code == 400


def test_who_may_ask(trino: Caller, shop: Shop) -> None:
    question = asked("ana", "SelectFromColumns", resource=COLUMNS)
    assert Caller().send(ALLOW, question).status_code == 401
    assert Caller(token("user", "ana")).send(ALLOW, question).json() == {"result": True}
    assert Caller(token("user", "bob")).send(ALLOW, question).status_code == 403
    unadmitted = tokens.create(people.ensure(Principal.Kind.SERVICE, "foreign"))
    assert Caller(unadmitted).send(ALLOW, question).json() == {"result": False}
    assert Caller(token("user", "ana", "report")).send(ALLOW, question).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        {},
        {"input": []},
        {"input": {"context": {}, "action": {}}},
        asked("ana", "SelectFromColumns"),
        asked("ana", "SelectFromColumns", resource=[]),
        asked("ana", "SelectFromColumns", resource={"table": {"catalogName": 1}}),
        asked("ana", "RenameTable", resource=table(), targetResource="x"),
        asked("ana", "RenameTable", resource=table()),
        asked(7, "ExecuteQuery"),  # type: ignore[arg-type]
    ],
)
def test_garbage_is_a_400_in_the_form_of_the_surface(trino: Caller, body: object) -> None:
    answer = trino.send(ALLOW, body)
    assert answer.status_code == 400, answer.content
    assert set(answer.json()) == {"code", "message"}


def test_odd_names_are_only_names(trino: Caller) -> None:
    for name in ("a\x00b", "\ud800", "a.b", '"', "x" * 5000):
        assert not may(trino, "ana", "SelectFromColumns", table(name, columns=["a"]))
    assert not may(trino, "a\x00b", "ExecuteQuery")
