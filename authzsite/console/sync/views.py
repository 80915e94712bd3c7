"""Sync: do the databases match what was decided here?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Empty, Note, State
from authzsite.console.kit.display.tables import Table
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.sync.backend_state import BackendState, left_in, stuck_in, waiting_for
from authzsite.console.sync.drift.decisions import decided
from authzsite.console.sync.drift.differences import board
from catalog.models import Placement
from catalog.nodes import Node, Numbers, on_or_below
from catalog.queries import nodes
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import owned_by, realms_of
from policies.models import Backend, BackendFinding, ForeignOrder
from policies.services.grants import revision_now
from policies.sync.actions import operations

LIST: Table[Any] = Table(gettext_lazy("What differs"), code="sync")
"""Nobody chooses its columns; views keep what is asked of it."""
BARS = (
    ("same", "in_sync", gettext_lazy("in sync")),
    ("missing", "missing", gettext_lazy("missing")),
    ("extra", "extra", gettext_lazy("extra")),
    ("foreign", "foreign", gettext_lazy("granted outside")),
    ("unknown", "unknown", gettext_lazy("unknown")),
)


@dataclass(frozen=True)
class Bar:
    kind: str
    x: int
    width: int
    count: str
    word: str


@dataclass(frozen=True)
class BackendRow:
    """One backend: how much of it agrees."""

    name: str
    url: str
    checked: str
    bars: tuple[Bar, ...]
    state: State
    code: str
    note: Note | None


def line(there: BackendState, name: str, url: str = "", *, whole: bool = False) -> BackendRow:
    """`whole`: for who runs its sync, with all that it counts and what it answered."""
    if not whole:
        return BackendRow(
            name, url, _checked(there), (), there.plainly(), there.code, _note(there, whole=False)
        )
    return BackendRow(
        name,
        url,
        _checked(there),
        bars(there.row.counts),
        there.state(),
        there.code,
        _note(there, whole=True),
    )


def _checked(backend_state: BackendState) -> str:
    if backend_state.row.proved_at is None:
        return gettext("not yet read back")
    proved = gettext("proved %(proved_at)s, at revision %(proved_revision)s") % {
        "proved_at": words.ago(backend_state.row.proved_at),
        "proved_revision": words.number(backend_state.row.proved_revision),
    }
    return (
        gettext("%(proved)s; reports only") % {"proved": proved}
        if backend_state.row.does == Backend.Policy.REPORT
        else proved
    )


def bars(counts: dict[str, Any]) -> tuple[Bar, ...]:
    """Lengths in thousandths; the smallest can still be seen."""
    bars_ = [(kind, int(counts.get(name) or 0), word) for kind, name, word in BARS]
    total = sum(count for _, count, _ in bars_) or 1
    drawn, x = [], 0
    for kind, count, word in bars_:
        if count or kind == "same":
            width = max(round(960 * count / total), 12 if count else 0)
            drawn.append(Bar(kind, x, width, words.number(count), str(word)))
            x += width + 4
    return tuple(drawn)


def _note(backend_state: BackendState, *, whole: bool) -> Note | None:
    if not backend_state.row.error:
        return None
    values = {"system": backend_state.system, "error": backend_state.row.error[:300]}
    answer = gettext("%(system)s answered: %(error)s") % values if whole else troubled(backend_state)
    return Note("bad", answer, gettext("Decisions are kept and applied when it works again."))


def troubled(there: BackendState) -> str:
    """The same for who does not run it: the words of a database name people and logins."""
    if there.row.state == Backend.State.FAILED:
        return gettext("%(system)s cannot be synced. The people who run its sync see why.") % {
            "system": there.system
        }
    return gettext("%(system)s refused something. The people who run its sync see what and why.") % {
        "system": there.system
    }


def object_sync(there: BackendState, place: ObjectAccess, asked: Mapping[str, str]) -> dict[str, Any]:
    """The sync tab of one object: its backend, and what differs on the object itself and below it."""
    inside = about([place.node.id])
    rows = BackendFinding.objects.filter(inside, backend=there.row)
    whole = there.row.catalog_id in operations.operated(place.actor, _catalogs(place.node, there.row))
    ids = [there.row.pk] if whole else []
    differs = board(
        rows if place.may_look else rows.none(), asked, may=place.may_grant, whole=ids, by=place.actor
    )
    words_ = (
        gettext("Nothing differs on %(name)s") % {"name": place.node.name}
        if place.may_look
        else gettext("Differences are shown to people who may grant here")
    )
    return {
        "one_backend": True,
        "backends": [
            line(there, f"{there.system} {_catalog_of(place.node)}", _page_of(there.row), whole=whole)
        ],
        **differs.context(
            Empty(
                words_, gettext("Every decision was read back there.") if place.may_look else "", drawn=False
            )
        ),
        "decided": (
            decided(ForeignOrder.objects.filter(inside, backend=there.row), whole=ids)
            if place.may_look
            else []
        ),
        "applied_url": reverse("console:object_applied", args=[place.node.id]) if place.may_look else "",
    }


def _catalogs(node: Node, row: Backend) -> list[Node]:
    return [item for item in (*node.above(), node) if item.id == row.catalog_id]


def _page_of(row: Backend) -> str:
    return reverse("console:sync_backend", args=[row.pk])


def _catalog_of(node: Node) -> str:
    names = (name for level, name in zip(node.levels, node.names, strict=True) if level.type == "catalog")
    return next(names, node.name)


@reads
@login_required
def backend_list(request: Request) -> HttpResponse:
    """Every backend of a catalog the viewer may see."""
    asker = asker_of(request)
    realms = realms_of(asker)
    visible_rows = visible_backends(asker, realms)
    backends, owned, whole = visible_rows.lines, visible_rows.numbers, visible_rows.operated
    inside = _inside(asker, realms)
    rows = BackendFinding.objects.filter(inside, backend__in=owned)
    differs = board(
        rows, request.GET, csv=reverse("console:sync_csv"), whole=whole, by=Actor(asker, "console")
    )
    orders = ForeignOrder.objects.filter(inside, backend__in=owned)
    context = {
        "heading": gettext("Sync"),
        "lead": gettext("Do your databases match what was decided here? Every change is read back to check."),
        "backends": backends,
        "no_backend": Empty(
            gettext("No catalog that you can see is connected"),
            gettext("Only connected catalogs have a backend to sync."),
        ),
        **differs.context(
            Empty(
                gettext("Nothing differs"),
                gettext("Everything that you own or may grant matches."),
                drawn=False,
            ),
            list(zip(visible_rows.numbers, (line.name for line in backends), strict=True)),
        ),
        "decided": decided(orders, whole=whole),
        "options": ShownList.of(request, LIST).options(),
    }
    realm = realms[0].name if len(realms) == 1 else ""
    return page(
        request, "console/sync/list.html", context, section="sync", realm=realm, revision=revision_now()
    )


@dataclass(frozen=True)
class Visible:
    """The backends somebody may see; of those whose sync they run they are told everything."""

    lines: list[BackendRow]
    numbers: list[int]
    operated: list[int]


def visible_backends(asker: Any, realms: Sequence[Node]) -> Visible:
    """Those of catalogs the viewer may see, in these realms."""
    backends = list(Backend.objects.filter(realm__in=[realm.realm_id for realm in realms]).order_by("pk"))
    places = nodes({row.catalog_id for row in backends})
    by_realm = {realm.realm_id: realm for realm in realms}
    seen = [row for row in backends if row.catalog_id in places]
    seen = [row for row in seen if _may_see(asker, by_realm, places[row.catalog_id])]
    numbers = [row.pk for row in seen]
    waiting, stuck, left = waiting_for(numbers), stuck_in(numbers), left_in(seen)
    mine = operations.operated(Actor(asker, "console"), [places[row.catalog_id] for row in seen])
    lines = [
        line(
            BackendState(row, waiting.get(row.pk, 0), stuck.get(row.pk, 0), left=left.get(row.pk, 0)),
            f"{row.get_kind_display()} {places[row.catalog_id].name}",
            _page_of(row),
            whole=row.catalog_id in mine,
        )
        for row in seen
    ]
    return Visible(lines, numbers, [row.pk for row in seen if row.catalog_id in mine])


def _may_see(asker: Any, realms: Mapping[int, Node], node: Node) -> bool:
    return ask.may_see(slices.current(asker, realms[node.realm_id]), node, now=timezone.now())


def visible_findings(asker: Any, realms: Sequence[Node]) -> QuerySet[BackendFinding]:
    """What differs on what somebody owns or may grant, in the backends they may see."""
    owned = visible_backends(asker, realms).numbers
    return BackendFinding.objects.filter(_inside(asker, realms), backend__in=owned)


def _inside(asker: Any, realms: Sequence[Node]) -> Q:
    return about(Numbers.joined(owned_by(asker, realm) for realm in realms))


def about(keys: Collection[int]) -> Q:
    """What is about one of these objects or something in it."""
    return Q(securable__in=Placement.objects.open().filter(on_or_below(keys)).values("securable"))
