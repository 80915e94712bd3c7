"""Slices kept in this process as long as none of their holders was touched.

There is no time to live: each use asks the database, in one query, whether a holder was touched since.
A change, which alone may write, keeps its own until it ends, but for those that its writes concern.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar, cast

from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects, engine
from lakewarden.law.facts import Slice
from policies.decisions import facts, role_facts
from policies.decisions.cache_versions import principal_key
from policies.decisions.held import people

KEPT = 2_000
KEPT_RULES = 500_000
"""So many rules the kept slices have at most together; some own a hundred thousand objects."""
WORTH_KEEPING = 3
"""Whoever is asked about so many times gets a slice that is kept; before, the facts asked for are enough."""
MET = 4_000
"""So many of whom a few questions were asked are remembered."""
MADE_AT_ONCE = 16
"""So many slices to be kept one call makes at most; the next ones make more."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Kept:
    slice: Slice
    keys: frozenset[str]
    until: float | None


_of_change: ContextVar[dict[tuple[int, int], _Kept] | None] = ContextVar("slices_of_change", default=None)
_kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
_met: OrderedDict[tuple[int, int], int] = OrderedDict()
_rules = 0
_lock = threading.Lock()


def current(principal: Principal, node: Node, *, now: datetime | None = None) -> Slice:
    """The principal's slice of the node's realm as it is now.  One query when nothing touched it."""
    return currents([principal], node, now=now)[principal.pk]


def about(principal: Principal, node: Node, objects: Iterable[int], *, now: datetime) -> Slice:
    """The principal's slice as it is now, with the facts on some objects only; never kept.  One query.

    For writers, whose every write makes their own slice stale, however much they own.
    """
    realm = Realm(pk=node.realm_id, kind=node.kind)
    loaded = facts.load(realm, node.realm, [principal.pk], now=now, objects=list(objects))
    if not principal.is_as_written:
        loaded.close({principal_key(principal.pk)})
    return loaded.slice_of(principal)


@contextmanager
def kept_for_a_change() -> Iterator[None]:
    """Load each slice once while a change runs under the writers' lock."""
    token = _of_change.set({})
    try:
        yield
    finally:
        _of_change.reset(token)


def drop_stale(keys: Iterable[str]) -> None:
    """What the change in progress has just written concerns these keys: load anew what follows from them."""
    kept = _of_change.get()
    if kept:
        moved = frozenset(keys)
        for number in [number for number, entry in kept.items() if not moved.isdisjoint(entry.keys)]:
            del kept[number]


def currents(
    principals: list[Principal],
    node: Node,
    *,
    now: datetime | None = None,
    objects: Mapping[int, Collection[int]] | None = None,
) -> dict[int, Slice]:
    """The slices of several principals in one realm.  At most three queries.

    With `objects`, for each of them those on which alone the caller will ask, whoever is seldom asked about
    gets the facts on those, and nothing is kept of that.
    """
    now = now or timezone.now()
    # whose name was written past the console may bear that of somebody else, whose slice is kept
    ours = [principal for principal in principals if principal.is_as_written]
    kept = {principal.pk: _take(node.realm_id, principal.pk) for principal in ours}
    lasting = {pk: entry for pk, entry in kept.items() if entry and _lasts(entry, now)}
    if _of_change.get() is None:
        good = _still_good(lasting)
    else:
        good = {pk: entry.slice for pk, entry in lasting.items()}
    stale = [principal for principal in principals if principal.pk not in good]
    # where names themselves give rights, facts on other objects count too
    if stale and objects is not None and not dialects.get(node.kind).by_text:
        often = [principal for principal in stale if _is_often(node.realm_id, principal.pk)][:MADE_AT_ONCE]
        good |= _narrowed([item for item in stale if item not in often], node, objects, now)
        stale = [principal for principal in stale if principal.pk not in good]
    if stale:
        good |= _load(stale, node, now)
    return {pk: engine.at(slice_, now.timestamp()) for pk, slice_ in good.items()}


def _narrowed(
    principals: list[Principal], node: Node, objects: Mapping[int, Collection[int]], now: datetime
) -> dict[int, Slice]:
    """The facts on some objects, of those of whom no row is known to lack a good seal: such a row on any
    object counts."""
    principals = [principal for principal in principals if principal.is_as_written]
    if not principals:
        return {}
    numbers = [principal.pk for principal in principals]
    on = {number: frozenset(objects.get(number, ())) for number in numbers}
    loaded = _read(numbers, node, now, owned=frozenset().union(*on.values()))
    return {
        item.pk: loaded.slice_of(item, objects=on[item.pk])
        for item in principals
        if item.pk not in loaded.shut and loaded.doubted.isdisjoint(loaded.keys_of(item.pk))
    }


