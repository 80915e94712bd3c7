"""To whoever asks, a request for a hidden object reads like one for an object that is not there."""

from __future__ import annotations

import json

import pytest

from accounts import people
from catalog.nodes import Node
from policies.errors import Invalid, PolicyError
from policies.models import AccessRequest
from policies.requests import rules, submission
from tests.factories import a_role, the
from tests.requests.test_api import BASE, caller
from tests.requests.world import an_asking, approve, ask, by, refuse, told

PAIRS = [
    ("table", "demo/shop.sales.orders", "demo/shop.sales.nothing"),
    ("schema", "demo/shop.sales", "demo/shop.nothing"),
    ("catalog", "demo/shop", "demo/nothing"),
    ("table", "demo/shop.sales.orders", "nowhere/shop.sales.orders"),
    ("metalake", "demo", "nowhere"),
    ("role", "demo/granting", "demo/nothing"),
]
GONE = ("id", "asked_at", "lapses_at", "decided_at", "at", "revision")


def shown(value: object, name: str) -> str:
    """What is told, but for the name, numbers and moments."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {
                key: plain(each)
                for key, each in value.items()
                if key not in GONE or (key == "id" and "type" in value)
            }
        return [plain(each) for each in value] if isinstance(value, list) else value

    return json.dumps(plain(value)).replace(name, "NAME").replace(name.split("/")[0], "REALM")


@pytest.fixture
def zoe(shop: Node) -> str:
    """Somebody whom the realm does not admit."""
    people.make_account("zoe")
    return "zoe"


@pytest.mark.parametrize(("type_", "hidden", "absent"), PAIRS)
@pytest.mark.parametrize("asker", ["ana", "zoe"])
def test_both_are_asked_for_alike_and_read_alike(shop: Node, zoe: str, asker, type_, hidden, absent) -> None:
    if asker == "ana" and hidden.split("/")[0] != absent.split("/")[0]:
        pytest.skip("ana belongs to the realm and knows that it is there")
    action = "hold" if type_ == "role" else "use" if type_ in ("metalake", "schema", "catalog") else "read"
    answers = []
    for name in (hidden, absent):
        body = {
            "resource": {"type": type_, "id": name},
            "action": {"name": action},
            "reason": "quarterly report",
        }
        foreseen = caller(asker).send(f"{BASE}/foreseen", body)
        made = caller(asker).send(BASE, body)
        texts = [shown(item.json(), name) for item in (foreseen, made)]
        again = caller(asker).get(f"{BASE}/{made.json().get('id')}")
        answers.append((foreseen.status_code, made.status_code, *texts, shown(again.json(), name)))
    if asker == "zoe" or type_ not in ("metalake",):
        assert answers[0] == answers[1]


@pytest.mark.parametrize("deed", ["refuse", "lapse", "ask_back"])
def test_both_end_alike(shop: Node, deed: str) -> None:
    from policies.requests import decisions, escalation

    answers = []
    for name in ("orders", "nothing"):
        request = ask("ana", f"read shop.sales.{name}")
        if deed == "refuse":
            refuse(request, "carla", "not now")
        elif deed == "ask_back":
            decisions.ask_back(request.pk, "which one?", by=by("carla"))
        else:
            AccessRequest.objects.filter(pk=request.pk).update(lapses_at=request.asked_at)
            escalation.tick(request.asked_at)
        answer = caller("ana").get(f"{BASE}/{request.pk}").json()
        answers.append(shown(answer, name))
    assert answers[0] == answers[1]


def test_what_was_given_on_a_hidden_object_before_is_not_told_by_its_lacks(shop: Node) -> None:
    a_role(shop, "orders", "allow SELECT_TABLE on table shop.sales.orders", held_by=("ana",))
    a_role(shop, "no", "deny SELECT_TABLE on table shop.sales.customers", held_by=("ana",))
    hidden, denied, absent = (
        ask("ana", f"read shop.sales.{name}") for name in ("orders", "customers", "nothing")
    )
    texts = [
        [text.replace(name, "NAME") for text in told(item)]
        for item, name in ((hidden, "orders"), (denied, "customers"), (absent, "nothing"))
    ]
    assert texts[0] == texts[1] == texts[2]


def test_what_requests_for_a_hidden_object_must_say_is_not_told(shop: Node) -> None:
    rules.set_rule(the("schema", "shop.sales"), by=by("olivia"), min_reason=500, ticket="X-#", longest_days=1)
    assert ask("ana", "read shop.sales.orders").state == "asked"
    a_role(
        shop,
        "look",
        "allow USE_CATALOG on catalog shop",
        "allow USE_SCHEMA on schema shop.sales",
        held_by=("ben",),
    )
    with pytest.raises(Invalid, match="1 days"):
        ask("ben", "read shop.sales.orders")


def test_who_decides_learns_that_it_is_not_there_and_cannot_approve_it(shop: Node) -> None:
    request = ask("ana", "read shop.sales.nothing")
    with pytest.raises(Invalid, match="There is no table"):
        approve(request, "olivia", parts=[2])
    assert refuse(request, "olivia", "there is no such table").state == "refused"


def test_a_request_ahead_of_its_object_can_be_approved_once_that_is_there(shop: Node) -> None:
    from tests.factories import under
    from tests.requests.world import can

    request = ask("ana", "read shop.sales.soon")
    under(the("schema", "shop.sales"), "table", "soon")
    approve(request, "carla")
    approve(request, "olivia", parts=[1, 2])
    assert can("ana", table="shop.sales.soon")


def test_a_type_that_the_realm_does_not_know_is_told_only_to_who_knows_the_realm(
    shop: Node, zoe: str
) -> None:
    for asker, fails in (("ana", True), ("zoe", False)):
        body = an_asking(asker, "read namespace x")
        if fails:
            with pytest.raises(PolicyError):
                submission.ask(body, by=by(asker))
        else:
            assert submission.ask(body, by=by(asker)).state == "asked"
