"""The cache of decisions, before a real console that goes away and comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts import tokens
from catalog.nodes import Node
from lakewarden.cdap.commands import Holder
from lakewarden.cdap.rest import Line, Refused, Rest
from lakewarden.client import AccessDenied, ConsoleError, MayNotAsk, Unavailable
from lakewarden.client.cache import BadSetting, Cache, Settings
from lakewarden.client.transport import BadCredentials
from policies.services import members, patterns
from tests.admitted import admitted_service
from tests.cdap_law.world import BY, a_cdap, give, make, text, user
from tests.waiting import until

from .site import Clock, Site

pytestmark = pytest.mark.django_db(transaction=True)

ONE, TWO = "dataset:cdap/ns1.one", "dataset:cdap/ns1.two"
Make = Callable[..., Cache]


@pytest.fixture
def realm(transactional_db: None) -> Node:
    """A CDAP of 3.5: alice and bob read dataset one of ns1, alice writes it, too."""
    root = a_cdap("cdap", "3.5")
    make(root, "namespace:ns1", "dataset:ns1.one", "dataset:ns1.two")
    give(root, "alice", "READ,WRITE on dataset:ns1.one")
    give(root, "bob", "READ on dataset:ns1.one")
    return root


@pytest.fixture
def site(realm: Node) -> Iterator[Site]:
    site = Site()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(site: Site, clock: Clock) -> Make:
    """Makes caches of a service account's that ask the site, and count what they ask it."""
    token = tokens.create(admitted_service("container"), scopes=("check",))

    def made(**settings: Any) -> Cache:
        return Cache(Counted(site, token), Settings(**settings), clock=clock)  # type: ignore[arg-type]

    return made


class Counted:
    """A client that notes which calls it makes."""

    def __init__(self, site: Site, token: str) -> None:
        self.client, self.calls = site.client(token), []  # type: ignore[var-annotated]

    def check(self, *asked: Any) -> Any:
        self.calls.append("check")
        return self.client.check(*asked)

    def snapshot(self, *asked: Any, **held: Any) -> Any:
        self.calls.append("snapshot")
        return self.client.snapshot(*asked, **held)


def calls(cache: Cache) -> list[str]:
    return cache._client.calls  # type: ignore[attr-defined,no-any-return]


def may(cache: Cache, who: str, action: str, what: str = ONE) -> bool:
    return bool(cache.check(f"user:{who}", action, what))


def datasets(cache: Cache, who: str) -> dict[str, frozenset[str]]:
    kept = cache.privileges(f"user:{who}", "cdap")
    return {name: actions for name, actions in kept.items() if name.startswith("dataset:")}


def take(root: Node, who: str, *codes: str) -> None:
    patterns.revoke(root, text("dataset:ns1.one"), user(who), codes, by=BY["by"])


# What is kept


@pytest.mark.seed("S2-001", "S2-010", "S2-015", "S2-016", "S2-019", "S2-042", "S2-047", "S2-049")
def test_one_call_brings_all_of_somebody_and_the_rest_is_answered_from_it(cache: Make) -> None:
    cache_ = cache()
    for _ in range(20):
        assert may(cache_, "alice", "read")
        assert may(cache_, "alice", "write")
        assert not may(cache_, "alice", "read", TWO)
    assert calls(cache_) == ["snapshot"]
    assert may(cache_, "bob", "read")
    assert not may(cache_, "bob", "write")
    assert calls(cache_) == ["snapshot", "snapshot"]


@pytest.mark.seed("S2-022", "S2-023", "S2-024", "S2-026", "S2-027")
def test_it_maps_somebody_and_an_entity_to_actions_and_a_refresh_replaces_them(
    cache: Make, clock: Clock, realm: Node
) -> None:
    cache_ = cache(refresh=50)
    may(cache_, "alice", "read")
    assert datasets(cache_, "alice") == {"dataset:ns1.one": {"READ", "WRITE"}}
    give(realm, "alice", "EXECUTE on dataset:ns1.one", "READ on dataset:ns1.two")
    take(realm, "alice", "WRITE")
    clock.ahead += 51
    may(cache_, "alice", "read")
    assert datasets(cache_, "alice") == {
        "dataset:ns1.one": {"READ", "EXECUTE"},
        "dataset:ns1.two": {"READ"},
    }
    cache_.reset()
    assert cache_.privileges("user:alice", "cdap") == {}


