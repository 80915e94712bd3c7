"""Where a connection may lead: the host that the driver will open, not one that a URL seems to name."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies import secrets
from policies.sync.connections import opening

POSTGRESQL = kinds.get("postgresql")


def check_allowed(url: str) -> None:
    opening.check_allowed(POSTGRESQL, url)


def place_of(url: str) -> str:
    return secrets.place_of(POSTGRESQL, url)


OPEN = [
    "postgresql://u@127.0.0.1/db?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca.pem",
    "postgresql://u:p@127.0.0.1:5432/db",
    "postgresql://u:p@localhost/db",
    "postgresql://u:p@[::1]:5432/db",
    "postgresql://u@127.0.0.1:5432,127.0.0.2:5432/db",
    "postgresql://u:p%23@127.0.0.1/db",
]
CLOSED = [
    "postgresql://u:p@10.0.0.1:5432/db",
    "postgresql://127.0.0.1:5432#@10.0.0.1/db",
    "postgresql://127.0.0.1:5432?@10.0.0.1/db",
    "postgresql://u@127.0.0.1/db?hostaddr=10.0.0.1",
    "postgresql://u@127.0.0.1/db?host=10.0.0.1",
    "postgresql://u@127.0.0.1,10.0.0.1/db",
    "postgresql:///db?host=localhost,evil.example",
    "postgresql://u@127.0.0.1/db?service=elsewhere",
    "postgresql://localhost.evil.example/db",
    "postgresql:///db?host=/var/run/postgresql",
    "postgresql://u@%2Fvar%2Frun%2Fpostgresql/db",
    "postgresql://u@@lakewarden/db",
    "postgresql://u@127.0.0.1,%2Fvar%2Frun%2Fpostgresql/db",
    "postgresql://u@127.0.0.1/db?hostaddr=169.254.169.254",
    "postgresql://u@0.0.0.0/db",
    "postgresql://u@[::]/db",
    "postgresql://u@[::ffff:10.0.0.1]/db",
    "postgresql://u@167772161/db",
    "postgresql://u@012.0.0.1/db",
]
NO_URL = [
    "",
    "postgresql://u:sesame@host:port/db",
    "postgresql://u:sesame@[::1/db",
    "host=127.0.0.1 password=sesame dbname=db",
    "mysql://u:sesame@127.0.0.1/db",
    "postgresql://u:sesame@127.0.0.1/db?nonsense=1",
    "postgresql://u:sesame%00@127.0.0.1/db",
]


@pytest.mark.parametrize("url", OPEN)
def test_what_is_near_is_allowed(settings: Settings, url: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    check_allowed(url)


@pytest.mark.parametrize("url", CLOSED)
def test_what_only_looks_near_is_not(settings: Settings, url: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    with pytest.raises(Misconfigured, match=r"LAKEWARDEN_CONNECT_ALLOW|service"):
        check_allowed(url)


@pytest.mark.parametrize("option", ["passfile", "sslkey", "sslcert", "sslkeylogfile", "sslcrl"])
def test_no_files_of_this_machine_are_opened(settings: Settings, option: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    with pytest.raises(Misconfigured, match=option):
        check_allowed(f"postgresql://u@127.0.0.1/db?{option}=/etc/passwd")


@pytest.mark.parametrize("url", NO_URL)
def test_what_is_no_url_is_said_without_the_password(settings: Settings, url: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    for look in (check_allowed, place_of):
        with pytest.raises(Misconfigured) as raised:
            look(url)
        assert "sesame" not in str(raised.value)
        assert raised.value.__cause__ is None


@pytest.mark.parametrize("url", ["postgresql:///db", "postgresql://u@/db", "postgresql://u@127.0.0.1,/db"])
def test_an_absent_host_is_no_host(settings: Settings, url: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    with pytest.raises(Misconfigured, match="must name its host"):
        check_allowed(url)


def test_a_network_and_a_host_can_be_opened(settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["10.1.0.0/16", "db.example"]
    for url in ("postgresql://u@10.1.2.3/db", "postgresql://u@db.example/db"):
        check_allowed(url)
    with pytest.raises(Misconfigured):
        check_allowed("postgresql://u@10.2.0.1/db")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://u:p@db.example:6432/shop", "db.example:6432/shop"),
        ("postgresql://u:p%23@db.example/shop", "db.example/shop"),
        ("postgresql:///shop", "local socket/shop"),
        ("postgresql://u:p@/shop?host=/run/x", "local socket/shop"),
        ("postgresql://127.0.0.1:sesame#@db.example/shop", "db.example/shop"),
    ],
)
def test_a_place_tells_host_and_database_alone(url: str, place: str) -> None:
    assert place_of(url) == place
