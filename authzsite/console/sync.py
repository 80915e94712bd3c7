"""Sync: is what was decided here true out there?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, CharField, Count, F, Q, QuerySet, Value, When
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from authzsite.console import naming, words
from authzsite.console.door import signed_in
from authzsite.console.lists import Pager, Toggle
from authzsite.console.methods import reads
from authzsite.console.outside import Behind, rights_of, to_look_at
from authzsite.console.parts import Action, Chip, Empty, Note, State
from authzsite.console.place import Place
from authzsite.console.requests import Request, asker_of
from authzsite.console.shell import page
from authzsite.console.sync_decided import decided
from catalog.models import Placement
from catalog.nodes import Node, on_or_below
from catalog.queries import nodes
from policies import decisions, slices
from policies.models import Backend, BackendFinding, ForeignOrder
from policies.queries import owned_by, realms_of
from policies.services import drift
from policies.services.grants import revision_now

SHOWN = 50
BARS = (
    ("same", "in_sync", "in sync"),
    ("missing", "missing", "missing"),
    ("extra", "extra", "extra"),
    ("foreign", "foreign", "foreign"),
    ("unknown", "unknown", "unknown"),
)
ORDER = ("weight", "place", "holder", "what")
WEIGHT = Case(
    *[When(kind=kind, then=Value(at)) for at, kind in enumerate(("extra", "missing", "foreign", "unknown"))],
    default=Value(9),
)
"""What wants a decision stands first, what nobody can change last."""
KINDS = {
    "missing": "Missing",
    "extra": "Extra",
    "foreign": "Foreign",
    "accepted": "Accepted",
    "unknown": "Unknown",
    "bypass": "Bypass",
}
DEEDS = (("adopt", "Adopt", "mini"), ("revoke", "Revoke", "mini"), ("accept", "Accept until", "mini plain"))


@dataclass(frozen=True)
class Bar:
    kind: str
    x: int
    width: int
    count: str
    word: str


@dataclass(frozen=True)
class Line:
    """One backend: how much of it agrees."""

    name: str
    url: str
    checked: str
    bars: tuple[Bar, ...]
    state: State
    note: Note | None


@dataclass(frozen=True)
class Row:
    """One difference between here and there."""

    state: State | Chip
    holder: str
    what: str
    object: str
    url: str
    here: str
    there: str
    seen: str
    acts: tuple[Action, ...] = ()
    doing: str = ""


def line(there: Behind, name: str, url: str = "") -> Line:
    return Line(name, url, _checked(there), bars(there.row.counts), there.state(), _note(there))


def _checked(there: Behind) -> str:
    if there.row.proved_at is None:
        return "not yet read back"
    proved = f"proved {words.ago(there.row.proved_at)}, at revision {words.number(there.row.proved_revision)}"
    return f"{proved}; reports only" if there.row.policy == Backend.Policy.REPORT else proved


def bars(counts: dict[str, Any]) -> tuple[Bar, ...]:
    """Lengths in thousandths; the smallest can still be seen."""
    found = [(kind, int(counts.get(name) or 0), word) for kind, name, word in BARS]
    total = sum(count for _, count, _ in found) or 1
    drawn, x = [], 0
    for kind, count, word in found:
        if count or kind == "same":
            width = max(round(960 * count / total), 12 if count else 0)
            drawn.append(Bar(kind, x, width, words.number(count), word))
            x += width + 4
    return tuple(drawn)


def _note(there: Behind) -> Note | None:
    if there.row.error:
        return Note(
            "bad",
            f"{there.system} answered: {there.row.error[:300]}",
            "What you decide is kept and applied when it works again.",
        )
    return None


def asked_for(rows: QuerySet[BackendFinding], asked: str) -> QuerySet[BackendFinding]:
    """Those of one kind; what is accepted for now is a kind of its own, and an unknown kind is all."""
    if asked not in KINDS:
        return rows
    accepted = Q(accepted_until__gt=timezone.now())
    if asked == "accepted":
        return rows.filter(accepted)
    return rows.filter(kind=asked).exclude(accepted)


def findings(
    rows: QuerySet[BackendFinding], places: dict[int, Node], asked: str = "", *, may: bool = True
) -> list[Row]:
    """One line a holder and an object; the rights of the same kind are told together.

    `may`: whether the asker decides about what is foreign among them.
    """
    wanted = asked_for(rows, asked).select_related("backend", "accepted_by").annotate(weight=WEIGHT)
    ordered = list(wanted.order_by(*ORDER)[:SHOWN])
    orders = drift.ordered(ordered)
    folds: dict[tuple[Any, ...], list[BackendFinding]] = {}
    for row in ordered:
        alone = row.what if row.kind in ("bypass", "unknown") else ""
        key = (row.kind, row.backend_id, row.holder, row.type, row.place, row.grantor, alone)
        folds.setdefault(key, []).append(row)
    return [_row(mine, places, orders.get(mine[0].pk), may=may) for mine in folds.values()]


def _row(
    rows: Sequence[BackendFinding], places: dict[int, Node], order: ForeignOrder | None, *, may: bool
) -> Row:
    row = rows[0]
    node = places.get(row.securable_id or 0)
    return Row(
        acts=_acts(row) if may and row.kind == "foreign" and order is None else (),
        doing=_doing(row, order),
        state=_accepted(row) or _mark(row.kind),
        holder=row.holder,
        what=_verb(rows, node),
        object=naming.short_name(node) if node else row.place,
        url=naming.page_of(node.id, node.type) if node else "",
        here={"missing": "Yes", "extra": "No", "unknown": "Not known"}.get(row.kind, "Not known here"),
        there=_there(row),
        seen=naming.lower(words.day(row.first_seen)),
    )


def _acts(row: BackendFinding) -> tuple[Action, ...]:
    what = f"{row.what} of {row.holder}{f' on {row.place}' if row.place else ''}"
    if _is_accepted(row):
        return (_deed(row, "reopen", "No longer accept", "mini plain", what),)
    return tuple(_deed(row, code, word, look, what) for code, word, look in DEEDS)


def _deed(row: BackendFinding, code: str, word: str, look: str, what: str) -> Action:
    return Action(word, reverse("console:sync_deed", args=[row.pk, code]), look, more=what)


def _doing(row: BackendFinding, order: ForeignOrder | None) -> str:
    if order is None:
        by = row.accepted_by.label if row.accepted_by else "An erased person"
        return f"{by}: {row.accepted_reason}" if _is_accepted(row) else ""
    word = "Being adopted" if order.replaced else "Being revoked"
    if order.error:
        return f"{word}; {row.backend.get_kind_display()} answered: {order.error[:300]}"
    if order.replaced and (timezone.now() - order.at).total_seconds() > 120:
        return f"{word}; it stays until ours gives the same out there"
    return f"{word}, decided {naming.lower(words.moment(order.at))}"


def _is_accepted(row: BackendFinding) -> bool:
    return row.accepted_until is not None and row.accepted_until > timezone.now()


def _accepted(row: BackendFinding) -> State | None:
    if not _is_accepted(row) or row.accepted_until is None:
        return None
    return State("paused", "Accepted", f"until {words.moment(row.accepted_until)}")


def _verb(rows: Sequence[BackendFinding], node: Node | None) -> str:
    """may read and write; owns the schema, on"""
    if rows[0].kind in ("bypass", "unknown"):
        return f"{rows[0].what}{', on' if node else ''}"
    type_ = node.type if node else ""
    told = [word.removesuffix(f" {type_}") for word in rights_of(rows, type_)]
    return f"may {words.listed([naming.lower(word) for word in told])}"


def _there(row: BackendFinding) -> str:
    by = f", granted by {row.grantor}" if row.grantor else ""
    return {
        "missing": "No",
        "unknown": "Not readable for our account",
        "bypass": "Yes; no grant of ours can limit it",
    }.get(row.kind, f"Yes{by}")


def _mark(kind: str) -> State | Chip:
    if kind == "foreign":
        return Chip("foreign", "Foreign")
    return State({"missing": "behind", "extra": "failed"}.get(kind, "unknown"), KINDS[kind])


def toggles(rows: QuerySet[BackendFinding], asked: str) -> tuple[Toggle, ...]:
    accepted = When(accepted_until__gt=timezone.now(), then=Value("accepted"))
    told = Case(accepted, default=F("kind"), output_field=CharField())
    counts = dict(rows.order_by().annotate(told=told).values_list("told").annotate(Count("pk")))
    every = Toggle("All", "?", asked not in counts, words.number(sum(counts.values())))
    return (
        every,
        *(
            Toggle(word, "?" + urlencode({"s": kind}), asked == kind, words.number(counts[kind]))
            for kind, word in KINDS.items()
            if kind in counts
        ),
    )


def one(there: Behind, place: Place) -> dict[str, Any]:
    """The sync tab of one object: its backend, and what differs on the object itself and below it."""
    inside = about([place.node.id])
    rows = (
        BackendFinding.objects.filter(inside, backend=there.row)
        if place.may_look
        else BackendFinding.objects.none()
    )
    shown = list(rows[:SHOWN])
    places = nodes({row.securable_id for row in shown if row.securable_id})
    words_ = (
        f"Nothing differs on {place.node.name}"
        if place.may_look
        else "What differs is shown to those who may grant here"
    )
    return {
        "one_backend": True,
        "backends": [line(there, f"{there.system} {_catalog_of(place.node)}", _page_of(there.row))],
        "findings": findings(rows, places, may=place.may_grant),
        "decided": decided(ForeignOrder.objects.filter(inside, backend=there.row)) if place.may_look else [],
        "nothing_differs": Empty(
            words_, "What was decided here was read back there." if place.may_look else "", drawn=False
        ),
        "pager": Pager(words.count(len(shown), "difference")) if shown else None,
    }


def _page_of(row: Backend) -> str:
    return reverse("console:sync_backend", args=[row.pk])


def _catalog_of(node: Node) -> str:
    names = (name for level, name in zip(node.levels, node.names, strict=True) if level.type == "catalog")
    return next(names, node.name)


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """Every backend of a catalog one may see."""
    asker = asker_of(request)
    realms = realms_of(asker)
    backends, owned = visible_backends(asker, realms)
    inside = _inside(asker, realms)
    rows = BackendFinding.objects.filter(inside, backend__in=owned)
    asked = request.GET.get("s", "")
    counts = toggles(rows, asked)
    shown = _shown(rows, asked)
    orders = ForeignOrder.objects.filter(inside, backend__in=owned)
    context = {
        "heading": "Sync",
        "lead": "Is what was decided here true out there? It is read back after every change.",
        "backends": backends,
        "no_backend": Empty(
            "No catalog you may see is connected", "Only connected catalogs have a backend to keep true."
        ),
        "toggles": counts if len(counts) > 1 else (),
        "findings": shown,
        "decided": decided(orders),
        "pager": Pager(
            f"{words.count(len(shown), 'difference')} on what you own or may grant",
            csv=reverse("console:sync_csv") + ("?" + urlencode({"s": asked}) if asked in KINDS else ""),
        ),
        "nothing_differs": Empty(
            "Nothing differs", "On what you own or may grant, here and there agree.", drawn=False
        ),
    }
    realm = realms[0].name if len(realms) == 1 else ""
    return page(request, "console/sync.html", context, room="sync", realm=realm, revision=revision_now())


def visible_backends(asker: Any, realms: Sequence[Node]) -> tuple[list[Line], list[int]]:
    rows = Backend.objects.filter(realm__in=[realm.realm_id for realm in realms])
    waiting = Count("entries", filter=to_look_at("entries__") & Q(entries__parked=False))
    parked = Count("entries", filter=Q(entries__parked=True))
    found = list(rows.annotate(waiting=waiting, parked=parked).order_by("pk"))
    places = nodes({row.catalog_id for row in found})
    lines, owned = [], []
    by_realm = {realm.realm_id: realm for realm in realms}
    for row in found:
        node = places.get(row.catalog_id)
        if node is None:
            continue
        slice_ = slices.current(asker, by_realm[node.realm_id])
        if decisions.may_see(slice_, node, now=timezone.now()):
            lines.append(
                line(
                    Behind(row, row.waiting, row.parked),
                    f"{row.get_kind_display()} {node.name}",
                    _page_of(row),
                )
            )
            owned.append(row.pk)
    return lines, owned


def visible_findings(asker: Any, realms: Sequence[Node]) -> QuerySet[BackendFinding]:
    """What differs on what somebody owns or may grant, in the backends he may see."""
    owned = visible_backends(asker, realms)[1]
    return BackendFinding.objects.filter(_inside(asker, realms), backend__in=owned)


def _inside(asker: Any, realms: Sequence[Node]) -> Q:
    return about([key for realm in realms for key in owned_by(asker, realm)])


def about(keys: Sequence[int]) -> Q:
    """What is about one of these objects or something in it."""
    return Q(securable__in=Placement.objects.open().filter(on_or_below(keys)).values("securable"))


def _shown(rows: QuerySet[BackendFinding], asked: str) -> list[Row]:
    wanted = asked_for(rows, asked).annotate(weight=WEIGHT)
    keys = {key for key in wanted.order_by(*ORDER).values_list("securable", flat=True)[:SHOWN] if key}
    return findings(rows, nodes(keys), asked)
