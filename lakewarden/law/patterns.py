"""What is held on texts such as `dataset:ns1.*`, compiled so that many are asked as fast as few.

Texts are kept by type, then part by part.  A part that is exact is found by look-up; patterns are found by
what they begin and end with, or else by a piece they hold, so only those are tried that can be like the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lakewarden.law.globs import Glob, edges, is_glob, pieces

FEW = 8
"""Up to so many patterns that begin and end alike are tried one by one."""
LONGEST_PIECE = 12


def parts_of(text: str) -> tuple[str, tuple[str, ...]]:
    """A text's type and parts; those of a program are always four, of which the last two may be stars."""
    type, _, name = text.partition(":")
    if type == "program":
        parts = tuple(name.split("."))
        return type, (*parts, "*") if len(parts) == 3 else parts
    return type, (name,) if type in ("instance", "namespace", "kerberosprincipal") else tuple(
        name.split(".", 1)
    )


class Texts:
    """The privileges held on texts, as bits, by type."""

    def __init__(self, held: Iterable[tuple[str, int]]) -> None:
        self._exact: dict[str, dict[tuple[str, ...], int]] = {}
        self._like: dict[str, _Branch] = {}
        self._holding: dict[str, _Branch] = {}
        for text, bits in held:
            self._take(*parts_of(text), bits)

    def _take(self, type: str, parts: tuple[str, ...], bits: int) -> None:
        if any(map(is_glob, parts)):
            self._like.setdefault(type, _Branch()).grow(parts, bits)
        else:
            exact = self._exact.setdefault(type, {})
            exact[parts] = exact.get(parts, 0) | bits
        for container, count in (("namespace", 1), ("application", 2)):
            if len(parts) > count and (count == 1 or type == "program"):
                self._holding.setdefault(container, _Branch()).grow(parts[:count], bits)

    def on(self, type: str, parts: tuple[str, ...]) -> int:
        """What is held on the entity of that name, by texts that name it and those like it."""
        exact, like = self._exact.get(type), self._like.get(type)
        bits = exact.get(parts, 0) if exact else 0
        return bits | like.found(parts) if like else bits

    def below(self, type: str, parts: tuple[str, ...]) -> int:
        """What is held on texts that can name something in the entity."""
        holding = self._holding.get(type)
        return holding.found(parts) if holding else 0


class _Branch:
    """All texts that are alike up to some part: how they go on, and the bits of those that end here."""

    __slots__ = ("bits", "exact", "like")

    def __init__(self) -> None:
        self.bits = 0
        self.exact: dict[str, _Branch] = {}
        self.like = _Patterns()

    def grow(self, parts: Sequence[str], bits: int) -> None:
        branch = self
        for part in parts:
            branch = branch.like.branch(part) if is_glob(part) else branch.exact.setdefault(part, _Branch())
        branch.bits |= bits

    def found(self, parts: tuple[str, ...], at: int = 0) -> int:
        if at == len(parts):
            return self.bits
        bits, part = 0, parts[at]
        branch = self.exact.get(part)
        if branch is not None:
            bits = branch.found(parts, at + 1)
        for branch in self.like.matching(part):
            bits |= branch.found(parts, at + 1)
        return bits


class _Patterns:
    """Patterns of one part, found by what the part begins and ends with."""

    __slots__ = ("all", "ends")

    def __init__(self) -> None:
        self.all: dict[str, _Branch] = {}
        self.ends: dict[tuple[int, int], dict[tuple[str, str], _Bucket]] = {}

    def branch(self, pattern: str) -> _Branch:
        branch = self.all.get(pattern)
        if branch is None:
            branch = self.all[pattern] = _Branch()
            begins, ends = edges(pattern)
            same = self.ends.setdefault((len(begins), len(ends)), {})
            same.setdefault((begins, ends), _Bucket()).add(pattern, branch)
        return branch

    def matching(self, part: str) -> Iterator[_Branch]:
        for (first, last), buckets in self.ends.items():
            bucket = buckets.get((part[:first], part[len(part) - last :] if last else ""))
            if bucket is not None and len(part) >= first + last:
                yield from bucket.matching(part)


class _Bucket:
    """Patterns that begin and end alike, found by the longest piece that they hold between."""

    __slots__ = ("all", "holding", "plain")

    def __init__(self) -> None:
        self.all: list[_Tried] = []
        self.plain: list[_Tried] = []
        self.holding: dict[int, dict[str, list[_Tried]]] = {}

    def add(self, pattern: str, branch: _Branch) -> None:
        tried = (Glob(pattern), branch)
        self.all.append(tried)
        piece = max(pieces(pattern), key=len, default="")[:LONGEST_PIECE]
        kept = self.holding.setdefault(len(piece), {}).setdefault(piece, []) if piece else self.plain
        kept.append(tried)

    def matching(self, part: str) -> Iterator[_Branch]:
        for glob, branch in self.all if len(self.all) <= FEW else self._candidates(part):
            if glob(part):
                yield branch

    def _candidates(self, part: str) -> Iterator[_Tried]:
        yield from self.plain
        for length, holding in self.holding.items():
            for piece in {part[at : at + length] for at in range(len(part) - length + 1)}:
                yield from holding.get(piece, ())


_Tried = tuple[Glob, _Branch]
