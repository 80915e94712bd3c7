"""Who may call which method of Herd's services: random worlds here and by Herd's own advice."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import pytest

from tests.herd.tables import METHODS, PERMISSIONS
from tests.herd.world import Caller, a_herd, give, namespaces, question, take
from tests.real.herd.oracle import Herd, name_of

pytestmark = pytest.mark.django_db
WORLDS = int(os.environ.get("WORLDS", "300"))
FIRST = int(os.environ.get("FIRST_WORLD", "0"))
QUESTIONS = 200
CODES = ("SALES", "STOCK", "People")
USERS = ("ana", "Ben", "susana", "x*na", "o'neil")
PATTERNS = ("*", "*na", "*EN", "*sana")
ADMIN = "admin"
STRANGERS = ("zoe", "na", ADMIN)
CHANGES = 8
"""Entries that are other than in the world before."""


class Question(NamedTuple):
    """A call of somebody: for each rule of the method the namespaces that it speaks of."""

    user: str
    method: str
    values: tuple[tuple[str, ...], ...]

    @property
    def for_herd(self) -> dict[str, Any]:
        values = [list(value) if len(value) > 1 else value[0] for value in self.values]
        return {"user": self.user, "method": name_of(self.method), "values": values}

    @property
    def for_us(self) -> list[dict[str, Any]]:
        """One question for each namespace, every one of which must be a yes."""
        rules = METHODS[self.method]
        several = len({tuple(codes) for _, codes in rules}) > 1
        return [
            question("user", self.user, self.method, code, {"resource": {"field": field}} if several else {})
            for (field, _), value in zip(rules, self.values, strict=True)
            for code in value
        ]


@pytest.fixture(scope="module")
def herd() -> Iterator[Herd]:
    running = Herd()
    yield running
    running.stop()


def spelled(rng: random.Random, name: str) -> str:
    """The same name in other letters."""
    return rng.choice((name, name, name.upper(), name.lower(), name.swapcase()))


def change(rng: random.Random, entries: dict[tuple[str, str], tuple[str, ...]]) -> None:
    """Entries come, go, and become others, here and in what Herd is told."""
    for _ in range(CHANGES):
        key = rng.choice((*USERS, *PATTERNS)), rng.choice(CODES)
        held = tuple(rng.sample(PERMISSIONS, rng.randint(0, 3)))
        if held:
            give(*key, *held)
            entries[key] = held
        elif entries.pop(key, None):
            take(*key)


def asked(rng: random.Random) -> Question:
    method = rng.choice(list(METHODS))
    values = [
        tuple(
            spelled(rng, rng.choice((*CODES, *CODES, "nowhere")))
            for _ in range(rng.choice((1, 1, 2)) if "![" in field else 1)
        )
        for field, _ in METHODS[method]
    ]
    return Question(spelled(rng, rng.choice((*USERS, *USERS, *STRANGERS))), method, tuple(values))


def is_meant(asked: Question, allowed_here: bool) -> bool:
    """The administrator passes every check under the name that they have here; docs/herd.md."""
    return not allowed_here and asked.user != ADMIN and asked.user.lower() == ADMIN


def decided(pdp: Caller, questions: list[Question]) -> list[bool]:
    several = [one.for_us for one in questions]
    flat = [item for each in several for item in each]
    answers: list[bool] = []
    for start in range(0, len(flat), 500):
        answer = pdp.send("POST", "/access/v1/evaluations", {"evaluations": flat[start : start + 500]})
        assert answer.status_code == 200, answer.content
        answers += [item["decision"] for item in answer.json()["evaluations"]]
    rest = iter(answers)
    return [all(list(islice(rest, len(each)))) for each in several]


def test_random_worlds_are_answered_alike(herd: Herd, figures: Any) -> None:
    namespaces(a_herd(), *CODES)
    pdp, allowed, meant = Caller("pdp", kind="service"), 0, 0
    entries: dict[tuple[str, str], tuple[str, ...]] = {}
    methods: set[str] = set()
    differences: list[str] = []
    for seed in range(FIRST, FIRST + WORLDS):
        rng = random.Random(seed)
        change(rng, entries)
        questions = [asked(rng) for _ in range(QUESTIONS)]
        rows = [
            {"user": user, "namespace": code, "permissions": held} for (user, code), held in entries.items()
        ]
        told = {"namespaces": CODES, "admins": [ADMIN], "entries": rows}
        theirs = herd.allows({**told, "questions": [one.for_herd for one in questions]})
        ours = decided(pdp, questions)
        allowed += sum(theirs)
        methods |= {one.method for one in questions}
        for one, here, there in zip(questions, ours, theirs, strict=True):
            if here != there and is_meant(one, here):
                meant += 1
            elif here != there:
                told_here, told_there = ("yes" if answer else "no" for answer in (here, there))
                differences.append(f"world {seed}: {one}: {told_here} here, {told_there} there")
    figures.note(
        "Random worlds",
        worlds=WORLDS,
        questions=WORLDS * QUESTIONS,
        allowed=allowed,
        methods=len(methods),
        differences_that_are_meant=meant,
        differences_without_a_cause=len(differences),
    )
    assert not differences, "\n".join(differences[:30])
