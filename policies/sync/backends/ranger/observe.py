"""Observe a service of Ranger: what is ours, what is not, and from which account no more can be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from lakewarden.backends.base import Bypass, Observation, Right
from lakewarden.backends.decisions import PERSON
from policies.sync.backends.ranger import bypass, foreign
from policies.sync.backends.ranger.state import Reader, names_in

GUESTS = {"groups": "@group:", "roles": "@role:"}
"""How a group or role that somebody put into a role of ours is named among its members."""


def observe(reader: Reader) -> Observation:
    """Everything of one service that matters."""
    roles: dict[str, set[Right]] = {key: set() for key in reader.keys.values()}
    amiss: dict[str, set[Right]] = defaultdict(set)
    for key, right, straight in reader.rights():
        roles.setdefault(key, set()).add(right)
        if not straight:
            amiss[key].add(right)
    members, bent = _people(roles) if reader.type.by_person else _members(reader)
    foreign_rights = foreign.foreign(reader)
    sorted_foreign = tuple(
        sorted(set(foreign_rights), key=lambda right: (right.right, right.holder, right.grantor))
    )
    return Observation(
        complete=reader.is_admin and reader.steady,
        position=str(reader.service.get("policyVersion") or ""),
        in_force=where_in_force(reader.service, reader.plugins),
        objects=(),
        people=reader.people | frozenset(name for who in members.values() for name in who),
        roles={key: frozenset(rights) for key, rights in roles.items()},
        members=members,
        foreign=sorted_foreign,
        bypasses=_sorted_bypasses(reader),
        unknown=tuple(sorted(reader.unknown())),
        amiss_rights={key: frozenset(rights) for key, rights in amiss.items()},
        amiss_members=bent,
        groups=reader.groups,
    )


def _people(
    roles: Mapping[str, object],
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    return {key: frozenset({key[len(PERSON) :]}) for key in roles}, {}


def _members(reader: Reader) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    members, bent = {}, {}
    for role in reader.role_rows:
        key = reader.keys.get(role["name"])
        if key is None:
            continue
        guests = {begins + name for which, begins in GUESTS.items() for name in names_in(role, which)}
        members[key] = frozenset(names_in(role, "users") | guests)
        bent[key] = (
            frozenset(user["name"] for user in role.get("users") or () if user.get("isAdmin")) | guests
        )
    return members, {key: who for key, who in bent.items() if who}


def _sorted_bypasses(reader: Reader) -> tuple[Bypass, ...]:
    bypasses = bypass.bypasses(reader)
    return tuple(sorted(set(bypasses), key=lambda bypass: (bypass.holder, bypass.path or (), bypass.what)))


def where_in_force(service: Mapping[str, Any], plugins: list[dict[str, Any]]) -> str:
    """Which plugins enforce what was read by now, and which do not yet, in words."""
    version = int(service.get("policyVersion") or 0)
    texts = [
        f"{where}: {'yes' if active >= version else f'not yet, version {active} of {version}'}"
        for where, active in in_force(service, plugins)
    ]
    return ", ".join(texts) or "nowhere, no plugin has asked yet"


def in_force(service: Mapping[str, Any], plugins: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Each plugin of the service, and the version that it enforces."""
    versions = {}
    for row in plugins:
        if row.get("serviceName") == service.get("name"):
            active = str((row.get("info") or {}).get("policyActiveVersion") or "0")
            where = f"{row.get('appType') or 'plugin'} on {row.get('hostName') or 'an unnamed host'}"
            versions[where] = int(active) if active.lstrip("-").isdigit() else 0
    return sorted(versions.items())
