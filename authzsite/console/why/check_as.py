"""Check as somebody: the catalog as the engine shows it to them, for viewers who may ask about others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from accounts.text import holdable
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import KeysetPage, keyset_page
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.people.person_access import PersonAccess, get_person_or_404
from authzsite.console.people.reach import TOLD, main_action
from catalog.nodes import Node, nodes
from catalog.queries import holds
from catalog.queries import node as find_node
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies.decisions import ask, duties, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import children_of, realms_of
from policies.decisions.ownership import in_order
from policies.record import access_log

SHOWN = 50
ORDER = ("type", "folded")
PIECE = 2000
"""So many rows of a file are read at a time."""


@dataclass(frozen=True)
class VisibleRow:
    what: Who
    can: str
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class PersonsView:
    """One person's view, asked for by another who may know it."""

    asker: Principal
    person: Principal
    now: datetime
    read: dict[int, Slice] = field(default_factory=dict)

    def may_ask(self, node: Node) -> bool:
        """About the viewer; about others as site admin, or with grant or history rights here."""
        if self.asker == self.person or is_service_admin(self.asker):
            return True
        slice_ = slices.current(self.asker, node, now=self.now)
        may = ask.answer(slice_, "grant", node, now=self.now)
        return bool(may) or not self._watched.isdisjoint(node.lineage)

    @cached_property
    def _watched(self) -> frozenset[int]:
        return duties.held(self.asker, "view_history", now=self.now)

    def slice_of(self, node: Node) -> Slice:
        """The person's facts in the realm of an object, read once a page."""
        if node.realm_id not in self.read:
            self.read[node.realm_id] = slices.current(self.person, node, now=self.now)
        return self.read[node.realm_id]

    def sees(self, node: Node) -> bool:
        return bool(ask.may_see(self.slice_of(node), node, now=self.now))

    def _listed(self, node: Node, text: str) -> QuerySet[Any]:
        """What they see directly below whose name holds a text, by kind and name."""
        types = dialects.get(node.kind).child_types(node.type)
        rows = children_of(self.slice_of(node), node, types, now=self.now)
        return (rows.filter(holds(text)) if text else rows).order_by(*ORDER, "pk")

    def below(self, node: Node, text: str, after: int | None) -> KeysetPage[Any]:
        """A page of it."""
        return keyset_page(self._listed(node, text), ORDER, after, SHOWN)

    def count(self, node: Node, text: str) -> int:
        return self._listed(node, text).count()

    def all_below(self, node: Node, text: str) -> Iterator[Node]:
        """All of it; so many are read at a time."""
        keys = list(self._listed(node, text).values_list("securable", flat=True))
        for at in range(0, len(keys), PIECE):
            some = keys[at : at + PIECE]
            by_id = nodes(some)
            yield from (by_id[key] for key in some if key in by_id)

    def can(self, node: Node) -> str:
        """What they can do with an object, in words."""
        slice_ = self.slice_of(node)
        can = frozenset(name for name in TOLD if ask.answer(slice_, name, node, now=self.now))
        owns = any(bits.owned for key in node.lineage if (bits := slice_.bits.get(key)) is not None)
        return terms.can(can, node.type, owns=owns)

    def starts(self, realms: Iterable[Node], governed: Collection[int]) -> list[Node]:
        """Where the viewer may begin: realms as a whole, or else the objects they govern."""
        some = realms_of(self.person) if is_service_admin(self.asker) else list(realms)
        whole = [item for item in some if self.may_ask(item)]
        inside = {item.realm_id for item in whole}
        parts = [
            node for node in nodes(governed).values() if node.realm_id not in inside and node.type != "role"
        ]
        return [*whole, *sorted(parts, key=lambda node: node.names)]


@reads
@login_required
def check_as_page(request: Request, id: int) -> HttpResponse:
    """The realms to begin with, or what they see below one object and can do with it."""
    look = look_at(request, id)
    if look.node is None:
        return _start(request, look.seen, look.eyes)
    return _inside(request, look.seen, look.eyes, look.node, look.text)


