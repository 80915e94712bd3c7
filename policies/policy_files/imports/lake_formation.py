"""Permissions of AWS Lake Formation, as `aws lakeformation list-permissions` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from policies.errors import Invalid
from policies.policy_files.imports.draft import Draft, Needs, Path, Right, check_is_one, json_of

NEEDS: Needs = {
    ("USE_SCHEMA", "schema"): frozenset(("DESCRIBE",)),
    ("CREATE_TABLE", "schema"): frozenset(("CREATE_TABLE",)),
    ("CREATE_SCHEMA", "catalog"): frozenset(("CREATE_DATABASE",)),
} | {
    (code, binds): frozenset(rights)
    for binds, mark in (("table", ""), ("schema", "tables "))
    for code, rights in (
        ("MODIFY_TABLE", tuple(f"{mark}{right}" for right in ("SELECT", "INSERT", "DELETE", "ALTER"))),
        ("SELECT_TABLE", (f"{mark}SELECT",)),
    )
}
"""Rights on all tables of a database have `tables ` before them."""
ALL = {
    "table": ("SELECT", "INSERT", "DELETE", "ALTER", "DESCRIBE", "DROP"),
    "schema": ("CREATE_TABLE", "ALTER", "DESCRIBE", "DROP"),
    "catalog": ("CREATE_DATABASE", "ALTER", "DESCRIBE", "DROP"),
}
"""What ALL, which the console of Lake Formation calls Super, means."""
WHY = {
    "DESCRIBE": "A table is shown to whoever may do something with it, so there is no right to that alone.",
    "DROP": "Only an owner drops, so name the owner.",
    "ALTER": "Only an owner alters this, so name the owner.",
    "tables DROP": "Only an owner drops, so name the owner.",
    "tables DESCRIBE": "What somebody has something on is shown to them anyway.",
}
_TABLE: object = {"ColumnWildcard": {}}
ENTRY: object = {
    "Principal": {},
    "Resource": {"Table": _TABLE, "TableWithColumns": _TABLE, ...: {}},
    "Permissions": [str],
    "PermissionsWithGrantOption": [str],
}
"""How a permission is printed, as far as it is read."""
BY_TAG = "It is given by tags; give it on the objects that have them."
CATALOG_IDS = ("CatalogId", "TableCatalogId", "Id")


def read(text: str, draft: Draft) -> None:
    """Read what was printed.  Raises Invalid."""
    value = json_of(text, "Lake Formation", {"PrincipalResourcePermissions": [ENTRY]})
    if "PrincipalResourcePermissions" not in value:
        raise Invalid(
            gettext("This is not valid JSON of Lake Formation: PrincipalResourcePermissions is missing.")
        )
    if value.get("NextToken"):
        raise Invalid(gettext("This is one page of several. Print all of them, without --max-items."))
    entries, named = value["PrincipalResourcePermissions"], dict[str, str]()
    check_is_one(gettext("catalogs"), _catalogs(entries))
    draft.say([right for entry in entries for right in _rights(entry, named, draft)], NEEDS, WHY)
    draft.add_the_way("Lake Formation needs no right on what is above.")


def _catalogs(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The numbers of the catalogs that permissions are about."""
    for entry in entries:
        for details in (entry.get("Resource") or {}).values():
            yield from (str(details[name]) for name in CATALOG_IDS if (details or {}).get(name))


def _rights(entry: Mapping[str, Any], holders: dict[str, str], draft: Draft) -> Iterator[Right]:
    """What an entry gives; `holders` has who is meant by each name, so that no two become one."""
    named = str((entry.get("Principal") or {}).get("DataLakePrincipalIdentifier", ""))
    holder, resource = _holder(named), entry.get("Resource") or {}
    what = f"{named}: {', '.join(entry.get('Permissions') or ())} on {json_words(resource)}"
    place = _place(resource, draft)
    if isinstance(place, str):
        draft.leave_out(what, place)
        return
    if not holder:
        draft.leave_out(what, "It is about everybody, or about nobody who is known.")
        return
    if holders.setdefault(holder, named) != named:
        draft.leave_out(what, f"{holder} is {holders[holder]} already.")
        return
    if entry.get("Condition"):
        draft.leave_out(what, "It has a condition, which the law does not have.")
        return
    type_, path, mark = place
    given = set(entry.get("Permissions") or ())
    if "ALL" in given:
        given = given - {"ALL"} | set(ALL["table" if mark else type_])
    if type_ == "table" and given != {"DESCRIBE"}:
        given.discard("DESCRIBE")  # whoever has anything on a table is shown it
    yield from (Right(holder, type_, path, f"{mark}{right}") for right in sorted(given))
    for right in entry.get("PermissionsWithGrantOption") or ():
        draft.leave_out(f"{named}: passing {right} on", "MANAGE_GRANTS would let them give everything.")


def _place(resource: Mapping[str, Any], draft: Draft) -> tuple[str, Path, str] | str:
    """Type, path and mark of what it is given on; or why that cannot be said."""
    if "Catalog" in resource:
        return "catalog", draft.in_catalog(), ""
    if "Database" in resource:
        return "schema", draft.in_catalog(str(resource["Database"].get("Name", ""))), ""
    table = resource.get("Table") or resource.get("TableWithColumns")
    if table is not None:
        wildcard = table.get("ColumnWildcard")
        if "TableWithColumns" in resource and (wildcard is None or wildcard.get("ExcludedColumnNames")):
            return "Rights on columns are not kept here."
        if "TableWildcard" in table:
            return "schema", draft.in_catalog(str(table.get("DatabaseName", ""))), "tables "
        return "table", draft.in_catalog(str(table.get("DatabaseName", "")), str(table.get("Name", ""))), ""
    if "LFTag" in resource or "LFTagPolicy" in resource or "LFTagExpression" in resource:
        return BY_TAG
    if "DataCellsFilter" in resource:
        return "Row filters are not kept here."
    return "It has no like in the law."


def json_words(resource: Mapping[str, Any]) -> str:
    """`Table sales.orders`, for a report."""
    for kind, details in resource.items():
        names = [str(details.get(name)) for name in ("DatabaseName", "Name") if (details or {}).get(name)]
        return f"{kind} {'.'.join(names)}".strip()
    return "nothing"


def _holder(named: str) -> str:
    """arn:aws:iam::1:user/ana is user:ana, a role of AWS is a service; empty for everybody."""
    if not named.startswith("arn:"):
        return ""
    kind, _, name = named.partition(":::")[0].rpartition(":")[2].partition("/")
    last = name.rpartition("/")[2]
    kinds = {"user": "user", "role": "service", "assumed-role": "service", "group": "group"}
    return f"{kinds[kind]}:{last}" if kind in kinds and last else ""
