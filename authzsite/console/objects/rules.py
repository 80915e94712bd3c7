"""The rules on an object and above it, each with its role, its holders and the law's own word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Face, Path, Who
from authzsite.console.kit.display.tables import Column, Table, Text
from authzsite.downloads.csv_file import moment
from catalog.models import Placement
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment, Grant

SHOWN = 50


@dataclass(frozen=True)
class RuleRow:
    """A rule that touches an object: of which role, and who holds it."""

    node: Node
    grant: Grant
    role: str
    holders: Sequence[Principal]

    @property
    def on(self) -> Node:
        """The object that it was given on: this one or one above it."""
        return next(item for item in (self.node, *self.node.above()) if item.id == self.grant.securable_id)

    @property
    def names(self) -> list[str]:
        return sorted((terms.principal_name(holder) for holder in self.holders), key=str.casefold)

    @property
    def who(self) -> Who:
        if not is_personal(self.role):
            return Who(gettext("Role %(role)s") % {"role": self.role}, Face("thing", "role"))
        name = next(iter(self.names), gettext("Someone who left"))
        return Who(name[:1].upper() + name[1:], Face("person", words.initials(name)), gettext("directly"))

    @property
    def held(self) -> str:
        return "" if is_personal(self.role) else words.listed(self.names, 4) or gettext("Nobody yet")

    @property
    def right(self) -> RightCell:
        label = terms.right(self.grant.privilege, self.on.type, self.node.kind)
        denied = (
            Chip("denied", gettext("%(label)s denied") % {"label": label})
            if self.grant.effect == "deny"
            else None
        )
        return RightCell(label, self.grant.privilege, denied)

    @property
    def place(self) -> Path:
        on = self.on
        if on.id == self.node.id:
            return Path((Chip("direct", gettext("Here")),))
        return Path((Chip("from", on.name, terms.page_of(on.id, on.type), hidden=terms.type_of(on.type)),))

    @property
    def revision(self) -> Text:
        opened = self.grant.opened
        return Text(words.number(opened), f"{reverse('console:history')}?revision={opened}")


@dataclass(frozen=True)
class RightCell:
    template: ClassVar[str] = "console/objects/right_cell.html"
    text: str
    code: str
    denied: Chip | None


TABLE: Table[RuleRow] = Table(
    gettext_lazy("Every rule on this object and its parents, nearest first"),
    (
        Column(file={"object": lambda row: row.node.ref.id}),
        Column(gettext_lazy("Holder or role"), lambda row: row.who, {"role": lambda row: row.role}),
        Column(
            gettext_lazy("Rule"),
            lambda row: row.right,
            {"right": lambda row: row.grant.privilege, "effect": lambda row: row.grant.effect},
            term="rule",
            code="rule",
        ),
        Column(gettext_lazy("On"), lambda row: row.place, {"on": lambda row: row.on.ref.id}, code="on"),
        Column(
            gettext_lazy("Ends"),
            lambda row: terms.window_chip(row.grant.valid_from, row.grant.valid_until),
            {
                "begins": lambda row: moment(row.grant.valid_from),
                "ends": lambda row: moment(row.grant.valid_until),
            },
            code="ends",
        ),
        Column(
            gettext_lazy("Held by"),
            lambda row: row.held,
            {"holder": lambda row: "; ".join(sorted(map(str, row.holders)))},
            code="held",
        ),
        Column(
            gettext_lazy("Revision"),
            lambda row: row.revision,
            {"revision": lambda row: row.grant.opened},
            "num",
            code="revision",
        ),
    ),
    in_file=("object", "on", "right", "effect", "role", "holder", "begins", "ends", "revision"),
    code="rules",
)


def grants_on(node: Node) -> list[Grant]:
    """The rules on an object and above it that say something of it, nearest level first.  One query."""
    depth = {key: at for at, key in enumerate(node.lineage)}
    pairs = Grant.objects.open().filter(securable__in=node.lineage).select_related("holder")
    grants = [grant for grant in pairs if applies_to(node, grant.privilege)]
    grants.sort(
        key=lambda grant: (-depth[grant.securable_id or 0], grant.effect, grant.role_id or 0, grant.privilege)
    )
    return grants


def applies_to(node: Node, code: str) -> bool:
    """Whether a privilege says something of such an object, or leads to it."""
    privilege = dialects.get(node.kind).privilege(code)
    return privilege is not None and (node.type in privilege.binds or code in ("USE_CATALOG", "USE_SCHEMA"))


def rows(node: Node, grants: Sequence[Grant]) -> list[RuleRow]:
    """Some rules with their roles and holders.  Two queries."""
    roles = {grant.role_id for grant in grants if grant.role_id}
    names = dict(Placement.objects.open().filter(securable__in=roles).values_list("securable", "name"))
    held: dict[int, list[Principal]] = defaultdict(list)
    for row in Assignment.objects.open().filter(role__in=roles).select_related("holder"):
        held[row.role_id].append(row.holder)
    return [
        RuleRow(
            node, grant, names.get(grant.role_id or 0, ""), held.get(grant.role_id or 0) or _direct(grant)
        )
        for grant in grants
    ]


def _direct(grant: Grant) -> list[Principal]:
    """The holder of a rule that no role carries."""
    return [grant.holder] if grant.holder else []
