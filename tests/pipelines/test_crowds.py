"""Sets of people worked out level by level say what the law says of each person and object."""

from __future__ import annotations

import random
from collections import Counter

from django.utils import timezone

from catalog.nodes import Node
from lakewarden.spark.pipelines.inherited_facts import Levels
from lakewarden.spark.pipelines.memory_tables import InMemory
from lakewarden.spark.pipelines.pattern_answers import Named
from lakewarden.spark.pipelines.people_sets import Numbering, Tally, count, one_of, places
from lakewarden.spark.pipelines.reach_counts import PERSON, TOTAL, AccessCollector, LawAnswers
from lakewarden.spark.pipelines.sampling import Sample
from policies.analytics.figures import Measured
from tests.drawn import seeds
from tests.pipelines.worlds import a_cdap, a_herd, a_lake, tables_of


def test_a_tally_counts_each_person() -> None:
    chance, tally, expected = random.Random(1), Tally(), Counter[int]()
    for _ in range(200):
        crowd, times = chance.getrandbits(70), chance.randrange(4)
        tally.add(crowd, times)
        expected.update(dict.fromkeys(places(crowd), times))
    assert tally.sums() == {place: n for place, n in expected.items() if n}


def test_a_crowd_is_a_set() -> None:
    chance = random.Random(2)
    people = Numbering(f"p{n}" for n in range(300))
    for size in (0, 1, 5, 100, 300):
        chosen = set(chance.sample(people.keys, size))
        crowd = people.crowd([*chosen, "nobody"])
        assert set(people.of(crowd)) == chosen
        assert count(crowd) == size
        assert not crowd or people.keys[one_of(crowd, chance.randrange(300))] in chosen


def asked_of(tables: InMemory) -> tuple[LawAnswers, Sample]:
    containers, texts = tables.containers(tables.places()), tables.texts()
    standing = tables.standing()
    asked = Named(standing, containers, texts) if standing.law.by_text else Levels(standing, containers)
    return asked, Sample(asked, 4)


def check(root: Node) -> int:
    """Compare every pair with the console's decisions, and some with the law's on the snapshot's facts."""
    now = timezone.now()
    tables = tables_of(root, now)
    asked, sample = asked_of(tables)
    reaching = AccessCollector(asked, tables.units())
    rows = [*reaching.rows(tables.places()), *reaching.ended()]
    figures = Measured(root, now=now).figures()
    totals = {row.type: {name: n for name, n, _ in row.counts} for row in rows if row.kind == TOTAL}
    assert totals == figures["pairs"]
    by_person = {row.key: {name: n for name, n, _ in row.counts} for row in rows if row.kind == PERSON}
    assert {line["key"]: line["numbers"] for line in figures["furthest"]}.items() <= by_person.items()
    differences = [line for place in tables.places() for line in sample.differences(place, reaching.able)]
    assert (differences, bool(sample.decided)) == ([], True)
    return sum(n for actions in totals.values() for n in actions.values())


@seeds(12, fast=4)
def test_a_lake_is_worked_out_as_the_law_decides(db: None, seed: int) -> None:
    assert check(a_lake(seed)) > 0


@seeds(4, fast=2)
def test_a_herd_is_worked_out_as_the_law_decides(db: None, seed: int) -> None:
    assert check(a_herd(seed)) > 0


@seeds(6, fast=2)
def test_a_cdap_is_worked_out_as_the_law_decides(db: None, seed: int) -> None:
    assert check(a_cdap(seed)) > 0
