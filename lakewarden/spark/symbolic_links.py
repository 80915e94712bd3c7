"""Symbolic links: a name below a user's own folder may lead into somebody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lakewarden.client.snapshot import Snapshot
from lakewarden.law.locations import above, normal

_FILE = "file://"


def led_to(place: str, snapshot: Snapshot) -> list[str]:
    """Where links lead that a path on this machine has on its way or inside of it.

    What lies in the same known place is named as the console names it, whatever links that place has in its
    own name.  Nothing for paths of other file systems.
    """
    canonical = normal(place)
    if canonical is None or not canonical.startswith(f"{_FILE}/"):
        return []
    path = canonical[len(_FILE) :]
    homes = [item[len(_FILE) :] for item in above(canonical) if item in snapshot.locations]
    home = homes[0] if homes else path
    real = os.path.realpath(home)
    found = {
        home + item[len(real) :] if _within(item, real) else item
        for item in (os.path.realpath(path), *_links_inside(path))
    }
    return sorted(_FILE + item for item in found if not _within(item, path))


def _links_inside(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            link = os.path.join(here, name)
            if os.path.islink(link):
                yield os.path.realpath(link)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
