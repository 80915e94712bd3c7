"""The rows of the system catalogs of a PostgreSQL database at one moment, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lakewarden.backends.base import ObjectKind, Right
from policies.sync.backends.postgresql import catalog
from policies.sync.backends.postgresql.client import Transaction
from policies.sync.backends.postgresql.names import Identity

KINDS: dict[str, ObjectKind] = {
    "r": "table",
    "p": "table",
    "f": "table",
    "v": "view",
    "m": "view",
    "S": "sequence",
}
PUBLIC = 0
BOOTSTRAP = 10


@dataclass(frozen=True)
class Place:
    """Something with a list of rights: its kind, its path and its owner's oid."""

    kind: ObjectKind
    path: tuple[str, ...]
    owner: int


class Reader:
    """The rows of one consistent look at the catalogs, and what follows from them."""

    def __init__(self, tx: Transaction, identity: Identity) -> None:
        self.version = tx.version
        self.server = tx.rows(catalog.SERVER)[0]
        self.roles = {row.oid: row for row in tx.rows(catalog.roles(tx.version))}
        self.memberships = tx.rows(catalog.memberships(tx.version))
        self.schemas = tx.rows(catalog.SCHEMAS)
        self.relations = tx.rows(catalog.RELATIONS)
        self.columns = tx.rows(catalog.COLUMNS)
        self.sequences = tx.rows(catalog.SEQUENCES)
        self.entries = tx.rows(catalog.ENTRIES)
        self.definers = tx.rows(catalog.DEFINERS)
        self._identity = identity

    def name(self, oid: int) -> str:
        """A role's name; its number when the role is gone and only its entry was left."""
        return "PUBLIC" if oid == PUBLIC else self.roles[oid].name if oid in self.roles else f"#{oid}"

    @cached_property
    def managed(self) -> dict[int, str]:
        """Our roles: the key of each by its oid."""
        keys = {oid: self._identity.key_of(row.name, row.comment) for oid, row in self.roles.items()}
        return {oid: key for oid, key in keys.items() if key is not None}

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Roles that look like ours and are not."""
        others = (row for oid, row in self.roles.items() if oid not in self.managed)
        return tuple(sorted(row.name for row in others if self._identity.suspicious(row.name, row.comment)))

    @cached_property
    def places(self) -> dict[tuple[str, int], Place]:
        """Everything of the user's that has a list of rights, by catalog and oid."""
        places: dict[tuple[str, int], Place] = {
            ("database", self.server.database): Place("catalog", (), self.server.owner)
        }
        for row in self.schemas:
            places["schema", row.oid] = Place("schema", (row.name,), row.owner)
        for row in self.relations:
            places["relation", row.oid] = Place(KINDS[row.form], (row.schema, row.name), row.owner)
        for row in self.sequences:
            places["relation", row.oid] = Place("sequence", (row.schema, row.name), row.owner)
        return places

    @cached_property
    def granted(self) -> list[tuple[Place, Right, Any]]:
        """Every entry on a place of the user's but the owners' own, with the right it says."""
        rights: list[tuple[Place, Right, Any]] = []
        for entry in self.entries:
            place = self.places.get((entry.place, entry.oid))
            if place is not None and entry.grantee != place.owner:
                rights.extend((place, Right(place.kind, place.path, word), entry) for word in _words(entry))
        return rights

    def ours(self, place: Place, entry: Any) -> bool:
        """Whether we could have made an entry and can take it back: to our role, in the owner's name."""
        return entry.grantee in self.managed and entry.grantor == place.owner

    def our_membership(self, row: Any) -> bool:
        """Whether a membership is one we could have made and can take back."""
        if row.role not in self.managed or row.member in self.managed or row.member == self.server.me:
            return False
        mine = BOOTSTRAP if self.server.superuser else self.server.me
        return self.version < 16 or row.grantor == mine

    def conveys(self, row: Any) -> bool:
        """Whether a membership gives its member anything; that of a role's creator is to administer only."""
        return bool(row.inherits or row.sets)


def _words(entry: Any) -> Iterator[str]:
    word = entry.right if entry.column is None else f"{entry.right}({entry.column})"
    yield word
    if entry.grantable:
        yield f"{word} WITH GRANT OPTION"
