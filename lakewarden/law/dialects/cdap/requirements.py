"""The form of a row in CDAP's tables of policies: what an operation requires, of whom, on which entities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

REQUESTING, EXECUTING = "requesting_user", "executing_user"
IMPERSONATED, MASTER = "impersonated_user", "cdap_master_user"
SELF, OR_BELOW, OR_ABOVE = "self", "self_or_descendant", "parents"
ALLOW, FILTER = "allow", "filter"

INSTANCE, NAMESPACE = "instance:<instance>", "namespace:<ns>"
APPLICATION, PROGRAM = "application:<ns>.<app>", "program:<ns>.<app>.<type>.<program>"
DATASET, STREAM, ARTIFACT = "dataset:<ns>.<dataset>", "stream:<ns>.<stream>", "artifact:<ns>.<artifact>"
DATASET_TYPE, MODULE = "dataset_type:<ns>.<type>", "dataset_module:<ns>.<module>"
KEY, KERBEROS = "securekey:<ns>.<key>", "kerberosprincipal:<principal>"
EVERYTHING = "every entity in <ns>"


@dataclass(frozen=True)
class Requirement:
    """Privileges that one of the users concerned needs on an entity.

    `any` says that one of the privileges is enough.  `scope` is where it may be held: on the entity itself,
    on it or something in it, on it or something above.  Under a `condition` it is needed only then.
    """

    privileges: tuple[str, ...]
    entity: str
    any: bool = False
    scope: str = SELF
    condition: str = ""
    subject: str = REQUESTING

    @property
    def type(self) -> str:
        """The type of the entity, or of each of `every stream in <ns>`; `entity` is any type."""
        return self.entity.split()[1] if self.every else self.entity.partition(":")[0]

    @property
    def every(self) -> bool:
        return self.entity.startswith("every ")

    @property
    def name(self) -> str:
        """What the last part of the entity's name stands for: `artifact`, `full-class-name`."""
        return self.entity.rpartition("<")[2].partition(">")[0]


@dataclass(frozen=True)
class Row:
    """One operation and everything it requires.  `asked` is the type of the entity that a question names."""

    id: str
    requires: tuple[Requirement, ...]
    asked: str
    effect: str = ALLOW


def need(*privileges: str, on: str, when: str = "", of: str = REQUESTING) -> Requirement:
    """Every one of the privileges."""
    return Requirement(privileges, on, condition=when, subject=of)


def one_of(*privileges: str, on: str, when: str = "", of: str = REQUESTING, scope: str = SELF) -> Requirement:
    """Any one of the privileges."""
    return Requirement(privileges, on, any=True, scope=scope, condition=when, subject=of)


def row(id: str, *requires: Requirement, asked: str = "", effect: str = ALLOW) -> Row:
    """A row; a question names an entity of the type that the operation's name begins with, or of `asked`."""
    return Row(id, requires, asked or id.partition(".")[0], effect)


def rows(operations: str, *requires: Requirement, effect: str = ALLOW) -> Iterable[Row]:
    """Rows that require the same: `rows("stream.drop stream.truncate", need("ADMIN", on=STREAM))`."""
    return (row(each, *requires, effect=effect) for each in operations.split())
