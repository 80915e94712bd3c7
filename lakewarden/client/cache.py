"""Decisions for a service that is asked often: snapshots kept, refreshed at an interval, given up in time.

    with Cache(Client(), Settings.of_properties(site)) as cache:
        cache.require("user:alice", "read", "dataset:cdap/ns1.orders")

Access to data is decided on what is kept.  Whatever administers is asked fresh each time.  After so many
failed refreshes in a row everything kept is dropped, and everything is refused until a refresh succeeds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lakewarden.client import AccessDenied, Client, Decision, Lack, Question, Resource, Subject, read_question
from lakewarden.client.cache_settings import BadSetting, Settings
from lakewarden.client.changes import Listener, Touched
from lakewarden.client.fresh_snapshot import PAUSE
from lakewarden.client.snapshot import BadSnapshot, Snapshot
from lakewarden.client.transport import BadCredentials, ConsoleError, MayNotAsk, Transport, Unavailable
from lakewarden.law.evidence import Lack as Lacking
from lakewarden.law.principals import Principal

__all__ = ["BadSetting", "Cache", "Kept", "Settings"]

log = logging.getLogger("lakewarden")

DATA = ("read", "write", "use", "execute")
"""Access to data and programs; everything else administers."""

Key = tuple[str, Principal]


class Kept(NamedTuple):
    """A snapshot, and when it was asked for."""

    snapshot: Snapshot
    asked: float

    @property
    def size(self) -> int:
        """How many objects it has privileges for."""
        return max(1, len(self.snapshot.slice.bits))


@dataclass
class _Silence:
    """Failed refreshes in a row, and whether they were too many."""

    failed: int = 0
    cut_off: bool = False
    why: ConsoleError | None = None
    again: float = float("-inf")
    """Not before then is the console asked again."""

    def failed_again(self, why: ConsoleError, now: float) -> None:
        self.failed, self.why, self.again = self.failed + 1, why, now + PAUSE


class Cache:
    """Answers like a Client, from snapshots; may be shared between threads.

    Snapshots are kept in a dictionary, or in `store`: another cache that is a mapping, which may drop what it
    likes.  Without `start` a snapshot that is due is refreshed by the question that finds it so; with it a
    thread of its own refreshes all of them.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        store: MutableMapping[Key, Kept] | None = None,
    ) -> None:
        self._client, self.settings, self._clock = client, settings or Settings(), clock
        self._kept: MutableMapping[Key, Kept] = {} if store is None else store
        self._wanted: set[Key] = set()
        self._floor: dict[Key, int] = {}
        self._silence = _Silence()
        self._forgotten = 0
        self._lock = threading.RLock()
        self._bell = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._listeners: dict[str, Listener] = {}
        self._heard: dict[str, int] = {}
        self._closed = False

    def check(self, subject: Subject, action: str, resource: Resource) -> Decision:
        """The decision on one question.  Raises ConsoleError when there is none."""
        question = read_question((subject, action, resource))
        if not self.settings.on:
            return self._client.check(*question)
        if self._silence.cut_off:
            # try again, not too often; raises while everything is refused
            if self._clock() < self._silence.again:
                raise Unavailable(f"{self._silence.why}; {_REFUSING}")
            self._load((question.resource.realm, question.subject))
        within = self.settings.interval(question.resource)
        if within <= 0 or not is_data(question.action):
            return self._client.check(*question)
        key = (question.resource.realm, question.subject)
        snapshot = self._snapshot(key, within)
        return (
            self._client.check(*question) if snapshot is None else _decided(snapshot, question, self._clock())
        )

    def require(self, subject: Subject, action: str, resource: Resource) -> Decision:
        """The decision when it is a yes; else AccessDenied."""
        decision = self.check(subject, action, resource)
        if not decision:
            raise AccessDenied([decision], asked=1)
        return decision

    def privileges(self, subject: Subject, realm: str) -> dict[str, frozenset[str]]:
        """The privileges kept for somebody: those allowed on each object or text; empty without any."""
        who = subject if isinstance(subject, Principal) else Principal.parse(subject)
        with self._lock:
            entry = self._kept.get((realm, who))
        privileges: dict[str, frozenset[str]] = {}
        for rule in entry.snapshot.slice.rules if entry else ():
            if rule.allow and rule.holds_at(self._clock()):
                privileges[str(rule.object)] = privileges.get(str(rule.object), frozenset()) | {
                    rule.privilege
                }
        return privileges

    # What others tell

    def reset(self) -> None:
        """Forget everything, so that the next questions ask first."""
        with self._lock:
            self._forgotten += 1
            self._kept.clear()
            self._wanted.clear()

    def happened(self, event: Mapping[str, Any]) -> None:
        """Something changed outside: forget whom it concerns.

        `realm` and `principal` narrow it to one user or service account; anything else is about everybody.
        """
        realm, name = event.get("realm"), event.get("principal")
        kind = name.partition(":")[0] if isinstance(name, str) else ""
        with self._lock:
            self._forgotten += 1
            for key in list(self._kept):
                other_realm = isinstance(realm, str) and key[0] != realm
                other_person = kind in ("user", "service") and str(key[1]) != name
                if not other_realm and not other_person:
                    self._kept.pop(key, None)

    def revoked(self, subject: Subject, realm: str, name: str, privileges: Iterable[str]) -> None:
        """Somebody lost privileges on what `privileges` calls `name`: forget what is kept of them.

        Raises LookupError where nothing is kept of them on that object; then nothing is forgotten.
        """
        if name not in self.privileges(subject, realm):
            raise LookupError(
                f"nothing is kept of {subject} on {name}, so {', '.join(privileges)} is not taken"
            )
        self.happened({"realm": realm, "principal": str(subject)})

    def heard(self, realm: str, touched: Touched) -> None:
        """The console tells of changes in a realm: forget whom they concern, unless read since."""
        with self._lock:
            if touched.begins or touched.keys:
                self._heard[realm] = touched.revision
            for key, entry in list(self._kept.items()):
                concerned = touched.begins or touched.concerns(key[1].name)
                if key[0] == realm and concerned and entry.snapshot.revision < touched.revision:
                    self._kept.pop(key, None)

    def follow(self, transport: Transport) -> None:
        """Forget everything after each write over this line, so that own writes are seen at once."""
        transport.after_writing.append(self.reset)

    # A thread of its own

    def start(self) -> Cache:
        """Refresh in the background from now on."""
        if self.settings.on and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lakewarden-cache", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """End the thread; what is kept goes on serving until it is too old."""
        self._closed = True
        with self._lock:
            for listener in self._listeners.values():
                listener.close()
            self._listeners.clear()
        with self._bell:
            self._bell.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Cache:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> None:
        due = self._clock() + self.settings.refresh
        while not self._closed:
            with self._bell:
                if not self._wanted:
                    self._bell.wait(min(max(0.0, due - self._clock()), self.settings.refresh))
            with self._lock:
                wanted, self._wanted = list(self._wanted), set()
            self._refresh_all(wanted)
            if self._clock() >= due and not self._closed:
                started = self._clock()
                with self._lock:
                    keys = list(self._kept)
                self._refresh_all(keys)
                took = self._clock() - started
                if took > self.settings.refresh:
                    log.warning("refreshing %s took %.1f s, longer than the interval", len(keys), took)
                due = self._clock() + self.settings.refresh

    def _refresh_all(self, keys: list[Key]) -> None:
        for key in keys:
            if self._closed or self._silence.cut_off:
                return
            try:
                self._load(key)
            except ConsoleError as error:
                log.debug("refresh failed: %s", error)

    # Snapshots

    def _snapshot(self, key: Key, within: float) -> Snapshot | None:
        """A snapshot young enough; None when the single question is quicker, or it is too large to keep."""
        now = self._clock()
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None:
                self._to_the_end(key, entry)
        in_background = self._thread is not None and within >= self.settings.refresh
        longest = self.settings.ttl if in_background else within
        if entry is not None and _serves(entry, now, longest):
            return entry.snapshot
        if entry is None and in_background:
            with self._lock:
                self._wanted.add(key)
            with self._bell:
                self._bell.notify_all()
            return None
        try:
            return self._load(key).snapshot
        except (BadCredentials, MayNotAsk):
            raise  # an answer of the console, after which nothing that was kept counts
        except ConsoleError:
            usable = entry is not None and within >= self.settings.refresh
            if self._silence.cut_off or not usable or not _serves(entry, now, self.settings.ttl):
                raise
            return entry.snapshot if entry else None

    def _load(self, key: Key) -> Kept:
        """Fetch one snapshot, whole, in one call.  Raises ConsoleError."""
        now = self._clock()
        with self._lock:
            before, forgotten = self._kept.get(key), self._forgotten
        try:
            snapshot = self._client.snapshot(*key, held=before.snapshot if before else None, now=now)
            if snapshot.revision < self._floor.get(key, 0):
                raise BadSnapshot(
                    "older", f"the console answers revision {snapshot.revision}, older than before"
                )
        except (BadCredentials, MayNotAsk):
            with self._lock:
                self._kept.pop(key, None)
            raise
        except ConsoleError as error:
            with self._lock:
                self._silence.failed_again(error, now)
                if self._silence.failed >= self.settings.failures:
                    self._cut_off()
            raise
        return self._keep(key, Kept(snapshot, now), forgotten)

    def _cut_off(self) -> None:
        """Refuse everything until a refresh succeeds."""
        silence = self._silence
        if not silence.cut_off:
            silence.cut_off = True
            self._kept.clear()
            log.error("%s refreshes failed in a row: %s; %s", silence.failed, silence.why, _REFUSING)

    def _keep(self, key: Key, entry: Kept, forgotten: int) -> Kept:
        with self._lock:
            if self._silence.cut_off:
                log.info("the console answers again")
            self._silence = _Silence()
            self._floor[key] = entry.snapshot.revision
            realm = key[0]
            self._listen(realm)
            if forgotten != self._forgotten or entry.snapshot.revision < self._heard.get(realm, 0):
                # what was fetched before somebody wrote may be older than the write
                return entry
            self._to_the_end(key, entry)
            kept = list(self._kept.items())
            size = sum(item.size for _, item in kept)
            for old, item in kept:
                if size <= self.settings.most:
                    break
                size -= item.size
                self._kept.pop(old, None)
        return entry

    def _to_the_end(self, key: Key, entry: Kept) -> None:
        """Put it where it is dropped last, when there is more than may be kept."""
        self._kept.pop(key, None)
        self._kept[key] = entry

    def _listen(self, realm: str) -> None:
        """Hear of the realm's changes from now on, beside the thread that refreshes."""
        source = getattr(self._client, "changes", None)
        wanted = self._thread is not None and not self._closed and self.settings.listen
        if source is not None and wanted and realm not in self._listeners:
            self._listeners[realm] = Listener(source, realm, self.heard).start()


_REFUSING = "everything is refused until one succeeds; restore the connection to the console"


def is_data(action: str) -> bool:
    """Whether an action is access to data; what is not known to be counts as administration."""
    return action.lower() in DATA


def _serves(entry: Kept | None, now: float, longest: float) -> bool:
    return entry is not None and 0 <= now - entry.asked < longest and now < entry.snapshot.good_until


def _decided(snapshot: Snapshot, asked: Question, now: float) -> Decision:
    decision = snapshot.decide(asked.action, asked.resource, now=now)
    if decision:
        return Decision(asked, allowed=True, revision=decision.revision)
    missing = snapshot.explain(asked.action, asked.resource, now=now).missing
    return Decision(
        question=asked,
        allowed=False,
        reason=f"{asked.subject} may not {asked.action} {asked.resource} ({decision.reason})",
        missing=tuple(_lack(item) for item in missing),
        revision=decision.revision,
    )


def _lack(lack: Lacking) -> Lack:
    on = f"{lack.object_type} {lack.name}" if lack.object_type and lack.name else lack.name or None
    return Lack(kind=lack.kind, privilege=lack.privilege or None, object=on)
