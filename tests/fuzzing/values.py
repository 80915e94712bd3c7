"""Values that fit a JSON schema or nearly do: names of the world, hostile texts, wrong types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Schema = Mapping[str, Any]

KNOWN = (
    "ana",
    "olivia",
    "marek",
    "mia",
    "hedda",
    "nightly-load",
    "analysts",
    "staff",
    "user:ana",
    "group:analysts",
    "service:nightly-load",
    "demo",
    "shop",
    "sales",
    "orders",
    "shop.sales",
    "shop.sales.orders",
    "demo/shop.sales.orders",
    "table:demo/shop.sales.orders",
    "herd",
    "SALES",
    "herd/SALES",
    "cdap",
    "ns1",
    "dataset:ns1.o*",
    "sales_read",
    "payers",
    "table",
    "schema",
    "catalog",
    "metalake",
    "role",
    "user",
    "read",
    "SELECT_TABLE",
    "USE_SCHEMA",
    "READ",
    "GRANT",
    "allow",
    "deny",
    "on",
    "off",
    "save",
    "1",
    "2",
    "2026-11-01T00:00:00Z",
    "P1D",
)
"""What means something in the world that is asked about."""
HOSTILE = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "é",
    "e\u0301",
    "\u202e",
    "😀" * 40,
    "x" * 3000,
    "-1",
    "9" * 30,
    "٣",
    "NaN",
    "../..",
    "a/b",
    "a%2Fb",
    "a.b.c.d",
    "`a`.b",
    "*",
    "*@x",
    "%_\\'\"",
    "<b>&",
    "\r\nX: y",
    "null",
    "0x1",
    "1e999",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "P99999999D",
    "user:",
    ":",
    "/",
    "{}",
    "(" * 200,
    'userName eq "',
    'userName eq "x" and (',
    "members[value eq",
    "urn:x:y",
    "__class__",
    "self",
    "cls",
)
BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "id": ("demo/shop.sales.orders", "demo/shop.sales", "demo/shop", "demo", "ana", "mia", "herd/SALES"),
    "realm": ("demo", "demo", "herd", "cdap"),
    "resource": ("table:demo/shop.sales.orders", "demo/shop.sales.orders", "schema:demo/shop.sales"),
    "principal": ("user:ana", "group:analysts", "service:nightly-load"),
    "full_name": ("shop.sales.orders", "shop.sales", "shop"),
    "metalake": ("demo",),
    "catalog": ("shop",),
    "catalogName": ("shop",),
    "schema": ("sales", "stock"),
    "schemaName": ("sales",),
    "table": ("orders", "items"),
    "tableName": ("orders",),
    "view": ("top",),
    "role": ("sales_read", "payers"),
    "roleNames": ("sales_read",),
    "user": ("ana", "mia"),
    "userId": ("dora",),
    "group": ("analysts",),
    "namespace": ("SALES", "ns1"),
    "ns": ("SALES", "ns1"),
    "namespaceCode": ("NEW", "SALES"),
    "namespacePermissions": ("READ", "GRANT"),
    "name": ("orders", "ana", "new"),
    "type": ("table", "USER", "schema"),
    "path": ("displayName", "members", "active", 'members[value eq "1"]', "/Users", "emails.value"),
    "requested_for": ("P7D",),
    "until": ("2027-01-01T00:00:00Z",),
    "at": ("2026-11-20T00:00:00Z", "1", "2"),
    "filter": ('userName eq "ana"',),
    "entity": ("NAMESPACE",),
    "dataset": ("orders",),
    "reason": ("month's end",),
}
"""What a field or a part of a path of that name means something with."""
NUMBERS = (0, 1, 2, -1, 50, 2**31, 2**63, 10**30, 1.5, -0.0, 1e308)
SPOILED = 24
"""One value in so many does not fit its schema."""
DEEPEST = 5

texts = st.one_of(
    st.sampled_from(KNOWN), st.sampled_from(KNOWN), st.sampled_from(HOSTILE), st.text(max_size=12)
)
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), texts)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def fitting(schema: Schema, whole: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema; `whole` is the document that its references lead into."""
    return _fitting(schema, whole, 0)


@st.composite
def _fitting(draw: Draw, schema: Schema, whole: Schema, depth: int) -> Any:
    while "$ref" in schema:
        place: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            place = place[part]
        schema = place
    if draw(st.integers(0, SPOILED)) == SPOILED:
        return draw(anything)
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return draw(_fitting(draw(st.sampled_from(schema[several])), whole, depth))
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum") or [schema["const"]]))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    if kind == "object" or "properties" in schema:
        return draw(_object(schema, whole, depth + 1))
    if kind == "array":
        most = 3 if depth < DEEPEST else 0
        return draw(st.lists(_fitting(schema.get("items", {}), whole, depth + 1), max_size=most))
    return draw(_SCALARS.get(str(kind), anything))


_SCALARS: Mapping[str, st.SearchStrategy[Any]] = {
    "string": texts,
    "boolean": st.booleans(),
    "integer": st.sampled_from(NUMBERS[:8]) | st.integers(0, 60),
    "number": st.sampled_from(NUMBERS),
    "null": st.none(),
}


@st.composite
def _object(draw: Draw, schema: Schema, whole: Schema, depth: int) -> dict[str, Any]:
    needed, made = schema.get("required", ()), {}
    for name, field in schema.get("properties", {}).items():
        if depth > DEEPEST and name not in needed:
            continue
        if not draw(st.integers(0, SPOILED if name in needed else 1)):
            continue
        usual = name in BY_FIELD and field.get("type", "string") == "string" and draw(st.integers(0, 3))
        made[name] = draw(st.sampled_from(BY_FIELD[name]) if usual else _fitting(field, whole, depth))
    if isinstance(more := schema.get("additionalProperties"), dict):
        made |= draw(st.dictionaries(texts, _fitting(more, whole, depth), max_size=2))
    if draw(st.integers(0, SPOILED)) == SPOILED:
        made[draw(texts)] = draw(anything)
    return made
