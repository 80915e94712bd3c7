"""The rules on an object and above it, each with its role, its holders and the law's own word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Face, Path, Who
from catalog.models import Placement
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment, Grant

SHOWN = 50


@dataclass(frozen=True)
class RuleRow:
    who: Who
    words: str
    code: str
    on: Path
    held: str
    denied: Chip | None
    ends: Chip | None
    revision: str
    revision_url: str


def rows(node: Node, after: int = 0) -> tuple[list[RuleRow], int]:
    """One page of rules, nearest level first, and how many there are in all.  Three queries."""
    depth = {key: at for at, key in enumerate(node.lineage)}
    found = Grant.objects.open().filter(securable__in=node.lineage)
    grants = [grant for grant in found if applies_to(node, grant.privilege)]
    grants.sort(key=lambda one: (-depth[one.securable_id or 0], one.effect, one.role_id or 0, one.privilege))
    shown = grants[after : after + SHOWN]
    roles = {grant.role_id for grant in shown if grant.role_id}
    names = dict(Placement.objects.open().filter(securable__in=roles).values_list("securable", "name"))
    holders = _holders(roles)
    made = [
        _row(node, item, names.get(item.role_id or 0, ""), holders.get(item.role_id or 0, []))
        for item in shown
    ]
    return made, len(grants)


def applies_to(node: Node, code: str) -> bool:
    """Whether a privilege says something of such an object, or leads to it."""
    known = dialects.get(node.kind).privilege(code)
    return known is not None and (node.type in known.binds or code in ("USE_CATALOG", "USE_SCHEMA"))


def _holders(roles: Iterable[int]) -> dict[int, list[str]]:
    held: dict[int, list[str]] = {}
    for row in Assignment.objects.open().filter(role__in=roles).select_related("holder"):
        held.setdefault(row.role_id, []).append(terms.principal_name(row.holder))
    return {role: sorted(names, key=str.casefold) for role, names in held.items()}


def _row(node: Node, grant: Grant, role: str, holders: list[str]) -> RuleRow:
    type_, _ = terms.level_of(node, grant.securable_id)
    label = terms.right(grant.privilege, type_, node.kind)
    personal = is_personal(role)
    return RuleRow(
        who=_person(holders)
        if personal
        else Who(gettext("Role %(role)s") % {"role": role}, Face("thing", "role")),
        words=label,
        code=grant.privilege,
        on=_on(node, grant.securable_id or 0),
        held="" if personal else words.listed(holders, 4) or gettext("Nobody yet"),
        denied=Chip("denied", gettext("%(label)s denied") % {"label": label})
        if grant.effect == "deny"
        else None,
        ends=terms.window_chip(grant.valid_from, grant.valid_until),
        revision=words.number(grant.opened),
        revision_url=f"{reverse('console:history')}?revision={grant.opened}",
    )


def _person(holders: list[str]) -> Who:
    name = holders[0] if holders else gettext("Somebody who left")
    return Who(name[:1].upper() + name[1:], Face("person", words.initials(name)), "directly")


def _on(node: Node, key: int) -> Path:
    if key == node.id:
        return Path((Chip("direct", gettext("Here")),))
    type_, name = terms.level_of(node, key)
    return Path((Chip("from", name, terms.page_of(key, type_), hidden=type_),))
