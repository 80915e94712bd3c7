"""Permissions of Unity Catalog: what `/api/2.1/unity-catalog/permissions/TYPE/NAME` answers, a JSON list.

Each answer has its object beside it: `securable_type` and `full_name`, and `owner` where it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

from policies.errors import Invalid
from policies.policy_files.imports.draft import Draft, Needs, Right, json_of

TYPES = {
    "metastore": ("metalake", 0),
    "catalog": ("catalog", 1),
    "schema": ("schema", 2),
    "table": ("table", 3),
    "function": ("function", 3),
}
_CODES = {
    "USE_CATALOG": ("USE_CATALOG", ("catalog",)),
    "USE_SCHEMA": ("USE_SCHEMA", ("catalog", "schema")),
    "CREATE_CATALOG": ("CREATE_CATALOG", ("metalake",)),
    "CREATE_SCHEMA": ("CREATE_SCHEMA", ("catalog",)),
    "CREATE_TABLE": ("CREATE_TABLE", ("catalog", "schema")),
    "CREATE_FUNCTION": ("REGISTER_FUNCTION", ("catalog", "schema")),
    "SELECT": ("SELECT_TABLE", ("catalog", "schema", "table")),
    "EXECUTE": ("EXECUTE_FUNCTION", ("catalog", "schema", "function")),
    "MANAGE": ("MANAGE_GRANTS", ("catalog", "schema", "table", "function")),
}
NEEDS: Needs = {
    (code, binds): frozenset((right,)) for right, (code, places) in _CODES.items() for binds in places
} | {("MODIFY_TABLE", binds): frozenset(("SELECT", "MODIFY")) for binds in ("catalog", "schema", "table")}
ANSWER: object = {"privilege_assignments": [{"privileges": [(str, {})]}]}
"""How an answer is built, as far as it is read."""
ONE_KIND = "A catalog with tables holds nothing of this kind here."
WHY = {
    **dict.fromkeys(("CREATE_VOLUME", "READ_VOLUME", "WRITE_VOLUME", "CREATE_MODEL"), ONE_KIND),
    "BROWSE": "What somebody has something on is shown to them anyway.",
    "ALL_PRIVILEGES": "It means privileges that come later too; name those that are needed.",
    "APPLY_TAG": "Tags of Unity Catalog are not those of the realm.",
    "EXTERNAL_USE_SCHEMA": "The law does not tell engines apart.",
}


def read(text: str, draft: Draft) -> None:
    """Read the answers, each with its object.  Raises Invalid."""
    value = json_of(text, "Unity Catalog", (ANSWER, [ANSWER]))
    entries = value if isinstance(value, list) else [value]
    if any(entry.get("next_page_token") for entry in entries):
        raise Invalid(gettext("This is one page of several. Ask without max_results for all of them."))
    # nobody has anything on an object whose answer is empty but for what stands beside it
    if not all("privilege_assignments" in entry or "securable_type" in entry for entry in entries):
        raise Invalid(gettext("This is not valid JSON of Unity Catalog: privilege_assignments is missing."))
    draft.say([right for entry in entries for right in _rights(entry, draft)], NEEDS, WHY)


def _rights(entry: Mapping[str, Any], draft: Draft) -> Iterator[Right]:
    name = str(entry.get("full_name", ""))
    called = str(entry.get("securable_type", "")).lower()
    kind = TYPES.get(called)
    path = tuple(name.split(".")) if name and called != "metastore" else ()
    if kind is None or len(path) != kind[1]:
        draft.leave_out(f"{called} {name}", "It has no like in the law.")
        return
    if entry.get("owner") and path:
        draft.owner(kind[0], path, _holder(str(entry["owner"])))
    elif entry.get("owner"):
        draft.leave_out(f"owner of {called} {name}: {entry['owner']}", "The realm is owned here already.")
    for given in entry.get("privilege_assignments") or ():
        holder = _holder(str(given.get("principal", "")))
        for right in given.get("privileges") or ():
            code, above = _code(right)
            if above:
                what = f"{holder}: {code} on {called} {name}"
                draft.leave_out(what, f"It comes from {above}; it is said there if that is in the file.")
            elif holder == "group:account users":
                draft.leave_out(f"{holder}: {code} on {called} {name}", "It is about everybody.")
            else:
                yield Right(holder, kind[0], path, code)


def _code(right: Any) -> tuple[str, str]:
    """A privilege as the grants call writes it, or as that of effective permissions does, and whence."""
    if isinstance(right, str):
        return right.upper().replace(" ", "_"), ""
    code = str(right.get("privilege", "")).upper().replace(" ", "_")
    return code, str(right.get("inherited_from_name") or "")


def _holder(name: str) -> str:
    """People are called by their mail address, applications by a number, all else is a group."""
    if "@" in name:
        return f"user:{name}"
    parts = name.split("-")
    is_number = [len(part) for part in parts] == [8, 4, 4, 4, 12]
    return f"service:{name}" if is_number else f"group:{name}"
