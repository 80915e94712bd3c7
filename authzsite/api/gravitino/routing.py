"""Which call is meant: a table of methods and paths, each with the operation that is asked of the law."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from authzsite.api.gravitino.bodies import Reader
from authzsite.api.gravitino.errors import Problem, not_found, unsupported

if TYPE_CHECKING:
    from authzsite.api.gravitino.call import Call

Handler = Callable[["Call"], Mapping[str, Any] | Callable[[], Mapping[str, Any]]]
"""What is done; an answer that tells who changed what, and when, is made once the change is committed."""


@dataclass(frozen=True)
class Route:
    """One call.

    `weigh` decides instead of the usual question about the object in the path.  `idle` names what may be
    disabled while the call still works.  `absent_ok` means that the last object in the path may be absent.
    `noun` is the type that errors speak of, `illegal` and `taken` what an
    Invalid and an AlreadyExists of ours are called.  `site` marks calls
    that are about no metalake.  `types` names the types of objects it is for, where it is
    not for all: another one in the path is an illegal argument before anything is asked.
    """

    method: str
    path: str
    operation: str
    handle: Handler
    body: Reader | None = None
    optional_body: bool = False
    weigh: Callable[[Call], None] | None = None
    idle: tuple[str, ...] = ()
    absent_ok: bool = False
    noun: str = ""
    illegal: str = "IllegalArgumentException"
    taken: str = ""
    reads: bool = False
    site: bool = False
    types: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.reads

    @property
    def about(self) -> str:
        return self.noun or self.operation.partition(".")[0].lower()

    @property
    def words(self) -> tuple[str, str, str]:
        """What errors of ours are called in this call."""
        return self.about, self.illegal, self.taken

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))


class Table:
    """All calls; a literal part of a path goes before one that stands for a name."""

    def __init__(self, routes: Iterable[Route]):
        self._by_length: dict[int, list[Route]] = {}
        for route in sorted(routes, key=_shape):
            self._by_length.setdefault(len(route.parts), []).append(route)

    def match(self, method: str, segments: tuple[str, ...]) -> tuple[Route, dict[str, str]]:
        """The call and the names in its path.  Raises Problem 404 or 405."""
        fitting = [
            (route, names)
            for route in self._by_length.get(len(segments), ())
            if (names := _names(route.parts, segments)) is not None
        ]
        if not fitting:
            raise not_found("There is no such path")
        narrowest = _shape(fitting[0][0])
        for route, names in fitting:
            if route.method == method and _shape(route) == narrowest:
                return route, names
        raise unsupported(f"{method[:20]} is not supported here")


def _shape(route: Route) -> list[bool]:
    return [part.startswith("{") for part in route.parts]


def _names(parts: tuple[str, ...], segments: tuple[str, ...]) -> dict[str, str] | None:
    names = {}
    for part, segment in zip(parts, segments, strict=True):
        if part.startswith("{"):
            names[part[1:-1]] = segment
        elif part != segment:
            return None
    return names


def segments(path: str) -> tuple[str, ...]:
    """The parts of an escaped path below `/api`; one slash at the end says nothing.  Raises Problem."""
    parts = path.removeprefix("/api").removeprefix("/").removesuffix("/").split("/")
    try:
        found = tuple(unquote(part, errors="strict") for part in parts)
    except UnicodeDecodeError:
        raise Problem(400, 1001, "IllegalArgumentException", "The path is no UTF-8") from None
    if any(not part or "\0" in part for part in found):
        raise not_found("There is no such path")
    return found
