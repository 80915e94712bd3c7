"""The law in words: each case of conformance.toml, asked at the moment it names."""

import tomllib
from pathlib import Path

import pytest

from .worlds import may, world

CASES = tomllib.loads((Path(__file__).parent / "conformance.toml").read_text())["case"]


def cases(effect):
    for case in CASES:
        marks = [pytest.mark.seed(*case["seed"])] if "seed" in case else []
        for question in case.get(effect, []):
            yield pytest.param(case, question, marks=marks, id=f"{case['name']}: {question}")


def answer(case, question):
    given = world(
        *case.get("given", []),
        member=case.get("member", True),
        service_admin=case.get("service_admin", False),
        mode=case.get("mode", "on"),
    )
    operation, _, rest = question.partition(" on ")
    name, _, beside = rest.partition(" with ")
    return may(given, operation, name, beside=beside, now=case.get("at", 0.0))


@pytest.mark.parametrize(("case", "question"), list(cases("allowed")))
def test_allowed(case, question):
    decision = answer(case, question)
    assert decision and decision.reason == "allowed"


@pytest.mark.parametrize(("case", "question"), list(cases("refused")))
def test_refused(case, question):
    decision = answer(case, question)
    assert not decision and decision.reason != "allowed"
