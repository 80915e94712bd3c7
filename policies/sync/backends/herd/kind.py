"""A Herd of another server, over its REST API: each user's permissions on each namespace.

An entry holds all permissions of one user on one namespace and is replaced as a whole, so what others gave in
the same entry is read first and sent along.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lakewarden.backends.base import Backend, Finding, FoundObject, Right
from lakewarden.backends.console import Directory, Fact, Peers, Record
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected
from lakewarden.backends.kinds import Field, Kind
from lakewarden.backends.network import Network
from lakewarden.law.dialects.herd.permissions import ON_NAMESPACE
from policies.sync.backends.entries import wanted as wanted_entries
from policies.sync.backends.entries.backend import ByPerson, Entries
from policies.sync.backends.shared.peering import peering
from policies.sync.backends.shared.rest import (
    REACHED,
    SIGNS_IN,
    Address,
    Refused,
    Rest,
    parts_of,
    signing_in,
    url_of,
)

PORT, BASE = 443, ("herd-app", "rest")
OPTIONS = frozenset({"ca", "oauth", "scope"})
CARRIED = tuple(code for code in ON_NAMESPACE if code != "GRANT")
"""GRANT stays here, or there would be a second place where it is decided who may do what."""
BETWEEN = ("herd:", "herd:")
_ENTRIES = "userNamespaceAuthorizations"


class HerdWire:
    """The calls; names of users and namespaces are the same in any case of their letters."""

    def __init__(self, rest: Rest, peers: Peers, base: tuple[str, ...]) -> None:
        self.rest, self.peers, self._base = rest, peers, base

    def read(self, people: Collection[str]) -> Entries:
        """Every namespace with what was given on it."""
        called = {name.upper(): name for name in people}
        seen = Entries()
        for code in self._namespaces():
            seen.objects.append(FoundObject("namespace", (code,), id=code))
            try:
                rows = self._get(_ENTRIES, "namespaces", code).get(_ENTRIES) or ()
            except Refused as refusal:
                if refusal.status == 404:
                    continue  # gone since it was listed
                seen.unread.append(f"namespace {code} cannot be looked into: {refusal}")
                continue
            for row in rows:
                user = str(row["userNamespaceAuthorizationKey"]["userId"])
                holder = called.get(user.upper(), user)
                words = row.get("namespacePermissions") or ()
                seen.facts |= {Fact(holder, Right("namespace", (code,), str(word))) for word in words}
        return seen

    def held(self, holder: str, rights: Sequence[Right]) -> set[Right]:
        return {
            Right("namespace", path, word)
            for path, words in _by_namespace(rights).items()
            for word in words & self._entry(holder, path[0])
        }

    def give(self, holder: str, rights: Sequence[Right]) -> None:
        for (code,), words in _by_namespace(rights).items():
            entry = self._entry(holder, code)
            if not entry:
                key = {"userId": holder, "namespace": code}
                body = {"userNamespaceAuthorizationKey": key, "namespacePermissions": sorted(words)}
                self._call("POST", _ENTRIES, body=body)
            elif not words <= entry:
                self._replace(holder, code, entry | words)

    def take(self, holder: str, rights: Sequence[Right]) -> None:
        for (code,), words in _by_namespace(rights).items():
            entry = self._entry(holder, code)
            if entry - words:
                if entry & words:
                    self._replace(holder, code, entry - words)
            elif entry:
                self._call("DELETE", *self._path(holder, code))

    def leave(self, holder: str, role: str) -> None:
        raise Rejected("a Herd has no roles of its own that people could leave")

    def check(self) -> Iterator[Finding]:
        others = list(peering(self.rest, self.peers, *BETWEEN))
        if any(finding.blocks for finding in others):
            yield from others
            return
        me = self._get("currentUser")
        yield Finding(ok=True, text=f"connected to the Herd as {me.get('userId', '')}")
        yield from others
        yield from self._lacking(me)

    def translated(self, refusal: Refused) -> BackendError:
        text = str(refusal)
        if refusal.status == 404:
            return Gone(text)
        return Misconfigured(text) if "Access is denied" in text else Rejected(text)

    def _lacking(self, me: Mapping[str, Any]) -> Iterator[Finding]:
        held: dict[str, set[str]] = defaultdict(set)
        for row in me.get("namespaceAuthorizations") or ():
            held[str(row["namespace"]).upper()] |= set(row.get("namespacePermissions") or ())
        codes = self._namespaces()
        lacking = [code for code in codes if not {"READ", "GRANT"} <= held[code.upper()]]
        if not lacking:
            text = f"it may read and grant on all {len(codes)} namespaces"
            yield Finding(ok=True, text=text)
            return
        some = ", ".join(lacking[:5]) + (" and more" if len(lacking) > 5 else "")
        text = (
            f"the account lacks READ or GRANT on {len(lacking)} of {len(codes)} namespaces ({some}); "
            "what it cannot read is left as it is, and nothing is taken anywhere until it can"
        )
        yield Finding(ok=False, text=text)

    def _namespaces(self) -> list[str]:
        rows = self._get("namespaces").get("namespaceKeys") or ()
        return [str(row["namespaceCode"]) for row in rows]

    def _entry(self, holder: str, code: str) -> frozenset[str]:
        try:
            row = self._get(*self._path(holder, code))
        except Refused as refusal:
            if refusal.status == 404:
                return frozenset()
            raise
        return frozenset(row.get("namespacePermissions") or ())

    def _replace(self, holder: str, code: str, words: Iterable[str]) -> None:
        self._call("PUT", *self._path(holder, code), body={"namespacePermissions": sorted(words)})

    def _path(self, holder: str, code: str) -> tuple[str, ...]:
        return _ENTRIES, "userIds", holder, "namespaces", code

    def _get(self, *names: str) -> dict[str, Any]:
        body = self.rest.get(*self._base, *names)
        return body if isinstance(body, dict) else {}

    def _call(self, method: str, *names: str, body: Any = None) -> None:
        self.rest.call(method, *self._base, *names, body=body)


def _by_namespace(rights: Iterable[Right]) -> dict[tuple[str, ...], frozenset[str]]:
    by_path: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for right in rights:
        by_path[right.path].add(right.right)
    return {path: frozenset(words) for path, words in by_path.items()}


def address(url: str) -> Address:
    """Raises Misconfigured."""
    return Address.read(url, "herd", port=PORT, options=OPTIONS, path=None)


def open(
    url: str, *, realm: str, mark: str, network: Network, record: Record, peers: Peers, directory: Directory
) -> Backend:
    """The Herd behind `herd+https://:token@host:port/herd-app/rest`, called when first used."""
    at = address(url)
    rest = Rest(
        at,
        signing_in(at, network),
        network=network,
        explain=lambda body, plain: str(body.get("message", "")),
    )
    wire = HerdWire(rest, peers, at.path or BASE)
    return ByPerson(
        wire,
        record,
        lambda: (holder.name for holder in directory.holders()),
        carries={"namespace": CARRIED},
        between=BETWEEN,
    )


KIND = Kind(
    "herd",
    "FINRA Herd",
    open,
    ("herd+https://", "herd+http://"),
    "herd+https://:token@herd.example.org/herd-app/rest",
    needs=("network", "record", "peers", "directory"),
    whole_realm=True,
    realm_kinds=("herd",),
    by_person=True,
    objects={"herd": "herd", "namespace": "namespace"},
    carried={"namespace": tuple((code, code) for code in CARRIED)},
    wanted=wanted_entries.herd,
    fields=(
        Field("database", "Path", "Of its REST API; usually herd-app/rest.", required=False),
        SIGNS_IN,
        REACHED,
    ),
    url=lambda values: url_of("herd", values),
    parts=lambda url: parts_of(address(url)),
    discovers={"namespace": "namespace"},
)
