"""Every row of both tables, through the engine alone."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from lakewarden.law import dialects, engine
from lakewarden.law.dialects.herd.operations import FREE_OPERATIONS
from lakewarden.law.explain import explain
from lakewarden.law.facts import OWNER, Level, Rule, Slice, Station
from lakewarden.law.principals import Principal
from tests.herd.tables import CODE, EVERY, FREE, METHODS, PERMISSIONS, SCOPE, Case

LAW = dialects.get("herd")
HERD, NAMESPACE = Level("herd", "herd"), Level("namespace", "sales")
LINEAGE = (HERD, NAMESPACE)
SETS = [held for size in range(3) for held in combinations(PERMISSIONS, size)] + [PERMISSIONS]


def holding(*codes: str, role: str = "", owner: bool = False) -> Slice:
    rules = [Rule("sales", code) for code in codes]
    if role:
        rules.append(Rule("herd", role, via=(Station("role", role, role),)))
    if owner:
        rules.append(Rule("herd", OWNER))
    return engine.build(Principal("user", "ana"), "herd", "herd", 1, rules, member=False, now=0.0)


def asked(case: Case) -> str:
    return LAW.narrowed("namespace", case.operation, case.properties)


def decided(slice_: Slice, name: str, lineage: Any = LINEAGE) -> bool:
    operation = LAW.action(lineage[-1].type, name)
    return operation is not None and bool(engine.decide(slice_, operation, lineage, now=0.0))


def test_the_tables_are_whole() -> None:
    assert (len(METHODS), len(SCOPE), len(CODE)) == (116, 53, 128)
    missing = [
        case.operation for (case,) in (item.values for item in EVERY) if case.operation not in LAW.operations
    ]
    assert missing == []


@pytest.mark.parametrize("case", EVERY)
def test_a_row_needs_what_it_says_and_nothing_else(case: Case) -> None:
    for held in SETS:
        for role in ("", "DATA_OWNER"):
            assert decided(holding(*held, role=role), asked(case)) == case.allows(held, role), (held, role)


@pytest.mark.parametrize("case", EVERY)
def test_the_administrator_passes_every_row(case: Case) -> None:
    assert decided(holding(owner=True), asked(case))


@pytest.mark.parametrize("case", EVERY)
def test_what_is_missing_is_enough(case: Case) -> None:
    operation = LAW.action("namespace", asked(case))
    assert operation
    for held in SETS[:7]:
        before = holding(*held)
        explanation = explain(before, operation, LINEAGE, now=0.0)
        assert bool(explanation.missing) == (not explanation.decision)
        given = tuple(Rule(lack.object, lack.privilege) for lack in explanation.missing)
        after = engine.build(
            before.principal, "herd", "herd", 1, (*before.rules, *given), member=False, now=0.0
        )
        assert engine.decide(after, operation, LINEAGE, now=0.0)
        assert OWNER not in {lack.privilege for lack in explanation.missing}, "the least must come first"


@pytest.mark.parametrize(
    "properties",
    [{"action": {"method": "PATCH"}}, {"action": {"method": 3}}, {}, {"action": {"METHOD": "GET"}}],
)
def test_a_property_that_says_nothing_leaves_the_whole(properties: dict[str, Any]) -> None:
    name = LAW.narrowed("namespace", "format_crud", properties)
    assert not decided(holding("READ"), name)
    assert decided(holding("READ", "WRITE"), name)


def test_fields_may_be_written_plainly() -> None:
    name = "StoragePolicy.createStoragePolicy"
    for field in ("#request?.storagePolicyKey?.namespace", "request.storagePolicyKey.namespace"):
        assert decided(holding("WRITE"), LAW.narrowed("namespace", name, {"resource": {"field": field}}))
    name = "StorageUnitNotificationRegistration.createStorageUnitNotificationRegistration"
    picked = LAW.narrowed("namespace", name, {"resource": {"field": "request.jobActions.namespace"}})
    assert decided(holding("EXECUTE"), picked)
    assert not decided(holding("WRITE"), picked)


@pytest.mark.parametrize(
    "words", [pytest.param(words, marks=pytest.mark.seed(row)) for words, row in FREE.items()]
)
def test_what_is_not_under_namespaces_takes_nothing(words: str) -> None:
    names = [name for name, each in FREE_OPERATIONS.items() if each == words]
    assert names and all(decided(holding(), name, at) for name in names for at in (LINEAGE, (HERD,)))


@pytest.mark.seed("S3-047")
def test_storage_policies_without_namespace_need_operations() -> None:
    assert decided(holding(role="OPS"), "storage_policy", (HERD,))
    assert decided(holding(owner=True), "storage_policy", (HERD,))
    assert not decided(holding(role="DATA_OWNER"), "storage_policy", (HERD,))
    assert not decided(holding(*PERMISSIONS), "storage_policy", (HERD,))


def test_rights_end_at_their_namespace() -> None:
    beside = (HERD, Level("namespace", "stock"))
    assert decided(holding("READ"), "read")
    assert not decided(holding("READ"), "read", beside)


def test_lists_hold_what_may_be_read_or_everything() -> None:
    ana = holding("READ")
    readable = engine.visible(ana, (HERD,), "readable_namespace", now=0.0)
    assert [readable.shows(key) for key in ("sales", "stock")] == [True, False]
    everything = engine.visible(ana, (HERD,), "namespace", now=0.0)
    assert [everything.shows(key) for key in ("sales", "stock")] == [True, True]
