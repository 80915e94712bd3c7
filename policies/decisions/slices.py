"""Slices kept in this process as long as none of their holders was touched.

There is no time to live: each use asks the database, in one query, whether a holder was touched since.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
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
from policies.decisions import facts

KEPT = 2_000
Made = TypeVar("Made")


@dataclass(frozen=True)
class _Kept:
    slice: Slice
    keys: frozenset[str]
    until: float | None


_kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
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
    return loaded.slice_of(principal)


def currents(principals: list[Principal], node: Node, *, now: datetime | None = None) -> dict[int, Slice]:
    """The slices of several principals in one realm.  At most two queries."""
    now = now or timezone.now()
    kept = {principal.pk: _take(node.realm_id, principal.pk) for principal in principals}
    good = _still_good({pk: entry for pk, entry in kept.items() if entry and _lasts(entry, now)})
    stale = [principal for principal in principals if principal.pk not in good]
    if stale:
        good |= _load(stale, node, now)
    return {pk: engine.at(slice_, now.timestamp()) for pk, slice_ in good.items()}


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
    realm = Realm(pk=node.realm_id, kind=node.kind)
    loaded = facts.load(realm, node.realm, [principal.pk for principal in principals], now=now)
    slices = {principal.pk: loaded.slice_of(principal) for principal in principals}
    if not _inside_a_change():
        for pk, slice_ in slices.items():
            if pk in loaded.shut:  # it opens when the rows are set right, and nothing is touched by that
                continue
            _keep(node.realm_id, pk, _Kept(slice_, loaded.keys_of(pk), loaded.good_until(pk)))
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
    if _inside_a_change():
        return None
    with _lock:
        entry = _kept.get((realm, principal))
        if entry is not None:
            _kept.move_to_end((realm, principal))
        return entry


def _keep(realm: int, principal: int, entry: _Kept) -> None:
    with _lock:
        _kept[realm, principal] = entry
        while len(_kept) > KEPT:
            _kept.popitem(last=False)


def forget_all() -> None:
    """Drop every kept slice; for tests, where databases come and go under one process."""
    with _lock:
        _kept.clear()
