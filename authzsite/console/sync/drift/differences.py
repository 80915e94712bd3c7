"""What differs between here and a backend, in lines that people read: whose, on what, what can be done."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.utils.translation import gettext_noop as noop

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import keyset_page
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Chip, Empty, Reason, State
from authzsite.console.sync.backend_state import rights_of
from authzsite.console.sync.drift.board_query import KINDS, BoardQuery
from authzsite.console.sync.drift.stuck_reasons import cause
from catalog.nodes import Node
from catalog.queries import nodes
from policies.authority import Actor
from policies.decisions.personal_role_names import is_personal
from policies.models import BackendFinding, ForeignOrder
from policies.sync.actions import foreign_orders, foreign_rights
from policies.sync.differences import bypass_words
from policies.sync.differences.findings import VANISHED, ungovernable_in_words

SHOWN, NAMED = 50, 3
DEEDS = (
    ("adopt", noop("Adopt"), "mini"),
    ("revoke", noop("Revoke"), "mini"),
    ("accept", noop("Accept until"), "mini plain"),
)


@dataclass(frozen=True)
class DifferenceRow:
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
    locks: tuple[Reason, ...] = ()
    tick: int = 0
    """The number to choose it by where it waits for a decision of the viewer."""
    group: str = ""
    """The holder or the object whose differences stand together."""


@dataclass(frozen=True)
class Board:
    """A page of what differs, in the order and with the filters that were asked for."""

    query: BoardQuery
    lines: tuple[DifferenceRow, ...]
    toggles: tuple[Toggle, ...]
    pager: Pager | None

    def context(self, empty: Empty, backends: Sequence[tuple[int, str]] = ()) -> dict[str, Any]:
        """For the page; `empty` is said where nothing differs, `backends` are those to choose among."""
        everything = Action(_("Show everything"), self.query.url(s="", q="", backend=""))
        unmatched = Empty(
            _("No difference matches"),
            _("Clear the filter to see all differences."),
            actions=(everything,),
            drawn=False,
        )
        return {
            "board": self,
            "board_backends": backends if len(backends) > 1 else (),
            "toggles": self.toggles,
            "findings": self.lines,
            "pager": self.pager,
            "nothing_differs": unmatched if self.query.narrows else empty,
            "deciding": any(line.tick for line in self.lines),
        }


def board(
    rows: QuerySet[BackendFinding],
    asked: Mapping[str, str],
    *,
    may: bool = True,
    csv: str = "",
    whole: Collection[int] = (),
    by: Actor | None = None,
) -> Board:
    """One line a holder and an object; the rights of the same kind are told together.

    `asked` is the address, as `BoardQuery` reads it.  `may`: whether the asker decides about what is foreign
    among them.  `whole`: the backends whose own words they may see.  `by`: who would decide, to lock what
    would come to nothing.  At most eleven queries.
    """
    query = BoardQuery.of(asked)
    wanted = query.in_order(rows).select_related("backend", "accepted_by")
    shown = keyset_page(wanted, query.order, query.after, SHOWN)
    lines = _lines(shown.rows, may=may, whole=whole, by=by)
    if query.by in ("holder", "object"):
        lines = [replace(line, group=getattr(line, query.by) or _("Not about one object")) for line in lines]
    sheet = f"{csv}{query.url()}" if csv and query.narrows else csv
    many = words.count(len(shown.rows), "difference")
    if len(lines) < len(shown.rows):  # the rights of one grant are one row, and the filters count each
        many = _("%(many)s in %(rows)s") % {"many": many, "rows": words.count(len(lines), "row")}
    pager = shown.pager(many, lambda after: query.url(**{"from": after}), sheet)
    return Board(query, tuple(lines), query.toggles(rows), pager if lines else None)


def _lines(
    shown: Sequence[BackendFinding], *, may: bool, whole: Collection[int], by: Actor | None
) -> list[DifferenceRow]:
    orders = foreign_orders.ordered(shown)
    keys = {row.securable_id for row in shown if row.securable_id}
    places = nodes(keys | set(roles_of(shown))) if shown else {}
    folds: dict[tuple[Any, ...], list[BackendFinding]] = {}
    for row in shown:
        alone = (
            row.what
            if row.kind in ("bypass", "unknown") or not row.type or row.is_stuck or row.is_left
            else ""
        )
        key = (row.kind, row.backend_id, row.holder, row.type, row.place, row.grantor, alone)
        folds.setdefault(key, []).append(row)
    foreign = [
        foreign_rights.Foreign(mine[0].backend, tuple(mine))
        for mine in folds.values()
        if may and _open(mine, orders)
    ]
    locks = foreign_rights.locked(foreign, by) if by is not None else {}
    return [_row(mine, places, orders, locks, may=may, whole=whole) for mine in folds.values()]


def _open(rows: Sequence[BackendFinding], orders: Mapping[int, ForeignOrder]) -> bool:
    """Whether it waits for a decision."""
    return (
        rows[0].kind == "foreign" and not any(row.pk in orders for row in rows) and not _is_accepted(rows[0])
    )


_KEY = re.compile(r"\b(role:(\d+)|rights:[0-9a-f]+|person:(\S+))")
"""How a role of ours is called in a plan: after a role here, after what it gives, or after one person."""


def roles_of(shown: Sequence[BackendFinding]) -> Iterator[int]:
    """The roles here that differences speak of."""
    for row in shown:
        for match in _KEY.finditer(f"{row.holder} {row.what}"):
            if match[2]:
                yield int(match[2])


def _spoken(text: str, places: Mapping[int, Node]) -> str:
    """role:17 -> role sales_read; rights:3f9c -> a role of ours; person:ana -> ana"""

    def told(match: re.Match[str]) -> str:
        if match[3]:
            return match[3]
        node = places.get(int(match[2])) if match[2] else None
        return (
            _("role %(name)s") % {"name": node.name}
            if node and not is_personal(node.name)
            else _("a role of Lakewarden")
        )

    return _KEY.sub(told, text)


def _holder(row: BackendFinding, places: Mapping[int, Node]) -> str:
    """Whom a difference concerns: by name while they are few, else by the role and how many they are."""
    if row.kind not in ("missing", "extra"):
        return row.holder
    if row.people and len(row.people) <= NAMED:
        return words.listed(list(row.people))
    label = _spoken(row.holder, places)
    role = f"{label[:1].upper()}{label[1:]}"
    if not row.people:
        return role
    people = words.count(len(row.people), "person", "people")
    return _("%(role)s, for %(people)s") % {"role": role, "people": people}


_THERE = {
    "missing": gettext_lazy("%(holder)s %(verb)s: missing in the backend"),
    "extra": gettext_lazy("%(holder)s %(verb)s: extra in the backend"),
    "foreign": gettext_lazy("%(holder)s %(verb)s: granted outside Lakewarden"),
    "unknown": gettext_lazy("%(holder)s %(verb)s: unknown in the backend"),
    "bypass": gettext_lazy("%(holder)s %(verb)s: bypass in the backend"),
}
"""A difference of each kind, where it is about no object."""
_THERE_ON = {
    "missing": gettext_lazy("%(holder)s %(verb)s %(place)s: missing in the backend"),
    "extra": gettext_lazy("%(holder)s %(verb)s %(place)s: extra in the backend"),
    "foreign": gettext_lazy("%(holder)s %(verb)s %(place)s: granted outside Lakewarden"),
    "unknown": gettext_lazy("%(holder)s %(verb)s %(place)s: unknown in the backend"),
    "bypass": gettext_lazy("%(holder)s %(verb)s %(place)s: bypass in the backend"),
}
"""A difference of each kind on an object."""


def spoken_of(row: BackendFinding, places: Mapping[int, Node]) -> str:
    """mia may read sales.orders: missing in the backend"""
    named = _named([row], places)
    return str((_THERE_ON if named["place"] else _THERE)[row.kind]) % named


def concerned(rows: Sequence[BackendFinding], places: Mapping[int, Node]) -> str:
    """mia may read and write sales.orders: what rows of one grant are about, without how they differ."""
    node, named = places.get(rows[0].securable_id or 0), _named(rows, places)
    named["place"] = named["place"] or (terms.short_name(node) if node else "")
    return (_("%(holder)s %(verb)s %(place)s") if named["place"] else _("%(holder)s %(verb)s")) % named


def _named(rows: Sequence[BackendFinding], places: Mapping[int, Node]) -> dict[str, str]:
    row = rows[0]
    verb = _spoken(_verb(rows, places.get(row.securable_id or 0)), places)
    return {"holder": _holder(row, places), "verb": verb, "place": row.place if row.type else ""}


def spoken_of_order(order: ForeignOrder) -> str:
    """Adopting SELECT of mia on sales.orders"""
    place = ".".join(order.path) or order.backend.place
    named = {"right": order.right, "holder": order.holder, "place": place}
    if order.replaced:
        return _("Adopting %(right)s of %(holder)s on %(place)s") % named
    return _("Revoking %(right)s of %(holder)s on %(place)s") % named


def _row(
    rows: Sequence[BackendFinding],
    places: Mapping[int, Node],
    orders: Mapping[int, ForeignOrder],
    locks: Mapping[int, Mapping[str, str]],
    *,
    may: bool,
    whole: Collection[int],
) -> DifferenceRow:
    row = rows[0]
    # of several rights of one grant each may fare differently: the one that fails is told
    mine = sorted((orders[item.pk] for item in rows if item.pk in orders), key=lambda order: -order.attempts)
    order = mine[0] if mine else None
    node = places.get(row.securable_id or 0)
    locked = locks.get(row.pk, {})
    return DifferenceRow(
        tick=row.pk if may and _open(rows, orders) else 0,
        acts=tuple(_offered(row, order, locked, concerned(rows, places), may=may)),
        locks=tuple(Reason(_lock_id(row, text), text) for text in dict.fromkeys(locked.values())),
        doing=_doing(row, order, whole=row.backend_id in whole),
        state=_accepted(row) or _state(row, order),
        holder=_holder(row, places),
        what=_spoken(_verb(rows, node), places),
        object=terms.short_name(node) if node else row.place,
        url=terms.page_of(node.id, node.type) if node else "",
        here=str(_HERE.get(row.kind, _("Not granted here"))),
        there=_there(row),
        seen=words.day(row.first_seen),
    )


def _offered(
    row: BackendFinding, order: ForeignOrder | None, locked: Mapping[str, str], about: str, *, may: bool
) -> Iterator[Action]:
    """`about`: what the buttons are about, which a screen reader hears after their words."""
    if may and row.kind == "foreign":
        yield from _acts(row, locked, f"({about})") if order is None else _ways_out(row, order, f"({about})")
    if row.is_stuck or (order is not None and order.is_stuck) or (row.is_left and row.kind != "foreign"):
        url = reverse("console:sync_stuck", args=[row.pk])
        yield Action(_("What to do"), url, "mini", more=_("about %(what)s") % {"what": about})
    if row.what == VANISHED:
        url = reverse("console:sync_vanished", args=[row.backend_id])
        yield Action(_("What to do"), url, "mini plain", more=_("about %(what)s") % {"what": row.place})


_HERE = {
    "missing": gettext_lazy("Yes"),
    "extra": gettext_lazy("No"),
    "unknown": gettext_lazy("Not known"),
    "bypass": gettext_lazy("Not asked for"),
}


def _acts(row: BackendFinding, locked: Mapping[str, str], what: str) -> tuple[Action, ...]:
    if _is_accepted(row):
        return (_deed(row, "reopen", _("No longer accept"), "mini plain", what),)
    return tuple(
        Action(_(word), look=look, more=what, reason=_lock_id(row, locked[code]))
        if code in locked
        else _deed(row, code, _(word), look, what)
        for code, word, look in DEEDS
    )


def _lock_id(row: BackendFinding, text: str) -> str:
    return f"why-not-{row.pk}-{crc32(text.encode()):x}"


def _ways_out(row: BackendFinding, order: ForeignOrder, what: str) -> Iterator[Action]:
    if order.attempts:
        yield _deed(row, "retry", _("Try again"), "mini", what)
    word = _("Give up the adoption") if order.replaced else _("Give up")
    yield _deed(row, "drop", word, "mini plain", what)


def _deed(row: BackendFinding, code: str, word: str, look: str, what: str) -> Action:
    return Action(word, reverse("console:sync_deed", args=[row.pk, code]), look, more=what)


def _doing(row: BackendFinding, order: ForeignOrder | None, *, whole: bool) -> str:
    if order is None and row.kind in ("missing", "extra"):
        return cause(row, row.backend, whole=whole) if row.attempts else ""
    if order is None:
        by = row.accepted_by.label if row.accepted_by else _("An erased person")
        return f"{by}: {row.accepted_reason}" if _is_accepted(row) else ""
    word = _("Being adopted") if order.replaced else _("Being revoked")
    if order.attempts:
        if order.is_stuck:
            word = _("Not adopted") if order.replaced else _("Not revoked")
        else:
            word = _("%(word)s, tried again") % {"word": word}
        return f"{word}. {cause(order, row.backend, whole=whole)}"
    if order.replaced and (timezone.now() - order.at).total_seconds() > 120:
        return _("%(word)s; it stays until our grant gives the same in the backend") % {"word": word}
    return _("%(word)s, decided %(at)s") % {"word": word, "at": words.moment(order.at, within=True)}


def _is_accepted(row: BackendFinding) -> bool:
    return row.is_left


def _accepted(row: BackendFinding) -> State | None:
    if not _is_accepted(row) or row.accepted_until is None:
        return None
    return State(
        "paused",
        _("Accepted"),
        _("until %(accepted_until)s") % {"accepted_until": words.moment(row.accepted_until, within=True)},
    )


def _verb(rows: Sequence[BackendFinding], node: Node | None) -> str:
    """may read and write; owns the schema, on: what an object follows, where there is one"""
    on = node is not None or bool(rows[0].type and rows[0].place)
    if rows[0].what == VANISHED:
        return _("What is decided here on") if on else _("What is decided here")
    if rows[0].kind in ("bypass", "unknown"):
        is_bypass = rows[0].kind == "bypass"
        read = bypass_words.in_readers_language if is_bypass else ungovernable_in_words
        what = read(rows[0].what)
        return _("%(what)s, on") % {"what": what} if on else what
    if not rows[0].type:
        role = {"role": rows[0].what.removeprefix("member of ")}
        if rows[0].kind == "missing":
            return _("is to be a member of %(role)s") % role
        return _("is a member of %(role)s") % role
    rights = rights_of(rows, node.type if node else "", with_type=node is None)
    listed = {"listed": words.listed([terms.lower(word) for word in rights])}
    return _("may %(listed)s") % listed if on else pgettext("without an object", "may %(listed)s") % listed


def _there(row: BackendFinding) -> str:
    if row.what == VANISHED:
        return _("No")
    granted = _("Yes, granted by %(grantor)s") % {"grantor": row.grantor} if row.grantor else _("Yes")
    return {
        "missing": _("No"),
        "unknown": _("Not readable for Lakewarden’s account"),
        "bypass": _("Yes; no grant made here can limit it"),
    }.get(row.kind, granted)


def _state(row: BackendFinding, order: ForeignOrder | None) -> State | Chip:
    if row.is_stuck or (order is not None and order.is_stuck):
        return State("failed", _("Stuck"), _("needs attention"))
    kind = row.kind
    if kind == "foreign":
        return Chip("foreign", _("Granted outside"))
    return State({"missing": "behind", "extra": "failed"}.get(kind, "unknown"), _(KINDS[kind]))
