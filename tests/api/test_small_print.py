"""Limits of what is sent and what is told: cells, names, depths, scopes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from accounts import people, tokens
from authzsite.downloads import csv_file
from tests.herd.world import a_herd, namespaces

SCOPES = ("check", "report", "request", "manage", "audit", "directory")
READS = {
    "/herd-app/rest/namespaces": {"check", "manage", "audit"},
    "/herd-app/rest/namespaces/SALES": {"check", "manage", "audit"},
    "/herd-app/rest/currentUser": {"check", "manage", "audit"},
    "/herd-app/rest/userNamespaceAuthorizations/userIds/admin": {"check", "manage", "audit"},
    "/herd-app/rest/userNamespaceAuthorizations/namespaces/SALES": {"check", "manage", "audit"},
    "/authz/v1/substitutes": {"manage", "audit"},
    "/authz/v1/snapshot?realm=herd": {"check"},
    "/authz/v1/explain?action=read&resource=namespace:herd/SALES": {"check"},
    "/authz/v1/access?resource=namespace:herd/SALES": {"check"},
    "/authz/v1/audit?realm=herd": {"audit"},
    "/authz/v1/reviews": {"audit"},
}


@pytest.mark.parametrize("text", ["=1+1", " =1+1", "\t=1", " \t +1", "\u00a0@x", "\ufeff-1", "\r=1", "-1"])
def test_no_cell_is_taken_for_a_formula(text: str) -> None:
    assert csv_file.cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["ana", " ana", "a=b", "", "1 - 2"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert csv_file.cell(text) == text


@pytest.mark.parametrize(
    "letter", ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u00ad", "\x07"]
)
def test_a_name_has_no_letter_that_nobody_sees(letter: str) -> None:
    for name in (f"{letter}gnp", f"a{letter}b", f"ana{letter}"):
        with pytest.raises(people.BadName):
            people.checked_name(name)


@pytest.mark.parametrize("name", ["ana", "Tomás Torres", "straße", "店", "名前 😀", "a.b@c", "مريم"])
def test_people_are_called_as_they_are(name: str) -> None:
    assert people.checked_name(name) == name


@pytest.fixture
def herd(db: None) -> None:
    namespaces(a_herd(), "SALES")


def bearer(*scopes: str) -> Client:
    token = tokens.create(people.ensure("user", "admin"), scopes=scopes)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_reads_what_its_scopes_say(herd: None, scope: str) -> None:
    client = bearer(scope)
    open_ = {path for path in READS if client.get(path).status_code == 200}
    assert open_ == {path for path, scopes in READS.items() if scope in scopes}


@pytest.mark.parametrize("depth", [21, 1000, 100_000])
def test_deep_xml_is_refused_at_once(herd: None, depth: int) -> None:
    deep = "<a>" * depth + "</a>" * depth
    begun = time.monotonic()
    answer: Any = bearer().post("/herd-app/rest/namespaces", deep, content_type="application/xml")
    assert answer.status_code == 400
    assert time.monotonic() - begun < 20  # what looks at each level again takes minutes
