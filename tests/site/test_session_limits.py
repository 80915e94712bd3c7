"""Sessions end by themselves; a token is told how many calls are left, and stopped after them."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts import people, tokens
from accounts.session_limits import BEGAN
from accounts.sessions import NOTED
from authzsite.api import call_limits
from authzsite.runtime.at_root import at_root

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600
MINUTES = count(1)


@pytest.fixture
def browser(db: None, settings: Any) -> Client:
    settings.LAKEWARDEN_SESSION_IDLE, settings.SESSION_COOKIE_AGE = 60, 12 * HOUR
    people.make_account("ana", password="correct horse")
    client = Client()
    client.post("/sign-in", {"username": "ana", "password": "correct horse"})
    return client


def change(client: Client, **values: float | None) -> None:
    session = client.session
    for name, value in values.items():
        session.pop(name, None)
        if value is not None:
            session[name] = value
    session.save()


@pytest.mark.parametrize("address", ["/profile", "/api/authn/me"])
@pytest.mark.parametrize(
    ("began", "used", "good"),
    [
        (11, 0.5, True),
        (11, 1.5, False),
        (11, None, False),
        (0.5, None, True),
        (13, 0.1, False),
        (None, 0.1, False),
    ],
)
def test_a_session_ends(
    browser: Client, address: str, began: float | None, used: float | None, good: bool
) -> None:
    now = time.time()
    moments = {BEGAN: began, NOTED: used}
    change(
        browser, **{name: value if value is None else now - value * HOUR for name, value in moments.items()}
    )
    assert (browser.get(address).status_code == 200) is good


def test_a_session_ends_also_where_a_header_says_that_the_site_has_a_path(browser: Client) -> None:
    """As `SCRIPT_NAME`, which gunicorn believes of whoever comes from this machine, a proxy too."""
    change(browser, **{BEGAN: time.time() - 13 * HOUR})
    assert browser.get("/profile", SCRIPT_NAME="/health").status_code == 302


def test_no_header_cuts_a_path_from_the_address() -> None:
    """A proxy that forbids /metrics lets /health/metrics pass, which gunicorn would make /metrics of."""
    paths: list[str] = []

    def site(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        paths.append(environ["PATH_INFO"])
        return []

    application, begun = at_root(site), list[str]()
    for path in ("", "/health"):
        environ = {"SCRIPT_NAME": path, "PATH_INFO": "/metrics"}
        list(application(environ, lambda status, *_: begun.append(status)))
    assert (paths, begun) == (["/metrics"], ["400 Bad Request"])


def test_signing_in_begins_anew(browser: Client) -> None:
    change(browser, **{BEGAN: time.time() - 13 * HOUR})
    assert browser.get("/profile").status_code == 302
    browser.post("/sign-in", {"username": "ana", "password": "correct horse"})
    assert browser.get("/profile").status_code == 200


def test_cookies_of_a_public_host_belong_to_it_alone(tmp_path: Path) -> None:
    code = "from django.conf import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME)"
    public = {"ALLOWED_HOSTS": "lake.example.org", "SECRET_KEY": "q7Zr-fk2Lp_w9Vx3Bn8Td5Hs1Mg6Yc4Ja0"}
    public |= {"LAKEWARDEN_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "authzsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=os.environ | public, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["__Host-lakewarden_session", "__Host-lakewarden_csrf"]


@pytest.fixture
def token(db: None, settings: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    settings.LAKEWARDEN_CALLS_A_MINUTE = 3
    monkeypatch.setattr(call_limits, "counter", call_limits.Counter())
    # each test has a minute of its own, and no other begins meanwhile
    now = time.time() + 60 * next(MINUTES)
    monkeypatch.setattr(call_limits.time, "time", lambda: now)
    return tokens.create(people.ensure("user", "ana"))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def call(token: str, address: str = "/authz/v1/substitutes") -> Any:
    return Client().get(address, headers=bearer(token))


def test_a_token_makes_so_many_calls_a_minute(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [call(token) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["RateLimit"].split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0", "r=0"]
    assert answers[0].headers["RateLimit-Policy"] == '"token";q=3;w=60'
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    # another process of the site counts on
    monkeypatch.setattr(call_limits, "counter", call_limits.Counter())
    assert call(token).status_code == 429
    assert call(tokens.create(people.ensure("user", "ana"))).status_code == 200


@pytest.mark.parametrize("form", ["bearer  {token}", "BEARER {token} ", "Basic {basic}"])
def test_a_token_has_one_count_however_it_is_written(token: str, form: str) -> None:
    basic = base64.b64encode(f"ana:{token}".encode()).decode()
    header = form.format(token=token, basic=basic)
    for left in (2, 1, 0):
        assert f"r={left};" in call(token).headers["RateLimit"]
    answer = Client().get("/authz/v1/substitutes", headers={"Authorization": header})
    assert answer.status_code == 429


def test_what_is_no_token_is_counted_by_address(token: str) -> None:
    def wrong(text: str, peer: str) -> int:
        headers = {"Authorization": text}
        return Client().get("/authz/v1/substitutes", headers=headers, REMOTE_ADDR=peer).status_code

    tries = ["Bearer a", "Bearer lw_made-up", "Basic !!", "Bearer lw_another", "Basic YTpsd19tYWRlLXVw"]
    assert [wrong(text, "203.0.113.9") for text in tries] == [401, 401, 401, 429, 429]
    assert wrong("Bearer c", "203.0.113.10") == 401
    assert call(token).status_code == 200
    own = Client().get("/authz/v1/substitutes", headers=bearer(token), REMOTE_ADDR="203.0.113.9")
    assert own.status_code == 200, "who has a token is not kept out by others at the address"


def test_made_up_tokens_ask_the_database_no_more_than_calls_are_allowed(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def was_made(text: str) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr(tokens, "was_made", was_made)
    assert [call(f"lw_made-up-{number}").status_code for number in range(6)] == [401] * 3 + [429] * 3
    assert len(asked) == 3


def test_a_token_that_is_met_first_is_counted_once(token: str) -> None:
    """Many tokens of one address, as behind a gateway, do not use up what the address has."""
    several = [tokens.create(people.ensure("user", "ana")) for _ in range(5)]
    assert [call(text).headers["RateLimit"].split(";")[1] for text in several] == ["r=2"] * 5
    assert "r=2;" in call("lw_made-up").headers["RateLimit"]


def test_a_revoked_token_keeps_its_own_count(token: str) -> None:
    tokens.revoke(tokens.find(token))
    assert [call(token).status_code for _ in range(4)] == [401, 401, 401, 429]
    assert call("lw_made-up").status_code == 401


@pytest.mark.parametrize(
    "address",
    [
        "/api/authn/me",
        "/herd-app/rest/currentUser",
        "/access/v1/evaluation",
        "/v3/security/authorization/roles",
    ],
)
def test_each_surface_says_so_in_its_form(token: str, address: str) -> None:
    answer = [call(token, address) for _ in range(4)][-1]
    assert answer.status_code == 429
    assert b"too many" in answer.content.lower()
    assert "html" not in answer.headers["Content-Type"]


def test_without_redis_nothing_is_unlimited(token: str, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    assert [call(token).status_code for _ in range(4)] == [200, 200, 200, 429]
