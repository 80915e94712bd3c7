"""Check as somebody: the catalog as the engine shows it to him, for who may ask about others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse

from accounts.models import Principal
from accounts.text import holdable
from authzsite.console import naming, words
from authzsite.console.door import signed_in
from authzsite.console.lists import Pager
from authzsite.console.methods import reads
from authzsite.console.parts import Action, Crumbs, Empty, Face, Who
from authzsite.console.person_visit import Visit, visit
from authzsite.console.reach import TOLD, main_action
from authzsite.console.requests import Request, number_in
from catalog.models import Placement
from catalog.nodes import Node, nodes
from catalog.queries import node as find_node
from lakewarden import dialects
from lakewarden.facts import Slice
from policies import access_log, decisions, slices
from policies.facts import is_service_admin
from policies.queries import children, realms_of
from policies.services import duties

SHOWN = 50


@dataclass(frozen=True)
class Line:
    what: Who
    can: str
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Eyes:
    """One person's view, asked for by another who may know it."""

    asker: Principal
    person: Principal
    now: datetime
    read: dict[int, Slice] = field(default_factory=dict)

    def may_ask(self, node: Node) -> bool:
        """About oneself; about others as service admin, who gives access here or reads the history."""
        if self.asker == self.person or is_service_admin(self.asker):
            return True
        slice_ = slices.current(self.asker, node, now=self.now)
        may = decisions.answer(slice_, "grant", node, now=self.now)
        return bool(may) or not self._watched.isdisjoint(node.lineage)

    @cached_property
    def _watched(self) -> frozenset[int]:
        return duties.held(self.asker, "view_history", now=self.now)

    def slice_of(self, node: Node) -> Slice:
        """The person's facts in the realm of an object, read once a page."""
        if node.realm_id not in self.read:
            self.read[node.realm_id] = slices.current(self.person, node, now=self.now)
        return self.read[node.realm_id]

    def below(self, node: Node, text: str, after: int) -> tuple[list[Node], int]:
        """What he sees directly below, by name from there on; and how many there are."""
        slice_ = self.slice_of(node)
        found: list[Placement] = []
        count = 0
        for type_ in dialects.get(node.kind).child_types(node.type):
            rows = children(slice_, node, type_, now=self.now)
            rows = rows.filter(name__icontains=text) if text else rows
            count += rows.count()
            found += rows[: after + SHOWN]
        ordered = sorted(found, key=lambda row: (row.type, row.name))[after : after + SHOWN]
        known = nodes(row.securable_id for row in ordered)
        return [known[row.securable_id] for row in ordered if row.securable_id in known], count

    def starts(self, realms: Iterable[Node], governed: Sequence[int]) -> list[Node]:
        """Where one may begin: realms as a whole, or else the objects one governs."""
        some = realms_of(self.person) if is_service_admin(self.asker) else list(realms)
        whole = [one for one in some if self.may_ask(one)]
        inside = {one.realm_id for one in whole}
        parts = [one for one in nodes(governed).values() if one.realm_id not in inside and one.type != "role"]
        return [*whole, *sorted(parts, key=lambda one: one.names)]


@reads
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """The realms to begin with, or what he sees below one object and can do with it."""
    seen = visit(request, id, "person_sees")
    eyes = Eyes(seen.circle.asker, seen.person, seen.reach.now)
    wanted = request.GET.get("in", "")
    text = request.GET.get("q", "").strip()[:255]
    text = text if holdable(text) else ""
    if not wanted:
        return _start(request, seen, eyes)
    number = number_in(wanted)
    node = find_node(number) if number is not None else None
    if node is None or not eyes.may_ask(node):
        raise Http404
    return _inside(request, seen, eyes, node, text)


def _start(request: Request, seen: Visit, eyes: Eyes) -> HttpResponse:
    starts = eyes.starts(seen.circle.realms, seen.circle.sight.objects)
    context = {
        "path": None,
        "rows": [_line(seen, eyes, one) for one in starts],
        "asked": "",
        "count_words": "",
        "pager": None,
        "empty": Empty(
            "You may not ask about others here",
            "It takes giving access to something, the duty to read its history, or being a service admin.",
        ),
    }
    return seen.page(request, "console/person/sees.html", context)


def _inside(request: Request, seen: Visit, eyes: Eyes, node: Node, text: str) -> HttpResponse:
    if not seen.own:
        access_log.looked(eyes.asker, f"the catalog as {seen.person.pseudonym}", node, via="console")
    sees = decisions.may_see(eyes.slice_of(node), node, now=eyes.now)
    after = number_in(request.GET.get("after", "")) or 0
    found, count = eyes.below(node, text, after) if sees else ([], 0)
    name = seen.person.label
    context = {
        "path": _path(seen, eyes, node),
        "here": _line(seen, eyes, node),
        "here_id": node.id,
        "rows": [_line(seen, eyes, one) for one in found],
        "asked": text,
        "count_words": f"{name} sees {words.count(count, 'object')} in {node.name}",
        "pager": Pager(
            f"{words.number(after + 1)} to {words.number(after + len(found))}, by kind and name",
            _url(node, text) if after else "",
            _url(node, text, after + SHOWN) if after + SHOWN < count else "",
        ),
        "empty": Empty(f"{name} sees nothing in {node.name}" if sees else f"{name} does not see {node.name}"),
    }
    return seen.page(request, "console/person/sees.html", context)


def _url(node: Node, text: str = "", after: int = 0) -> str:
    asked = {"in": node.id, "q": text, "after": after}
    return "?" + urlencode({name: value for name, value in asked.items() if value})


def _path(seen: Visit, eyes: Eyes, node: Node) -> Crumbs:
    above = [(one.name, _url(one) if eyes.may_ask(one) else "") for one in node.above()]
    return Crumbs((("All", reverse("console:person_sees", args=[seen.person.pk])), *above, (node.name, "")))


def _line(seen: Visit, eyes: Eyes, node: Node) -> Line:
    slice_ = eyes.slice_of(node)
    can = frozenset(name for name in TOLD if decisions.answer(slice_, name, node, now=eyes.now))
    owns = any(bits.owned for key in node.lineage if (bits := slice_.bits.get(key)) is not None)
    inside = _url(node) if dialects.get(node.kind).child_types(node.type) else ""
    face = Face("thing", naming.icon_of(node.type))
    asked = {"who": str(seen.person), "action": main_action(node), "what": node.ref.id, "type": node.type}
    why = f"{reverse('console:why')}?{urlencode(asked)}"
    return Line(
        Who(node.name, face, naming.kind_of(node.type), inside),
        naming.can(can, node.type, owns=owns),
        (Action("Why?", why, "mini plain", more=f"about {node.name}"),),
    )
