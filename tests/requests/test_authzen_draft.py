"""A refusal turned into a request and asked again after approval, as AuthZEN's draft profile has it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import signing
from django.utils import timezone

from catalog.nodes import Node
from policies.models import AccessRequest
from tests.api.world import EVALUATION
from tests.requests.test_api import ORDERS, caller
from tests.requests.world import WHY, approve, refuse

ENDPOINT = "/access/v1/requests"
QUESTION = {"subject": {"type": "user", "id": "ana"}, "action": {"name": "read"}, "resource": ORDERS}
CONTEXT = {"context": {"business_justification": WHY}}


def denied(**more) -> dict:
    answer = caller("ana").send(EVALUATION, {**QUESTION, "options": {"access_request": True}, **more}).json()
    assert answer["decision"] is False
    return answer["context"]


def test_a_plain_question_is_answered_as_ever_and_an_offer_is_made_on_request(shop: Node) -> None:
    assert "access_request" not in caller("ana").send(EVALUATION, QUESTION).json()["context"]
    offer = denied()["access_request"]
    assert offer["endpoint"] == f"http://testserver{ENDPOINT}"
    assert offer["form_url"].startswith("http://testserver/requests/new?")
    assert "access_request" not in denied(action={"name": "drop"})
    assert "access_request" not in denied(action={"name": "fly"})


def test_from_the_denial_to_the_second_evaluation(shop: Node) -> None:
    offer = denied()["access_request"]
    body = {
        **QUESTION,
        **CONTEXT,
        "denial": {"binding_token": offer["binding_token"], "expires_at": offer["expires_at"]},
        "requested_access": {"requested_until": (timezone.now() + timedelta(days=1)).isoformat()},
    }
    job = caller("ana", "request", "check")
    answer = job.send(ENDPOINT, body, Idempotency_Key="k1")
    task = answer.json()["task"]
    assert (answer.status_code, answer["Retry-After"], answer["Location"]) == (
        202,
        "30",
        task["status_endpoint"],
    )
    assert (task["status"], task["progress"]) == ("pending", {"current_step": 1, "total_steps": 3})
    assert job.send(ENDPOINT, body, Idempotency_Key="k1").json()["task"]["id"] == task["id"]
    for name in ("carla", "olivia", "theo"):
        approve(AccessRequest.objects.get(), name)
    done = job.get(task["status_endpoint"]).json()
    assert done["task"]["status"] == "approved"
    assert done["result"]["mode"] == "reevaluate"
    assert done["result"]["approval"]["approved_until"]
    assert caller("ana").send(EVALUATION, QUESTION).json()["decision"] is True


@pytest.mark.parametrize(("deed", "status"), [("refuse", "denied"), ("cancel", "cancelled")])
def test_what_becomes_of_it_is_told_in_the_words_of_the_draft(shop: Node, deed: str, status: str) -> None:
    job = caller("ana", "request")
    task = job.send(ENDPOINT, {**QUESTION, **CONTEXT}).json()["task"]
    if deed == "refuse":
        refuse(AccessRequest.objects.get(), "carla")
    else:
        assert job.send(task["links"]["cancel"], {}).status_code == 200
    assert job.get(task["status_endpoint"]).json()["task"]["status"] == status


def test_several_items_can_end_differently(shop: Node) -> None:
    items = [
        {"action": {"name": "read"}, "resource": {"type": "table", "id": f"demo/shop.sales.{item}"}}
        for item in ("orders", "customers")
    ]
    body = {"subject": QUESTION["subject"], "items": items, **CONTEXT}
    job = caller("ana", "request")
    task = job.send(ENDPOINT, body).json()["task"]
    request = AccessRequest.objects.get()
    refuse(request, "theo")
    approve(request, "carla")
    approve(request, "olivia")
    task_body = job.get(task["status_endpoint"]).json()["task"]
    assert (task_body["status"], [item["status"] for item in task_body["items"]]) == (
        "partial",
        ["denied", "approved"],
    )
    assert "result" in task_body["items"][1] and "result" not in task_body["items"][0]


WRONG = {
    "of another question": (
        lambda: signing.dumps(["user", "ana", "table", "demo/x", "read"], salt="authzen-denial"),
        "invalid_denial_binding",
    ),
    "of our own make": (lambda: "nonsense", "invalid_denial_binding"),
    "for something else": (lambda: signing.dumps([1], salt="other"), "invalid_denial_binding"),
}


@pytest.mark.parametrize("which", WRONG)
def test_a_denial_that_is_not_of_this_question_is_refused(shop: Node, which: str) -> None:
    make, name = WRONG[which]
    answer = caller("ana").send(ENDPOINT, {**QUESTION, **CONTEXT, "denial": {"binding_token": make()}})
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (400, name)
    assert not AccessRequest.objects.exists()


def test_an_old_denial_is_refused(shop: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    from authzsite.api.authzen import access_requests

    token = denied()["access_request"]["binding_token"]
    monkeypatch.setattr(access_requests, "FRESH", -1)
    answer = caller("ana").send(ENDPOINT, {**QUESTION, **CONTEXT, "denial": {"binding_token": token}})
    assert answer.json()["type"].endswith("expired_denial")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({**QUESTION}, 400),
        ({**QUESTION, **CONTEXT, "items": []}, 400),
        ({**CONTEXT, "items": [3]}, 400),
        ({**QUESTION, **CONTEXT, "denial": 3}, 400),
        ({**QUESTION, **CONTEXT, "callback": {}}, 400),
        ({**QUESTION, **CONTEXT, "subject": {"type": "user", "id": "theo"}}, 403),
    ],
)
def test_bad_input_is_told(shop: Node, body, status) -> None:
    answer = caller("ana").send(ENDPOINT, body)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["detail"]


def test_a_task_is_nobody_elses_and_not_to_be_guessed(shop: Node) -> None:
    task = caller("ana").send(ENDPOINT, {**QUESTION, **CONTEXT}).json()["task"]
    assert caller("ben").get(task["status_endpoint"]).status_code == 404
    for guess in ("1", f"{AccessRequest.objects.get().pk}.x", "x" * 300):
        answer = caller("ana").get(f"{ENDPOINT}/{guess}")
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (404, "unknown_task")
    assert caller("ben").send(f"{ENDPOINT}/{task['id']}/cancel", {}).status_code == 404
