"""The page of the calls for programs: each of them stands there, as its description says it."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

from django.test import Client

from authzsite.api.v1.openapi import document
from catalog.nodes import Node

Enter = Callable[[str], Client]


def shown(client: Client, asked: str = "") -> str:
    answer = client.get("/help/calls", {"q": asked})
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_every_call_stands_there_and_the_file_for_generators(shop: Node, signed_in: Enter) -> None:
    body = shown(signed_in("ana"))
    for path, calls in document()["paths"].items():
        for method, call in calls.items():
            assert f"{method.upper()} {path}" in body and call["summary"] in body
    assert 'href="/authz/v1/openapi.json"' in body


def test_a_call_says_what_it_is_sent_and_what_it_needs(shop: Node, signed_in: Enter) -> None:
    body = shown(signed_in("ana"), "policies/apply")
    assert "POST /authz/v1/policies/apply" in body and "/authz/v1/simulate" not in body
    assert "the digest of the plan that was reviewed" in body and "needs `manage`" in body


def test_help_leads_there_and_so_does_the_search(shop: Node, signed_in: Enter) -> None:
    ana = signed_in("ana")
    assert 'href="/help/calls"' in ana.get("/help").content.decode()
    assert "/help/calls" in ana.get("/search/found?q=programs").content.decode()
    assert "No call matches" in shown(ana, "<nothing>")
