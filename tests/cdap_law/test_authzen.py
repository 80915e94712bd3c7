"""CDAP realms asked through AuthZEN: every row of every table, and what goes with the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.nodes import Node
from policies.decisions import ask
from policies.services import entities
from tests.cdap_law.tables import ENTITIES, PARTS, PRIVILEGES, REALM, ROWS, Held, Row
from tests.cdap_law.test_tables import named
from tests.cdap_law.world import OPERATOR, Caller, a_cdap, give, make, question, text, user

pytestmark = pytest.mark.django_db
POLICY = {"cdap34": "3.4", "cdap35": "3.5", "cdap43": "4.3"}
ALL_ROWS = {law: [row for item in rows for row in item.rows] for law, rows in ROWS.items()}


def everything(root: Node) -> None:
    rest = [entity for entity in ENTITIES.values() if not entity.startswith(("instance:", "namespace:"))]
    make(root, "namespace:ns1", *sorted(rest, key=lambda entity: entity.startswith("program:")))


def answers(caller: Caller, questions: list[dict[str, Any]]) -> list[bool]:
    body = caller.send("/access/v1/evaluations", {"evaluations": questions})
    return [item["decision"] for item in body["evaluations"]]


def holdings(row: Row, inside: tuple[str, ...]) -> list[Held]:
    enough = row.enough() | {
        ("ADMIN", item) for item in inside if row.every in ("entity", item.partition(":")[0])
    }
    return [frozenset(), enough, *(enough - {item} for item in enough)]


@pytest.mark.parametrize(
    "law", [pytest.param(law, marks=pytest.mark.seed(*rows)) for law, rows in ALL_ROWS.items()]
)
def test_every_row_is_decided_as_its_table_says(law: str) -> None:
    root = a_cdap(REALM, POLICY[law])
    everything(root)
    inside = tuple(str(item) for item in map(entities.entity_of, decided_inside(root)))
    people: dict[Held, str] = {}
    questions, expected = [], []
    for row in ROWS[law]:
        for held in holdings(row, inside if row.every else ()):
            who = people.setdefault(held, f"u{len(people)}")
            questions.append(question(who, row.operation, REALM, ENTITIES[row.type], dict(row.properties)))
            expected.append(row.allows(held, inside if row.every else ()))
    for held, who in people.items():
        give(root, who, *(f"{code} on {on}" for code, on in held))
        user(who)
    caller = Caller()
    answered = [
        item for at in range(0, len(questions), 500) for item in answers(caller, questions[at : at + 500])
    ]
    wrong = [
        (asked["action"], asked["resource"], asked["subject"])
        for asked, answer, right in zip(questions, answered, expected, strict=True)
        if answer != right
    ]
    assert wrong == []
    assert set(expected) == {True, False}


def decided_inside(root: Node) -> list[Node]:
    return ask.inside_of(ask.entity_node(root, text("namespace:ns1")))


@pytest.mark.seed(
    "S1-163", "S1-166", "S1-183", "S1-195", "S1-211", *(row for part in PARTS for row in part.rows)
)
def test_each_requirement_is_asked_of_the_user_it_concerns() -> None:
    root = a_cdap(REALM)
    questions, expected = [], []
    for number, part in enumerate(PARTS):
        entity = named(part.entity)
        sent = {"condition": part.condition, "subject": part.who}
        give(root, f"may{number}", f"{','.join(part.codes[:1] if part.any else part.codes)} on {entity}")
        for who, right in ((f"may{number}", True), (f"maynot{number}", False)):
            questions.append(question(who, part.table, REALM, entity, dict(sent)))
            expected.append(right)
    assert answers(Caller(), questions) == expected


@pytest.mark.seed("S1-165")
def test_all_privileges_on_everything_need_no_granular_ones() -> None:
    root = a_cdap(REALM)
    kinds = ("application", "artifact", "dataset", "dataset_module", "dataset_type", "securekey", "stream")
    texts = ["namespace:ns1", "program:ns1.*.*", *(f"{kind}:ns1.*" for kind in kinds)]
    give(root, "ana", *(f"READ,WRITE,EXECUTE,ADMIN on {item}" for item in texts))
    everything(root)
    caller = Caller()
    asked = [
        question("ana", row.operation, REALM, ENTITIES[row.type], dict(row.properties))
        for row in ROWS["cdap43"]
        if row.type != "kerberosprincipal"
    ]
    assert answers(caller, asked) == [True] * len(asked)


def test_what_does_not_exist_is_decided_by_its_name() -> None:
    root = a_cdap(REALM)
    give(root, "ana", "READ on dataset:ns1.a*")
    caller = Caller()
    assert caller.may("ana", "dataset.read", REALM, "dataset:ns1.abc")
    before = caller.ask("ana", "dataset.read", REALM, "dataset:ns1.b")
    make(root, "namespace:ns1", "dataset:ns1.b")
    after = caller.ask("ana", "dataset.read", REALM, "dataset:ns1.b")
    for item in (before, after):
        assert item["context"].pop("revision") > 0
    assert before == after, "what exists must not show in a refusal"


@pytest.mark.parametrize(
    ("type", "id"),
    [
        ("dataset", 'cdap/ns1."a.b"'),
        ("dataset", "cdap/ns1.a.b"),
        ("program", "cdap/ns1.app.WORKER.etl"),
        ("program", "cdap/ns1.app.worker.etl"),
        ("kerberosprincipal", "cdap/etl/host@SHOP.COM"),
        ("instance", "cdap"),
    ],
)
def test_names_are_read_as_cdap_writes_them(type: str, id: str) -> None:
    root = a_cdap(REALM)
    give(
        root,
        "ana",
        "READ on dataset:ns1.a.b",
        "READ on program:ns1.app.worker.etl",
        "READ on kerberosprincipal:etl/host@SHOP.COM",
        "READ on instance:cdap",
    )
    body = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "READ"},
        "resource": {"type": type, "id": id},
    }
    assert Caller().send("/access/v1/evaluation", body)["decision"] is True


@pytest.mark.parametrize(
    "entity",
    [
        "dataset:ns1",
        "namespace:ns1.x",
        "program:ns1.app.etl",
        "program:ns1.app.worker.etl.x",
        "teapot:ns1",
        "dataset:ns1.",
    ],
)
def test_what_the_law_cannot_name_is_no(entity: str) -> None:
    root = a_cdap(REALM)
    give(root, "ana", "READ on dataset:*.*", "READ on program:*.*.*", "READ on namespace:*")
    for action in ("READ", "read", "use"):
        assert not Caller().may("ana", action, REALM, entity)


@pytest.mark.seed("S1-002", "S1-003", "S1-004", "S1-005", "S1-006", "S1-007", "S1-001")
@pytest.mark.parametrize("type", [type for type in ENTITIES if type != "instance"])
def test_plain_words_mean_the_rows(type: str) -> None:
    root = a_cdap(REALM)
    words = {"read": "READ", "write": "WRITE", "alter": "ADMIN", f"create_{type}": "ADMIN", "drop": "ADMIN"}
    if type == "program":
        words["execute"] = "EXECUTE"
    entity, caller = ENTITIES[type], Caller()
    for code in PRIVILEGES["cdap43"]:
        who = f"only_{code.lower()}"
        give(root, who, f"{code} on {entity}")
        asked = [question(who, word, REALM, entity) for word in words]
        assert answers(caller, asked) == [needed == code for needed in words.values()], code
        response = caller.send("/access/v1/search/action", question(who, "", REALM, entity))
        names = [item["name"] for item in response["results"]]
        plain = {"use", *(word for word, needed in words.items() if needed == code)}
        assert set(names[: len(plain)]) == plain


@pytest.mark.seed("S1-008", "S1-009", "S1-038")
def test_a_search_finds_what_is_registered_and_allowed() -> None:
    root = a_cdap(REALM)
    make(root, "namespace:ns1", "namespace:ns2", "dataset:ns1.a", "dataset:ns1.b", "dataset:ns2.a")
    give(root, "ana", "READ on dataset:ns1.*", "READ on dataset:ns1.ghost", "WRITE on dataset:ns2.a")
    caller = Caller()

    def found(action: str, type: str) -> list[str]:
        body = {
            "subject": {"type": "user", "id": "ana"},
            "action": {"name": action},
            "resource": {"type": type},
        }
        return [item["id"] for item in caller.send("/access/v1/search/resource", body)["results"]]

    assert found("dataset.list", "dataset") == ["cdap/ns1.a", "cdap/ns1.b", "cdap/ns2.a"]
    assert found("dataset.read", "dataset") == ["cdap/ns1.a", "cdap/ns1.b"]
    assert found("namespace.list", "namespace") == ["cdap/ns1", "cdap/ns2"]
    assert found("namespace.update", "namespace") == []


def test_a_search_for_people_finds_groups_and_users() -> None:
    root = a_cdap(REALM)
    give(root, "ana", "READ on dataset:ns1.*")
    give(root, "group:staff", "READ on dataset:ns1.a")
    user("bob")
    caller = Caller()
    for kind, names in (("user", ["ana"]), ("group", ["staff"])):
        asked = {**question("", "dataset.read", REALM, "dataset:ns1.a"), "subject": {"type": kind}}
        assert [item["id"] for item in caller.send("/access/v1/search/subject", asked)["results"]] == names


@pytest.mark.parametrize("entity", ["dataset:ns1.b", "stream:ns1.none"])
def test_a_refusal_names_privilege_and_entity(entity: str) -> None:
    root = a_cdap(REALM)
    give(root, "ana", "READ on dataset:ns1.a")
    no = Caller().ask("ana", "READ", REALM, entity)
    [missing] = no["context"]["missing"]
    assert (missing["privilege"], missing["entity"], missing["owner"]) == ("READ", entity, "user:admin")
    assert no["context"]["request_url"]


def test_a_decision_is_explained_by_texts() -> None:
    root = a_cdap(REALM)
    give(root, "ana", "READ on dataset:ns1.a*")
    caller = Caller()
    asked = "principal=user:ana&action=dataset.read&resource=dataset:cdap/ns1."
    yes = json.loads(caller.get(f"/authz/v1/explain?{asked}abc").content)
    assert yes["decision"] is True
    assert [item["object"] for item in yes["because"]] == [{"entity": "dataset:ns1.a*"}]
    no = json.loads(caller.get(f"/authz/v1/explain?{asked}xyz").content)
    assert (no["decision"], no["missing"][0]["entity"]) == (False, "dataset:ns1.xyz")


def test_a_realm_of_3_4_answers_for_types_that_nobody_knows() -> None:
    root = a_cdap("c34", "3.4")
    make(root, "namespace:ns1", "metrics:ns1.requests", "monitor:appfabric")
    give(root, "ana", "READ on metrics:ns1.requests", "READ on namespace:ns1", "ADMIN on monitor:appfabric")
    caller = Caller()
    assert caller.may("ana", "metrics.get", "c34", "metrics:ns1.requests")
    assert caller.may("ana", "monitor.update", "c34", "monitor:appfabric")
    assert not caller.may("ana", "metrics.update", "c34", "metrics:ns1.requests")
    assert not caller.may("ana", "metrics.explode", "c34", "metrics:ns1.requests")
    a_cdap("c43")
    assert not caller.may("admin", "metrics.get", "c43", "metrics:ns1.requests")


@pytest.mark.seed("S1-212", "S2-011")
def test_two_generations_side_by_side_never_leak() -> None:
    worlds = {policy: a_cdap(f"c{policy}", policy) for policy in ("3.5", "4.3", "3.4")}
    for root in worlds.values():
        make(root, "namespace:ns1", "dataset:ns1.orders")
    give(worlds["3.5"], "ana", "READ on namespace:ns1")
    give(worlds["4.3"], "bea", "READ on namespace:ns1", "WRITE on dataset:ns1.*")
    give(worlds["3.4"], "cyd", "ALL on dataset:ns1.orders")
    caller = Caller()
    seen = {
        (who, policy, code): caller.may(who, code, f"c{policy}", "dataset:ns1.orders")
        for who in ("ana", "bea", "cyd")
        for policy in worlds
        for code in ("READ", "WRITE")
    }
    allowed = {key for key, yes in seen.items() if yes}
    assert allowed == {
        ("ana", "3.5", "READ"),
        ("bea", "4.3", "WRITE"),
        ("cyd", "3.4", "READ"),
        ("cyd", "3.4", "WRITE"),
    }


def test_authorization_and_authentication_switched_off_decide_nothing() -> None:
    off = a_cdap("off", authentication="off")
    make(off, "namespace:ns1")
    caller = Caller()
    assert caller.may("ana", "namespace.get", "off", "namespace:ns1")
    assert caller.may("ana", "dataset.read", "off", "dataset:ns1.any")
    assert not caller.may("ana", "grant", "off", "namespace:ns1")
    assert not caller.may("ana", "no.such", "off", "namespace:ns1")


def test_rights_end_with_their_entity_in_the_old_generations() -> None:
    root = a_cdap("c35", "3.5")
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "ana", "READ on dataset:ns1.orders")
    caller = Caller()
    assert caller.may("ana", "READ", "c35", "dataset:ns1.orders")
    entities.delete(root, text("dataset:ns1.orders"), by=OPERATOR)
    assert not caller.may("ana", "READ", "c35", "dataset:ns1.orders")
