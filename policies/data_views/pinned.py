"""What a reading is pinned to: a realm's state at a revision, its windows judged by one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from catalog.models import Realm
from catalog.nodes import Node
from policies.decisions import live_history
from policies.errors import Gone
from policies.models import Counter
from policies.record.revisions import at_revision

Keys = tuple[int, ...]
"""Where a row stands among the rows of its view: a number, and where that is not enough a second one."""


@dataclass(frozen=True)
class Pin:
    """A realm at a revision; `at` is the moment for the windows of facts, the same for all parts."""

    root: Node
    realm: Realm
    revision: int
    at: datetime


@dataclass(frozen=True)
class Range:
    """Rows behind `after` up to and with `upto`."""

    after: Keys
    upto: int


def pinned(
    root: Node,
    realm: Realm,
    revision: int | None = None,
    at: datetime | None = None,
    *,
    archived: bool = False,
) -> Pin:
    """The state now, or at a revision; with `archived` also at one that is told from the archive alone.

    Raises Gone where that is not kept or not yet there, Archived where it lies in the archive.
    """
    last = Counter.objects.get().revision
    if revision is None or revision == last:
        return Pin(root, realm, last, at or timezone.now())
    if revision < realm.opened:
        raise Gone(
            f"{root.realm} was not there yet: it begins at revision {realm.opened}. Ask for a later one."
        )
    if not archived:
        live_history.must_be_live(realm.pk, revision)
    past = at_revision(revision)
    if past is None:
        raise Gone(f"Revision {revision} of {root.realm} is gone; fetch splits again.")
    return Pin(root, realm, revision, at or past.moment)


def cut(pin: Pin, keys: str, n: int) -> list[Range]:
    """At most n ranges with about as many rows each; none where there are no rows.

    `keys` is a statement that answers one column `key`, for realm `%(realm)s` at `%(revision)s`.
    """
    parts = [(number + 1) / n for number in range(n)]
    statement = f"SELECT percentile_disc(%(parts)s::float[]) WITHIN GROUP (ORDER BY key) FROM ({keys}) keys"  # noqa: S608 - ours
    with connection.cursor() as cursor:
        cursor.execute(statement, {"parts": parts, "realm": pin.realm.pk, "revision": pin.revision})
        edges: list[int] = sorted(set(cursor.fetchone()[0] or ()))
    return [Range((after,), upto) for after, upto in zip([0, *edges], edges, strict=False)]
