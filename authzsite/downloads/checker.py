"""The program that checks evidence and archives far from this site, as one file for Python 3.9 or newer."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

import lakewarden

NAME = "check-evidence.pyz"
START = "import sys\n\nfrom lakewarden.record.__main__ import main\n\nsys.exit(main())\n"
NEEDED = ("record", "law")
"""The packages that checking is made of; nothing of them needs more than the standard library."""
THEN = (1980, 1, 1, 0, 0, 0)


@cache
def checker() -> bytes:
    """The same bytes on every machine with this release, so that its digest can be compared."""
    home = Path(lakewarden.__file__).parent
    sources = [home / "__init__.py", *(path for name in NEEDED for path in (home / name).rglob("*.py"))]
    made = io.BytesIO(b"#!/usr/bin/env python3\n")
    made.seek(0, io.SEEK_END)
    with zipfile.ZipFile(made, "a") as archive:
        _put(archive, "__main__.py", START)
        for path in sorted(sources):
            _put(archive, str(path.relative_to(home.parent)), path.read_text(encoding="utf-8"))
    return made.getvalue()


def _put(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name, THEN), text, zipfile.ZIP_DEFLATED)
