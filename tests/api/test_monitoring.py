"""How the site does is for monitors; anybody else learns whether it is ready."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from accounts import people, tokens
from tests.api.world import token

ELSEWHERE = "203.0.113.9"


def sees(**how: Any) -> tuple[bool, bool]:
    """Whether the metrics are told, and why the site is ready."""
    client = Client(**how)
    metrics, ready = client.get("/metrics"), client.get("/health/ready")
    assert metrics.status_code in (200, 401)
    assert ready.status_code == 200
    why = ready.content.decode() != "ready\n"
    assert why == ("database: ok" in ready.content.decode())
    return metrics.status_code == 200, why


def test_strangers_learn_no_more_than_a_probe_needs(db: None) -> None:
    assert sees(REMOTE_ADDR=ELSEWHERE) == (False, False)
    answer = Client(REMOTE_ADDR=ELSEWHERE).get("/metrics")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"] == "Bearer"
    MigrationRecorder.Migration.objects.filter(app="policies").delete()
    refused = Client(REMOTE_ADDR=ELSEWHERE).get("/health/ready")
    assert (refused.status_code, refused.content) == (503, b"not ready\n")


@pytest.mark.parametrize("near", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_sees_all(db: None, near: str) -> None:
    assert sees(REMOTE_ADDR=near) == (True, True)


def test_a_proxy_on_this_machine_is_not_whom_it_asks_for(db: None, settings: Any) -> None:
    there = {"REMOTE_ADDR": "127.0.0.1", "headers": {"X-Forwarded-For": ELSEWHERE}}
    assert sees(**there) == (False, False)
    claimed = {"REMOTE_ADDR": "127.0.0.1", "headers": {"X-Forwarded-For": "127.0.0.1"}}
    assert sees(**claimed) == (False, False)
    settings.LAKEWARDEN_PROXY_ADDRESSES = ["127.0.0.1"]
    assert sees(**there) == (False, False)


def test_a_network_of_monitors_sees_all(db: None, settings: Any) -> None:
    settings.LAKEWARDEN_MONITOR_ADDRESSES = ["203.0.113.0/24"]
    assert sees(REMOTE_ADDR=ELSEWHERE) == (True, True)
    assert sees(REMOTE_ADDR="198.51.100.1") == (False, False)
    # nobody says by themselves where they come from
    claimed = {"REMOTE_ADDR": "198.51.100.1", "headers": {"X-Forwarded-For": ELSEWHERE}}
    assert sees(**claimed) == (False, False)


@pytest.mark.parametrize(("scope", "seen"), [("audit", True), ("check", False)])
def test_a_token_of_the_right_scope_sees_all(db: None, scope: str, seen: bool) -> None:
    headers = {"Authorization": f"Bearer {token('service', 'prometheus', scope)}"}
    assert sees(REMOTE_ADDR=ELSEWHERE, headers=headers) == (seen, seen)


@pytest.mark.parametrize(
    ("kind", "name", "scope", "seen"),
    [
        ("user", "ana", "", False),
        ("user", "ana", "audit", False),
        ("user", "sam", "audit", True),
        ("user", "sam", "check", False),
        ("service", "nightly-load", "", False),
    ],
)
def test_everybody_makes_tokens_and_only_monitors_and_site_admins_see(
    db: None, settings: Any, kind: str, name: str, scope: str, seen: bool
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    text = tokens.create(people.ensure(kind, name), scopes=(scope,) if scope else ())
    assert sees(REMOTE_ADDR=ELSEWHERE, headers={"Authorization": f"Bearer {text}"}) == (seen, seen)


def test_a_wrong_token_sees_nothing(db: None) -> None:
    assert sees(REMOTE_ADDR=ELSEWHERE, headers={"Authorization": "Bearer lw_" + "x" * 43}) == (False, False)
