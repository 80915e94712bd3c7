"""What holds in every world: of decisions, of slices and of the clock."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from lakewarden.law import dialects, engine
from lakewarden.law.explain import explain, missing
from lakewarden.law.facts import OWNER, Level, Rule, Station

from .worlds import ALICE, LAW, NAMES, TREE, fact, may, of_rules, questions, random_rules, random_slice, world

WORLDS = 100


def random_worlds(seed, count=WORLDS):
    rng = random.Random(seed)
    return [(rng, random_slice(rng)) for _ in range(count)]


def answers(slice, asked, now=0.0):
    return [bool(engine.decide(slice, op, lineage, now=now, also=also)) for op, lineage, also in asked]


def rebuilt(slice, rules):
    return engine.build(
        slice.principal,
        slice.realm,
        slice.dialect,
        slice.revision,
        rules,
        member=slice.member,
        service_admin=slice.service_admin,
        selves=slice.selves,
        now=0.0,
    )


@pytest.mark.seed("S4-144")
def test_a_denial_never_gives_and_beats_every_grant_of_its_privilege():
    for rng, slice in random_worlds(1):
        asked = questions(rng)
        before = answers(slice, asked)
        level = TREE[rng.choice(NAMES)][-1]
        code = rng.choice(list(LAW.privileges))
        after = rebuilt(slice, [*slice.rules, Rule(level.key, code, allow=False)])
        assert all(was or not now for was, now in zip(before, answers(after, asked), strict=True))
        if level.type in LAW.privileges[code].binds:
            assert not engine.permitted(after, code, TREE[level.key], now=0)


def test_a_grant_or_an_ownership_never_takes_away():
    gained = 0
    for rng, slice in random_worlds(2):
        asked = questions(rng)
        before = answers(slice, asked)
        more = random_rules(rng)
        given = [rule._replace(allow=True) for rule in more]
        after = answers(rebuilt(slice, [*slice.rules, *given]), asked)
        assert all(now or not was for was, now in zip(before, after, strict=True))
        gained += sum(after) - sum(before)
    assert gained > 100


@pytest.mark.seed("S4-050")
def test_without_facts_nothing_is_open_but_what_membership_opens():
    rng = random.Random(3)
    open_to_members = {
        name
        for name, operation in LAW.operations.items()
        for type, condition in operation.conditions.items()
        if condition == LAW.operations["Metalake.loadMetalake"].conditions["metalake"] and type == "metalake"
    }
    for op, lineage, also in questions(rng):
        decision = engine.decide(world(), op, lineage, now=0, also=also)
        assert bool(decision) == (op in open_to_members and lineage == TREE["lake"]), op
        assert not engine.decide(world(member=False), op, lineage, now=0, also=also)
    assert "Catalog.listCatalogs" in open_to_members and len(open_to_members) == 10


def test_order_and_duplicates_do_not_matter():
    for rng, slice in random_worlds(4):
        asked = questions(rng)
        shuffled = [*slice.rules, *slice.rules]
        rng.shuffle(shuffled)
        assert rebuilt(slice, shuffled).bits == slice.bits
        assert answers(rebuilt(slice, shuffled), asked) == answers(slice, asked)


def test_facts_off_the_lineage_do_not_matter():
    for rng, slice in random_worlds(5):
        for question in rng.sample(questions(rng), 40):
            _, lineage, also = question
            near = {level.key for level in (*lineage, *also)}
            cut = rebuilt(slice, [rule for rule in slice.rules if rule.object in near])
            assert answers(cut, [question]) == answers(slice, [question])


def test_a_lineage_that_is_no_way_down_is_refused_even_to_the_owner():
    owner = world("OWNER of lake", "OWNER of shop", "OWNER of shop.sales")
    table = Level("table", "shop.sales.orders")
    broken = [
        (),
        (table,),
        (TREE["lake"][0], table),
        (TREE["lake"][0], *TREE["shop.sales"][2:], table),
        (*TREE["shop.sales.orders"], Level("table", "x")),
        (Level("planet", "earth"), table),
        TREE["shop.sales.orders"][1:],
    ]
    for lineage in broken:
        decision = engine.decide(owner, "Table.loadTable", lineage, now=0)
        assert not decision and decision.reason == "unknown_object", lineage
    assert engine.decide(owner, "Table.loadTable", TREE["shop.sales.orders"], now=0)


def test_a_second_object_of_another_root_is_refused():
    owner = world("OWNER of lake")
    stranger = (Level("metalake", "elsewhere"), Level("tag", "pii"))
    question = ("Tag.associateTagsForObject", TREE["shop.sales.orders"])
    assert engine.decide(owner, *question, now=0, also=TREE["pii"])
    assert engine.decide(owner, *question, now=0, also=stranger).reason == "unknown_object"
    assert engine.decide(owner, *question, now=0).reason == "incomplete"
    assert engine.decide(owner, *question, now=0, also=TREE["retention"]).reason == "incomplete"


def test_reasons_tell_missing_denied_and_not_a_member_apart():
    sentences = (
        "ALLOW USE_CATALOG on shop",
        "ALLOW USE_SCHEMA on shop.sales",
        "ALLOW SELECT_TABLE on shop.sales",
    )
    denied = (*sentences, "DENY SELECT_TABLE on shop")
    reasons = [
        may(slice, "Table.loadTable", "shop.sales.orders").reason
        for slice in (
            world(*sentences),
            world(*sentences[:2]),
            world(*denied),
            world(*sentences, member=False),
        )
    ]
    assert reasons == ["allowed", "missing", "denied", "not_a_member"]
    assert may(world(), "Table.fly", "shop.sales.orders").reason == "unknown_operation"


def test_a_decision_is_true_exactly_when_it_allows_and_carries_its_revision():
    yes, no = (
        may(world("OWNER of shop"), "Catalog.dropCatalog", "shop"),
        may(world(), "Catalog.dropCatalog", "shop"),
    )
    assert (bool(yes), yes.allowed, yes.revision, yes.operation) == (True, True, 7, "Catalog.dropCatalog")
    assert (bool(no), no.allowed, no.revision) == (False, False, 7)


def test_a_fact_that_cannot_be_read_gives_nothing():
    assert not may(of_rules([Rule("shop", "EVERYTHING"), Rule("shop", "")]), "Catalog.loadCatalog", "shop")
    assert not may(of_rules([Rule("shop", OWNER, allow=False)]), "Catalog.dropCatalog", "shop")


def test_an_unknown_law_is_an_error_not_an_answer():
    with pytest.raises(dialects.UnknownDialect):
        dialects.get("../gravitino")
    with pytest.raises(LookupError):
        engine.decide(replace(world(), dialect="other"), "Table.loadTable", TREE["shop"], now=0)


def test_a_slice_is_the_same_until_a_fact_in_it_begins_or_ends():
    slice = world("ALLOW USE_CATALOG on shop from 10 until 20", "DENY USE_CATALOG on shop from 15 until 17")
    assert slice.next_change_at == 10
    assert engine.at(slice, 9.9) is slice
    moments = {
        9.9: False,
        10: True,
        14.9: True,
        15: False,
        16.9: False,
        17: True,
        19.9: True,
        20: False,
        99: False,
    }
    for now, expected in moments.items():
        assert bool(may(slice, "Catalog.loadCatalog", "shop", now=now)) == expected, now
        assert engine.permitted(slice, "USE_CATALOG", TREE["shop"], now=now) == expected
        assert engine.visible(slice, TREE["lake"], "catalog", now=now).shows("shop") == expected
    assert [engine.at(slice, now).next_change_at for now in (10, 15, 17, 20)] == [15, 17, 20, None]


def test_a_slice_made_later_still_answers_for_an_earlier_moment():
    slice = world("ALLOW USE_CATALOG on shop until 20", now=30.0)
    assert not may(slice, "Catalog.loadCatalog", "shop", now=30)
    assert may(slice, "Catalog.loadCatalog", "shop", now=10)


def test_random_windows_answer_as_if_only_the_facts_of_the_moment_were_there():
    rng = random.Random(6)
    seen = Counter()
    for _ in range(150):
        rules = [
            rule._replace(valid_from=rng.choice((None, 3.0, 5.0)), valid_until=rng.choice((None, 5.0, 8.0)))
            for rule in random_rules(rng)
        ]
        slice = of_rules(rules)
        asked = rng.sample(questions(rng), 30)
        for now in (2.9, 3.0, 4.9, 5.0, 7.9, 8.0):
            true_now = [
                rule._replace(valid_from=None, valid_until=None)
                for rule in rules
                if (rule.valid_from is None or rule.valid_from <= now)
                and (rule.valid_until is None or now < rule.valid_until)
            ]
            expected = answers(of_rules(true_now), asked)
            assert answers(slice, asked, now) == expected
            seen.update(expected)
    assert min(seen[True], seen[False]) > 1000


def test_what_a_list_shows_is_what_asking_for_each_child_would_show():
    """Loading shows in lists; an owner's child of a schema open to them shows too.  List and load agree."""
    load = {"table": "Table.loadTable", "topic": "Topic.loadTopic", "fileset": "Fileset.loadFileset"}
    load |= {"view": "View.loadView", "model": "Model.getModel", "function": "Function.getFunction"}
    agreed = Counter()
    for rng, slice in random_worlds(8, 400):
        schema = rng.choice(("shop.sales", "shop.sales:eu", "lab.hr"))
        for type, operation in load.items():
            seen = engine.visible(slice, TREE[schema], type, now=0)
            for lineage in TREE.values():
                if lineage[:-1] == TREE[schema] and lineage[-1].type == type:
                    loads = bool(engine.decide(slice, operation, lineage, now=0))
                    assert not loads or seen.shows(lineage[-1].key)
                    agreed[loads] += 1
    assert min(agreed.values()) > 300


