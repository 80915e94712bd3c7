"""CDAP's own Java clients of 3.4, 3.5 and 4.3, unmodified, at a site that runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts import people
from catalog.nodes import Node
from tests.cdap.world import give
from tests.real.cdap import calls
from tests.real.cdap.calls import Call, Raises
from tests.real.cdap.client import JavaClient, Person, Raised, entity

At = Callable[[str], Person]


@pytest.fixture
def jar(tmp_path: Path) -> str:
    path = tmp_path / "some.jar"
    path.write_bytes(b"PK" * 40_000)
    return str(path)


def answered(person: Person, call: Call) -> Any:
    try:
        return person(call.client, call.method, *call.arguments)
    except Raised as raised:
        return raised


def of_release(answer: Any, release: str) -> Any:
    by_release = isinstance(answer, dict) and "" in answer
    return answer.get(release, answer[""]) if by_release else answer


def holds(answer: Any, expected: Any) -> bool:
    """Whether the answer is what is expected; of objects the fields that are named."""
    if expected is calls.ANYTHING:
        return True
    if isinstance(expected, Raises):
        raised = isinstance(answer, Raised) and answer.name == expected.name
        return raised and expected.message in answer.message
    if isinstance(expected, dict) and isinstance(answer, dict):
        return bool(expected) == bool(answer) and all(
            holds(answer.get(key), expected[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(answer, list):
        return len(answer) == len(expected) and all(map(holds, answer, expected))
    return bool(answer == expected)


def wrong_answers(release: str, day: list[Call], does: Person, bob: Person) -> list[str]:
    """Each call is tried by bob first, and then done."""
    wrong = []
    for call in day:
        for who, name, answers in [(bob, "bob", call.bobs), (does, "who may", call.answer)]:
            answer, expected = answered(who, call), of_release(answers, release)
            if not holds(answer, expected):
                wrong.append(
                    f"{name}: {call.client}.{call.method}{call.arguments}: {answer!r}, not {expected!r}"
                )
    return wrong


def test_every_call_on_entities_is_refused_to_bob_and_done_for_ana(
    java: JavaClient, person: At, jar: str
) -> None:
    day = calls.day(java.release, jar)
    assert not (wrong := wrong_answers(java.release, day, person("ana"), person("bob"))), "\n".join(wrong)


def test_every_call_on_privileges_is_refused_to_bob_and_done_for_the_owner(
    java: JavaClient, person: At
) -> None:
    day = calls.day_of_the_owner(java.release)
    assert not (wrong := wrong_answers(java.release, day, person("admin"), person("bob"))), "\n".join(wrong)


def test_no_method_of_a_client_is_left_out_unsaid(java: JavaClient) -> None:
    day = [*calls.day(java.release, ""), *calls.day_of_the_owner(java.release)]
    for client in sorted({call.client for call in day}):
        called = {call.method for call in day if call.client == client}
        left_out = set(java.methods(f"{client}Client")) - called
        assert left_out <= set(calls.NOT_CALLED.get(f"{client}Client", ())), client


def test_each_person_is_shown_what_is_theirs(java: JavaClient, cdap: Node, person: At) -> None:
    """Of the same list each sees their part, and nobody anything of the CDAP beside it.

    In 4.3 the list is for bob too, who has something else in the namespace, and not for zoe.
    """
    ana, names = person("ana"), ("orders", "bills", "prices")
    for name in names:
        ana("Dataset", "create", entity(f"dataset:ns1.{name}"), "table")
    give(cdap, "dataset:ns1.orders", "vera", "READ")
    give(cdap, "artifact:ns1.etl", "bob", "READ")
    seen = {
        who: [item["name"] for item in person(who)("Dataset", "list", calls.NS)]
        for who in ("ana", "vera", "bob")
    }
    assert seen == {"ana": sorted(names), "vera": ["orders"], "bob": []}
    zoes = of_release(calls.FILTERED, java.release)
    assert holds(answered(person("zoe"), Call("Dataset", "list", (calls.NS,))), zoes)


@pytest.mark.parametrize("credentials", [{}, {"token": "lw_nobodys"}], ids=["none", "unknown token"])
def test_without_credentials_the_client_says_unauthenticated(
    java: JavaClient, site: str, credentials: dict[str, str]
) -> None:
    nobody = Person(java, {"url": site, **credentials})
    for client, method, *arguments in [
        ("Meta", "ping"),
        ("Namespace", "list"),
        ("Dataset", "list", calls.NS),
        ("Authorization", "listAllRoles"),
        ("Artifact", "add", calls.NS, "etl3", "a jar", "1.0.0"),
    ]:
        assert nobody.fails(client, method, *arguments) == "UnauthenticatedException", method


def test_a_disabled_person_is_unauthenticated(java: JavaClient, person: At) -> None:
    ana = person("ana")
    assert ana("Namespace", "exists", calls.NS) is True
    account = people.make_account("ana")
    account.is_active = False
    account.save()
    assert ana.fails("Namespace", "list") == "UnauthenticatedException"


@pytest.mark.parametrize("switches", [{"authentication": "off"}, {"mode": "off"}], ids=str)
def test_a_feature_that_is_off_is_named_by_the_client(person: At, switches: dict[str, str]) -> None:
    assert person("admin").fails("Authorization", "listAllRoles") == "FeatureDisabledException"


def test_a_name_and_a_password_get_no_token(java: JavaClient, site: str) -> None:
    """CDAP's client of authentication finds the page where people sign in and make tokens, and no token."""
    ana = Person(java, {"url": site, "user": "ana", "password": "guessed"})
    assert ana.fails("Namespace", "list") == "JsonSyntaxException"
