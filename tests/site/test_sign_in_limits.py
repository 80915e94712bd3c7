"""Guessing passwords: a limit for each name, each address and all together; whom a proxy may speak for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from axes.models import AccessAttempt
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client, RequestFactory

from accounts import people, sign_in_limits, sign_in_rate
from accounts.addresses import address_of, is_near

RIGHT, WRONG = "correct horse", "wrong"


@pytest.fixture(autouse=True)
def _ana(db: None) -> None:
    people.make_account("ana", password=RIGHT)


def tries(name: str, secret: str = WRONG, *, at: str = "10.0.0.1", **more: str) -> int:
    headers = {"User-Agent": more.pop("agent", "x"), **more}
    answer = Client(REMOTE_ADDR=at, headers=headers).post("/sign-in", {"username": name, "password": secret})
    return int(answer.status_code)


def test_one_password_with_many_names_is_stopped() -> None:
    tried = [tries(f"user{at}", agent=f"agent {at}") for at in range(12)]
    assert tried.count(429) >= 2
    assert tries("ana", RIGHT) == 429
    assert tries("ana", RIGHT, at="10.0.0.2") == 302


def test_signing_in_does_not_clear_what_was_tried_with_other_names() -> None:
    for at in range(9):
        tries(f"user{at}")
    assert tries("ana", RIGHT) == 302
    tries("user9")
    assert tries("user10") == 429


def test_many_addresses_for_one_name_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_limits, "OF_NAME", 6)
    assert [tries("ana", at=f"10.0.1.{at}") for at in range(6)].count(429) == 1
    assert tries("ana", RIGHT, at="10.0.2.1") == 429
    assert tries("bob", at="10.0.2.1") == 200


def test_a_few_mistakes_are_forgiven() -> None:
    assert [tries("ana") for _ in range(5)] == [200] * 5
    assert tries("ana", RIGHT) == 302
    assert not AccessAttempt.objects.filter(username="ana").exists()


def test_guessing_ones_old_password_counts_too() -> None:
    browser = Client()
    assert browser.post("/sign-in", {"username": "ana", "password": RIGHT}).status_code == 302
    form = {"do": "password", "old": "guess", "password": "battery staple 7", "again": "battery staple 7"}
    tried = [browser.post("/profile", form).status_code for _ in range(9)]
    assert tried[0] == 422
    assert tried[-1] == 429


PROXIES = ("10.9.0.0/16", "::1")


@pytest.mark.parametrize(
    ("remote", "forwarded", "address"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.9.1.1", "198.51.100.7", "198.51.100.7"),
        ("::1", "198.51.100.7", "198.51.100.7"),
        ("::ffff:10.9.1.1", "198.51.100.7", "198.51.100.7"),
        ("10.9.1.1", "1.2.3.4, 198.51.100.7", "198.51.100.7"),
        ("10.9.1.1", "1.2.3.4, 198.51.100.7, 10.9.2.2", "198.51.100.7"),
        ("10.9.1.1", "127.0.0.1, rubbish", "10.9.1.1"),
        ("10.9.1.1", "", "10.9.1.1"),
    ],
)
def test_only_a_trusted_proxy_says_where_somebody_comes_from(
    settings: Any, remote: str, forwarded: str, address: str
) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = PROXIES
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)
    assert address_of(request) == address
    assert not is_near(request)


def test_behind_a_proxy_each_has_limits_of_their_own(settings: Any) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = PROXIES
    there, here = {"X-Forwarded-For": "198.51.100.7"}, {"X-Forwarded-For": "198.51.100.8"}
    assert [tries("ana", at="10.9.1.1", **there) for _ in range(9)][-1] == 429
    assert tries("ana", RIGHT, at="10.9.1.1", **here) == 302


@pytest.fixture
def real_hasher(settings: Any) -> Iterator[None]:
    settings.PASSWORD_HASHERS = ["accounts.sign_in_limits.Hasher"]
    yield


def test_a_password_costs_one_core_and_a_bounded_time(real_hasher: None) -> None:
    made = make_password(RIGHT)
    assert made.startswith("argon2$argon2id$v=19$m=65536,t=2,p=1$")
    assert check_password(RIGHT, made)
    assert not check_password("wrong", made)


def test_passwords_are_looked_at_one_after_the_other_and_the_rest_is_sent_away(real_hasher: None) -> None:
    made, ended, busy = make_password(RIGHT), [], []

    def look() -> None:
        try:
            ended.append(check_password("wrong", made))
        except sign_in_limits.Busy:
            busy.append(True)

    threads = [threading.Thread(target=look) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) + len(busy) == 30
    assert ended
    assert len(busy) >= 30 - 3 * len(ended)


def test_nobody_waits_long_for_another_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_limits, "LONGEST_WAIT", 0.1)
    with sign_in_limits.turns.one():  # one that takes as long as it takes
        for _ in range(sign_in_limits.WAITING + 1):
            with pytest.raises(sign_in_limits.Busy), sign_in_limits.turns.one():
                pass


def test_who_is_sent_away_is_told_to_come_again(real_hasher: None) -> None:
    people.make_account("bob", password=RIGHT)
    looking = [sign_in_limits.turns._inside.acquire(blocking=False) for _ in range(3)]
    try:
        answer = Client().post("/sign-in", {"username": "bob", "password": RIGHT})
    finally:
        for _ in filter(None, looking):
            sign_in_limits.turns._inside.release()
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Try again in a few seconds" in answer.content.decode()
    assert not AccessAttempt.objects.exists()


@pytest.fixture
def counted(settings: Any, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LAKEWARDEN_SIGN_INS_A_MINUTE = 40  # 8 from an address, 2 for a name
    redis.Redis.from_url(redis_url).flushdb()
    now = time.time()
    monkeypatch.setattr(sign_in_rate.time, "time", lambda: now)  # no minute begins meanwhile


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were looked at."""
    seen: list[str] = []
    real = ModelBackend.authenticate

    def authenticate(self: Any, request: Any, **typed: Any) -> Any:
        seen.append(typed["password"])
        return real(self, request, **typed)

    monkeypatch.setattr(ModelBackend, "authenticate", authenticate)
    return seen


