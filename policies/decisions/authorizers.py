"""Privileges that another system manages: fetched, kept for a while, and turned into rules.

What is kept counts for `refresh` seconds.  When fetching fails it counts on until it is `ttl` seconds old;
from then on nobody knows anything, so nobody may do anything.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol, TypeVar

from django.conf import settings

from catalog.models import Realm
from lakewarden import authorizers
from lakewarden.authorizers import Configured
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import BadEntity, parse
from lakewarden.law.dialects.cdap.by_settings import AUTHORIZER
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import OWNER, Rule, Window, contains
from lakewarden.law.principals import Principal

log = logging.getLogger(__name__)

KEPT = 10_000
"""So many principals' privileges are kept, the last asked for longest."""
AGAIN = 2.0
"""Seconds after a failure before it is tried again."""
LONGEST = 20.0
"""Seconds that an answer is waited for, whatever the extension does meanwhile."""
SLOW = 1.0
"""A failure that took so many seconds would take as long for everybody else."""
TOLD = 1000
"""So many privileges that are none are written into the log, each once."""

T = TypeVar("T")


class _Fetched(NamedTuple):
    privileges: tuple[tuple[str, str], ...]
    at: float
    again: float


_Key = tuple[Principal, tuple[str, ...]]
"""Somebody, in the groups they are in."""


class RealmAuthorizer:
    """The authorizer of one realm, as every process has it once."""

    def __init__(self, realm: str, configured: Configured) -> None:
        self.realm, self.configured = realm, configured
        self._kept: OrderedDict[_Key, _Fetched] = OrderedDict()
        self._nothing: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._extension: authorizers.Authorizer | None = None
        self._away_until, self._probe = 0.0, threading.Lock()

    def rules(self, law: str, principal: Principal, groups: Sequence[str]) -> Iterable[Rule]:
        """What somebody has, as rules that no grant made; nothing where nobody knows."""
        dialect = dialects.get(law)
        if not isinstance(dialect, TextDialect):
            return
        for text, code in self._fetched(principal, groups).privileges:
            named = _named(text, dialect)
            if named and code in dialect.privileges:
                yield Rule(named, code, fact=AUTHORIZER)
            elif (text, code) not in self._nothing and len(self._nothing) < TOLD:
                self._nothing.add((text, code))
                log.warning("the authorizer of %s says `%s on %s`, which is nothing", self.realm, code, text)

    def good_until(self, principal: Principal, groups: Sequence[str]) -> float:
        """When what was told of somebody is to be asked for again."""
        with self._lock:
            fetched = self._kept.get((principal, tuple(groups)))
        return fetched.again if fetched else 0.0

    def _fetched(self, principal: Principal, groups: Sequence[str]) -> _Fetched:
        now = time.time()
        with self._lock:
            before = self._kept.get((principal, tuple(groups)))
        if before is not None and now < before.again and before.at <= now:
            return before
        fetched = self._fetch(principal, groups, before, now)
        with self._lock:
            self._kept[principal, tuple(groups)] = fetched
            self._kept.move_to_end((principal, tuple(groups)))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return fetched

    def _fetch(
        self, principal: Principal, groups: Sequence[str], before: _Fetched | None, now: float
    ) -> _Fetched:
        """What is told now.  Once it was slow to fail, one asks for all until it answers."""
        probes = self._away_until > 0
        if probes and (now < self._away_until or not self._probe.acquire(blocking=False)):
            return self._unanswered(before, now)
        began = time.monotonic()
        try:
            privileges = _in_time(lambda: self._ask(principal, groups))
        except Exception as error:  # noqa: BLE001 - another's code may fail in any way, and each is a no
            log.error("the authorizer of %s gave no answer: %s", self.realm, type(error).__name__)
            took = time.monotonic() - began
            self._away_until = time.time() + max(AGAIN, took) if took >= SLOW else 0.0
            return self._unanswered(before, now)
        finally:
            if probes:
                self._probe.release()
        self._away_until = 0.0
        return _Fetched(privileges, now, now + min(self.configured.refresh, self.configured.ttl))

    def _ask(self, principal: Principal, groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
        if self._extension is None:
            self._extension = authorizers.make(self.configured.extension, self.configured.config)
        pairs = self._extension.privileges(principal, groups)
        return tuple((str(text), str(code)) for text, code in pairs)

    def _unanswered(self, before: _Fetched | None, now: float) -> _Fetched:
        """What was told before while it is not too old, then nothing."""
        ttl = self.configured.ttl
        if before is not None and now < before.at + ttl:
            return before._replace(again=min(now + AGAIN, before.at + ttl))
        return _Fetched((), now - ttl, now + AGAIN)


def _in_time(call: Callable[[], T]) -> T:
    """What a call answers within LONGEST seconds; it is left alone in a thread of its own after them.

    Raises TimeoutError, and what the call raises.
    """
    answers: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((call(), None))
        except Exception as problem:  # noqa: BLE001 - raised again where it is waited for
            answers.put((None, problem))

    threading.Thread(target=run, name="authorizer", daemon=True).start()
    try:
        value, problem = answers.get(timeout=LONGEST)
    except Empty:
        raise TimeoutError from None
    if problem is not None:
        raise problem
    return value  # type: ignore[return-value]  # nothing was raised


def _named(text: str, law: TextDialect) -> str:
    """The text as the law writes it; empty for what names nothing there."""
    try:
        return str(parse(text, others=bool(law.other)))
    except BadEntity:
        return ""


class Facts(Protocol):
    """The facts of a realm that an authorizer's answers stand among."""

    realm: Realm
    realm_name: str
    now: float
    past: bool
    shut: dict[int, frozenset[str]]
    groups: dict[int, list[tuple[int, str, Window]]]
    fetched_until: dict[int, float]


def instead(loaded: Facts, principal: Principal, number: int, rules: Iterable[Rule]) -> Iterable[Rule]:
    """The rules of a realm's own grants; where an authorizer serves it, what that says in the place of them.

    Who owns what stays.  What an authorizer would have said in the past nobody knows.
    """
    outside = of(loaded.realm_name)
    if outside is None:
        return rules
    owned = [rule for rule in rules if rule.privilege == OWNER]
    if number in loaded.shut or loaded.past:
        return owned
    groups = [name for _, name, window in loaded.groups.get(number, ()) if contains(window, loaded.now)]
    rules = [*outside.rules(loaded.realm.law, principal, groups)]
    # what is due already is asked for again with the next question
    loaded.fetched_until[number] = max(outside.good_until(principal, groups), loaded.now + 0.001)
    return [*owned, *rules]


_made: dict[str, RealmAuthorizer] = {}


def of(realm: str) -> RealmAuthorizer | None:
    """The authorizer of a realm by its name; None where the realm's own grants count."""
    configured = settings.LAKEWARDEN_AUTHORIZERS.get(realm)
    if configured is None:
        return None
    authorizer = _made.get(realm)
    if authorizer is None or authorizer.configured is not configured:
        authorizer = _made[realm] = RealmAuthorizer(realm, configured)
    return authorizer
