"""An explanation says what a yes rests on and what a no lacks, and both can be checked by doing it."""

import random
from collections import Counter

import pytest

from lakewarden.law import engine
from lakewarden.law.explain import explain
from lakewarden.law.facts import OWNER, Rule

from .test_properties import random_worlds, rebuilt
from .worlds import LAW, TREE, questions, random_slice, world

READ = ("Table.loadTable", TREE["shop.sales.orders"])
USAGE = ("ALLOW USE_CATALOG on shop", "ALLOW USE_SCHEMA on shop.sales through clerk")


def lacks(explanation):
    return [(lack.kind, lack.privilege, lack.object) for lack in explanation.missing]


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def repaired(slice, ways_out):
    """The slice after doing what a way out of a refusal names."""
    ended = {lack.rule for lack in ways_out if lack.kind == "denied"}
    rules = [rule for rule in slice.rules if rule not in ended]
    rules += [
        Rule(lack.object, lack.privilege) for lack in ways_out if lack.kind in ("privilege", "ownership")
    ]
    kinds = {lack.kind for lack in ways_out}
    return engine.build(
        slice.principal,
        slice.realm,
        slice.dialect,
        slice.revision,
        rules,
        member=slice.member or "membership" in kinds,
        service_admin=slice.service_admin or "service_admin" in kinds,
        selves=slice.selves,
        now=0.0,
    )


def test_every_yes_names_its_evidence_and_no_more_than_it_needs():
    count = 0
    for rng, slice in random_worlds(11, 90):
        for op, lineage, also in rng.sample(questions(rng), 70):
            why = explain(slice, op, lineage, now=0, also=also)
            assert why.decision == engine.decide(slice, op, lineage, now=0, also=also)
            assert why.tree.holds == bool(why.decision), (op, lineage)
            if not why.decision:
                continue
            assert not why.missing and not why.alternatives
            assert engine.decide(rebuilt(slice, why.because), op, lineage, now=0, also=also)
            for rule in why.because:
                rest = [other for other in why.because if other is not rule]
                assert not engine.decide(rebuilt(slice, rest), op, lineage, now=0, also=also)
            count += 1
    assert count > 1000


@pytest.mark.seed("S4-134")
def test_every_no_names_what_would_make_it_a_yes():
    kinds = Counter()
    for rng, slice in random_worlds(12, 90):
        for op, lineage, also in rng.sample(questions(rng), 70):
            why = explain(slice, op, lineage, now=0, also=also)
            if why.decision:
                continue
            assert why.missing and not why.because
            for way_out in (why.missing, *why.alternatives):
                assert engine.decide(repaired(slice, way_out), op, lineage, now=0, also=also), (op, way_out)
            partly = why.missing[:-1]
            assert not engine.decide(repaired(slice, partly), op, lineage, now=0, also=also), (
                op,
                why.missing,
            )
            kinds.update(lack.kind for lack in why.missing)
    assert (
        min(kinds[kind] for kind in ("privilege", "denied", "membership", "ownership", "service_admin")) > 10
    )


def test_missing_privileges_are_offered_at_the_narrowest_place_that_helps():
    checked = 0
    for rng, slice in random_worlds(13, 40):
        for op, lineage, also in rng.sample(questions(rng), 70):
            why = explain(slice, op, lineage, now=0, also=also)
            levels = (*lineage, *also[1:])
            for lack in (lack for way in (why.missing, *why.alternatives) for lack in way):
                if lack.kind == "privilege":
                    binds = LAW.privileges[lack.privilege].binds
                    narrowest = next(level for level in reversed(levels) if level.type in binds)
                    assert (lack.object, lack.object_type) == (narrowest.key, narrowest.type)
                    checked += 1
    assert checked > 1000


@pytest.mark.seed("S4-134", "S4-132", "S4-133")
def test_all_that_is_missing_is_named_at_once_and_the_narrowest_way_comes_first():
    why = explain(world(), *READ, now=0)
    assert lacks(why) == [
        ("privilege", "USE_CATALOG", "shop"),
        ("privilege", "USE_SCHEMA", "shop.sales"),
        ("privilege", "SELECT_TABLE", "shop.sales.orders"),
    ]
    assert [lack.privilege for lack in why.alternatives[0]] == ["USE_CATALOG", "USE_SCHEMA", "MODIFY_TABLE"]
    assert why.alternatives[-1][0].object == "lake" and why.alternatives[-1][0].kind == "ownership"


