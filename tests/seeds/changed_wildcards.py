"""Wildcards that stand for more or for less: in the names of a CDAP's entities, in the user ids of a Herd."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from lakewarden.law import globs, patterns
from tests.seeds.mutant import Mutant

STAR, MARK, ANY, SUFFIX = (
    "*",
    "?",
    ".*",
    "upper(right(btrim(n.name), length(p.name) - 1)) = upper(substr(p.name, 2))",
)

LETTERS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    # the change, what a star and a question mark then stand for, and the rows that say otherwise
    ("a star stands for one letter at least", ".+", ".", ("S1-113", "S1-144", "S1-196")),
    ("a star stands for one letter at most", ".?", ".", ("S1-113", "S1-144", "S1-146", "S1-196")),
    ("a star is a letter", r"\*", ".", ("S1-111", "S1-113", "S1-144", "S1-146", "S1-164", "S1-196")),
    ("a question mark stands for none as well", ANY, ".?", ("S1-114", "S1-145")),
    ("a question mark stands for many", ANY, ".+", ("S1-114", "S1-145")),
    ("a question mark is a letter", ANY, r"\?", ("S1-114", "S1-145")),
)


def _lower(type: str, parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return type, tuple(part.lower() for part in parts)


def _anywhere(type: str, parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return type, ("anywhere", *parts[1:]) if len(parts) > 1 else parts


NAMES: tuple[tuple[str, Callable[..., tuple[str, tuple[str, ...]]], tuple[str, ...]], ...] = (
    ("capitals are small letters", _lower, ("S1-144",)),
    ("a pattern counts in every namespace", _anywhere, ("S1-111", "S1-146", "S1-196")),
)
USER_IDS = (
    (
        "a user id is like its beginning",
        "upper(left(btrim(n.name), length(p.name) - 1)) = upper(substr(p.name, 2))",
    ),
    ("a star stands for nobody", "p.name <> '*' AND " + SUFFIX),
    ("a star is all there is", "p.name = '*'"),
    ("a wildcard is everybody", "true"),
)


@contextmanager
def letters(star: str, mark: str) -> Iterator[None]:
    """Patterns whose wildcards stand for what these expressions stand for."""

    class Changed(globs.Glob):
        def __init__(self, pattern: str) -> None:
            super().__init__(pattern)
            spelled = (star if c == STAR else mark if c == MARK else re.escape(c) for c in pattern)
            self.form = re.compile("".join(spelled), re.DOTALL)

        def __call__(self, text: str) -> bool:
            return self.form.fullmatch(text) is not None

    def matching(kept: Any, part: str) -> Iterator[Any]:
        return (branch for pattern, branch in kept.all.items() if Changed(pattern)(part))

    with (
        mock.patch.object(globs, "_compiled", Changed),
        mock.patch.object(patterns._Patterns, "matching", matching),
    ):
        yield


@contextmanager
def names(changed: Callable[..., tuple[str, tuple[str, ...]]]) -> Iterator[None]:
    """Privileges on names that count as if they, and what is asked about, were spelled otherwise."""
    take, on = patterns.Texts._take, patterns.Texts.on
    with (
        mock.patch.object(
            patterns.Texts, "_take", lambda kept, *text: take(kept, *changed(*text[:2]), text[2])
        ),
        mock.patch.object(patterns.Texts, "on", lambda kept, *text: on(kept, *changed(*text))),
    ):
        yield


@contextmanager
def reaching_below() -> Iterator[None]:
    """What is given on a namespace counts on all that is in it."""
    on = patterns.Texts.on

    def wider(kept: patterns.Texts, type: str, parts: tuple[str, ...]) -> int:
        return on(kept, type, parts) | on(kept, "namespace", parts[:1])

    with mock.patch.object(patterns.Texts, "on", wider):
        yield


@contextmanager
def user_ids(condition: str) -> Iterator[None]:
    """Wildcard user ids that speak of others than they should."""
    from policies.decisions.fact_rows import statement  # Django must be set up

    assert SUFFIX in statement._STATEMENT
    statement.statement_of.cache_clear()
    with mock.patch.object(statement, "_STATEMENT", statement._STATEMENT.replace(SUFFIX, condition)):
        yield
    statement.statement_of.cache_clear()


def mutants() -> Iterator[Mutant]:
    """One for each change and each row that forbids it."""
    for change, star, mark, rows in LETTERS:
        for row in rows:
            yield Mutant(f"cdap wildcards: {change}", (row,), partial(letters, star, mark))
    for change, changed, rows in NAMES:
        for row in rows:
            yield Mutant(f"cdap wildcards: {change}", (row,), partial(names, changed))
    for row in ("S1-144", "S1-145"):
        yield Mutant("cdap wildcards: a namespace's reach all below", (row,), reaching_below)
    for change, condition in USER_IDS:
        yield Mutant(f"herd wildcards: {change}", ("S3-024",), partial(user_ids, condition))