@pytest.mark.seed("S2-025")
def test_what_is_taken_of_nothing_kept_is_an_error_and_what_is_kept_is_forgotten(
    cache: Make, realm: Node
) -> None:
    cache_ = cache()
    assert may(cache_, "alice", "read") and may(cache_, "bob", "read")
    for who, name in (("carl", "dataset:ns1.one"), ("alice", "dataset:ns1.two")):
        with pytest.raises(LookupError, match=f"nothing is kept of user:{who} on {name}"):
            cache_.revoked(f"user:{who}", "cdap", name, ["READ"])
    assert may(cache_, "alice", "read") and calls(cache_) == ["snapshot"] * 2
    take(realm, "alice", "READ")
    cache_.revoked("user:alice", "cdap", "dataset:ns1.one", ["READ"])
    assert not may(cache_, "alice", "read") and may(cache_, "bob", "read")
    assert calls(cache_) == ["snapshot"] * 3


class Forgetful(dict[Any, Any]):
    """A cache of another make: it keeps one entry, and says what it did."""

    def __init__(self) -> None:
        super().__init__()
        self.taken_in: list[str] = []

    def __setitem__(self, key: Any, entry: Any) -> None:
        self.clear()
        self.taken_in.append(str(key[1]))
        super().__setitem__(key, entry)


@pytest.mark.seed("S2-029")
def test_what_is_kept_may_lie_in_a_cache_of_another_make(site: Site, realm: Node, clock: Clock) -> None:
    store, token = Forgetful(), tokens.create(admitted_service("container"), scopes=("check",))
    cache_ = Cache(Counted(site, token), Settings(), clock=clock, store=store)  # type: ignore[arg-type]
    assert may(cache_, "alice", "write") and may(cache_, "alice", "read")
    assert calls(cache_) == ["snapshot"]
    assert not may(cache_, "bob", "write")
    assert [str(who) for _, who in store] == ["user:bob"]
    assert may(cache_, "alice", "write") and calls(cache_) == ["snapshot"] * 3
    assert set(store.taken_in) == {"user:alice", "user:bob"}
    store.clear()  # by itself, at any moment
    take(realm, "alice", "WRITE")
    assert not may(cache_, "alice", "write")
    cache_.reset()
    assert not store


@pytest.mark.seed("S1-160")
def test_it_goes_on_for_ten_minutes_unless_the_property_says_otherwise(
    site: Site, cache: Make, clock: Clock
) -> None:
    assert Settings.of_properties({}) == Settings()
    usual, short = cache(failures=100), cache(failures=100, ttl=300)
    assert may(usual, "alice", "read") and may(short, "alice", "read")
    site.stop()
    clock.ahead += 301
    assert may(usual, "alice", "read")
    with pytest.raises(Unavailable):
        may(short, "alice", "read")
    clock.ahead += 298
    assert may(usual, "alice", "read")
    clock.ahead += 2
    with pytest.raises(Unavailable):
        may(usual, "alice", "read")


@pytest.mark.seed("S2-012", "S2-020", "S2-021", "S2-030", "S2-034", "S2-052", "S1-159")
def test_a_change_elsewhere_counts_after_the_interval_at_the_latest(
    cache: Make, clock: Clock, realm: Node
) -> None:
    cache_ = cache(refresh=20)
    assert may(cache_, "alice", "read")
    take(realm, "alice", "READ")
    clock.ahead += 19
    assert may(cache_, "alice", "read")
    clock.ahead += 2
    assert not may(cache_, "alice", "read")
    assert may(cache_, "alice", "write")


@pytest.mark.seed("S2-011", "S2-031", "S2-032")
def test_own_writes_are_seen_at_once_and_by_everybody(cache: Make, site: Site, realm: Node) -> None:
    cache_ = cache()
    assert may(cache_, "alice", "read")
    assert may(cache_, "bob", "read")
    line = Line(site.url, tokens.create(user("admin")), timeout=60, attempts=1, ca=None)
    cache_.follow(line)
    rest = Rest(line)
    rest.revoke(text("dataset:ns1.one"), Holder("user", "alice"), ["READ"])
    assert not may(cache_, "alice", "read")
    assert may(cache_, "bob", "read")
    rest.grant(text("dataset:ns1.one"), Holder("user", "alice"), ["READ"])
    assert may(cache_, "alice", "read")


