"""Opening an object in an emergency, the viewer's openings, and those that wait for their review."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.home.waiting import Waits, waits
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action, Empty, Note, Reason, State, Who
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from authzsite.downloads import csv_file
from catalog.nodes import Node, nodes
from catalog.queries import find_all
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.authority import Actor
from policies.decisions import ask, duties, slices
from policies.decisions.facts import is_service_admin
from policies.emergency import access as emergency_access
from policies.emergency.access import READ, WRITE, EmergencyRequest
from policies.errors import PolicyError
from policies.models import Emergency

SHOWN, ON_HOME, LOOKED_AT = 20, 3, 200
ACTIONS = ((READ, "Read"), (WRITE, "Read and write"))
STATES = {
    "open": State("behind", "Open"),
    "ended": State("failed", "Waits for its review"),
    "closed": State("ok", "Reviewed"),
}


@dataclass(frozen=True)
class EmergencyRow:
    who: Who
    what: str
    url: str
    reason: str
    when: str
    state: State


@dataclass(frozen=True)
class EmergencyContext:
    """One person before the glass."""

    asker: Principal

    @cached_property
    def barred(self) -> str:
        """Why nothing may be opened now, all of it waiting for a review; empty where something may."""
        now = timezone.now()
        whys = []
        for node in nodes(self.held).values() if self.held else ():
            whys.append(emergency_access.barred(self.asker, node, now, inside=False))
            if not whys[-1]:
                return ""
        return whys[0] if whys else ""

    @cached_property
    def held(self) -> frozenset[int]:
        """The numbers of the objects on which they have the duty."""
        return duties.held(self.asker, emergency_access.DUTY)

    def named(self, text: str) -> Node | None:
        """The object of that name among those they may open; nothing says whether there are others."""
        tops = nodes(self.held).values()
        for realm, kind in sorted({(node.realm, node.kind) for node in tops}):
            prefix, slash, rest = text.partition("/")
            name = rest if slash and prefix == realm else text
            try:
                path = split_name(name) if name != realm else ()
            except BadName:
                continue
            types = [item for item in dialects.get(kind).paths if item != "role"]
            for node in find_all([ObjectRef(type_, realm, path) for type_ in types]):
                if node is not None and not self.held.isdisjoint(node.lineage):
                    return node
        return None


@reads_and_writes
@login_required
def emergency_list(request: Request) -> HttpResponse:
    """The form for holders of the duty; a POST opens."""
    desk = EmergencyContext(asker_of(request))
    if request.method == "POST":
        return _open(request, desk)
    return _show(request, desk, request.GET.get("what", ""), [])


def _open(request: Request, desk: EmergencyContext) -> HttpResponse:
    what = request.POST.get("what", "").strip()[:1000].replace("\0", "")
    node = desk.named(what)
    if node is None:
        note = Note("bad", "Not opened.", f"There is nothing called {what} that you may open.")
        return _show(request, desk, what, [note], status=422 if desk.held else 403)
    wanted = EmergencyRequest(
        node,
        request.POST.get("action", READ),
        number_in(request.POST.get("hours", "")) or 0,
        request.POST.get("reason", "").replace("\0", ""),
        nonce_in(request),
    )
    try:
        row = emergency_access.open_for_oneself(
            wanted, by=Actor(desk.asker, "console", request_id=wanted.key)
        )
    except PolicyError as problem:
        return _show(request, desk, what, [Note("bad", "Not opened.", str(problem))], status=422)
    say(request, f"{node.name} is open to you until {words.when_in_words(words.moment(row.until))}")
    return redirect("console:emergency", id=row.pk)


def _show(
    request: Request, desk: EmergencyContext, what: str, notes: list[Note], *, status: int = 200
) -> HttpResponse:
    mine = list(emergency_access.of_person(desk.asker)[:SHOWN])
    theirs = to_review(desk.asker)
    places = nodes(row.securable_id for row in (*mine, *theirs))
    context: dict[str, Any] = {
        "heading": "Emergency access",
        "lead": "For urgent access when no approver is available.",
        "notes": notes,
        "may": bool(desk.held),
        "barred": Reason("why-not-open", desk.barred) if desk.barred else None,
        "no_duty": Note(
            "plain",
            "You have no duty for emergencies.",
            "The owner of a realm gives it in advance, on an object and everything inside.",
        ),
        "what": what[:1000],
        "actions_known": [(code, word, code == request.POST.get("action", READ)) for code, word in ACTIONS],
        "hours": [
            (hour, words.count(hour, "hour"), str(hour) == request.POST.get("hours", "1"))
            for hour in range(1, emergency_access.longest() + 1)
        ],
        "reason": request.POST.get("reason", "")[: emergency_access.LONGEST],
        "nonce": secrets.token_hex(12),
        "theirs": list(lines(theirs, places)),
        "mine": list(lines(mine, places)),
        "csv": reverse("console:emergencies_csv"),
        "empty": Empty("You have not used emergency access", drawn=False),
    }
    return page(request, "console/emergency/list.html", context, section="emergency", status=status)


def lines(rows: Iterable[Emergency], places: dict[int, Node]) -> Iterable[EmergencyRow]:
    for row in rows:
        node = places.get(row.securable_id)
        yield EmergencyRow(
            terms.who(row.person),
            terms.short_name(node) if node else "what was dropped",
            reverse("console:emergency", args=[row.pk]),
            row.reason,
            words.moment(row.opened),
            state_of(row),
        )


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """What waits for one's review, then all that one opened."""
    asker = asker_of(request)
    head = ["who", "shown as", "object", "type", "rights", "why", "opened", "until", "state"]
    own = emergency_access.of_person(asker).iterator(csv_file.CHUNK)
    return csv_file.answer("emergencies", head, _told(chain(to_review(asker), own)))


