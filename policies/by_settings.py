"""What somebody may in a CDAP realm without a grant: its master user, its admin group, and himself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lakewarden.dialects.cdap.building import IN_NAMESPACE
from lakewarden.facts import OWNER, Rule, Station
from lakewarden.globs import is_glob
from lakewarden.principals import Principal

SYSTEM = "system"
"""The namespace in which the master user may do everything."""
CODES = ("READ", "WRITE", "EXECUTE", "ADMIN")
ADMINS, MASTER, NAMESAKE = "the admin group", "the master user", "the user of that name"
GROUNDS = (ADMINS, MASTER, NAMESAKE)
"""What stands in the place of a fact, for rules that no grant made."""
Window = tuple[float | None, float | None]


def rules(
    root: int,
    settings: Mapping[str, Any],
    principal: Principal,
    groups: Iterable[tuple[int, str, Window]],
) -> Iterable[Rule]:
    """The rules that a realm's settings come to for one principal with these groups."""
    if principal.kind == "user" and not is_glob(principal.name):
        yield from _all_on(f"kerberosprincipal:{principal.name}", NAMESAKE)
    if principal.kind == "user" and principal.name == settings.get("master_user"):
        for text in in_namespace(SYSTEM):
            yield from _all_on(text, MASTER)
    admins = settings.get("admin_group")
    if admins and principal.kind == "group" and principal.name == admins:
        yield Rule(root, OWNER, fact=ADMINS)
    for group, name, (start, end) in groups:
        if name == admins:
            yield Rule(root, OWNER, True, (Station("group", name, group),), start, end, fact=ADMINS)


def in_namespace(name: str) -> Iterable[str]:
    """The texts that name a namespace and everything in it."""
    yield f"namespace:{name}"
    yield from (f"{type}:{name}.*" for type in IN_NAMESPACE)
    yield f"program:{name}.*.*"


def _all_on(text: str, fact: str) -> Iterable[Rule]:
    return (Rule(text, code, fact=fact) for code in CODES)