@pytest.mark.seed("S2-017", "S2-033", "S2-046")
@pytest.mark.parametrize(
    ("event", "asked_again"),
    [
        ({"realm": "cdap", "principal": "user:alice"}, ["alice"]),
        ({"principal": "user:bob"}, ["bob"]),
        ({"realm": "cdap", "principal": "group:staff"}, ["alice", "bob"]),
        ({"realm": "other"}, []),
        ({"realm": "cdap"}, ["alice", "bob"]),
        ({}, ["alice", "bob"]),
        ({"principal": 3}, ["alice", "bob"]),
    ],
    ids=str,
)
def test_an_event_from_outside_drops_whom_it_is_about(
    cache: Make, realm: Node, event: dict[str, Any], asked_again: list[str]
) -> None:
    cache_ = cache()
    for who in ("alice", "bob"):
        assert may(cache_, who, "read")
        take(realm, who, "READ")
        assert may(cache_, who, "read")
    cache_.happened(event)
    assert {who for who in ("alice", "bob") if not may(cache_, who, "read")} == set(asked_again)


# Single objects, and what is never kept


@pytest.mark.seed("S2-041", "S2-045", "S2-053", "S2-054")
def test_an_object_has_its_own_interval_or_none(cache: Make, clock: Clock, realm: Node) -> None:
    cache_ = cache(refresh=50, objects={ONE: 5, TWO: 0})
    give(realm, "alice", "READ on dataset:ns1.two")
    assert may(cache_, "alice", "read")
    assert may(cache_, "alice", "read", TWO)
    patterns.revoke(realm, text("dataset:ns1.two"), user("alice"), ["READ"], by=BY["by"])
    take(realm, "alice", "READ")
    assert may(cache_, "alice", "read")
    assert not may(cache_, "alice", "read", TWO)
    clock.ahead += 6
    assert not may(cache_, "alice", "read")


@pytest.mark.seed("S2-014", "S2-055")
@pytest.mark.parametrize("action", ["ADMIN", "dataset.drop", "dataset.executeAdmin truncate", "grant"])
def test_administration_is_always_asked_fresh(cache: Make, action: str) -> None:
    cache_ = cache()
    for _ in range(3):
        may(cache_, "alice", action)
    assert calls(cache_) == ["check"] * 3


@pytest.mark.seed("S2-048")
@pytest.mark.parametrize("off", [{"enabled": False}, {"most": 0}])
def test_it_can_be_turned_off(cache: Make, realm: Node, off: dict[str, Any]) -> None:
    cache_ = cache(**off)
    assert may(cache_, "alice", "read")
    take(realm, "alice", "READ")
    assert not may(cache_, "alice", "read")
    assert calls(cache_) == ["check", "check"]


@pytest.mark.seed("S1-019")
def test_only_so_many_are_kept_the_last_used_longest(cache: Make) -> None:
    cache_ = cache(most=2)
    for who in ("alice", "bob", "alice", "admin", "alice", "bob"):
        cache_.check(f"user:{who}", "read", ONE)
    assert len(calls(cache_)) == 4


# Silence


