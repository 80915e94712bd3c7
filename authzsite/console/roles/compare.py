"""Two roles, or a person and a role, side by side: what both give, what only one gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Chip, Crumbs, Empty, Face, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import (
    VisiblePrincipals,
    circle_of,
    realm_words,
)
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.people.reach import PersonReach
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import children
from policies.decisions.personal_role_names import is_personal
from policies.models import Grant
from policies.record import access_log
from policies.services.grants import revision_now

SHOWN = 200
ONLY = (
    ("", noop("All")),
    ("first", noop("Only the first")),
    ("second", noop("Only the second")),
    ("both", noop("Both")),
    ("differ", noop("They differ")),
)
Given = dict[int, dict[str, str]]
"""By object, what is said of each privilege: allow, deny, or own."""


@dataclass(frozen=True)
class Side:
    """One of the two: its name, and what it gives on which objects."""

    code: str
    who: Who
    given: Given


@dataclass(frozen=True)
class ComparisonRow:
    node: Node
    what: Who
    first: tuple[Chip, ...]
    second: tuple[Chip, ...]
    code: str
    """One of ONLY."""

    @property
    def word(self) -> str:
        return _(dict(ONLY)[self.code])


@reads
@login_required
def comparison(request: Request) -> HttpResponse:
    """The form with two names, and the table when both are known."""
    desk, only = asked_in(request)
    lines = desk.lines()
    shown = fitting(lines, only)
    context = {
        "crumbs": Crumbs(((_("Roles"), reverse("console:roles")),)),
        "heading": desk.heading,
        "lead": _("What both roles give, and what only one gives: for merging two roles."),
        "a": desk.a,
        "b": desk.b,
        "options": desk.options,
        "problems": desk.problems,
        "first": desk.first,
        "second": desk.second,
        "rows": shown[:SHOWN],
        "toggles": _toggles(desk, lines, only),
        "more": words.number(len(shown) - SHOWN) if len(shown) > SHOWN else "",
        "csv": reverse("console:role_compare_csv") + desk.url(only=only),
        "empty": Empty(_("Nothing to compare"), _("Neither gives anything that you can see.")),
    }
    realm, revision = realm_words(desk.circle), revision_now()
    return page(
        request, "console/roles/compare.html", context, section="roles", realm=realm, revision=revision
    )


def asked_in(request: Request) -> tuple[ComparisonQuery, str]:
    """The two that are named, and which objects of theirs are asked for."""
    first, two = (request.GET.get(name, "").strip()[:300] for name in ("a", "b"))
    return ComparisonQuery(circle_of(request), first, two), request.GET.get("only", "")


def fitting(lines: list[ComparisonRow], only: str) -> list[ComparisonRow]:
    return [line for line in lines if not only or line.code == only]


def _toggles(desk: ComparisonQuery, lines: list[ComparisonRow], only: str) -> tuple[Toggle, ...]:
    if not lines:
        return ()
    counts = {code: sum(not code or line.code == code for line in lines) for code, _word in ONLY}
    return tuple(
        Toggle(_(word), desk.url(only=code), only == code, words.number(counts[code])) for code, word in ONLY
    )


@dataclass(frozen=True)
class ComparisonQuery:
    """What is to be compared, as far as the viewer may know of it."""

    circle: VisiblePrincipals
    a: str
    b: str

    @cached_property
    def roles(self) -> dict[str, Node]:
        """The roles they may see, by name, or by realm/name where several realms have one of the name."""
        by_name: dict[str, Node] = {}
        for realm in self.circle.realms:
            rows = children(slices.current(self.circle.asker, realm), realm, "role")
            for node in nodes(row.securable_id for row in rows).values():
                if not is_personal(node.name):
                    by_name[node.name if node.name not in by_name else node.ref.id] = node
        return by_name

    @cached_property
    def options(self) -> list[str]:
        return sorted(self.roles, key=str.casefold)

    @cached_property
    def first(self) -> Side | None:
        return self._side(self.a)

    @cached_property
    def second(self) -> Side | None:
        return self._side(self.b)

    @property
    def heading(self) -> str:
        if self.first and self.second:
            return _("%(name)s and %(name2)s") % {"name": self.first.who.name, "name2": self.second.who.name}
        return _("Compare two roles")

    @property
    def problems(self) -> dict[str, str]:
        sides = (("a", self.a, self.first), ("b", self.b, self.second))
        unknown = [(code, text) for code, text, side in sides if text and side is None]
        return {
            code: _("No role or person called %(text)s is visible to you.") % {"text": text}
            for code, text in unknown
        }

    def url(self, **changed: object) -> str:
        query = {"a": self.a, "b": self.b, **changed}
        return "?" + urlencode({name: value for name, value in query.items() if value})

    def _side(self, text: str) -> Side | None:
        if not text:
            return None
        if text in self.roles:
            role = self.roles[text]
            given: Given = {}
            for row in Grant.objects.open().filter(role=role.id, securable__isnull=False):
                given.setdefault(row.securable_id or 0, {})[row.privilege] = row.effect
            url = reverse("console:role", args=[role.id])
            who = Who(role.name, Face("thing", "role"), _("role of %(realm)s") % {"realm": role.realm}, url)
            return Side(text, who, given)
        meant = self.circle.meant(text)
        return self._of_person(text, meant[0]) if len(meant) == 1 else None

    def _of_person(self, text: str, principal: Principal) -> Side:
        given: Given = {}
        for reached in PersonReach(self.circle, principal).all:
            for rule in reached.rules:
                kind = "own" if rule.privilege == OWNER else "allow" if rule.allow else "deny"
                given.setdefault(reached.node.id, {})[rule.privilege] = kind
        if not self.circle.is_own(principal):
            for realm in self.circle.realms:
                access_log.looked(self.circle.asker, f"access of {principal.pseudonym}", realm, via="console")
        url = reverse("console:person", args=[principal.pk])
        return Side(text, terms.who(principal, principal.get_kind_display(), url), given)

    def lines(self) -> list[ComparisonRow]:
        """Each object that one of them speaks of and that the viewer may see, by name."""
        if self.first is None or self.second is None:
            return []
        places = nodes({*self.first.given, *self.second.given})
        seen = [place for place in places.values() if self._sees(place)]
        ordered = sorted(seen, key=lambda node: (node.names, node.type))
        return [self._line(item, self.first, self.second) for item in ordered]

    def _sees(self, node: Node) -> bool:
        slice_ = next((slice_ for realm, slice_ in self._slices if realm == node.realm_id), None)
        return slice_ is not None and ask.may_see(slice_, node, now=self._now)

    @cached_property
    def _slices(self) -> list[tuple[int, Any]]:
        return [(realm.realm_id, slices.current(self.circle.asker, realm)) for realm in self.circle.realms]

    @cached_property
    def _now(self) -> Any:
        return timezone.now()

    def _line(self, node: Node, first: Side, second: Side) -> ComparisonRow:
        first_given, two = first.given.get(node.id, {}), second.given.get(node.id, {})
        code = "both" if first_given == two else "differ"
        if not first_given or not two:
            code = "first" if first_given else "second"
        icon, url = terms.icon_of(node.type), terms.page_of(node.id, node.type)
        what = Who(node.name, Face("thing", icon), " / ".join(node.names[:-1]), url)
        return ComparisonRow(node, what, tuple(_chips(node, first_given)), tuple(_chips(node, two)), code)


def _chips(node: Node, given: dict[str, str]) -> Iterable[Chip]:
    law = dialects.get(node.kind)
    for how, kind in (("own", "owner"), ("allow", "direct"), ("deny", "denied")):
        codes = [code for code, kind in given.items() if kind == how]
        if how == "own" and codes:
            yield Chip(kind, _("Owner"))
        elif codes:
            privileges = sorted(
                (item for item in map(law.privilege, codes) if item), key=lambda privilege: privilege.bit
            )
            labels = [terms.right(item.code, node.type, node.kind) for item in privileges]
            text = terms.sentence_list(list(dict.fromkeys(labels)))
            yield Chip(kind, _("%(text)s denied") % {"text": text} if how == "deny" else text)
