"""Which folder each object of the catalog is: by the usual layout, or where its storage location says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lakewarden.backends.errors import BackendError, Gone, Rejected
from policies.sync.backends.files.tree import Path, Tree

ELSEWHERE = "folder"
"""The kind of a folder that carries our mark and is no object's any more."""


@dataclass(frozen=True)
class Place:
    """An object and its folder.  `whole`: rights are on everything in it, not on the folder alone.

    `skip` are folders inside of it that are other objects'.  `way` are the folders that lead to it and are
    no object's on the usual way, so that nobody else opens them.
    """

    kind: str
    path: tuple[str, ...]
    folder: Path
    whole: bool = True
    skip: frozenset[Path] = frozenset()
    way: tuple[Path, ...] = ()


@dataclass
class Places:
    """The folders of a connected tree; `holds` is what a folder in a schema's folder is: fileset or table."""

    tree: Tree
    holds: str
    locations: Mapping[tuple[str, ...], str]
    unknown: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.placed: dict[tuple[str, ...], Path] = {}
        places_used: dict[Path, tuple[str, ...]] = {}
        for path, location in sorted(self.locations.items()):
            message = f"{self.holds} {'.'.join(path)} lies in {location}"
            folder = self.tree.inside(location)
            if folder is None:
                self.unknown.append(f"{message}, which is outside of the connected tree")
            elif len(folder) < 2:
                self.unknown.append(f"{message}, which is the folder of a schema or of the whole catalog")
            elif folder in places_used:
                self.unknown.append(f"{message}, where {'.'.join(places_used[folder])} lies already")
            else:
                places_used[folder] = path
                self.placed[path] = folder
        self.used = frozenset(places_used)

    def of(self, kind: str, path: tuple[str, ...]) -> Place:
        """The folder of an object.  Raises Rejected for a kind that no folder is, Gone for one without."""
        if kind == "catalog" and not path:
            return Place(kind, path, (), whole=False)
        if kind == "schema" and len(path) == 1:
            return Place(kind, path, path, whole=False)
        if kind == ELSEWHERE:
            return self._whole(kind, path, path)
        if kind != self.holds or len(path) != 2:
            raise Rejected(f"no folder can be {kind} {'.'.join(path)}")
        if path in self.locations and path not in self.placed:
            raise Gone(f"{kind} {'.'.join(path)} does not lie in the connected tree")
        return self._whole(kind, path, self.placed.get(path, path))

    def usual(self, schema: str, name: str) -> Place | None:
        """The object whose folder that is by the usual layout; None when it is another's, or no object's."""
        path = (schema, name)
        if path in self.locations or path in self.used:
            return None
        return self.of(self.holds, path)

    def all_placed(self) -> Iterator[Place]:
        yield from (self.of(self.holds, path) for path in self.placed)

    def _whole(self, kind: str, path: tuple[str, ...], folder: Path) -> Place:
        skip = frozenset(other for other in self.used if other != folder and other[: len(folder)] == folder)
        # what USE_CATALOG and USE_SCHEMA do not open already: all between the root and the folder but these
        between = [folder[:length] for length in range(1, len(folder))]
        way = tuple(each for each in between if each != path[:1])
        return Place(kind, path, folder, skip=skip, way=way)


def there(tree: Tree, places: Iterable[Place], gone: Collection[type[BackendError]] = (Gone,)) -> list[Place]:
    """Those whose folder exists."""
    matching = []
    for place in places:
        try:
            with tree.top(place.folder):
                matching.append(place)
        except tuple(gone):
            continue
    return matching