@pytest.mark.seed("S2-035", "S2-036", "S2-037", "S2-038", "S2-039")
def test_after_so_many_failed_refreshes_everything_is_refused_until_one_succeeds(
    cache: Make, site: Site, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    cache_ = cache(refresh=10, ttl=600, failures=3)
    assert may(cache_, "alice", "read")
    assert may(cache_, "bob", "read")
    site.stop()
    for _ in range(2):
        clock.ahead += 11
        assert may(cache_, "alice", "read")
    clock.ahead += 11
    for who, action in (("alice", "read"), ("bob", "read"), ("bob", "ADMIN"), ("carol", "read")):
        with pytest.raises(ConsoleError):
            may(cache_, who, action)
    assert cache_.privileges("user:bob", "cdap") == {}
    assert [each.levelno for each in caplog.records].count(logging.ERROR) == 1
    assert "restore the connection to the console" in caplog.text
    site.start()
    with pytest.raises(Unavailable, match="everything is refused"):
        may(cache_, "alice", "read")  # not asked again within a moment
    clock.ahead += 2
    assert may(cache_, "alice", "read")
    assert may(cache_, "bob", "read")


@pytest.mark.seed("S2-035")
def test_how_many_may_fail_is_a_setting(cache: Make, site: Site, clock: Clock) -> None:
    cache_ = cache(refresh=10, ttl=600, failures=1)
    assert may(cache_, "alice", "read")
    site.stop()
    clock.ahead += 11
    with pytest.raises(Unavailable):
        may(cache_, "alice", "read")


@pytest.mark.seed("S1-020")
def test_nothing_is_used_beyond_its_time(cache: Make, site: Site, clock: Clock) -> None:
    cache_ = cache(refresh=10, ttl=30, failures=100)
    assert may(cache_, "alice", "read")
    site.stop()
    clock.ahead += 29
    assert may(cache_, "alice", "read")
    clock.ahead += 2
    with pytest.raises(Unavailable):
        may(cache_, "alice", "read")


def test_an_object_with_its_own_interval_is_refused_when_that_is_over(
    cache: Make, site: Site, clock: Clock
) -> None:
    cache_ = cache(refresh=50, ttl=600, failures=100, objects={ONE: 5, TWO: 0})
    may(cache_, "alice", "read")
    site.stop()
    clock.ahead += 6
    for what in (ONE, TWO):
        with pytest.raises(Unavailable):
            may(cache_, "alice", "read", what)


@pytest.mark.seed("S2-065")
def test_whoever_may_no_longer_ask_is_refused_at_once(
    cache: Make, site: Site, clock: Clock, realm: Node
) -> None:
    own = Cache(site.client(tokens.create(user("bob"))), Settings(refresh=10), clock=clock)
    assert may(own, "bob", "read")
    with pytest.raises(MayNotAsk):
        may(own, "alice", "read")
    assert may(own, "bob", "read")


@pytest.mark.seed("S2-065")
@pytest.mark.parametrize("lost", ["the token", "the admission"])
def test_what_is_kept_is_not_used_by_whoever_may_ask_no_longer(
    site: Site, clock: Clock, realm: Node, lost: str
) -> None:
    admitted_service("another")
    service = admitted_service("container")
    token = tokens.create(service, scopes=("check",))
    cache_ = Cache(site.client(token), Settings(refresh=10), clock=clock)
    assert may(cache_, "alice", "read")
    if lost == "the token":
        tokens.revoke(tokens.find(token))
    else:
        members.remove(realm, service, **BY)
    clock.ahead += 11
    for _ in range(2):
        with pytest.raises((BadCredentials, MayNotAsk)):
            may(cache_, "alice", "read")
        assert not datasets(cache_, "alice"), "nothing stays for the refresh in the background either"


@pytest.mark.seed("S2-069")
@pytest.mark.parametrize(
    "scopes", [("check",), ()], ids=["a token that may only ask", "a token of all it may"]
)
def test_whoever_may_ask_may_not_therefore_grant(site: Site, scopes: tuple[str, ...]) -> None:
    token = tokens.create(admitted_service("container"), scopes=scopes)
    rest = Rest(Line(site.url, token, timeout=60, attempts=1, ca=None))
    assert Cache(site.client(token)).check("user:alice", "read", ONE)
    for forbidden in (
        lambda: rest.grant(text("dataset:ns1.one"), Holder("user", "carol"), ["READ"]),
        lambda: rest.create_role("mine"),
        lambda: rest.roles(None),
    ):
        with pytest.raises(Refused):
            forbidden()


# In the background


@pytest.mark.seed("S2-040", "S2-043", "S2-044")
def test_a_first_question_is_asked_at_once_and_the_rest_fetched_behind_it(cache: Make) -> None:
    with cache() as cache_:
        assert may(cache_, "alice", "read")
        assert calls(cache_)[0] == "check"
        until(lambda: cache_.privileges("user:alice", "cdap") != {})
        before = list(calls(cache_))
        assert may(cache_, "alice", "write")
        assert not may(cache_, "alice", "read", TWO)
        assert calls(cache_) == before


@pytest.mark.seed("S2-018", "S2-028")
def test_it_is_filled_at_the_interval_while_questions_are_answered_from_it(cache: Make, realm: Node) -> None:
    with cache(refresh=0.2, ttl=60) as cache_:
        may(cache_, "alice", "read")
        until(lambda: cache_.privileges("user:alice", "cdap") != {})
        take(realm, "alice", "READ")
        until(lambda: not may(cache_, "alice", "read"))
        assert "check" not in calls(cache_)[1:]
        times = [call for call in calls(cache_) if call == "snapshot"]
        assert len(times) >= 2


def test_the_thread_gives_up_and_comes_back_by_itself(cache: Make, site: Site) -> None:
    with cache(refresh=0.2, ttl=60, failures=2) as cache_:
        may(cache_, "alice", "read")
        until(lambda: cache_.privileges("user:alice", "cdap") != {})
        site.stop()
        until(lambda: cache_.privileges("user:alice", "cdap") == {})
        with pytest.raises(ConsoleError):
            may(cache_, "alice", "read")
        site.start()

        def answered() -> bool:
            try:
                return may(cache_, "alice", "read")
            except ConsoleError:
                return False

        until(answered)


# Settings in CDAP's words

CACHE = "security.authorization.cache."


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, Settings()),
        ({"unrelated": "x"}, Settings()),
        ({CACHE + "enabled": "false"}, Settings(enabled=False)),
        ({CACHE + "enabled": " TRUE "}, Settings()),
        ({CACHE + "refresh.interval.secs": "5"}, Settings(refresh=5)),
        ({CACHE + "ttl.secs": "300"}, Settings(ttl=300)),
        ({CACHE + "max.entries": "7"}, Settings(most=7)),
        ({CACHE + "max.entries": "-1"}, Settings(most=-1)),
        ({CACHE + "max.failed.refreshes": "9"}, Settings(failures=9)),
        ({"security.authorization.extension.config.cache.ttl.secs": "70"}, Settings(ttl=70)),
        (
            {"security.authorization.extension.config.cache.ttl.secs": "70", CACHE + "ttl.secs": "80"},
            Settings(ttl=80),
        ),
        ({CACHE + f"refresh.interval.secs.{ONE}": "5"}, Settings(objects={ONE: 5})),
        # what is switched off is not looked at more closely
        ({CACHE + "enabled": "false", CACHE + "ttl.secs": "0"}, Settings(enabled=False, ttl=0)),
    ],
    ids=str,
)
@pytest.mark.django_db(transaction=False)
@pytest.mark.seed("S2-021", "S2-035", "S2-048", "S2-049", "S2-053")
def test_its_properties_are_understood(properties: dict[str, str], expected: Settings) -> None:
    assert Settings.of_properties(properties) == expected


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        (
            {CACHE + "refresh.interval.secs": "0"},
            "The refresh interval for authorization cache specified by the parameter "
            "'security.authorization.cache.refresh.interval.secs' must be greater than zero. "
            "It is currently set to 0.",
        ),
        (
            {CACHE + "ttl.secs": "-5"},
            "The TTL for authorization cache entries specified by the parameter "
            "'security.authorization.cache.ttl.secs' must be greater than zero. It is currently set to -5.",
        ),
        ({CACHE + "ttl.secs": "soon"}, 'For input string: "soon"'),
        ({CACHE + "max.entries": ""}, 'For input string: ""'),
        ({CACHE + "max.failed.refreshes": "0"}, "must be at least one"),
        ({CACHE + "enabled": "perhaps"}, "must be true or false"),
        ({CACHE + f"refresh.interval.secs.{ONE}": "x"}, 'For input string: "x"'),
    ],
    ids=str,
)
@pytest.mark.django_db(transaction=False)
def test_what_cannot_be_meant_is_refused(properties: dict[str, str], told: str) -> None:
    with pytest.raises(BadSetting) as raised:
        Settings.of_properties(properties)
    assert told in str(raised.value)


@pytest.mark.django_db(transaction=False)
def test_an_interval_longer_than_the_life_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    Settings(refresh=60, ttl=50)
    assert "is not shorter than" in caplog.text


def test_a_refusal_says_what_is_lacking(cache: Make, realm: Node) -> None:
    with pytest.raises(AccessDenied) as raised:
        cache().require("user:bob", "write", ONE)
    assert "lacks WRITE on dataset" in str(raised.value)
