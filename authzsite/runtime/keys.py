"""Secrets that a site makes for itself on its first start and keeps in `var/`, readable by its user only."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept_secret(place: Path, make: Callable[[], str] = lambda: secrets.token_urlsafe(50)) -> str:
    """The secret in the file `place`, made when absent; two processes starting at once get the same one."""
    if not place.exists():
        put_new(place, make())
    return place.read_text().strip()


def put_new(place: Path, text: str) -> None:
    """Write the file whole with mode 0600; one that is already there wins."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
    try:
        os.link(name, place)  # fails when the file exists; a rename would replace it
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
