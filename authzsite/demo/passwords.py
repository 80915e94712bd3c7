"""Passwords of the demo, made once and kept in `var/demo.json` with mode 0600."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from authzsite.runtime.keys import put_new

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like something else

# user name, full name, what a visitor should know
PEOPLE = (
    ("olivia", "Olivia Owner", "owns schema shop.sales"),
    ("ana", "Ana Analyst", "wants to read shop.sales.orders"),
    ("marek", "Marek Malik", "owns metalake demo"),
    ("ada", "Ada Auditor", "may read the history, no data"),
)
# who signs in to the database of the shop
LOGINS = (
    *("olivia", "ana", "marek", "ada", "mia", "tomas", "noah", "carl", "dora"),
    *("legacy_bi", "nightly_load", "lakewarden"),
)


@dataclass(frozen=True)
class SignIn:
    user: str
    name: str
    about: str
    password: str


@dataclass(frozen=True)
class Passwords:
    """`console` signs in to Lakewarden, `database` to the database of the shop; the two differ."""

    console: tuple[SignIn, ...]
    database: dict[str, str]


def load(var: Path) -> Passwords:
    """Read `var/demo.json`, made when absent.  Raises ValueError when somebody broke it."""
    place = var / "demo.json"
    if not place.exists():
        made = {
            "console": {user: _password() for user, _, _ in PEOPLE},
            "database": {user: _password() for user in LOGINS},
        }
        put_new(place, json.dumps(made, indent=2))
    kept = json.loads(place.read_text())
    try:
        return Passwords(
            console=tuple(SignIn(*person, kept["console"][person[0]]) for person in PEOPLE),
            database={name: kept["database"][name] for name in LOGINS},
        )
    except KeyError as missing:
        raise ValueError(
            f"{place} lacks the password of {missing}; remove the file to get new ones"
        ) from None


def users(var: Path) -> tuple[str, ...]:
    """Who may sign in to the demo; nobody where there is none."""
    return tuple(user for user, _, _ in PEOPLE) if (var / "demo.json").exists() else ()


def _password() -> str:
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
