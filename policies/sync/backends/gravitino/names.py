"""How people, objects and our roles are called between this console and a metalake.

A Gravitino role bears properties, so our mark stands in one of them; users and groups are kept apart by a
prefix wherever they are named in one list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.backends.base import Right
from lakewarden.law.dialects.gravitino.privileges import ALIASES
from policies.sync.backends.postgresql.names import Identity

MARK = "lakewarden"
"""The property of a role that says whose it is."""
GROUP, USER = "group:", "user:"
OWNER = "OWNER"
DENY = "DENY "
METALAKE = "metalake"
HERE = frozenset({"MANAGE_GRANTS", "MANAGE_USERS", "MANAGE_GROUPS", "CREATE_ROLE"})
"""Privileges to hand out access: they stay here, or there would be a second place where it is decided."""


def user(name: str) -> str:
    """A user in a list of people; only a name that looks like a prefix of ours gets one."""
    return USER + name if name.startswith((GROUP, USER)) else name


def group(name: str) -> str:
    return GROUP + name


@dataclass(frozen=True)
class Person:
    """A user or a group as the API's paths name it."""

    kind: str
    name: str

    @classmethod
    def of(cls, text: str) -> Person:
        if text.startswith(GROUP):
            return cls("group", text.removeprefix(GROUP))
        return cls("user", text.removeprefix(USER))

    @property
    def text(self) -> str:
        return group(self.name) if self.kind == "group" else user(self.name)


def tag(client: str) -> str:
    """A metalake within its site, for telling whether two sites carry into each other."""
    return f"gravitino:{client}"


def owner_key(person: str) -> str:
    """The key under which all that somebody owns is planned."""
    return f"owner:{person}"


def owns(key: str) -> str:
    """Whose ownerships a key stands for; "" when it is the key of a role."""
    return key.removeprefix("owner:") if key.startswith("owner:") else ""


def full_name(client: str, right: Right) -> str:
    """The object of a right as the API names it."""
    return ".".join(right.path) if right.path else client


def path_of(kind: str, name: str) -> tuple[str, ...]:
    """The reverse; only the last part of a name may hold dots."""
    depth = {METALAKE: 0, "catalog": 1, "schema": 2}.get(kind, 3)
    return tuple(name.split(".", depth - 1)) if depth else ()


def rights_of(objects: Iterable[Mapping[str, Any]]) -> frozenset[Right]:
    """What a role holds, from its list of objects."""
    return frozenset(
        Right(kind, path_of(kind, str(source_object.get("fullName", ""))), _word(given))
        for source_object in objects
        for kind in [str(source_object.get("type", "")).lower()]
        for given in source_object.get("privileges") or ()
    )


def _word(given: Mapping[str, Any]) -> str:
    name = str(given.get("name", "")).upper()
    denied = str(given.get("condition", "allow")).upper() == "DENY"
    return (DENY if denied else "") + ALIASES.get(name, name)


def wire(word: str) -> dict[str, str]:
    """One right as the API wants it."""
    name = word.removeprefix(DENY)
    return {"name": name.lower(), "condition": "deny" if name != word else "allow"}


def opposite(word: str) -> str:
    return word.removeprefix(DENY) if word.startswith(DENY) else DENY + word


class Marks(Identity):
    """Which roles of a metalake are ours."""

    def properties(self, key: str, label: str) -> dict[str, str]:
        return {MARK: self.comment(key, label)}

    def key(self, name: str, properties: Mapping[str, Any] | None) -> str | None:
        """The key of a role if it is ours: its property and its name both say so."""
        return self.key_of(name, _mark_in(properties))

    def odd(self, name: str, properties: Mapping[str, Any] | None) -> bool:
        """Whether a role that is not ours looks as if it were."""
        return self.suspicious(name, _mark_in(properties))

    def could_be(self, name: str) -> bool:
        """Whether a role of that name is worth reading to learn whether it is ours."""
        return re.fullmatch(re.escape(self.prefix) + "[0-9a-f]{12}", name) is not None


def _mark_in(properties: Mapping[str, Any] | None) -> str | None:
    mark = (properties or {}).get(MARK)
    return mark if isinstance(mark, str) else None
