"""Tables whose list of rights nears what PostgreSQL has room for: it must fit into one row of 8 KB."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from policies.sync.backends.postgresql.state import Reader

CROWDED = 1500
"""So many holders on one table are said; the server refuses the next one at about 2,300."""
_KINDS = ("table", "view", "sequence")


def crowded(reader: Reader) -> Iterator[str]:
    """A line for each such table, by name."""
    holders: dict[tuple[str, tuple[str, ...]], set[int]] = defaultdict(set)
    for place, _, entry in reader.granted:
        if place.kind in _KINDS:
            holders[place.kind, place.path].add(entry.grantee)
    for (kind, path), some in sorted(holders.items()):
        if len(some) >= CROWDED:
            many = f"{kind} {'.'.join(path)} has rights for {len(some):,} holders"
            yield f"{many}, and has room for about 2,300: give rights to fewer roles"