def test_unknown_lists_and_containers_show_nothing():
    owner = world("OWNER of lake")
    for container, child in (
        (TREE["lake"], "table"),
        (TREE["shop"], "planet"),
        ((), "catalog"),
        ((Level("planet", "earth"),), "catalog"),
        (TREE["shop.sales"][1:], "table"),
    ):
        assert not engine.visible(owner, container, child, now=0).gate
    assert engine.visible(owner, TREE["lake"], "catalog", now=0).default


def test_lists_outside_the_law():
    everything = engine.visible(world(mode="pass-through"), TREE["shop.sales"], "table", now=0)
    assert everything.gate and everything.default and not everything.exceptions
    assert not engine.visible(world(mode="pass-through", member=False), TREE["lake"], "catalog", now=0).gate
    assert not engine.visible(world("OWNER of lake", mode="off"), TREE["lake"], "role", now=0).gate
    assert not engine.visible(world("OWNER of lake", mode="?"), TREE["lake"], "catalog", now=0).gate


def test_roles_on_an_object_do_not_show_for_manage_grants():
    slice = world("ALLOW MANAGE_GRANTS on lake", selves=["clerk"])
    assert engine.visible(slice, TREE["lake"], "role", now=0).shows("auditor")
    bound = engine.visible(slice, TREE["lake"], "bound_role", now=0)
    assert bound.shows("clerk") and not bound.shows("auditor")


