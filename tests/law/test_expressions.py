"""Every operation agrees with Gravitino's own expression of it, over thousands of random worlds."""

import random
from collections import Counter

import pytest

from lakewarden.law import engine
from lakewarden.law.facts import Level

from .expressions import LISTS, OPERATIONS, Reader
from .worlds import BY_TYPE, LAW, TREE, questions, random_slice


def test_no_operation_is_left_out():
    assert set(LAW.operations) == set(OPERATIONS)


@pytest.mark.seed("S4-017", "S4-018", "S4-022", "S4-025")
def test_every_operation_agrees_with_its_expression():
    rng = random.Random(2026)
    yes, asked = Counter(), Counter()
    for _ in range(400):
        slice = random_slice(rng)
        for operation, lineage, also in questions(rng):
            expected = Reader(slice, lineage, also).allows(operation)
            assert bool(engine.decide(slice, operation, lineage, now=0, also=also)) == expected, (
                operation,
                lineage,
                also,
                slice.rules,
            )
            asked[operation] += 1
            yes[operation] += expected
    assert 0.2 < yes.total() / asked.total() < 0.5
    assert not [name for name in asked if not 5 < yes[name] < asked[name] - 5], "a test needs both answers"


def test_nested_schemas_pass_down_what_is_allowed_and_what_is_denied():
    rng = random.Random(7)
    lineage = TREE["shop.sales:eu.orders"]
    answers = Counter()
    for _ in range(2500):
        slice = random_slice(rng)
        for operation in ("Table.loadTable", "Table.dropTable", "Permission.grantPrivilegeToRole"):
            expected = Reader(slice, lineage).allows(operation)
            assert bool(engine.decide(slice, operation, lineage, now=0)) == expected, slice.rules
            answers[expected] += 1
    assert min(answers.values()) > 500


@pytest.mark.parametrize("name", sorted(LISTS))
def test_every_list_shows_what_its_expression_shows(name):
    rng = random.Random(name)
    listing = LAW.listings[name]
    shown = Counter()
    for _ in range(400):
        slice = random_slice(rng)
        for lineage in (TREE[child] for child in BY_TYPE[listing.type]):
            container = lineage[:-1]
            gate = OPERATIONS[listing.gates[container[-1].type]]
            expected = (
                slice.member
                and Reader(slice, container).reads(gate)
                and Reader(slice, lineage).reads(LISTS[name])
            )
            seen = engine.visible(slice, container, name, now=0)
            assert seen.shows(lineage[-1].key) == expected, (lineage, slice.rules)
            shown[expected] += 1
    assert min(shown.values()) > 30, "a test needs both answers"


def test_a_child_without_facts_follows_the_default():
    rng = random.Random(3)
    defaults = Counter()
    for _ in range(1500):
        slice = random_slice(rng)
        seen = engine.visible(slice, TREE["shop.sales"], "table", now=0)
        stranger = (*TREE["shop.sales"], Level("table", "made later"))
        expected = slice.member and Reader(slice, TREE["shop.sales"]).reads(OPERATIONS["Schema.loadSchema"])
        expected = expected and Reader(slice, stranger).reads(LISTS["table"])
        assert seen.shows("made later") == expected
        defaults[expected] += 1
    assert min(defaults.values()) > 100
