"""The whole life of a request by programs, without a browser."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people, tokens
from catalog.nodes import Node
from policies.models import AccessRequest, Grant
from policies.requests import submission
from tests.api.world import Caller
from tests.requests.world import WHY, approve, ask, can

BASE = "/authz/v1/requests"
ORDERS = {"type": "table", "id": "demo/shop.sales.orders"}
READ = {"resource": ORDERS, "action": {"name": "read"}, "reason": WHY}


def caller(name: str, *scopes: str, kind: str = "user") -> Caller:
    return Caller(tokens.create(people.ensure(kind, name), scopes=scopes))


def asked(name: str = "ana", **more) -> int:
    answer = caller(name).send(BASE, {**READ, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()["id"]


def test_from_the_question_to_working_access_by_programs_alone(shop: Node) -> None:
    body = caller("ana", "request").send(BASE, {**READ, "requested_access": {"requested_for": "P7D"}}).json()
    number = body["id"]
    assert [(item["object"]["id"], item["privileges"], item["status"]) for item in body["parts"]] == [
        ("demo/shop", ["USE_CATALOG"], "asked"),
        ("demo/shop.sales", ["USE_SCHEMA"], "asked"),
        ("demo/shop.sales.orders", ["SELECT_TABLE"], "asked"),
    ]
    for name in ("carla", "olivia"):
        [waiting] = caller(name).get(f"{BASE}?list=waiting").json()["results"]
        assert waiting["id"] == number
        answer = caller(name).send(f"{BASE}/{number}/approve", {"note": "fine"})
        assert (answer.status_code, answer.json()["status"]) == (200, "asked")
    back = caller("theo").send(f"{BASE}/{number}/ask_back", {"question": "For how long?"}).json()
    assert back["status"] == "asked_back"
    assert caller("ana").send(f"{BASE}/{number}/answer", {"text": "a week"}).json()["status"] == "asked"
    done = caller("theo").send(f"{BASE}/{number}/approve", {"for": "P1D"}).json()
    assert done["status"] == "approved_less"
    assert done["items"][0]["valid_until"] is not None
    assert [item["move"] for item in done["steps"]][-2:] == ["approved_less", "given"]
    assert can("ana")
    assert caller("theo").get(f"{BASE}?list=decided").json()["results"][0]["id"] == number
    assert caller("ana").get(f"{BASE}?list=mine").json()["results"][0]["id"] == number


def test_the_same_key_is_one_request(shop: Node) -> None:
    job = caller("ana", "request")
    first, again = (job.send(BASE, READ, Idempotency_Key="run-7").json() for _ in range(2))
    assert first["id"] == again["id"]
    other = job.send(BASE, {**READ, "ticket": "X"}, Idempotency_Key="run-7")
    assert other.status_code == 409
    assert AccessRequest.objects.count() == 1


def test_several_things_are_one_request(shop: Node) -> None:
    items = [
        {"resource": {"type": "table", "id": f"demo/shop.sales.{item}"}} for item in ("orders", "customers")
    ]
    body = caller("ana").send(BASE, {"action": {"name": "read"}, "items": items, "reason": WHY}).json()
    assert [item["resource"]["id"] for item in body["items"]] == [item["resource"]["id"] for item in items]


def test_a_decider_is_told_what_the_console_shows_them(shop: Node) -> None:
    number = asked()
    body = caller("theo").get(f"{BASE}/{number}/consideration").json()
    assert {"object": ORDERS, "principal": "user:ana", "effect": "gain"}.items() <= body["effects"][
        -1
    ].items()
    assert caller("ana").get(f"{BASE}/{number}/consideration").json()["effects"] == []


def test_what_it_would_come_to_is_told_without_asking(shop: Node) -> None:
    body = caller("ana").send(f"{BASE}/foreseen", READ).json()
    assert [item["privileges"] for item in body["parts"]] == [
        ["USE_CATALOG"],
        ["USE_SCHEMA"],
        ["SELECT_TABLE"],
    ]
    assert not AccessRequest.objects.exists()


BAD = [
    ({}, 400, "missing"),
    ({**READ, "reason": ""}, 400, "Give a reason"),
    ({**READ, "reason": 7}, 400, "reason must be a text"),
    ({**READ, "items": []}, 400, "items"),
    ({**READ, "items": ["x"]}, 400, "item must be an object"),
    ({**READ, "action": {"name": "fly"}}, 400, "action fly does not exist"),
    ({**READ, "subject": {"type": "user", "id": "theo"}}, 403, "yourself"),
    ({**READ, "subject": {"type": "user", "id": "nobody"}}, 403, "yourself"),
    ({**READ, "subject": {"type": "x", "id": "\0"}}, 403, "yourself"),
    ({**READ, "requested_access": {"requested_until": "tomorrow"}}, 400, "requested_until"),
    ({**READ, "requested_access": {"requested_for": "P1Y"}}, 400, "not a length of time"),
    ({**READ, "requested_access": {"emergency": True}}, 400, "emergency"),
    ({**READ, "requested_access": []}, 400, "requested_access"),
    ({**READ, "callback": "https://example.org"}, 400, "callbacks"),
    ({**READ, "reson": "a misspelling"}, 400, "reson is no field of this body"),
    ({**READ, "requested_access": {"until": "2030-01-01"}}, 400, "until is no field of this body"),
    ({**READ, "resource": {**ORDERS, "id": 7}}, 400, "id must be a text"),
    ({**READ, "resource": {"type": "table", "id": "demo/"}}, 400, "does not name an object"),
    ({**READ, "resource": {"type": "table", "id": "\0"}}, 400, ""),
    ({**READ, "resource": {"type": "table", "id": "x" * 5000}}, 400, ""),
    ({**READ, "reason": "a \ud800 half"}, 400, ""),
]


@pytest.mark.parametrize(("body", "status", "said"), BAD)
def test_bad_input_is_told_and_changes_nothing(shop: Node, body, status, said) -> None:
    answer = caller("ana").send(BASE, body)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert said in answer.json()["detail"]
    assert not AccessRequest.objects.exists()


@pytest.mark.parametrize("address", [BASE, f"{BASE}/foreseen", "/access/v1/requests"])
def test_a_holder_who_is_there_and_one_who_is_not_are_refused_in_the_same_words(
    shop: Node, address: str
) -> None:
    answers = [
        caller("ana").send(address, {**READ, "subject": {"type": "user", "id": name}})
        for name in ("theo", "nobody")
    ]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert {answer.json()["detail"] for answer in answers} == {submission.not_yours_to_request()}


DEEDS = [
    ("approve", {"parts": "all"}, 400),
    ("approve", {"parts": [99]}, 403),
    ("approve", {"parts": None}, 400),
    ("approve", {"part": [1]}, 400),
    ("approve", {"give": {"2": ["OWNER"]}, "parts": [2]}, 400),
    ("approve", {"give": {"x": []}}, 400),
    ("approve", {"give": {"99": ["SELECT_TABLE"]}, "parts": [2]}, 400),
    ("approve", {"give": {"1": ["USE_SCHEMA"]}, "parts": [2]}, 400),
    ("approve", {"give": {"99": ["SELECT_TABLE"]}}, 400),
    ("approve", {"for": "P7D", "until": "2030-01-01T00:00:00Z"}, 400),
    ("approve", {"role": "demo/nothing"}, 404),
    ("refuse", {}, 400),
    ("refuse", {"reason": " "}, 400),
    ("ask_back", {}, 400),
    ("answer", {"text": "x"}, 404),
    ("withdraw", {}, 404),
]


@pytest.mark.parametrize(("deed", "body", "status"), DEEDS)
def test_bad_deeds_are_told_and_change_nothing(shop: Node, deed, body, status) -> None:
    number = asked()
    answer = caller("theo").send(f"{BASE}/{number}/{deed}", body)
    assert answer.status_code == status, answer.content
    assert AccessRequest.objects.get().state == "asked"
    assert not Grant.objects.filter(origin="request").exists()


@pytest.mark.parametrize(
    ("deed", "body"),
    [("approve", {"note": "fine"}), ("refuse", {"reason": "because"}), ("ask_back", {"question": "why?"})],
)
@pytest.mark.parametrize(
    ("who", "kind", "status"), [("ana", "user", 403), ("ben", "user", 404), ("bot", "service", 403)]
)
def test_nobody_decides_by_api_what_they_may_not_in_the_console(
    shop: Node, deed, body, who, kind, status
) -> None:
    number = asked()
    assert caller(who, kind=kind).send(f"{BASE}/{number}/{deed}", body).status_code == status


@pytest.mark.parametrize(
    ("scope", "path", "body", "status"),
    [
        ("check", BASE, READ, 403),
        ("request", BASE, READ, 201),
        ("manage", BASE, READ, 403),
        ("request", f"{BASE}/foreseen", READ, 200),
    ],
)
def test_a_token_asks_with_the_scope_request(shop: Node, scope, path, body, status) -> None:
    assert caller("ana", scope).send(path, body).status_code == status


def test_deciding_takes_the_scope_manage(shop: Node) -> None:
    number = asked()
    assert caller("theo", "request").send(f"{BASE}/{number}/approve", {}).status_code == 403
    assert caller("theo", "manage").send(f"{BASE}/{number}/approve", {}).status_code == 200
    assert caller("theo", "check").get(f"{BASE}/{number}").status_code == 403
    assert caller("theo", "audit").get(f"{BASE}/{number}").status_code == 200


def test_a_request_of_others_reads_like_none(shop: Node) -> None:
    number = asked()
    there, absent = (caller("ben").get(f"{BASE}/{item}") for item in (number, number + 1))
    assert (there.status_code, absent.status_code) == (404, 404)
    assert there.json()["detail"].replace(str(number), "N") == absent.json()["detail"].replace(
        str(number + 1), "N"
    )


def test_a_list_goes_on_page_by_page(shop: Node) -> None:
    from tests.factories import the, under

    under(the("schema", "shop.sales"), "table", *(f"t{n}" for n in range(5)))
    made = [ask("ana", f"read shop.sales.t{n}").pk for n in range(5)]
    for name, order in (("ana", made[::-1]), ("olivia", made)):
        ids, after = [], ""
        which = "mine" if name == "ana" else "waiting"
        while True:
            body = caller(name).get(f"{BASE}?list={which}&limit=2&cursor={after}").json()
            ids += [item["id"] for item in body["results"]]
            if not body["next"]:
                break
            after = body["next"]
        assert ids == order


def test_requests_of_an_object_are_listed_for_who_reads_its_history(shop: Node) -> None:
    from policies.services import duties
    from tests.factories import AUTHORITY, BY, the

    number = asked()
    path = f"{BASE}?list=object&resource=demo/shop.sales&type=schema"
    assert caller("ben").get(path).status_code == 404
    duties.give(
        the("schema", "shop.sales"), "view_history", people.ensure("user", "ben"), by=BY, authority=AUTHORITY
    )
    assert [item["id"] for item in caller("ben").get(path).json()["results"]] == [number]


def test_what_is_asked_for_elsewhere_is_not_listed_for_who_reads_one_history(shop: Node) -> None:
    from policies.services import duties
    from tests.factories import AUTHORITY, BY, the

    items = [
        {"resource": {"type": "table", "id": f"demo/shop.{item}"}} for item in ("sales.orders", "stock.items")
    ]
    body = {"action": {"name": "read"}, "items": items, "reason": WHY}
    both, single = caller("ana").send(BASE, body).json()["id"], asked()
    path = f"{BASE}?list=object&resource=demo/shop.sales&type=schema"
    for name, expected in (("schema", [single]), ("catalog", [single, both])):
        place = the(name, "shop.sales" if name == "schema" else "shop")
        duties.give(place, "view_history", people.ensure("user", "ben"), by=BY, authority=AUTHORITY)
        assert [row["id"] for row in caller("ben").get(path).json()["results"]] == expected


def test_rules_are_set_and_read_by_who_may_grant(shop: Node) -> None:
    path = "/authz/v1/request-rules?resource=demo/shop.sales&type=schema"
    body = b'{"min_reason": 30, "ticket": "DATA-#"}'
    put = caller("olivia").put(path, body, content_type="application/json")
    assert put.json()["counts"]["ticket"] == "DATA-#"
    assert caller("ben").put(path, body, content_type="application/json").status_code == 404
    # what the viewer may not see asks nothing of its own
    assert caller("ana").send(BASE, READ).status_code == 201


def test_substitutes_are_named_and_called_off(shop: Node) -> None:
    now = timezone.now()
    ends = (now + timedelta(days=30)).isoformat()
    body = {"deputy": "user:ben", "starts": now.isoformat(), "ends": ends}
    path = "/authz/v1/substitutes"
    made = caller("theo").send(path, body)
    assert made.status_code == 201
    assert [item["deputy"] for item in caller("theo").get(path).json()["results"]] == ["user:ben"]
    assert caller("ana").delete(f"{path}/{made.json()['id']}").status_code == 404
    assert caller("ben").delete(f"{path}/{made.json()['id']}").status_code == 204
    for bad in (
        {},
        {**body, "deputy": "user:nobody"},
        {**body, "ends": "x"},
        {**body, "deputy": "user:theo"},
    ):
        assert caller("theo").send(path, bad).status_code in (400, 404)


def test_the_loser_of_a_race_is_told_who_was_faster(shop: Node) -> None:
    number = asked()
    approve(AccessRequest.objects.get(), "theo")
    answer = caller("theo").send(f"{BASE}/{number}/approve", {"parts": [2]})
    assert answer.status_code == 409
    assert answer.json()["detail"] == "theo has approved this in the meantime; check it again."
