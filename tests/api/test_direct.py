"""Calls of programs go past what is made for pages, and nothing about their answers is another for that."""

from __future__ import annotations

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.test import Client

from authzsite.runtime import direct
from tests.api.world import EVALUATION, EVALUATIONS, Shop, make_shop, question, token
from tests.kept import kept

shop = kept(make_shop)
ORDERS = "table:demo/shop.sales.orders"
BODIES: list[tuple[str, object]] = [
    (EVALUATION, question("user:ana", "read", ORDERS)),
    (EVALUATION, question("user:olivia", "read", ORDERS)),
    (EVALUATION, {"subject": 1}),
    (EVALUATIONS, {"evaluations": [question("user:ana", "read", ORDERS)] * 2}),
    ("/access/v1/nothing", {}),
    ("/authz/v1/explain", question("user:ana", "read", ORDERS)),
]


def said(client: Client, path: str, body: object, **more: str) -> tuple[int, bytes, dict[str, str]]:
    answer = client.post(path, body, "application/json", **more)  # type: ignore[arg-type]
    return answer.status_code, answer.content, dict(answer.headers)


@pytest.mark.parametrize("host", ["testserver", "elsewhere.example"])
@pytest.mark.parametrize("good", [True, False], ids=["known token", "unknown token"])
def test_answers_and_headers_are_those_of_the_long_way(
    shop: Shop, good: bool, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = f"Bearer {token('user', 'ana') if good else 'lw_nobody'}"
    more = {"HTTP_AUTHORIZATION": header, "HTTP_X_REQUEST_ID": "r1", "HTTP_HOST": host}
    client = Client(raise_request_exception=False)
    short = [said(client, *call, **more) for call in BODIES]
    monkeypatch.setattr(direct, "PROGRAMS", ())
    long = [said(client, *call, **more) for call in BODIES]
    assert short == long
    assert host == "elsewhere.example" or "X-Frame-Options" in short[0][2]
    assert "Content-Security-Policy" in short[0][2]


def test_with_credentials_no_session_is_looked_for(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = []

    def noted(self: object, request: HttpRequest) -> HttpResponse | None:
        sessions.append(request.path)
        return None

    monkeypatch.setattr(SessionMiddleware, "process_request", noted)
    known = {"HTTP_AUTHORIZATION": f"Bearer {token('user', 'ana')}"}
    assert said(Client(), *BODIES[0], **known)[0] == 200
    assert sessions == []
    Client(raise_request_exception=False).post(EVALUATION, {}, "application/json")
    assert sessions == [EVALUATION]
