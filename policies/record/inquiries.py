"""Who may ask what other people may do.

Every surface on which programs ask follows these rules: AuthZEN, snapshots, explanations, CDAP's `enforce`.
A service account asks about others in realms that admit it, itself or through a group; any other realm reads
to it like one that does not exist.  What it asks is counted in the access log, one record a realm and hour.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time

from django.db import DatabaseError
from django.utils import timezone

from accounts.models import Principal
from accounts.seals import is_fact_sealed
from catalog.nodes import Node
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies.decisions import slices
from policies.decisions.cache_versions import principals_in
from policies.models import RealmMember
from policies.record import access_log

log = logging.getLogger(__name__)
ASKS = "access of others"
"""The words of the access log for a service account that asked about others."""
WRITTEN_EVERY = 10.0
"""Seconds for which questions are counted in memory before the count is written."""


def admits(asker: Principal, root: Node, slice_: Slice) -> bool:
    """Whether a realm admits a principal, itself or through a group; `slice_` is its slice of the realm.

    Where everybody belongs to the realm by its law, so does every service account, until the realm admits
    one by name: from then on only those.  No query; in such a realm one, and one more as long as the
    slice is good.
    """
    if dialects.get(root.kind).open_to_all:
        named = slices.following(slice_, f"admitted to {root.id}", lambda: _admitted_by_name(root, slice_))
        return named or not _admits_services_by_name(root)
    # the law counts a group as a selfhood only where the realm admits it
    return slice_.member or any(pk != asker.pk for pk in principals_in(slice_.selves))


def _admitted_by_name(root: Node, slice_: Slice) -> bool:
    rows = RealmMember.objects.open().within(timezone.now()).filter(realm=root.realm_id)
    return any(map(is_fact_sealed, rows.filter(principal__in=principals_in(slice_.selves))))


def _admits_services_by_name(root: Node) -> bool:
    rows = RealmMember.objects.open().within(timezone.now()).filter(realm=root.realm_id)
    return rows.filter(principal__kind=Principal.Kind.SERVICE).exists()


class _Tally:
    """What service accounts asked and is not written yet, by asker and realm.

    The first question of an asker in a realm is written at once; then their number, every few seconds, so
    that a check costs no write.  What a killed process had counted is lost with it, never the first record.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[int, int, str], int] = {}
        self._written: dict[tuple[int, int, str], float] = {}
        self._asked: dict[tuple[int, int, str], access_log.AccessLookup] = {}

    def count(self, asker: Principal, root: Node, many: int, via: str) -> None:
        key, now = (asker.pk, root.id, via), time.monotonic()
        with self._lock:
            self._asked[key] = access_log.AccessLookup(asker, ASKS, root)
            self._counts[key] = self._counts.get(key, 0) + many
            if now - self._written.get(key, -WRITTEN_EVERY) < WRITTEN_EVERY:
                return
            self._written[key] = now
            due = self._counts.pop(key)
        access_log.looked_often(self._asked[key], due, via=via)

    def write(self) -> None:
        """Write what is counted."""
        with self._lock:
            due, self._counts = self._counts, {}
        for key, many in due.items():
            access_log.looked_often(self._asked[key], many, via=key[2])

    def forget(self) -> None:
        with self._lock:
            self._counts, self._written, self._asked = {}, {}, {}


tally = _Tally()


def asked_about_others(asker: Principal, root: Node, many: int = 1, *, via: str) -> None:
    """Record that a service account asked about others in a realm, so many times."""
    tally.count(asker, root, many, via)


@atexit.register
def _write_the_rest() -> None:
    try:
        tally.write()
    except DatabaseError:
        log.warning("the last questions of service accounts could not be counted")
