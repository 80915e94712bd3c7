"""Where a call comes from, as proxies write it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from accounts.addresses import address_of


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
