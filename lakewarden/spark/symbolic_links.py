"""Links and lists: a name below a user's own folder may lead into somebody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from lakewarden.client.snapshot import Snapshot
from lakewarden.law.locations import above, normal
from lakewarden.spark.scala_objects import class_of, texts

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
    paths = {
        home + item[len(real) :] if _within(item, real) else item
        for item in (os.path.realpath(path), *_links_inside(path))
    }
    return sorted(_FILE + item for item in paths if not _within(item, path))


def _links_inside(folder: str) -> Iterator[str]:
    for directory, folders, files in os.walk(folder):
        for name in (*folders, *files):
            link = os.path.join(directory, name)
            if os.path.islink(link):
                yield os.path.realpath(link)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


_LOOKS_FOR_FILES = (".InMemoryFileIndex", ".CatalogFileIndex")
"""What finds the files of a folder by looking into it, and so no others."""


def listed(index: Any) -> list[str]:
    """The folders elsewhere that a list of files in a folder leads to, as Spark has read it.

    A folder that a stream wrote has one in `_spark_metadata`; whoever may write there may name any file.
    """
    if class_of(index).endswith(_LOOKS_FOR_FILES):
        return []
    own = {normal(root) for root in texts(index.rootPaths())}
    folders = dict.fromkeys(unquote(str(path)).rpartition("/")[0] for path in index.inputFiles())
    return [folder for folder in folders if own.isdisjoint(above(folder))]
