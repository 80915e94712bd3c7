"""Reviews as a program leads and decides them: what a page can do, an API can do."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.nodes import Node
from policies.models import Review
from policies.reviews import completion, population
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.api.world import Caller, token
from tests.factories import acting, the
from tests.kept import kept
from tests.reviews.world import can_sign_in, person

BASE = "/authz/v1/reviews"


def make_given(shop: Node) -> Node:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    for name in ("ana", "mia"):
        wish = GrantRequest(
            the("table", "shop.sales.orders"), (person(name),), ("SELECT_TABLE", "MODIFY_TABLE")
        )
        grants.add(wish, by=acting("olivia"))
    return shop


given = kept(make_given, on="shop")


def caller(name: str) -> Caller:
    return Caller(token("user", name))


def started(name: str = "olivia", **more: Any) -> dict[str, Any]:
    body = {"title": "Sales", "resources": ["schema:demo/shop.sales"], **more}
    answer = caller(name).send(BASE, body)
    assert answer.status_code == 201, answer.content
    population.build(Review.objects.get(pk=answer.json()["id"]))
    review_body: dict[str, Any] = answer.json()
    return review_body


def test_a_whole_review(given: Node) -> None:
    olivia = caller("olivia")
    review = started(stages=[{"by": "owner", "days": 7}], silence="keep")
    address = f"{BASE}/{review['id']}"
    rows = olivia.get(f"{address}/rows?order=object").json()["results"]
    row = next(row for row in rows if row["holder"] == "user:ana" and row["what"] == "shop.sales.orders")
    assert set(row["choices"]) == {"keep", "remove", "end", "unsure", "reduce"}
    effect = olivia.get(f"{address}/rows/{row['number']}/effect").json()
    assert {"principal": "user:ana", "object": "shop.sales.orders", "actions": ["read", "write"]} in effect[
        "loses"
    ]
    verdict = {"row": row["number"], "version": row["version"], "choice": "remove", "reason": "left"}
    answer = olivia.send(f"{address}/decisions", {"decisions": [verdict], "seconds": 12})
    assert answer.json() == {"decided": [row["number"]], "refused": []}
    late = olivia.send(f"{address}/decisions", {"decisions": [{**verdict, "choice": "keep"}]})
    assert (late.status_code, late.json()["decided"]) == (409, [])
    assert "meanwhile: remove" in late.json()["refused"][0]["detail"]
    assert olivia.send(f"{address}/close", {"reason": "all is said"}).json()["state"] == "closing"
    completion.work(Review.objects.get(pk=review["id"]))
    assert olivia.get(address).json()["state"] == "closed"
    assert olivia.get(f"{address}/exceptions").json()["results"]
    assert olivia.get(f"{address}/pace").json()["results"][0]["decided"] == 1
    bundle = olivia.get(f"{address}/evidence")
    names = zipfile.ZipFile(io.BytesIO(b"".join(bundle.streaming_content))).namelist()
    assert {"population.jsonl", "rows.jsonl", "manifest.sig"} <= set(names)


@pytest.mark.parametrize("path", ["", "/rows", "/exceptions", "/pace", "/evidence", "/rows/1/effect"])
def test_a_review_that_is_not_ones_own_reads_like_an_absent_one(given: Node, path: str) -> None:
    review = started()
    stranger = caller("ana")
    answers = [stranger.get(f"{BASE}/{number}{path}") for number in (review["id"], 10**7)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


def test_who_may_not_grant_may_not_ask(given: Node) -> None:
    answer = caller("ana").send(BASE, {"title": "Mine", "resources": ["schema:demo/shop.sales"]})
    assert answer.status_code == 403
    assert not Review.objects.exists()


def test_a_reviewer_sees_their_rows_and_not_the_pace(given: Node) -> None:
    review = started(stages=[{"by": "people", "people": ["user:carl"]}])
    carl = caller("carl")
    address = f"{BASE}/{review['id']}"
    # what Carl's own role says is not Carl's to decide
    assert {row["holder"] for row in carl.get(f"{address}/rows").json()["results"]} == {
        "user:ana",
        "user:mia",
    }
    assert carl.get(f"{address}/rows?all=true").status_code == 403
    assert carl.get(f"{address}/pace").status_code == 403
    assert carl.send(f"{address}/close", {}).status_code == 403
    passed = carl.send(f"{address}/pass", {"to": "user:marek"})
    assert passed.json() == {"passed": 3}
    assert carl.get(f"{address}/rows").json()["results"] == []


BAD: list[tuple[dict[str, Any], int]] = [
    ({}, 400),
    ({"title": "x"}, 400),
    ({"title": 7, "resources": ["demo"]}, 400),
    ({"title": "x", "resources": "demo"}, 400),
    ({"title": "x", "resources": ["nowhere/at.all"]}, 404),
    ({"title": "x", "resources": ["demo"], "silence": "maybe"}, 400),
    ({"title": "x", "resources": ["demo"], "silent": "keep"}, 400),
    ({"title": "x", "resources": ["demo"], "services": "yes"}, 400),
    ({"title": "x", "resources": ["demo"], "reason": 7}, 400),
    ({"title": "x", "resources": ["demo"], "risks": ["danger"]}, 400),
    ({"title": "x", "resources": ["demo"], "stages": []}, 400),
    ({"title": "x", "resources": ["demo"], "stages": [{"by": "lot"}]}, 400),
    ({"title": "x", "resources": ["demo"], "stages": [{"by": "people"}]}, 400),
    ({"title": "x", "resources": ["demo"], "stages": [{"by": "owner", "days": 0}]}, 400),
    ({"title": "x", "resources": ["demo"], "every": 99}, 400),
    ({"title": "x", "resources": ["demo"], "bulk": "many"}, 400),
    ({"title": "x\x00", "resources": ["demo"]}, 400),
    ({"title": "x", "resources": ["demo"], "people": ["user:nobody"]}, 404),
]


def test_what_cannot_be_meant_is_said_to_be_so(given: Node) -> None:
    marek = caller("marek")
    answers = [marek.send(BASE, body) for body, _ in BAD]
    assert [answer.status_code for answer in answers] == [status for _, status in BAD]
    assert not Review.objects.exists()


def test_bad_decisions_change_nothing(given: Node) -> None:
    review = started()
    olivia, address = caller("olivia"), f"{BASE}/{review['id']}/decisions"
    bad: list[Any] = [
        {},
        {"decisions": []},
        {"decisions": [1]},
        {"decisions": [{"row": 1}]},
        {"decisions": [{"row": 1, "version": 0, "choice": "burn"}]},
        {"decisions": [{"row": 1, "version": 0, "choice": "end", "until": "soon", "reason": "x"}]},
        {"decisions": [{"row": 1, "version": 0, "choice": "remove"}]},
        {"decisions": [{"row": 1, "version": 0, "choice": "keep"}] * 2},
        {"decisions": [{"row": 1, "version": 0, "choice": "keep"}], "seconds": -1},
        {"decisions": [{"row": 1, "version": 0, "choice": "keep"}], "seconds": 10**400},
        {"decisions": [{"row": True, "version": 0, "choice": "keep"}]},
        {"decisions": [{"row": 1, "version": 0, "choice": "keep", "untill": "2030-01-01"}]},
    ]
    assert [olivia.send(address, body).status_code for body in bad] == [400] * len(bad)
    gone = {"decisions": [{"row": 999, "version": 0, "choice": "keep"}]}
    assert olivia.send(address, gone).status_code == 404
    assert not Review.objects.get(pk=review["id"]).rows.exclude(choice="").exists()


def test_a_page_of_rows_takes_the_same_queries_at_any_size(given: Node) -> None:
    review = started()
    olivia, address = caller("olivia"), f"{BASE}/{review['id']}/rows"
    assert olivia.get(f"{address}?limit=1").json()["next"]
    counts = []
    for limit in (1, 5):
        with CaptureQueriesContext(connection) as queries:
            assert olivia.get(f"{address}?limit={limit}").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