def test_a_denial_is_named_as_something_that_must_end_not_as_something_to_give():
    why = explain(
        world(*USAGE, "ALLOW SELECT_TABLE on shop", "DENY SELECT_TABLE on shop.sales through auditor"),
        *READ,
        now=0,
    )
    assert why.decision.reason == "denied"
    assert lacks(why) == [("denied", "SELECT_TABLE", "shop.sales")]
    assert [station.name for station in why.missing[0].via] == ["auditor"]
    barred = next(node for node in walk(why.tree) if node.denied)
    assert (barred.kind, barred.label, barred.holds, barred.object) == ("right", "Read", False, "shop.sales")


def test_denied_and_never_given_are_two_things():
    why = explain(world(*USAGE, "DENY SELECT_TABLE on shop.sales", "DENY SELECT_TABLE on lake"), *READ, now=0)
    assert sorted(lack.kind for lack in why.missing) == ["denied", "denied", "privilege"]


def test_a_stranger_lacks_membership_first():
    why = explain(world(*USAGE, member=False), *READ, now=0)
    assert lacks(why)[0] == ("membership", "", "lake")
    assert lacks(why)[1:] == [("privilege", "SELECT_TABLE", "shop.sales.orders")]


def test_a_yes_rests_on_the_plainest_path():
    slice = world(
        "ALLOW USE_CATALOG on lake through analysts, clerk",
        "ALLOW USE_CATALOG on shop",
        "ALLOW USE_SCHEMA on shop.sales",
        "ALLOW SELECT_TABLE on lake through clerk",
        "ALLOW SELECT_TABLE on shop.sales.orders through clerk",
    )
    why = explain(slice, *READ, now=0)
    assert [(rule.privilege, rule.object) for rule in why.because] == [
        ("USE_CATALOG", "shop"),
        ("USE_SCHEMA", "shop.sales"),
        ("SELECT_TABLE", "shop.sales.orders"),
    ]


def test_the_tree_lights_the_way_of_the_answer_and_names_objects():
    names = {"shop": "Shop", "shop.sales.orders": "Orders"}
    why = explain(world("OWNER of shop through stewards"), *READ, now=0, names=names)
    lit = [
        (node.kind, node.object, node.name) for node in walk(why.tree) if node.needed and not node.children
    ]
    assert lit == [("member", "lake", ""), ("owner", "shop", "Shop")]
    assert why.because[0].privilege == OWNER and why.because[0].via[0].name == "stewards"
    assert why.tree.label == "Read"


def test_only_facts_of_the_moment_are_evidence():
    slice = world(*USAGE, "ALLOW SELECT_TABLE on shop from 10 until 20")
    assert lacks(explain(slice, *READ, now=20)) == [("privilege", "SELECT_TABLE", "shop.sales.orders")]
    assert len(explain(slice, *READ, now=10).because) == 3


def test_nothing_helps_where_the_question_makes_no_sense():
    for operation, lineage in (
        ("Table.fly", READ[1]),
        ("Table.loadTable", TREE["shop"]),
        ("Table.loadTable", ()),
        ("Tag.associateTagsForObject", READ[1]),
    ):
        why = explain(world("OWNER of lake"), operation, lineage, now=0)
        assert not why.decision and why.tree.kind == "unknown" and not why.missing


def test_modes_explain_themselves():
    open_to_all = explain(world(mode="pass-through"), *READ, now=0)
    assert open_to_all.decision and open_to_all.tree.children[1].label == "pass-through"
    stranger = explain(world(mode="pass-through", member=False), *READ, now=0)
    assert lacks(stranger) == [("membership", "", "lake")]
    off = explain(world(mode="off"), "Role.createRole", TREE["lake"], now=0)
    assert lacks(off) == [("mode", "", "lake")]


def test_explaining_is_steady():
    rng = random.Random(14)
    slice = random_slice(rng)
    for op, lineage, also in questions(rng):
        assert explain(slice, op, lineage, now=0, also=also) == explain(slice, op, lineage, now=0, also=also)
