"""What should be true in Ranger for an instance of CDAP: each person's privileges, on texts as CDAP has them.

CDAP's extension for Ranger knows people and groups and no roles, and asks about each entity by itself, so
rights through roles and groups are written for each person.  What its law gives without a privilege, to
the owner of the realm, is no policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from lakewarden.backends.base import Desired, Observation, Right
from lakewarden.backends.console import Holder
from lakewarden.backends.decisions import Decisions, Mirror
from lakewarden.law.dialects.cdap.authorizable import INSTANCE, PROGRAM, Authorizable, parse
from lakewarden.law.facts import Slice
from policies.sync.backends.ranger.types import EACH, WHOLE

LAW = "cdap43"
"""The generation by whose rules CDAP's extension decides."""


def wanted(backend: Any, decisions: Decisions, seen: Observation) -> tuple[Desired, list[str]]:
    """What should be there; nothing can be absent."""
    return CdapMirror(backend, decisions, seen.people).desired(seen.people), []


def as_path(entity: Authorizable) -> tuple[str, ...]:
    """The path of an entity, or of all like a pattern: what CDAP's extension asks Ranger about."""
    parts = entity.whole if entity.type != INSTANCE else ()
    if entity.type == PROGRAM:
        space, application, type_, name = entity.parts if len(entity.parts) == 4 else (*parts[:3], WHOLE)
        program = WHOLE if (type_, name) == (WHOLE, WHOLE) else f"{type_}.{name}"
        parts = (space, application, program)
    return tuple(EACH if part == WHOLE else part for part in parts)


class CdapMirror(Mirror):
    """The desired state by person, of rules that are about texts."""

    def __init__(self, backend: Any, decisions: Decisions, people: frozenset[str]) -> None:
        super().__init__(backend, decisions, ())
        self._people = people

    @cached_property
    def principals(self) -> Sequence[Holder]:
        """Every person and service whom Ranger knows, too: the law admits everybody."""
        return self.decisions.named(self._people)

    def _rights(self, slice_: Slice) -> Iterable[Right]:
        for rule in slice_.rules:
            if isinstance(rule.object, str) and rule.allow and rule.holds_at(self.moment):
                entity = parse(rule.object)
                for word in self.backend.rights_for(rule.privilege, entity.type):
                    yield Right(entity.type, as_path(entity), word)
