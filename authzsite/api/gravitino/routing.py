"""Which call is meant: a table of methods and paths, each with the operation that is asked of the law."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from authzsite.api.gravitino.call import Route
from authzsite.api.gravitino.errors import Problem, not_found, unsupported


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
        decoded = tuple(unquote(part, errors="strict") for part in parts)
    except UnicodeDecodeError:
        raise Problem(400, 1001, "IllegalArgumentException", "The path is no UTF-8") from None
    if any(not part or "\0" in part for part in decoded):
        raise not_found("There is no such path")
    return decoded