def test_a_name_is_tried_so_often_a_minute_from_wherever(counted: None, looked_at: list[str]) -> None:
    assert [tries("ana", RIGHT, at=f"10.0.3.{at}") for at in range(4)] == [302, 302, 429, 429]
    assert tries("ANA", RIGHT, at="10.0.3.9") == 429
    assert len(looked_at) == 2


def test_an_address_tries_so_often_a_minute_by_whatever_proxy(counted: None, settings: Any) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = ("10.9.0.0/16",)
    near = [tries(f"u{at}", at=f"10.9.0.{at}", **{"X-Forwarded-For": "10.0.4.1"}) for at in range(10)]
    assert near[8:] == [429, 429] and 429 not in near[:8]
    assert tries("ana", RIGHT, at="10.9.0.1", **{"X-Forwarded-For": "10.0.4.2"}) == 302
    # who is stopped by the address used up nothing of the name
    assert tries("u9", at="10.0.5.1") == 200


def test_the_whole_site_tries_so_often_a_minute(counted: None, looked_at: list[str], settings: Any) -> None:
    settings.LAKEWARDEN_SIGN_INS_A_MINUTE = 5
    tried = [tries(f"u{at}", at=f"10.1.{at}.1") for at in range(7)]
    assert tried == [200] * 5 + [429] * 2
    assert len(looked_at) == 5


def test_without_redis_no_password_is_looked_at(settings: Any, looked_at: list[str]) -> None:
    settings.LAKEWARDEN_SIGN_INS_A_MINUTE, settings.REDIS_URL = 40, "redis://127.0.0.1:1/0"
    answer: Any = Client().post("/sign-in", {"username": "ana", "password": RIGHT})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert looked_at == []
