"""What a CDAP realm allows without a grant: to its master user, its admin group, a user's own name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.building import IN_NAMESPACE
from lakewarden.law.facts import OWNER, Rule, Station
from lakewarden.law.globs import is_glob
from lakewarden.law.principals import Principal

SYSTEM = "system"
"""The namespace in which the master user may do everything."""
ADMINS, MASTER, NAMESAKE = "the admin group", "the master user", "the user of that name"
GROUNDS = (ADMINS, MASTER, NAMESAKE)
"""What stands in the place of a fact, for rules that no grant made."""
AUTHORIZER = "the realm's authorizer"
"""The same for privileges that are managed elsewhere."""
Window = tuple[Optional[float], Optional[float]]


def rules(
    root: int,
    law: str,
    settings: Mapping[str, Any],
    principal: Principal,
    groups: Iterable[tuple[int, str, Window]],
) -> Iterable[Rule]:
    """The rules that a realm's law and settings come to for one principal with these groups."""
    codes = tuple(dialects.get(law).privileges)
    # no kerberos principal was an entity before the generation that gives rights ahead, which has no ALL
    if principal.kind == "user" and not is_glob(principal.name) and "ALL" not in codes:
        yield from _all_on(f"kerberosprincipal:{principal.name}", codes, NAMESAKE)
    if principal.kind == "user" and principal.name == settings.get("master_user"):
        for text in in_namespace(SYSTEM):
            yield from _all_on(text, codes, MASTER)
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


def _all_on(text: str, codes: Iterable[str], fact: str) -> Iterable[Rule]:
    return (Rule(text, code, fact=fact) for code in codes)
