"""Observe a PostgreSQL database: what exists, which rights are ours, which are foreign, who needs none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from lakewarden.backends.base import Bypass, Column, Foreign, FoundObject, Observation, Right
from policies.sync.backends.postgresql.bypass import bypasses
from policies.sync.backends.postgresql.client import Transaction
from policies.sync.backends.postgresql.crowd import crowded
from policies.sync.backends.postgresql.names import Identity
from policies.sync.backends.postgresql.state import BOOTSTRAP, KINDS, PUBLIC, Reader

_FORMS = {
    "r": "table",
    "p": "partitioned table",
    "f": "foreign table",
    "v": "view",
    "m": "materialized view",
}


def observe(tx: Transaction, identity: Identity) -> Observation:
    """Everything of one database that matters."""
    reader = Reader(tx, identity)
    roles, amiss_rights = _roles(reader)
    members, amiss_members = _members(reader)
    # who gave or owns something, and in whose name our account may not act
    givers = {entry.grantor for _, _, entry in reader.granted}
    if reader.version >= 16:
        givers |= {row.grantor for row in reader.memberships} - {BOOTSTRAP}
    owners = {place.owner for place in reader.places.values()}
    granters = (reader.roles[oid] for oid in givers | owners if oid in reader.roles)
    barred = frozenset(row.name for row in granters if not row.usable)
    return Observation(
        # a standby lags behind: what it does not show may be there
        complete=not reader.server.standby,
        position=reader.server.position,
        objects=tuple(_objects(reader)),
        people=_people(reader),
        roles=roles,
        members=members,
        foreign=tuple(sorted(_foreign(reader), key=lambda right: (right.right, right.holder, right.grantor))),
        bypasses=(*public_rights(reader), *bypasses(reader)),
        unknown=(*reader.unknown, *_awake(reader), *crowded(reader)),
        amiss_rights=amiss_rights,
        amiss_members=amiss_members,
        groups=_groups(reader),
        barred=barred,
    )


def _awake(reader: Reader) -> Iterator[str]:
    """Roles of ours that somebody made into more than a list of rights."""
    for oid in sorted(reader.managed):
        row = reader.roles[oid]
        powers = {"LOGIN": row.login, "SUPERUSER": row.superuser, "CREATEROLE": row.createrole}
        powers |= {"BYPASSRLS": row.bypassrls, "REPLICATION": row.replication}
        held = [word for word, has in powers.items() if has]
        if held:
            undo = f"ALTER ROLE {row.name} {' '.join(f'NO{word}' for word in held)}"
            yield f"role {row.name} is ours and was made {', '.join(held)} by others: {undo}"


def _objects(reader: Reader) -> Iterator[FoundObject]:
    server = reader.server
    yield FoundObject(
        "catalog", (), f"database/{server.database}", reader.name(server.owner), server.comment or ""
    )
    for row in sorted(reader.schemas, key=lambda row: row.name):
        yield FoundObject(
            "schema", (row.name,), f"schema/{row.oid}", reader.name(row.owner), row.comment or ""
        )
    columns = _columns(reader)
    for row in sorted(reader.relations, key=lambda row: (row.schema, row.name)):
        detail: dict[str, object] = {"form": _FORMS[row.form]}
        wholes = [
            reader.places["relation", oid].path for oid in row.parents if ("relation", oid) in reader.places
        ]
        if row.partition and wholes:
            detail["partition_of"] = list(wholes[0])
        yield FoundObject(
            KINDS[row.form],
            (row.schema, row.name),
            f"relation/{row.oid}",
            owner=reader.name(row.owner),
            comment=row.comment or "",
            columns=tuple(columns[row.oid]),
            detail=detail,
            part_of=tuple(wholes),
        )


def _columns(reader: Reader) -> dict[int, list[Column]]:
    columns: dict[int, list[Column]] = defaultdict(list)
    for row in reader.columns:
        columns[row.relation].append(
            Column(row.name, row.type, nullable=row.nullable, comment=row.comment or "")
        )
    return columns


def _roles(reader: Reader) -> tuple[dict[str, frozenset[Right]], dict[str, frozenset[Right]]]:
    """The rights of our roles, and those of them that lack the sequence they need."""
    held: dict[str, set[Right]] = {key: set() for key in reader.managed.values()}
    for place, right, entry in reader.granted:
        if reader.ours(place, entry):
            held[reader.managed[entry.grantee]].add(right)
    needs = [
        (
            Right("table", reader.places["relation", row.relation].path, "INSERT"),
            Right("sequence", (row.schema, row.name), "USAGE"),
        )
        for row in reader.sequences
        if ("relation", row.relation) in reader.places
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


def _people(reader: Reader) -> frozenset[str]:
    logins = {oid for oid, row in reader.roles.items() if row.login}
    members = {row.member for row in reader.memberships if reader.our_membership(row)}
    return frozenset(reader.name(oid) for oid in (logins | members) - {*reader.managed, reader.server.me})


def _members(reader: Reader) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """The people in our roles, and those of them whose membership does more, or less, than inherit."""
    members: dict[str, set[str]] = {key: set() for key in reader.managed.values()}
    amiss: dict[str, set[str]] = {key: set() for key in reader.managed.values()}
    for row in reader.memberships:
        if reader.our_membership(row):
            members[reader.managed[row.role]].add(reader.name(row.member))
            if row.admin or row.sets or not row.inherits:
                amiss[reader.managed[row.role]].add(reader.name(row.member))
    return _frozen(members), _frozen(amiss)


def _foreign(reader: Reader) -> Iterator[Foreign]:
    for place, right, entry in reader.granted:
        is_managed = place.kind != "sequence" or entry.grantee in reader.managed
        if entry.grantee != PUBLIC and is_managed and not reader.ours(place, entry):
            yield Foreign(right, reader.name(entry.grantee), reader.name(entry.grantor))
    for row in reader.memberships:
        touches_ours = row.role in reader.managed or row.member in reader.managed
        # whoever administers a role makes anybody a member of it, themselves first
        if (
            touches_ours
            and (reader.conveys(row) or row.admin)
            and row.member != reader.server.me
            and not reader.our_membership(row)
        ):
            yield Foreign(
                Right("role", (reader.name(row.role),), "MEMBER"),
                reader.name(row.member),
                reader.name(row.grantor),
            )


def public_rights(reader: Reader) -> Iterator[Bypass]:
    """What everybody has."""
    granted = [(right, entry) for _, right, entry in reader.granted if entry.grantee == PUBLIC]
    for right, _ in sorted(granted, key=lambda granted_right: granted_right[0]):
        if right.kind != "sequence":
            yield Bypass("PUBLIC", right.right, right.path)


def _groups(reader: Reader) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in reader.memberships:
        theirs = row.role not in reader.managed and row.member not in reader.managed
        if theirs and reader.conveys(row) and row.member != reader.server.me:
            groups[reader.name(row.role)].add(reader.name(row.member))
    return _frozen(groups)


def _frozen(groups: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(members) for name, members in groups.items()}
