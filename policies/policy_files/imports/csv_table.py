"""A table of grants: one line for each privilege, with the columns principal, privilege and object."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.errors import Invalid
from policies.policy_files import statements as kinds
from policies.policy_files.imports.draft import LAW, Draft
from policies.policy_files.statements import Statement

NEEDED = ("principal", "privilege", "object")


def read(text: str, draft: Draft) -> None:
    """Read lines such as `user:ana,SELECT_TABLE,table:shop.sales.orders`.  Raises Invalid.

    A role may stand for a principal as role:NAME; with the privilege `HOLDS` the object is the role.
    """
    rows = csv.DictReader(io.StringIO(text.lstrip("\ufeff")), strict=True)
    try:
        if not set(NEEDED) <= set(rows.fieldnames or ()):
            raise Invalid(
                gettext("The first line names the columns; %(needed)s are needed.")
                % {"needed": ", ".join(NEEDED)}
            )
        for number, row in enumerate(rows, start=2):
            who, code, target = ((row[name] or "").strip() for name in NEEDED)
            problem = _unread(row) or _line(who, code, target, draft)
            if problem:
                draft.leave_out(f"line {number}: {who}, {code}, {target}", problem)
    except csv.Error as error:
        raise Invalid(
            gettext("Line %(line)s is not valid CSV: %(error)s.") % {"line": rows.line_num, "error": error}
        ) from None


def _unread(row: Mapping[str | None, Any]) -> str:
    """Why a line is not said that has more than is read: it may narrow what the line gives."""
    more = sorted(
        str(name) for name, value in row.items() if name is not None and name not in NEEDED and value
    )
    if row.get(None):
        return "It has more fields than the first line has columns."
    return f"The column {', '.join(more)} is not read, and may narrow this. Remove it." if more else ""


def _line(who: str, code: str, target: str, draft: Draft) -> str:
    """Say one line; answers why it cannot be said."""
    type_, colon, name = target.partition(":")
    kind, _, holder = who.partition(":")
    if code == "HOLDS":
        if type_ != "role" or kind == "role":
            return "HOLDS needs a principal and role:NAME."
        draft.holds(who, name)
        return ""
    privilege = dialects.get(LAW).privilege(code)
    if privilege is None:
        return f"{code} is no privilege of the law."
    if type_ not in privilege.binds:
        return f"{code} cannot be given on a {type_}."
    try:
        path = ObjectRef.parse(type_, f"{draft.realm}/{name}").path if colon else ()
        named = draft.object(type_, path)
    except BadName as problem:
        return f"{problem}."
    if kind == "role" and holder:
        draft.role(holder)
        draft.statements.add(
            Statement(kinds.GIVES, role=holder, target=named, code=privilege.code, effect="allow")
        )
    elif draft.member(who):
        draft.statements.add(Statement(kinds.GRANT, target=named, who=who, code=privilege.code))
    return ""
