"""A snapshot of a CDAP realm carries its texts, and decides as the console does, in each generation."""

from __future__ import annotations

import pytest

from accounts import tokens
from catalog.nodes import Node
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.objects import ObjectRef
from policies.services import patterns, roles
from tests.admitted import admitted_service
from tests.api.world import Caller as Program
from tests.cdap_law.world import BY, GENERATIONS, Caller, a_cdap, give, make, question, text, user

ENTITIES = (
    "instance:c",
    "namespace:ns1",
    "dataset:ns1.orders",
    "dataset:ns1.refunds",
    "stream:ns1.clicks",
    "application:ns1.shop",
    "program:ns1.shop.worker.etl",
    "dataset:ns2.orders",
    "kerberosprincipal:alice",
)
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN", "read", "write", "dataset.get", "dataset.truncate", "fly")
PEOPLE = ("alice", "bob", "admin", "cdap")


@pytest.fixture(params=GENERATIONS)
def realm(request: pytest.FixtureRequest, db: None) -> Node:
    root = a_cdap("c", request.param, master_user="cdap")
    make(root, "namespace:ns1", "dataset:ns1.orders", "stream:ns1.clicks", "application:ns1.shop")
    reader = roles.create(root, "reader", **BY)
    roles.assign(reader, user("bob"), **BY)
    exact = root.kind != "cdap43"
    patterns.grant(root, text("stream:ns1.clicks"), reader, ["READ"], by=BY["by"])
    if exact:
        give(root, "alice", "READ on dataset:ns1.orders", "ADMIN on namespace:ns1")
    else:
        give(root, "alice", "READ,WRITE on dataset:ns1.*", "EXECUTE on program:ns1.*.worker.e?l")
    return root


def ref(entity: str) -> ObjectRef:
    type_, _, id_ = entity.partition(":")
    return ObjectRef.parse(type_, "c" if type_ == "instance" else f"c/{id_}")


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.seed("S2-022", "S2-042", "S2-179")
def test_it_decides_as_the_console_does(realm: Node, who: str) -> None:
    asker = Caller()
    program = Program(tokens.create(admitted_service("asker")))
    answer = program.get(f"/authz/v1/snapshot?realm=c&for=user:{who}")
    assert answer.status_code == 200, answer.content
    held = Snapshot.read(answer.content)
    pairs = [(action, entity) for entity in ENTITIES for action in ACTIONS]
    questions = {"evaluations": [question(who, action, "c", entity) for action, entity in pairs]}
    answers = asker.send("/access/v1/evaluations", questions)["evaluations"]
    asked = {pair: answer["decision"] for pair, answer in zip(pairs, answers, strict=True)}
    assert asked == {(action, entity): bool(held.decide(action, ref(entity))) for action, entity in pairs}
    assert any(asked.values()) or who == "cdap"


def test_a_refusal_says_what_is_lacking(realm: Node) -> None:
    program = Program(tokens.create(user("bob")))
    held = Snapshot.read(program.get("/authz/v1/snapshot?realm=c").content)
    assert held.decide("READ", ref("stream:ns1.clicks"))
    explanation = held.explain("READ", ref("dataset:ns1.orders"))
    assert not explanation.decision
    assert "READ" in {lack.privilege for lack in explanation.missing}
