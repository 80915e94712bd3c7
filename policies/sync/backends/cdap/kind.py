"""A CDAP of another server, over its REST API: what each user was granted on each entity.

The generations write entities in two forms; the realm's own setting says which the other side speaks.  There
is no list of users in the API: only those are asked about who are known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from lakewarden.backends.base import Backend, Finding, Foreign, Right
from lakewarden.backends.console import Directory, Fact, Peers, Record
from lakewarden.backends.errors import BackendError, Gone, Misconfigured, Rejected
from lakewarden.backends.kinds import Kind
from lakewarden.backends.network import Network
from lakewarden.cdap.wire import (
    FIELDS,
    read_authorizable,
    read_entity,
    write_authorizable,
    write_entity,
)
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity
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

PORT, BASE = 11015, ("v3", "security", "authorization")
OPTIONS = frozenset({"ca", "oauth", "scope"})
ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN", "ALL")
BETWEEN = ("cdap:", "cdap:")
_NOT_BY_API = ("Please use Ranger", "not supported in Ranger", "Sentry only supports", "UnsupportedOperation")
"""What extensions of CDAP answer whose grants are made elsewhere, or not to users."""


class CdapWire:
    """The calls; `old` is the form of 3.4 and 3.5."""

    def __init__(self, rest: Rest, peers: Peers, old: Callable[[], bool]) -> None:
        self.rest, self.peers, self._old = rest, peers, old

    def read(self, people: Collection[str]) -> Entries:
        """What each of these holds, and which roles."""
        seen, roles = Entries(), _Roles(self)
        for name in people:
            held = self._roles_of(name)
            own = self._privileges("user", name)
            by_role = {right for role in held for right in roles.rights(role)}
            # the list of a user may have what comes by their roles: that is reported with the role
            seen.facts |= {Fact(name, right) for right in own - by_role}
            for role in held:
                seen.foreign.append(Foreign(Right("role", (role,), "MEMBER"), name))
                seen.groups[role] = seen.groups.get(role, frozenset()) | {name}
        seen.foreign += [
            Foreign(right, f"role {role}") for role in seen.groups for right in roles.rights(role)
        ]
        return seen

    def held(self, holder: str, rights: Sequence[Right]) -> set[Right]:
        roles = _Roles(self)
        by_role = {right for role in self._roles_of(holder) for right in roles.rights(role)}
        return (self._privileges("user", holder) - by_role) & set(rights)

    def give(self, holder: str, rights: Sequence[Right]) -> None:
        self._change("grant", holder, rights)

    def take(self, holder: str, rights: Sequence[Right]) -> None:
        self._change("revoke", holder, rights)

    def leave(self, holder: str, role: str) -> None:
        try:
            self.rest.call("DELETE", *BASE, "user", holder, "roles", role)
        except Refused as refusal:
            if refusal.status != 404:
                raise

    def check(self) -> Iterator[Finding]:
        others = list(peering(self.rest, self.peers, *BETWEEN))
        if any(finding.blocks for finding in others):
            yield from others
            return
        roles = self.rest.get(*BASE, "roles") or []
        yield Finding(ok=True, text=f"connected to a CDAP that enforces grants; it has {len(roles)} roles")
        yield from others
        text = "a CDAP has no list of its users: the access of people unknown here is not seen"
        yield Finding(ok=False, text=text)

    def translated(self, refusal: Refused) -> BackendError:
        text = str(refusal)
        if refusal.status == 501:  # switched off
            return Misconfigured(text)
        return Gone(text) if refusal.status == 404 else Rejected(text)

    def _change(self, verb: str, holder: str, rights: Iterable[Right]) -> None:
        actions_by_name: dict[Authorizable, set[str]] = defaultdict(set)
        for right in rights:
            actions_by_name[Authorizable(right.kind, right.path)].add(right.right)
        for target, actions in actions_by_name.items():
            body = {
                **self._named(target),
                "principal": {"name": holder, "type": "USER"},
                # never without: that would be all of them
                "actions": sorted(actions),
            }
            self.rest.call("POST", *BASE, "privileges", verb, body=body)

    def _named(self, target: Authorizable) -> dict[str, Any]:
        return (
            {"entity": write_entity(target)} if self._old() else {"authorizable": write_authorizable(target)}
        )

    def _roles_of(self, user: str) -> list[str]:
        try:
            rows = self.rest.get(*BASE, "user", user, "roles") or []
        except Refused as refusal:
            if refusal.status == 404:
                return []
            raise
        return [str(row["name"]) for row in rows]

    def _privileges(self, kind: str, name: str) -> set[Right]:
        try:
            rows = self.rest.get(*BASE, kind, name, "privileges") or []
        except Refused as refusal:
            if refusal.status == 404:
                return set()
            raise
        return {right for row in rows if (right := _right(row)) is not None}


class _Roles:
    """What roles hold, each asked for once."""

    def __init__(self, wire: CdapWire) -> None:
        self._wire, self._known = wire, dict[str, set[Right]]()

    def rights(self, role: str) -> set[Right]:
        if role not in self._known:
            self._known[role] = self._wire._privileges("role", role)
        return self._known[role]


def _right(row: dict[str, Any]) -> Right | None:
    """One privilege of a list; None for what this generation has no name for."""
    try:
        target = read_entity(row["entity"]) if "entity" in row else read_authorizable(row["authorizable"])
        return Right(target.type, target.parts, str(row["action"]))
    except (BadEntity, KeyError, TypeError):
        return None


def address(url: str) -> Address:
    """Raises Misconfigured."""
    return Address.read(url, "cdap", port=PORT, options=OPTIONS, path=0)


def open(
    url: str, *, realm: str, mark: str, network: Network, record: Record, peers: Peers, directory: Directory
) -> Backend:
    """The CDAP behind `cdap+https://:token@host:port`, called when first used."""
    at = address(url)
    rest = Rest(
        at,
        signing_in(at, network),
        network=network,
        explain=lambda body, plain: plain,
        lasting=_NOT_BY_API,
    )
    return ByPerson(
        CdapWire(rest, peers, lambda: str(directory.settings().get("policy", "")).startswith("3.")),
        record,
        lambda: (holder.name for holder in directory.holders()),
        carries=dict.fromkeys(FIELDS, ACTIONS),
        between=BETWEEN,
    )


KIND = Kind(
    "cdap",
    "CDAP",
    open,
    ("cdap+https://", "cdap+http://"),
    "cdap+https://:token@cdap.example.org:11015",
    needs=("network", "record", "peers", "directory"),
    whole_realm=True,
    realm_kinds=("cdap34", "cdap35", "cdap43"),
    by_person=True,
    objects={type_: type_ for type_ in FIELDS},
    carried={type_: tuple((code, code) for code in ACTIONS) for type_ in FIELDS},
    wanted=wanted_entries.cdap,
    fields=(SIGNS_IN, REACHED),
    url=lambda values: url_of("cdap", {**values, "database": ""}),
    parts=lambda url: parts_of(address(url)),
)
