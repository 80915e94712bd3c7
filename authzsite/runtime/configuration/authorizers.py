"""The file that says which authorizers serve which realms, read once at the start."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from lakewarden import authorizers
from lakewarden.authorizers import Configured

VARIABLE = "LAKEWARDEN_AUTHORIZERS"
KNOWN = {"extension", "path", "refresh", "ttl", "config"}


def read(text: str) -> dict[str, Configured]:
    """The authorizers by their realms.  Raises ValueError with one line for whatever cannot be meant."""
    if not text.strip():
        return {}
    place = Path(text.strip())
    if not place.is_absolute():
        raise ValueError(f"{VARIABLE} must be the absolute path of a file")
    try:
        tables = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{VARIABLE}: {place} cannot be read: {type(error).__name__}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{VARIABLE}: {place} is no TOML: {error}") from None
    return {realm: _configured(realm, table) for realm, table in tables.items()}


def _configured(realm: str, table: Any) -> Configured:
    where = f"{VARIABLE}: [{realm}]"
    if not isinstance(table, dict) or not isinstance(table.get("extension"), str):
        raise ValueError(f"{where} must name its extension")
    if unknown := sorted(table.keys() - KNOWN):
        raise ValueError(f"{where} has no {', '.join(unknown)}; its own properties stand in [{realm}.config]")
    config, refresh, ttl = (
        table.get("config", {}),
        table.get("refresh", Configured.refresh),
        table.get("ttl", Configured.ttl),
    )
    numbers = all(isinstance(value, int | float) and value > 0 for value in (refresh, ttl))
    if not isinstance(config, dict) or not numbers:
        raise ValueError(f"{where}: refresh and ttl are seconds above zero, config is a table")
    # folders in which extensions may be installed beside the console's own packages
    folders = table.get("path", [])
    usable = isinstance(folders, list) and all(isinstance(item, str) for item in folders)
    if not usable or not all(Path(item).is_absolute() and Path(item).is_dir() for item in folders):
        raise ValueError(f"{where}: path must list folders that are there, by their absolute paths")
    new = [item for item in folders if item not in sys.path]
    sys.path.extend(new)
    if new:
        authorizers.forget()
    try:
        authorizers.make(table["extension"], config)
    except authorizers.BadConfiguration as error:
        raise ValueError(f"{where}: {error}") from None
    return Configured(table["extension"], config, float(refresh), float(ttl))
