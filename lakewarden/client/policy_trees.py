"""Policy files in a tree: the console writes and reads them as the documents of one text, which this joins
and takes apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from lakewarden.client.transport import Unavailable

MARK = "--- # "
"""What stands before the path of a file, where its document begins."""
SAFE = re.compile(r"(?:[\w%~ -][\w.%~ -]*/)?[\w%~ -][\w.%~ -]*\.yaml", re.ASCII)
NO_TREE = "the console's answer is not a tree of policy files"
LONGEST = 120
"""So many letters of a name stand in that of its file."""


class Paths:
    """The names of files, which differ also where a disk knows no capitals."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, folder: str, name: str) -> str:
        """The path of a file about something; always the same for the same."""
        if not folder:
            return name
        if (folder, name) not in self._given:
            self._given[folder, name] = self._new(f"{folder}/{_file_name(name)}")
        return self._given[folder, name]

    def _new(self, path: str) -> str:
        tried, number = path, 1
        while tried.casefold() in self._taken:
            number += 1
            tried = f"{path}~{number}"
        self._taken.add(tried.casefold())
        return f"{tried}.yaml"


def _file_name(name: str) -> str:
    quoted = quote(name, safe=" ")[:LONGEST]
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def joined(files: Mapping[str, str]) -> str:
    """Files by their paths as the documents of one text."""
    return "".join(f"{MARK}{path}\n{text.rstrip()}\n" for path, text in files.items())


def taken_apart(text: str) -> dict[str, str]:
    """The files again.  Raises Unavailable for what is no tree, or would be written elsewhere."""
    files: dict[str, str] = {}
    path = ""
    for line in text.splitlines(keepends=True):
        if line.startswith(MARK):
            path = line[len(MARK) :].strip()
            if not SAFE.fullmatch(path) or path in files:
                raise Unavailable(NO_TREE)
            files[path] = ""
        elif path:
            files[path] += line
    if not files:
        raise Unavailable(NO_TREE)
    return files


def read(folder: Path) -> str:
    """The policy files of a folder and of those in it, as one text.  Raises OSError."""
    paths = sorted(path for path in folder.rglob("*.yaml") if path.is_file())
    if not paths:
        raise FileNotFoundError(f"{folder} holds no policy file (*.yaml)")
    return joined({path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths})


def write(folder: Path, text: str) -> tuple[int, list[str]]:
    """Write the files of a tree; answers how many, and which policy files of its folders are no part of it.

    Raises OSError, Unavailable.
    """
    files = taken_apart(text)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    existing = (path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml"))
    return len(files), sorted(path for path in existing if path not in files)


def summary(folder: str, count: int, others: list[str]) -> str:
    """What was written, in lines; files that are no part of the realm would be planned with it."""
    lines = [f"{count:,} files are written to {folder}"]
    return "\n".join([*lines, *(f"not of this realm any more, delete it: {path}" for path in others)])
