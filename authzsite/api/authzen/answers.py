"""What is answered, and where a batch stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from authzsite.api.authzen.questions import Semantic

STOPS_AT: Mapping[Semantic, bool | None] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}


class Answer(NamedTuple):
    """A decision and what goes with it.  A `status` other than 200 means that nothing was decided."""

    allowed: bool
    context: Mapping[str, Any]
    status: int = 200

    @property
    def wire(self) -> dict[str, Any]:
        return {"decision": self.allowed, "context": self.context}


def undecided(status: int, message: str) -> Answer:
    """What stands in the place of an item that could not be decided; it counts as a denial."""
    return Answer(allowed=False, context={"error": {"status": status, "message": message}}, status=status)


def truncated(answers: Iterable[Answer], semantic: Semantic) -> Iterator[Answer]:
    """The answers up to and including the one at which the semantic stops."""
    stop = STOPS_AT[semantic]
    for answer in answers:
        yield answer
        if answer.allowed is stop:
            return