def _read(
    numbers: list[int], node: Node, now: datetime, *, owned: Collection[int] | None = None
) -> facts.Loaded:
    realm = Realm(pk=node.realm_id, kind=node.kind)
    if _inside_a_change():
        return facts.load(realm, node.realm, numbers, now=now)
    return facts.load_sharing(realm, node.realm, numbers, now=now, owned=owned)


def _lasts(entry: _Kept, now: datetime) -> bool:
    # rules carry their own windows; a membership or role that ends takes more than rules with it
    moment = now.timestamp()
    return entry.slice.since <= moment and (entry.until is None or moment < entry.until)


def _still_good(kept: dict[int, _Kept]) -> dict[int, Slice]:
    if not kept:
        return {}
    keys = sorted({key for entry in kept.values() for key in entry.keys})
    with connection.cursor() as cursor:
        cursor.execute(_FRESHNESS, {"keys": keys})
        rows: dict[str, int] = {}
        for key, revision in cursor.fetchall():
            rows[key] = max(revision, rows.get(key, 0))
    revision = rows.pop("")
    return {
        pk: replace(entry.slice, revision=revision)
        for pk, entry in kept.items()
        if all(rows.get(key, 0) <= entry.slice.revision for key in entry.keys)
    }


_FRESHNESS = """
SELECT '' AS key, revision FROM policies_counter
UNION ALL SELECT key, revision FROM policies_touch WHERE key = ANY(%(keys)s)
UNION ALL SELECT key, 9223372036854775807 FROM policies_unsealedfact WHERE key = ANY(%(keys)s)
"""
"""A row that was written past the console makes stale what was read before, as a touch does, until it is
set right."""


def _load(principals: list[Principal], node: Node, now: datetime) -> dict[int, Slice]:
    loaded = _read([principal.pk for principal in principals], node, now)
    for principal in principals:
        if not principal.is_as_written:
            loaded.close({principal_key(principal.pk)})
    slices = {principal.pk: loaded.slice_of(principal) for principal in principals}
    own = _of_change.get()
    if own is not None or not _inside_a_change():
        for pk, slice_ in slices.items():
            if pk in loaded.shut:  # it opens when the rows are set right, and nothing is touched by that
                continue
            entry = _Kept(slice_, loaded.keys_of(pk), loaded.good_until(pk))
            if own is None:
                _keep(node.realm_id, pk, entry)
            else:
                own[node.realm_id, pk] = entry
    return slices


def following(slice_: Slice, what: str, make: Callable[[], Made]) -> Made:
    """What follows from a slice's facts alone, worked out once and kept while they are good.

    `what` is its name.
    """
    facts_, made = slice_.followed.get(what, (None, None))
    # a slice that was made out of this one may have other facts
    if facts_ is not slice_.bits:
        made = make()
        slice_.followed[what] = (slice_.bits, made)
    return cast("Made", made)


def of_strangers(names: Collection[str], node: Node, *, now: datetime | None = None) -> dict[str, Slice]:
    """The slices of users nobody has heard of: what the realm says of everybody, or of names like theirs.

    One query, and none where the realm's law says nothing of names.
    """
    now = now or timezone.now()
    numbers = {-at: name for at, name in enumerate(names, start=1)}
    if not numbers or not dialects.get(node.kind).ignores_case:
        return {}
    realm = Realm(pk=node.realm_id, kind=node.kind)
    loaded = facts.load(realm, node.realm, (), now=now, strangers=numbers)
    return {name: loaded.slice_of(Principal(kind="user", name=name), at) for at, name in numbers.items()}


def _inside_a_change() -> bool:
    # what a transaction that may still roll back has written must not be remembered
    return bool(transaction.get_connection().in_atomic_block)


def _take(realm: int, principal: int) -> _Kept | None:
    own = _of_change.get()
    if own is not None:
        return own.get((realm, principal))
    if _inside_a_change():
        return None
    with _lock:
        entry = _kept.get((realm, principal))
        if entry is not None:
            _kept.move_to_end((realm, principal))
        return entry


def _is_often(realm: int, principal: int) -> bool:
    """Whether somebody was asked about several times lately; counts this time."""
    with _lock:
        _met[realm, principal] = met = _met.pop((realm, principal), 0) + 1
        while len(_met) > MET:
            _met.popitem(last=False)
        return met >= WORTH_KEEPING


def _keep(realm: int, principal: int, entry: _Kept) -> None:
    global _rules
    with _lock:
        old = _kept.pop((realm, principal), None)
        _rules += len(entry.slice.rules) - (len(old.slice.rules) if old else 0)
        _kept[realm, principal] = entry
        while len(_kept) > KEPT or (_rules > KEPT_RULES and len(_kept) > 1):
            _, evicted = _kept.popitem(last=False)
            _rules -= len(evicted.slice.rules)


def forget_all() -> None:
    """Drop every kept slice; for tests, where databases come and go under one process."""
    global _rules
    with _lock:
        _kept.clear()
        _met.clear()
        _rules = 0
    role_facts.forget_all()
    people.forget_all()
