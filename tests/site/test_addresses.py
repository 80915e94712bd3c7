"""Where a call comes from, as proxies write it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from accounts.addresses import address_of, is_near


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.7, 203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:51234", "203.0.113.9"),
        ("198.51.100.7, 203.0.113.9:51234, 10.0.0.2:80", "203.0.113.9"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("unknown", "10.0.0.1"),
        ("203.0.113.9:port", "10.0.0.1"),
    ],
)
def test_a_proxy_may_write_ports_beside_addresses(said: str, found: str, settings: Any) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = ["10.0.0.0/8"]
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=said)
    assert address_of(request) == found


@pytest.mark.parametrize(
    ("peer", "said", "proxies", "near"),
    [
        ("127.0.0.1", {}, [], True),
        ("", {}, [], True),
        ("10.0.0.1", {}, [], False),
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "203.0.113.9"}, [], False),
        ("127.0.0.1", {"HTTP_FORWARDED": "for=203.0.113.9"}, [], False),
        ("", {"HTTP_X_FORWARDED_FOR": "203.0.113.9"}, [], False),
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "203.0.113.9"}, ["127.0.0.1"], False),
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, ["127.0.0.1"], True),
    ],
)
def test_what_a_proxy_on_this_machine_forwards_is_not_near(
    peer: str, said: dict[str, str], proxies: list[str], near: bool, settings: Any
) -> None:
    settings.LAKEWARDEN_PROXY_ADDRESSES = proxies
    assert is_near(RequestFactory().get("/", REMOTE_ADDR=peer, **said)) is near  # type: ignore[arg-type]
