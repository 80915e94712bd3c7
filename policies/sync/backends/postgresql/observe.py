"""Observe a PostgreSQL database: what exists, which rights are ours, which are foreign, who needs none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from lakewarden.backends.base import Bypass, Column, Foreign, FoundObject, Observation, Right
from policies.sync.backends.postgresql.bypass import bypasses
from policies.sync.backends.postgresql.client import Transaction
from policies.sync.backends.postgresql.crowd import crowded
from policies.sync.backends.postgresql.names import Identity
from policies.sync.backends.postgresql.state import BOOTSTRAP, KINDS, PUBLIC, Look

_FORMS = {
    "r": "table",
    "p": "partitioned table",
    "f": "foreign table",
    "v": "view",
    "m": "materialized view",
}


def observe(tx: Transaction, identity: Identity) -> Observation:
    """Everything of one database that matters."""
    look = Look(tx, identity)
    roles, amiss_rights = _roles(look)
    members, amiss_members = _members(look)
    return Observation(
        # a standby lags behind: what it does not show may be there
        complete=not look.server.standby,
        position=look.server.position,
        objects=tuple(_objects(look)),
        people=_people(look),
        roles=roles,
        members=members,
        foreign=tuple(sorted(_foreign(look), key=lambda found: (found.right, found.holder, found.grantor))),
        bypasses=(*public_rights(look), *bypasses(look)),
        unknown=(*look.unknown, *_awake(look), *crowded(look)),
        amiss_rights=amiss_rights,
        amiss_members=amiss_members,
        groups=_groups(look),
        barred=_barred(look),
    )


def _barred(look: Look) -> frozenset[str]:
    """Who gave or owns something, and in whose name our account may not act."""
    givers = {entry.grantor for _, _, entry in look.granted}
    if look.version >= 16:
        givers |= {row.grantor for row in look.memberships} - {BOOTSTRAP}
    owners = {place.owner for place in look.places.values()}
    known = (look.roles[oid] for oid in givers | owners if oid in look.roles)
    return frozenset(row.name for row in known if not row.usable)


def _awake(look: Look) -> Iterator[str]:
    """Roles of ours that somebody made into more than a list of rights."""
    for oid in sorted(look.managed):
        row = look.roles[oid]
        powers = {"LOGIN": row.login, "SUPERUSER": row.superuser, "CREATEROLE": row.createrole}
        powers |= {"BYPASSRLS": row.bypassrls, "REPLICATION": row.replication}
        held = [word for word, has in powers.items() if has]
        if held:
            undo = f"ALTER ROLE {row.name} {' '.join(f'NO{word}' for word in held)}"
            yield f"role {row.name} is ours and was made {', '.join(held)} by others: {undo}"


def _objects(look: Look) -> Iterator[FoundObject]:
    server = look.server
    yield FoundObject(
        "catalog", (), f"database/{server.database}", look.name(server.owner), server.comment or ""
    )
    for row in sorted(look.schemas, key=lambda row: row.name):
        yield FoundObject("schema", (row.name,), f"schema/{row.oid}", look.name(row.owner), row.comment or "")
    columns = _columns(look)
    for row in sorted(look.relations, key=lambda row: (row.schema, row.name)):
        yield FoundObject(
            KINDS[row.form],
            (row.schema, row.name),
            f"relation/{row.oid}",
            owner=look.name(row.owner),
            comment=row.comment or "",
            columns=tuple(columns[row.oid]),
            detail=_detail(look, row),
        )


def _columns(look: Look) -> dict[int, list[Column]]:
    columns: dict[int, list[Column]] = defaultdict(list)
    for row in look.columns:
        columns[row.relation].append(
            Column(row.name, row.type, nullable=row.nullable, comment=row.comment or "")
        )
    return columns


def _detail(look: Look, row: Any) -> dict[str, object]:
    detail: dict[str, object] = {"form": _FORMS[row.form]}
    whole = look.places.get(("relation", row.partition_of))
    if whole is not None:
        detail["partition_of"] = list(whole.path)
    return detail


def _roles(look: Look) -> tuple[dict[str, frozenset[Right]], dict[str, frozenset[Right]]]:
    """The rights of our roles, and those of them that lack the sequence they need."""
    held: dict[str, set[Right]] = {key: set() for key in look.managed.values()}
    for place, right, entry in look.granted:
        if look.ours(place, entry):
            held[look.managed[entry.grantee]].add(right)
    needs = [
        (
            Right("table", look.places["relation", row.relation].path, "INSERT"),
            Right("sequence", (row.schema, row.name), "USAGE"),
        )
        for row in look.sequences
        if ("relation", row.relation) in look.places
    ]
    amiss = {key: frozenset(_without_sequence(rights, needs)) for key, rights in held.items()}
    return {key: frozenset(rights) for key, rights in held.items()}, amiss


def _without_sequence(held: set[Right], needs: Iterable[tuple[Right, Right]]) -> Iterator[Right]:
    """The INSERTs whose sequence is missing; a USAGE beside its INSERT is a part of it and not counted."""
    for insert, usage in needs:
        if insert in held and usage not in held:
            yield insert
        elif insert in held:
            held.discard(usage)


def _people(look: Look) -> frozenset[str]:
    logins = {oid for oid, row in look.roles.items() if row.login}
    members = {row.member for row in look.memberships if look.our_membership(row)}
    return frozenset(look.name(oid) for oid in (logins | members) - {*look.managed, look.server.me})


def _members(look: Look) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """The people in our roles, and those of them whose membership does more, or less, than inherit."""
    found: dict[str, set[str]] = {key: set() for key in look.managed.values()}
    amiss: dict[str, set[str]] = {key: set() for key in look.managed.values()}
    for row in look.memberships:
        if look.our_membership(row):
            found[look.managed[row.role]].add(look.name(row.member))
            if row.admin or row.sets or not row.inherits:
                amiss[look.managed[row.role]].add(look.name(row.member))
    return _frozen(found), _frozen(amiss)


def _foreign(look: Look) -> Iterator[Foreign]:
    for place, right, entry in look.granted:
        known = place.kind != "sequence" or entry.grantee in look.managed
        if entry.grantee != PUBLIC and known and not look.ours(place, entry):
            yield Foreign(right, look.name(entry.grantee), look.name(entry.grantor))
    for row in look.memberships:
        touches_ours = row.role in look.managed or row.member in look.managed
        if (
            touches_ours
            and look.conveys(row)
            and row.member != look.server.me
            and not look.our_membership(row)
        ):
            yield Foreign(
                Right("role", (look.name(row.role),), "MEMBER"), look.name(row.member), look.name(row.grantor)
            )


def public_rights(look: Look) -> Iterator[Bypass]:
    """What everybody has."""
    granted = [(right, entry) for _, right, entry in look.granted if entry.grantee == PUBLIC]
    for right, _ in sorted(granted, key=lambda found: found[0]):
        if right.kind != "sequence":
            yield Bypass("PUBLIC", right.right, right.path)


def _groups(look: Look) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in look.memberships:
        theirs = row.role not in look.managed and row.member not in look.managed
        if theirs and look.conveys(row) and row.member != look.server.me:
            groups[look.name(row.role)].add(look.name(row.member))
    return _frozen(groups)


def _frozen(groups: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(members) for name, members in groups.items()}