def _told(rows: Iterable[Emergency]) -> Iterator[list[object]]:
    for some in csv_file.chunks(rows):
        places = nodes(row.securable_id for row in some)
        for row in some:
            node, times = (
                places.get(row.securable_id),
                (csv_file.moment(row.opened), csv_file.moment(row.until)),
            )
            what = (node.ref.id, node.type) if node else ("", "")
            rights = "; ".join(row.privileges)
            yield [row.person, row.person.label, *what, rights, row.reason, *times, state_of(row).word]


def state_of(row: Emergency) -> State:
    over = row.state == "open" and row.until <= timezone.now()
    return STATES["ended" if over else row.state]


# Home


def to_review(asker: Principal) -> list[Emergency]:
    """Those on objects where the asker decides who has access, apart from the asker's own.

    One query where none waits, else two and one for each realm.
    """
    rows = list(emergency_access.waiting(timezone.now()).exclude(person=asker)[:LOOKED_AT])
    if not rows:
        return []
    places, known = nodes(row.securable_id for row in rows), dict[int, Slice]()
    return [row for row in rows if _governs(asker, places.get(row.securable_id), known)]


def _governs(asker: Principal, node: Node | None, known: dict[int, Slice]) -> bool:
    if node is None:
        return False
    if is_service_admin(asker):
        return True
    if node.realm_id not in known:
        known[node.realm_id] = slices.current(asker, node)
    return bool(ask.answer(known[node.realm_id], "grant", node, now=timezone.now()))


@waits(30, "emergency", "emergencies")
def waiting(asker: Principal) -> Waits:
    """Emergencies of others whose review waits for them, the oldest first."""
    rows = to_review(asker)
    places = nodes(row.securable_id for row in rows[:ON_HOME]) if rows else {}
    step = Action("Review emergencies", reverse("console:emergencies"), "primary") if rows else None
    return Waits(tuple(_items(rows[:ON_HOME], places)), len(rows), step)


def _items(rows: Sequence[Emergency], places: dict[int, Node]) -> Iterable[Item]:
    for row in rows:
        node = places.get(row.securable_id)
        url = reverse("console:emergency", args=[row.pk])
        look = Action("Review", url, "mini", more=f"what {row.person.label} did")
        note = f"{words.moment(row.opened)} · “{row.reason[:120]}” · waits for your statement"
        name = terms.short_name(node) if node else ""
        yield Item(
            terms.avatar_of(row.person), row.person.label, "opened in an emergency", note, look, name, url
        )
