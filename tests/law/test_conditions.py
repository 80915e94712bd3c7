"""Conditions are choices between smallest sets of atoms."""

from lakewarden.law.conditions import ANYTHING, AnyOf, Atom, can, holds, numbered, owns, ways

A, B, C = can("A"), can("B"), can("C")
NUMBERS = {A: 1, B: 2, C: 4, Atom("owner", "table"): 8}


def test_and_or_make_ways_in_reading_order():
    assert ways(A & (B | C)) == (frozenset((A, B)), frozenset((A, C)))
    assert ways(A | B & C) == (frozenset((A,)), frozenset((B, C)))


def test_a_way_that_asks_for_more_than_another_is_dropped():
    assert ways(A & B | A) == (frozenset((A,)),)
    assert ways(A | A) == (frozenset((A,)),)


def test_owning_one_of_several_types_is_a_choice():
    assert owns("catalog", "table") == AnyOf((Atom("owner", "catalog"), Atom("owner", "table")))
    assert owns("table") == Atom("owner", "table")


def test_numbers_answer_like_sets():
    condition = A & (B | owns("table")) | C
    numbers = numbered(condition, NUMBERS)
    for word in range(16):
        true = {atom for atom, bit in NUMBERS.items() if word & bit}
        assert holds(numbers, word) == any(way <= true for way in ways(condition))


def test_anything_asks_for_nothing():
    assert holds(numbered(ANYTHING, NUMBERS), 0)
    assert not holds(numbered(A, NUMBERS), 0)
    assert not holds((), 15)
