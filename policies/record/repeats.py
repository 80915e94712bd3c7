"""Repeats of what the access log has a record of: counted in memory and written together, each second.

The record itself stands in the database before anybody is answered.  How often the same came again is no part
of the chain; what a killed process had counted in its last second is lost with it.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils import timezone

from policies.models import AccessRepeat

log = logging.getLogger(__name__)
WRITTEN_EVERY = 1.0
"""Seconds for which repeats are counted before the count is written."""
REMEMBERED = 10_000
"""So many records of the last hour a process knows by heart."""

What = tuple[object, ...]
"""All by which two entries of the access log are the same."""


def write(counts: Mapping[int, int]) -> None:
    """Raise the counts of records, by number; inside a transaction."""
    rows = AccessRepeat.objects.filter(record__in=counts)
    # locked in one order, so that two batches that repeat the same never wait for each other
    list(rows.order_by("record").select_for_update().values_list("record"))
    for count in set(counts.values()):
        same = [pk for pk, each in counts.items() if each == count]
        rows.filter(record__in=same).update(count=F("count") + count, last=timezone.now())


class Repeats:
    """The records that this process met lately, and how often each was repeated since the last writing."""

    def __init__(self) -> None:
        self._lock: threading.Lock
        self._writing: threading.Lock
        self._timer: threading.Timer | None
        self._records: OrderedDict[What, tuple[int, datetime]]
        self._counts: Counter[int]
        self.begin()

    def known(self, entries: Iterable[What], *, since: datetime) -> dict[What, int]:
        """The numbers of the records that some entries repeat, as far as they are known here."""
        with self._lock:
            met = {what: self._records[what] for what in entries if what in self._records}
        return {what: number for what, (number, at) in met.items() if at > since}

    def remember(self, records: Mapping[What, tuple[int, datetime]]) -> None:
        """Know records, which are committed, with the time of each."""
        with self._lock:
            for what, record in records.items():
                self._records[what] = record
                self._records.move_to_end(what)
            while len(self._records) > REMEMBERED:
                self._records.popitem(last=False)

    def count(self, counts: Mapping[int, int]) -> None:
        """Count repeats of records; they are written soon."""
        with self._lock:
            self._counts.update(counts)
            if self._timer is None and self._counts:
                self._timer = threading.Timer(WRITTEN_EVERY, self._write_soon)
                self._timer.daemon = True
                self._timer.start()

    def write(self) -> None:
        """Write what is counted, and what another thread is writing.

        Raises DatabaseError, and then it is still counted.
        """
        with self._writing:
            with self._lock:
                due, self._counts = self._counts, Counter()
            try:
                if due:
                    with transaction.atomic():
                        write(due)
            except DatabaseError:
                with self._lock:
                    self._counts.update(due)
                raise

    def _write_soon(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self.write()
        except DatabaseError as problem:
            log.warning("repeats in the access log are not written yet: %s", type(problem).__name__)
            self.count({})
        finally:
            connection.close()

    def forget(self) -> None:
        """Know nothing, and write nothing more of what was counted."""
        if self._timer is not None:
            self._timer.cancel()
        self.begin()

    def begin(self) -> None:
        """As at first.  A process that is the copy of another has its timer and its locks as dead things."""
        self._timer = None
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._records, self._counts = OrderedDict(), Counter()


repeats = Repeats()
os.register_at_fork(after_in_child=repeats.begin)


@atexit.register
def _write_the_rest() -> None:
    try:
        repeats.write()
    except DatabaseError:
        log.warning("the last repeats in the access log could not be counted")
