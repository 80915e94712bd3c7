"""What is true of every set of privileges and every name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from lakewarden.law import engine
from lakewarden.law.dialects.cdap.authorizable import Authorizable, below, lengths, matches, of, parse
from lakewarden.law.globs import like
from lakewarden.law.patterns import Texts
from tests.cdap_law.asking import decided, holding, lineage

ROUNDS = pytest.mark.parametrize("rounds", [15, pytest.param(60, marks=pytest.mark.slow)])
TYPES = ("namespace", "application", "program", "dataset", "stream", "kerberosprincipal")
CODES = ("READ", "WRITE", "EXECUTE", "ADMIN")
LETTERS = "abX_"
Held = list[tuple[Authorizable, str]]


def a_name(rng: random.Random, letters: str = LETTERS) -> str:
    return "".join(rng.choice(letters) for _ in range(rng.randint(1, 4)))


def a_glob(rng: random.Random) -> str:
    return a_name(rng, LETTERS + "*?*?")


def an_entity(rng: random.Random) -> Authorizable:
    type = rng.choice(TYPES)
    return of(type, *(a_name(rng) for _ in range(max(lengths(type)))))


def a_target(rng: random.Random) -> Authorizable:
    type = rng.choice(TYPES)
    if type == "program" and rng.random() < 0.3:
        return of(type, a_glob(rng), a_glob(rng), "*")
    return of(type, *(a_glob(rng) for _ in range(max(lengths(type)))))


def named_by(target: Authorizable) -> Authorizable:
    """An entity that a pattern names."""
    return of(target.type, *(part.replace("*", "b").replace("?", "a") for part in target.whole))


def worlds(rounds: int, of_patterns: bool = True) -> Iterator[tuple[Held, list[Authorizable]]]:
    rng = random.Random(43)
    for _ in range(rounds):
        place_target = a_target if of_patterns else an_entity
        held = [(place_target(rng), rng.choice(CODES)) for _ in range(rng.randint(0, 60))]
        near = [an_entity(rng) for _ in range(20)]
        near += [
            of(target.type, *(part.replace("*", "b").replace("?", "a") for part in target.whole))
            for target, _ in held
        ]
        near += [item.parent for item in near if item.parent]
        yield held, near


def slice_of(law: str, held: Held) -> engine.Slice:
    return holding(law, [(code, str(target)) for target, code in held])


@pytest.mark.seed("S1-111", "S1-113", "S1-114")
def test_a_glob_is_what_everybody_takes_it_for() -> None:
    rng, seen = random.Random(1), set()
    for _ in range(20_000):
        pattern, name = a_glob(rng) + a_glob(rng)[:2], a_name(rng) + a_name(rng)
        seen.add(fnmatchcase(name, pattern))
        assert like(pattern, name) == fnmatchcase(name, pattern), (pattern, name)
    assert seen == {True, False}


def test_no_pattern_takes_long() -> None:
    assert not like("*a" * 500 + "b", "a" * 5000)


@ROUNDS
def test_enforcing_patterns_equals_matching_each_of_them(rounds: int) -> None:
    answers = set()
    for held, entities in worlds(rounds):
        mine = slice_of("cdap43", held)
        for entity in entities:
            for code in CODES:
                naive = any(code == given and matches(target, entity) for target, given in held)
                assert decided(mine, code, str(entity)) == naive, (code, str(entity))
                answers.add(naive)
    assert answers == {True, False}


@ROUNDS
@pytest.mark.seed("S1-038", "S1-039")
def test_the_latest_visibility_is_the_entity_or_anything_in_it(rounds: int) -> None:
    for held, entities in worlds(rounds):
        mine = slice_of("cdap43", held)
        for entity in entities:
            naive = any(matches(target, entity) or below(target, entity) for target, _ in held)
            assert engine.shows(mine, lineage("cdap43", str(entity)), now=0.0) == naive, str(entity)
            if entity.type in ("namespace", "application"):
                assert decided(mine, f"{entity.type}.get", str(entity)) == naive


def line_of(entity: Authorizable) -> list[Authorizable]:
    return [entity, *(line_of(entity.parent) if entity.parent else ())]


@ROUNDS
def test_the_visibility_of_3_5_is_the_entity_or_anything_above_it(rounds: int) -> None:
    for held, entities in worlds(rounds, of_patterns=False):
        mine = slice_of("cdap35", held)
        for entity in entities:
            naive = any(target in line_of(entity) and code != "EXECUTE" for target, code in held)
            naive |= entity.type == "program" and any(target == entity for target, _ in held)
            assert engine.shows(mine, lineage("cdap35", str(entity)), now=0.0) == naive, str(entity)


@ROUNDS
@pytest.mark.seed("S1-045", "S1-213")
def test_nothing_reaches_down_or_up_but_in_3_5(rounds: int) -> None:
    for held, entities in worlds(rounds, of_patterns=False):
        own = {(str(target), code) for target, code in held}
        of_34, of_35, of_43 = (slice_of(law, held) for law in ("cdap34", "cdap35", "cdap43"))
        for entity in entities:
            for code in CODES:
                mine = (str(entity), code) in own
                assert decided(of_34, code, str(entity)) == mine
                assert decided(of_43, code, str(entity)) == mine
                inherited = any((str(item), code) in own for item in line_of(entity))
                assert decided(of_35, code, str(entity)) == inherited


def test_a_whole_set_is_held_in_one_place() -> None:
    apart = holding("cdap35", [("READ", "namespace:ns1"), ("WRITE", "dataset:ns1.orders")])
    assert decided(apart, "READ", "dataset:ns1.orders")
    assert decided(apart, "WRITE", "dataset:ns1.orders")
    assert not decided(apart, "READ_WRITE", "dataset:ns1.orders")
    for place in ("instance:cdap", "namespace:ns1", "dataset:ns1.orders"):
        assert decided(
            holding("cdap35", [("READ", place), ("WRITE", place)]), "READ_WRITE", "dataset:ns1.orders"
        )
        assert decided(holding("cdap35", [("ALL", place)]), "READ_WRITE", "dataset:ns1.orders")


@ROUNDS
def test_compiled_texts_hold_the_same_bits(rounds: int) -> None:
    bits = {"READ": 1, "WRITE": 2, "EXECUTE": 4, "ADMIN": 8}
    for held, entities in worlds(rounds):
        texts = Texts((str(target), bits[code]) for target, code in held)
        for entity in entities:
            naive = 0
            for target, code in held:
                naive |= bits[code] if matches(target, entity) else 0
            assert texts.on(entity.type, entity.whole) == naive, str(entity)


def test_a_text_is_read_back_as_it_was_written() -> None:
    rng = random.Random(7)
    for _ in range(2_000):
        target = a_target(rng)
        assert parse(str(target)).whole == target.whole
        assert str(parse(str(target))) == str(target)


def test_a_pattern_that_covers_another_covers_all_it_names() -> None:
    rng, covered = random.Random(9), 0
    for _ in range(60_000):
        wide, narrow, name = a_glob(rng), a_glob(rng), a_name(rng)
        if like(wide, narrow) and like(narrow, name):
            covered += 1
            assert like(wide, name), (wide, narrow, name)
    assert covered > 1_000