def test_facts_are_read_from_sentences():
    rule = fact("DENY USE_CATALOG on shop through analysts, clerk from 5 until 9")
    assert (rule.allow, rule.valid_from, rule.valid_until) == (False, 5.0, 9.0)
    assert [(station.kind, station.name) for station in rule.via] == [
        ("group", "analysts"),
        ("role", "clerk"),
    ]


def test_what_is_missing_alone_is_what_the_explanation_says():
    refused = 0
    for rng, slice in random_worlds(8, 40):
        for operation, lineage, also in rng.sample(questions(rng), 60):
            explanation = explain(slice, operation, lineage, now=0.0, also=also).missing
            alone = missing(slice, operation, lineage, now=0.0, also=also)
            assert alone == explanation, (operation, lineage)
            refused += bool(explanation)
    assert refused > 200


def test_what_is_missing_alone_names_the_very_denial():
    def lacking(number: int, name: str) -> list[tuple[object, object]]:
        via = (Station("role", name, number),)
        ways_in = [Rule(TREE["shop"][0].key, code, via=via) for code in ("USE_CATALOG", "USE_SCHEMA")]
        denial = Rule(TREE["shop"][-1].key, "SELECT_TABLE", False, via, fact=f"grant:{number}")
        lacks = missing(of_rules([*ways_in, denial]), "Table.loadTable", TREE["shop.sales.orders"], now=0.0)
        return [(lack.via, lack.rule) for lack in lacks if lack.kind == "denied"]

    for number, name in ((1, "readers"), (2, "writers")):
        [(via, rule)] = lacking(number, name)
        assert (via[0].name, rule.fact) == (name, f"grant:{number}")


def test_slices_of_one_likeness_may_do_the_same():
    """By all that likeness is made of: rules, membership, administration, mode, and who one is."""
    rng, known, again = random.Random(14), {}, 0
    for _ in range(4 * WORLDS):
        slice, mode = random_slice(rng), rng.choice(("on", "on", "off", "pass-through"))
        slice = replace(slice, mode=mode, member=rng.random() < 0.7)
        for name in rng.sample(NAMES, 30):
            like = engine.likeness(slice, TREE[name], now=0.0)
            able = engine.abilities(slice, TREE[name], now=0.0)
            again += like in known
            assert known.setdefault(like, able) == able
    assert again > 1000 and len(set(known.values())) > 30


def test_rules_about_texts_have_no_likeness():
    slice = engine.build(ALICE, "demo", "cdap43", 1, (), member=True, now=0.0)
    assert engine.likeness(slice, (Level("instance", 1), Level("namespace", 2, "ns1")), now=0.0) is None


def test_going_on_from_a_container_decides_as_the_whole_way_does():
    lineages = [TREE[name] for name in NAMES if len(TREE[name]) > 1]
    for rng, slice in random_worlds(15):
        rules = [rule._replace(valid_until=rng.choice((None, 5.0))) for rule in slice.rules]
        slice = rebuilt(slice, rules)
        for lineage in lineages:
            above = engine.descend(slice, LAW, lineage[:-1])
            for operation in rng.sample(sorted(LAW.operations), 8):
                for now in (0.0, 9.0):  # at 9 some rules have ended, of which `above` does not know
                    whole = engine.decide(slice, operation, lineage, now=now)
                    assert engine.decide(slice, operation, lineage, now=now, above=above) == whole
