"""Who facts speak of: a user, a group, a service account or a name pattern."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("user", "group", "service", "pattern")


class BadPrincipal(ValueError):
    """The text names no principal."""


@dataclass(frozen=True)
class Principal:
    """A kind and a name; it may exist before, and without, anybody who can sign in under it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Read `user:alice`, `group:analysts`, `service:etl`; nothing is trimmed or case-folded."""
        kind, colon, name = text.partition(":")
        if not colon or kind not in KINDS or not name:
            raise BadPrincipal(f"`{text}` names no principal; write user:NAME, group:NAME or service:NAME")
        return cls(kind, name)
