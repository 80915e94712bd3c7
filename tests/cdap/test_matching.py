"""What a text matches among the entities that are there: as its plain meaning says, whatever the names."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from catalog.nodes import Node, nodes
from lakewarden.law.dialects.cdap.authorizable import Authorizable, matches, of, parse
from policies.authority import OPERATOR
from policies.decisions.lookups import pattern_matches
from policies.services import entities
from policies.services.grants import revision_now
from tests.cdap.world import give
from tests.kept import kept

THERE = (
    "namespace:ns1",
    "namespace:ns%",
    "namespace:n_1",
    "application:ns1.app",
    "application:ns%.app",
    "program:ns1.app.service.Up",
    "program:ns1.app.worker.up",
    "program:ns%.app.service.Up",
    "dataset:ns1.a",
    "dataset:ns1.a.b",
    "dataset:ns1.a_b",
    "dataset:ns1.a%b",
    "dataset:n_1.A",
    "dataset:ns1.a\\b",
    "dataset_type:ns1.co.T",
    "stream:ns1.a",
    "kerberosprincipal:al/x@E.COM",
)


def make_world(cdap: Node) -> Node:
    for text in THERE:
        entities.create(cdap, parse(text), by=OPERATOR)
    return cdap


world = kept(make_world, on="cdap")


def found(root: Node, target: Authorizable, **asked: Any) -> set[str]:
    keys = pattern_matches.entities(root, target, **asked).values_list("securable", flat=True)
    return {f"{node.type}:{'.'.join(node.names[1:])}" for node in nodes(keys).values()}


def plainly(target: Authorizable) -> set[str]:
    return {text for text in THERE if matches(target, parse(text))}


@pytest.mark.parametrize("text", THERE)
def test_an_exact_name_matches_itself_alone(world: Node, text: str) -> None:
    assert found(world, parse(text)) == {text}


@pytest.mark.seed("S1-113", "S1-114", "S1-144", "S1-145", "S1-146")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("namespace:ns*", {"namespace:ns1", "namespace:ns%"}),
        ("namespace:ns?", {"namespace:ns1", "namespace:ns%"}),
        ("namespace:n_?", {"namespace:n_1"}),
        ("program:ns1.app.*", {"program:ns1.app.service.Up", "program:ns1.app.worker.up"}),
        ("program:*.*.*", {item for item in THERE if item.startswith("program")}),
        ("program:ns1.app.SERVICE.*", {"program:ns1.app.service.Up"}),
        ("program:ns1.app.*.up", {"program:ns1.app.worker.up"}),
        ("dataset:ns1.a?b", {"dataset:ns1.a.b", "dataset:ns1.a_b", "dataset:ns1.a%b", "dataset:ns1.a\\b"}),
        ("dataset:ns1.*", {item for item in THERE if item.startswith("dataset:ns1.")}),
        ("dataset:*.A", {"dataset:n_1.A"}),
        ("dataset:ns2.*", set()),
        ("stream:n*.*", {"stream:ns1.a"}),
    ],
)
def test_a_pattern_matches_whole_names(world: Node, text: str, names: set[str]) -> None:
    target = parse(text)
    assert found(world, target) == names == plainly(target)


def test_matching_in_the_database_is_matching_naively(world: Node) -> None:
    dice, seen = Random(43), set()
    for _ in range(120):
        namespace = "".join(dice.choices("nsA1%_*?", k=dice.randint(1, 4)))
        name = "".join(dice.choices("ab_A%\\*?.", k=dice.randint(1, 4)))
        for target in (of("dataset", namespace, name), of("namespace", namespace)):
            assert found(world, target) == plainly(target), str(target)
            seen |= plainly(target)
    assert {text.partition(":")[0] for text in seen} == {"dataset", "namespace"}


def test_counts_are_one_query_and_know_the_past(world: Node, django_assert_num_queries: Any) -> None:
    before = revision_now()
    entities.create(world, parse("dataset:ns1.later"), by=OPERATOR)
    entities.delete(world, parse("dataset:ns1.a"), by=OPERATOR)
    every, gone = parse("dataset:ns1.*"), parse("dataset:ns1.a")
    with django_assert_num_queries(1):
        counts = pattern_matches.counted(
            world, [(every, None), (every, before), (gone, None), (gone, before), (parse("stream:x.*"), None)]
        )
    assert counts == [5, 5, 0, 1, 0]
    assert pattern_matches.counted(world, []) == []


def test_texts_on_an_entity_are_found_itself_first(world: Node) -> None:
    for text in ("dataset:ns1.*", "dataset:ns1.a", "dataset:ns1.b", "dataset:ns?.?", "stream:ns1.a"):
        give(world, text, "alice", "READ")
    assert pattern_matches.texts_on(world, parse("dataset:ns1.a")) == [
        "dataset:ns1.a",
        "dataset:ns1.*",
        "dataset:ns?.?",
    ]
