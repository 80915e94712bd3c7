"""A snapshot of a Herd decides as the console does: any case of letters, strangers and patterns too."""

from __future__ import annotations

import pytest

from accounts import tokens
from catalog.nodes import Node
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.objects import ObjectRef
from tests.admitted import admitted_service
from tests.api.world import EVALUATIONS, Caller, question
from tests.herd.world import a_herd, give, namespaces, role

NAMES = ("SALES", "sales", " Sales ", "STOCK", "stock", "straße", "Straße")
ABSENT = "STRASSE"  # another name than straße, whatever a language says
ACTIONS = ("read", "write", "READ", "GRANT", "grant", "EXECUTE", "fly")
PEOPLE = ("admin", "olivia", "OLIVIA", "carl@shop.example", "stranger@shop.example", "nobody", "x" * 300)


@pytest.fixture
def herd(db: None) -> Node:
    herd = a_herd()
    namespaces(herd, "SALES", "STOCK", "straße")
    role("olivia")
    give("olivia", "SALES", "READ", "GRANT")
    give("olivia", "straße", "READ")
    give("*@SHOP.example", "STOCK", "READ", "WRITE")
    return herd


@pytest.mark.parametrize("who", PEOPLE)
def test_it_decides_as_the_console_does(herd: Node, who: str) -> None:
    asker = Caller(tokens.create(admitted_service("pdp")))
    answer = asker.get("/authz/v1/snapshot", {"realm": "herd", "for": f"user:{who}"})
    assert answer.status_code == 200, answer.content
    held = Snapshot.read(answer.content)
    # the administrator may do anything to a new namespace of any name
    names = NAMES if who == "admin" else (*NAMES, ABSENT)
    pairs = [(name, action) for name in names for action in ACTIONS]
    questions = [question(f"user:{who}", action, f"namespace:herd/{name}") for name, action in pairs]
    answers = asker.send(EVALUATIONS, {"evaluations": questions}).json()["evaluations"]
    asked = {pair: answer["decision"] for pair, answer in zip(pairs, answers, strict=True)}
    decisions = {
        (name, action): bool(held.decide(action, ObjectRef("namespace", "herd", (name,))))
        for name, action in pairs
    }
    assert decisions == asked
    assert any(asked.values()) is (who not in ("nobody", "x" * 300))