@dataclass(frozen=True)
class CheckAsQuery:
    """What an address asks for: below which object, None where one begins, and a text in the names."""

    seen: PersonAccess
    eyes: PersonsView
    node: Node | None
    text: str

    def rows(self) -> Iterator[Node]:
        """All that the page lists, to its end."""
        if self.node is None:
            yield from self.eyes.starts(self.seen.circle.realms, self.seen.circle.sight.objects)
        elif self.eyes.sees(self.node):
            yield from self.eyes.all_below(self.node, self.text)


def look_at(request: Request, id: int) -> CheckAsQuery:
    """Raises Http404 where the viewer may not ask; a look at somebody else is recorded."""
    seen = get_person_or_404(request, id, "person_sees")
    eyes = PersonsView(seen.circle.asker, seen.person, seen.reach.now)
    wanted = request.GET.get("in", "")
    text = request.GET.get("q", "").strip()[:255]
    number = number_in(wanted)
    node = find_node(number) if number is not None else None
    if wanted and (node is None or not eyes.may_ask(node)):
        raise Http404
    if node is not None and not seen.own:
        access_log.looked(eyes.asker, f"the catalog as {seen.person.pseudonym}", node, via="console")
    return CheckAsQuery(seen, eyes, node, text if holdable(text) else "")


def _start(request: Request, seen: PersonAccess, eyes: PersonsView) -> HttpResponse:
    starts = eyes.starts(seen.circle.realms, seen.circle.sight.objects)
    context = {
        "path": None,
        "rows": [_line(seen, eyes, start) for start in starts],
        "asked": "",
        "count_words": "",
        "pager": None,
        "empty": Empty(
            _("You cannot ask about others here"),
            _(
                "Only people who grant access here or have the duty to view the history, and site admins, "
                "can."
            ),
        ),
    }
    return seen.page(request, "console/why/check_as.html", context)


def _inside(request: Request, seen: PersonAccess, eyes: PersonsView, node: Node, text: str) -> HttpResponse:
    sees = eyes.sees(node)
    after = number_in(request.GET.get("after", ""))
    shown = eyes.below(node, text, after) if sees else KeysetPage([], after, 0)
    rows, csv = in_order(shown.rows), reverse("console:person_sees_csv", args=[seen.person.pk])
    count = eyes.count(node, text) if sees else 0
    name = seen.person.label
    context = {
        "path": _path(seen, eyes, node),
        "here": _line(seen, eyes, node),
        "here_id": node.id,
        "rows": [_line(seen, eyes, item) for item in rows],
        "asked": text,
        "count_words": _("%(name)s sees %(count)s in %(name2)s")
        % {"name": name, "count": words.count(count, "object"), "name2": node.name},
        "pager": shown.pager(
            _("%(name)s to %(name2)s, by kind and name") % {"name": rows[0].name, "name2": rows[-1].name}
            if rows
            else "",
            lambda after: _url(node, text, after),
            csv + _url(node, text),
        ),
        "empty": Empty(
            _("%(name)s sees nothing in %(name2)s") % {"name": name, "name2": node.name}
            if sees
            else _("%(name)s does not see %(name2)s") % {"name": name, "name2": node.name}
        ),
    }
    return seen.page(request, "console/why/check_as.html", context)


def _url(node: Node, text: str = "", after: int = 0) -> str:
    query = {"in": node.id, "q": text, "after": after}
    return "?" + urlencode({name: value for name, value in query.items() if value})


def _path(seen: PersonAccess, eyes: PersonsView, node: Node) -> Crumbs:
    above = [(item.name, _url(item) if eyes.may_ask(item) else "") for item in node.above()]
    return Crumbs(
        ((_("All"), reverse("console:person_sees", args=[seen.person.pk])), *above, (node.name, ""))
    )


def _line(seen: PersonAccess, eyes: PersonsView, node: Node) -> VisibleRow:
    inside = _url(node) if dialects.get(node.kind).child_types(node.type) else ""
    face = Face("thing", terms.icon_of(node.type))
    query = {"who": str(seen.person), "action": main_action(node), "what": node.ref.id, "type": node.type}
    why = f"{reverse('console:why')}?{urlencode(query)}"
    return VisibleRow(
        Who(node.name, face, terms.kind_of(node.type), inside),
        eyes.can(node),
        (Action(_("Why?"), why, "mini plain", more=_("about %(name)s") % {"name": node.name}),),
    )
