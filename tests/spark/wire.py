"""Snapshots as the console sends them, made from a table of facts."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from lakewarden.client.snapshot import SCHEMA, sealed
from lakewarden.law.facts import Rule
from lakewarden.testing import snapshot


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()  # noqa: UP017 - Python 3.9


def wire(
    facts: str, *, issued: float, revision: int = 7, lasts: float = 3600.0, **other: Any
) -> dict[str, Any]:
    """The facts as a document with its digest, good for so many seconds; `other` replaces parts of it."""
    made = snapshot(facts)
    names = list(dict.fromkeys([_key(rule) for rule in made.slice.rules]))
    places = {place: [f"{ref.type}:{ref.id}" for ref in refs] for place, refs in made.locations.items()}
    names += [key for keys in places.values() for key in keys if key not in names]
    return sealed(
        {
            "schema": SCHEMA,
            "realm": "demo",
            "principal": "user:ana",
            "dialect": "gravitino",
            "revision": revision,
            "issued": iso(issued),
            "expires": iso(issued + lasts),
            "next_change_at": None,
            "mode": "on",
            "member": True,
            "service_admin": False,
            "names": [key.split(":", 1) for key in names],
            "stations": [],
            "ways": [[]],
            "facts": [
                [names.index(_key(rule)), rule.privilege, int(rule.allow), 0, 1, "fact"]
                for rule in made.slice.rules
            ],
            "selves": [],
            "apart": [],
            "locations": {place: [names.index(key) for key in keys] for place, keys in places.items()},
            "hidden": [],
            "spellings": [],
            "salt": "",
            **other,
        }
    )


def _key(rule: Rule) -> str:
    return str(rule.object)
