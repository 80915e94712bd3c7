"""A cache that hears of changes: a withdrawal counts in well under a second, whoever made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from accounts import tokens
from catalog.nodes import Node
from lakewarden.client.cache import Cache, Settings
from lakewarden.client.changes import Touched, key_of
from tests.admitted import admitted_service
from tests.cdap_law.world import give
from tests.waiting import until

from .site import Site
from .test_cache import may, realm, site, take

__all__ = ["realm", "site"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listening(site: Site, realm: Node) -> Iterator[Cache]:
    """A cache that would find out by itself in ten minutes, and hears of alice's and bob's changes."""
    client = site.client(tokens.create(admitted_service("container"), scopes=("check",)))
    with Cache(client, Settings(refresh=600, ttl=1200)) as cache:
        for who in ("alice", "bob"):
            until(lambda who=who: may(cache, who, "read") and kept(cache, who))
        yield cache


@pytest.mark.seed("S2-017", "S2-046", "S2-033")
def test_a_withdrawal_is_known_at_once(listening: Cache, realm: Node) -> None:
    until(lambda: "cdap" in listening._heard)  # the line is open
    until(lambda: kept(listening, "alice") and kept(listening, "bob"))
    take(realm, "alice", "READ")
    took = seconds(lambda: not may(listening, "alice", "read"))
    assert took < 60, "known far sooner than by refreshing"
    assert kept(listening, "bob"), "others keep what they have"
    give(realm, "alice", "READ on dataset:ns1.one")
    assert seconds(lambda: may(listening, "alice", "read")) < 60


def test_it_goes_on_after_the_console_was_away(listening: Cache, site: Site, realm: Node) -> None:
    until(lambda: "cdap" in listening._heard)
    site.stop()
    take(realm, "alice", "READ")
    site.start()
    assert seconds(lambda: not may(listening, "alice", "read")) < 300


def kept(cache: Cache, who: str) -> bool:
    """Asks, so that it is fetched, and says whether it is there."""
    may(cache, who, "write")
    return bool(cache.privileges(f"user:{who}", "cdap"))


def seconds(condition: Callable[[], bool]) -> float:
    began = time.monotonic()
    until(condition)
    return time.monotonic() - began


@pytest.mark.seed("S2-046")
@pytest.mark.django_db(transaction=False)
def test_messages_name_nobody() -> None:
    touched = Touched(7, frozenset([key_of("Alice")]))
    assert touched.concerns("alice")
    assert not touched.concerns("bob")
    assert "alice" not in str(touched).lower()
    assert Touched(7, frozenset("*")).concerns("bob")
