"""Every row of every generation's table, through the engine alone."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from lakewarden.law import engine
from tests.cdap_law.asking import decided, explained, holding, law_of, lineage
from tests.cdap_law.tables import (
    ENTITIES,
    PARTS,
    PRIVILEGES,
    ROWS,
    Held,
    Part,
    Row,
    above,
    marked,
    single_holdings,
)

INSIDE = (ENTITIES["dataset"], ENTITIES["stream"], ENTITIES["dataset_module"], "stream:ns1.second")
EVERY = [row for rows in ROWS.values() for row in rows]


def tried(row: Row) -> list[Held]:
    """Each privilege alone; what is enough, what is enough but for one; and all of it on everything."""
    enough = row.enough()
    fewer = [enough - {item} for item in enough]
    pairs = (frozenset(pair) for pair in combinations(chain.from_iterable(single_holdings(row.law)[1:]), 2))
    near = [pair for pair in pairs if {on for _, on in pair} <= {on for _, on in enough}]
    whole = frozenset((code, on) for code in PRIVILEGES[row.law] for on in (*ENTITIES.values(), *INSIDE))
    return [*single_holdings(row.law), enough, *fewer, *near, whole]


def test_the_tables_are_whole() -> None:
    counts = {law: len({row.operation for row in rows}) for law, rows in ROWS.items()}
    assert counts == {"cdap34": 73, "cdap35": 75, "cdap43": 62}
    unknown = [row.operation for row in EVERY if row.operation not in law_of(row.law).operations]
    assert unknown == []


@pytest.mark.parametrize("row", marked(EVERY))
def test_a_row_needs_what_it_says_and_nothing_else(row: Row) -> None:
    inside = INSIDE if row.every else ()
    for held in tried(row):
        answer = decided(holding(row.law, held), row.operation, ENTITIES[row.type], inside, **row.properties)
        assert answer == row.allows(held, inside), sorted(held)


@pytest.mark.parametrize("row", marked([row for row in EVERY if row.every]))
def test_rights_on_all_that_is_inside_are_no_right_on_the_entity(row: Row) -> None:
    inside = frozenset(("ADMIN", text) for text in INSIDE)
    for code in PRIVILEGES[row.law]:
        held = inside | {(code, ENTITIES[row.type])}
        answer = decided(holding(row.law, held), row.operation, ENTITIES[row.type], INSIDE)
        assert answer == row.allows(held, INSIDE), code


UNLISTED = ("program", "dataset_type", "dataset_module", "securekey", "kerberosprincipal")
"""The types whose making no table of 3.5 lists."""


@pytest.mark.seed("S2-075")
@pytest.mark.parametrize("type", UNLISTED)
def test_making_what_no_table_of_3_5_lists_needs_write_on_what_it_stands_in(type: str) -> None:
    levels = {ENTITIES[level] for level in above(type)}
    for held in single_holdings("cdap35"):
        expected = any(code in ("WRITE", "ALL") and on in levels for code, on in held)
        assert decided(holding("cdap35", held), f"create_{type}", ENTITIES[type]) == expected, sorted(held)


@pytest.mark.parametrize("row", marked(EVERY))
def test_what_is_missing_is_enough(row: Row) -> None:
    inside = INSIDE if row.every else ()
    for held in (frozenset(), *(row.enough() - {item} for item in row.enough())):
        slice_ = holding(row.law, held)
        explanation = explained(slice_, row.operation, ENTITIES[row.type], inside, **row.properties)
        assert bool(explanation.missing) == (not explanation.decision), sorted(held)
        given = [(lack.privilege, lack.name) for lack in explanation.missing]
        after = holding(row.law, [*held, *given])
        assert decided(after, row.operation, ENTITIES[row.type], inside, **row.properties), given


@pytest.mark.parametrize("row", marked([row for row in EVERY if row.lists]))
def test_a_list_shows_what_its_row_says(row: Row) -> None:
    levels = lineage(row.law, ENTITIES[row.type])
    for held in tried(row):
        shown = engine.shows(holding(row.law, held), levels, now=0.0)
        assert shown == row.allows(held), sorted(held)


@pytest.mark.parametrize("condition", ["custom  dataset", "", "CUSTOM DATASET", "no such condition"])
def test_an_unknown_condition_is_never_a_yes(condition: str) -> None:
    everything = holding("cdap43", [("ADMIN", text) for text in ENTITIES.values()])
    assert not decided(everything, "dataset.create", ENTITIES["dataset"], condition=condition, type="co.Type")
    assert decided(
        everything, "dataset.create", ENTITIES["dataset"], condition="custom dataset", type="co.Type"
    )
    assert not decided(everything, "dataset.create", ENTITIES["dataset"], condition="custom dataset")


# several users

NAMES = {
    "<ns>": "ns1",
    "<app>": "app",
    "<type>": "worker",
    "<program>": "etl",
    "<impersonated-principal>": "etl@SHOP.COM",
    "<full-class-name>": "co.shop.Custom",
}


def named(entity: str) -> str:
    for place, name in NAMES.items():
        entity = entity.replace(place, name)
    return entity.replace("<", "").replace(">", "")


@pytest.mark.parametrize(
    "part", [pytest.param(part, id=part.rows[0], marks=pytest.mark.seed(*part.rows)) for part in PARTS]
)
def test_a_requirement_of_several_users_is_a_question_to_each(part: Part) -> None:
    entity = named(part.entity)
    sent = {"condition": part.condition, "subject": part.who}
    whole = [(code, entity) for code in part.codes]
    for size in range(len(PRIVILEGES["cdap43"]) + 1):
        for codes in combinations(PRIVILEGES["cdap43"], size):
            held = [(code, entity) for code in codes]
            expected = bool(set(part.codes) & set(codes)) if part.any else set(part.codes) <= set(codes)
            assert decided(holding("cdap43", held), part.table, entity, **sent) == expected, codes
    elsewhere = [(code, entity.replace("ns1", "ns2") + "x") for code in part.codes]
    above = [(code, "namespace:ns1") for code in PRIVILEGES["cdap43"]]
    assert not decided(holding("cdap43", elsewhere + above), part.table, entity, **sent)
    assert decided(holding("cdap43", whole), part.table, entity, **sent)


def test_the_same_entity_asks_different_users_for_different_things() -> None:
    workspace = "dataset:ns1.workspace"
    reading = holding("cdap43", [("READ", workspace), ("WRITE", workspace)])
    ruling = holding("cdap43", [("ADMIN", workspace)])
    alone = "no impersonation"
    assert decided(reading, "enable_dataprep", workspace, condition=alone, subject="cdap_master_user")
    assert not decided(ruling, "enable_dataprep", workspace, condition=alone, subject="cdap_master_user")
    assert decided(ruling, "enable_dataprep", workspace, condition=alone, subject="requesting_user")
    assert not decided(reading, "enable_dataprep", workspace, condition=alone, subject="requesting_user")
    assert not decided(ruling, "enable_dataprep", workspace, condition=alone), "unsaid, all of it is needed"
