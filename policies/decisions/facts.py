"""Rows to slices: every fact that matters to some principals in one realm, read in one statement.

One statement is one snapshot, so a grant and a revoke committed in between are never mixed, whatever the
isolation level of the surrounding transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils import timezone

from accounts.models import Principal
from catalog.models import Realm
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.cdap import by_settings
from lakewarden.law.facts import OWNER, Key, Rule, Slice, Station, Window, contains
from policies.decisions import authorizers, live_history, replica, role_facts
from policies.decisions.alike import NOTHING, Alike, NamedRow, alike, holders_among
from policies.decisions.cache_versions import principal_key, realm_key, role_key
from policies.decisions.fact_rows.statement import statement_of
from policies.decisions.role_facts import ALWAYS, GrantRow, RoleFacts, overlap, rules_from
from policies.decisions.seals import unsealed
from policies.decisions.seals.sealed_rows import SealedRow, judged, key_of_row

OwnedRow = tuple[int, Window, int, int]
Signature = tuple[
    int, bool, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]
]


@dataclass
class Loaded:
    """What one statement brought, still by holder; `slice_of` turns it into one principal's slice.

    Rows without a good seal were written past the console.  Nobody can say what was there before, perhaps a
    denial, so whoever such a row is about is `shut`: for them every answer is no.  So are those who `left`:
    what they own, names like theirs and settings give them nothing.
    """

    realm: Realm
    realm_name: str
    now: float
    asked: frozenset[int] = frozenset()
    objects: frozenset[int] | None = None
    revision: int = 0
    live_from: int = 0
    mode: str = "on"
    members: set[int] = field(default_factory=set)
    admissions: dict[int, list[Window]] = field(default_factory=lambda: defaultdict(list))
    admitted: set[int] = field(default_factory=set)
    groups: dict[int, list[tuple[int, str, Window]]] = field(default_factory=lambda: defaultdict(list))
    outside: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    roles: dict[int, list[tuple[int, str, Window]]] = field(default_factory=lambda: defaultdict(list))
    grants: dict[int, list[GrantRow]] = field(default_factory=lambda: defaultdict(list))
    direct: dict[int, list[GrantRow]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[int, list[tuple[int, str, str]]] = field(default_factory=lambda: defaultdict(list))
    owned: dict[int, list[OwnedRow]] = field(default_factory=lambda: defaultdict(list))
    root: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    unsealed: list[SealedRow] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    shut: dict[int, frozenset[str]] = field(default_factory=dict)
    touched: dict[int, int] = field(default_factory=dict)
    unheld: set[int] = field(default_factory=set)
    past: bool = False
    fetched_until: dict[int, float] = field(default_factory=dict)
    doubted: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    moved: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    shared: dict[int, RoleFacts] = field(default_factory=dict)
    """What is held of roles, of the same snapshot as the rest."""
    alike: Alike | None = None
    """Who is given the same by roles, where that is known already."""

    def read(self, statement: str, values: Mapping[str, Any], using: str = DEFAULT_DB_ALIAS) -> None:
        """Ask, sort what comes, and note what was written past the console."""
        with connections[using].cursor() as cursor:
            cursor.execute(statement, values)
            self.take(cursor.fetchall())
        # a replica may not have yet what was sealed anew, and is not believed then
        if self.unsealed and using == DEFAULT_DB_ALIAS:
            unsealed.note(self.unsealed, self.realm.pk)

    @property
    def is_undoubted(self) -> bool:
        """Whether every row has a good seal and nothing is known of rows that no change made."""
        return not self.unsealed and not self.doubted and not self.lost

    def stand_at(self, revision: int) -> None:
        """Say of which past revision the facts are.  Raises Archived where they are not all live."""
        live_history.check(revision, self.live_from)
        self.revision = min(revision, self.revision)

    def is_current(self, held: Mapping[int, RoleFacts]) -> bool:
        """Whether of every role that was come upon the facts held are those of this snapshot."""
        return all(
            role in held and held[role].revision >= touched and role_key(role) not in self.doubted
            for role, touched in self.touched.items()
        )

    def share(self, held: Mapping[int, RoleFacts]) -> None:
        """Use what is held of roles, and have held what was read of others."""
        new = {role: RoleFacts(self.revision, tuple(self.grants.get(role, ()))) for role in self.unheld}
        self.shared = {role: held[role] for role in self.touched.keys() - self.unheld} | new
        doubted = self.doubted | {key_of_row(row) for row in self.unsealed}
        role_facts.keep((role, facts) for role, facts in new.items() if role_key(role) not in doubted)

    def take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Sort all rows of the statement; what has no good seal is left out."""
        self.take_judged(judged(rows))

    def take_judged(self, rows: Iterable[tuple[SealedRow, bool]]) -> None:
        """The same of rows beside each of which is said whether its seal is good."""
        for row, good in rows:
            if good:
                self._sort(row)
            else:
                self.unsealed.append(row)
        self._admit()
        if self.unsealed or self.left or self.lost:
            self.close({key_of_row(row) for row in self.unsealed} | self.lost)

    def _sort(self, row: SealedRow) -> None:
        window = row.window
        match row.kind:
            case "revision":
                self.revision, self.live_from = row.one, row.other or 0
            case "realm":
                self.root, self.settings = row.one, json.loads(row.text)
            case "mode":
                self.mode = row.text
            case "touched":
                self.touched[row.one] = row.other
            case "unheld":
                self.unheld.add(row.one)
            case "doubted":
                self.doubted.add(row.text)
            case "member":
                self.admitted.add(row.one)
                self.admissions[row.one].append(window)
                if row.one in self.asked and contains(window, self.now):
                    self.members.add(row.one)
            case "group":
                self.groups[row.one].append((row.other, row.text, window))
            case "role" if row.text is None:
                self.lost.add(principal_key(row.one))
            case "lost":
                self.lost.add(row.text)
            case "moved":
                if row.text not in self.moved or row.one > self.moved[row.text][0]:
                    self.moved[row.text] = row.one, row.effect
            case "role":
                self.roles[row.one].append((row.other, row.text, window))
            case "grant" | "direct":
                on, allow = row.pattern or row.other, row.effect == "allow"
                into = self.grants if row.kind == "grant" else self.direct
                into[row.one].append((on, row.text, allow, window, row.opened, row.pk))
            case "alias":
                self.aliases[row.one].append((row.other, row.effect, row.text))
            case "left":
                self.left.add(row.one)
            case "owner":
                self.owned[row.one].append((row.other, window, row.opened, row.pk))

    def _admit(self) -> None:
        """Of the groups of each, those count that the realm admits."""
        if dialects.get(self.realm.law).open_to_all:
            return
        for member, groups in self.groups.items():
            self.outside[member] = [group[0] for group in groups if group[0] not in self.admitted]
            groups[:] = [group for group in groups if group[0] in self.admitted]

    def close(self, doubted: set[str]) -> None:
        """Take everything from those whom a row without a good seal is about, and from those who left."""
        for principal in self.asked if doubted else self.asked & self.left:
            keys = self.keys_of(principal)
            if keys & doubted or principal in self.left:
                self.shut[principal] = keys
        for principal in self.shut:
            self.members.discard(principal)
            for held in (self.groups, self.outside, self.roles, self.direct, self.aliases, self.owned):
                held.pop(principal, None)

    def slice_of(
        self, principal: Principal, number: int | None = None, *, objects: Collection[Key] | None = None
    ) -> Slice:
        """The slice of one of the principals asked for; a stranger's by the number it was asked under.

        With `objects` it has what roles give on those only.
        """
        number = principal.pk if number is None else number
        return engine.build(
            principal.ref,
            self.realm_name,
            self.realm.law,
            self.revision,
            self.rules_for(principal, number, objects),
            member=number in self.members,
            service_admin=is_service_admin(principal) and number not in self.left,
            mode=self._mode_for(number),
            selves=frozenset(self._selves(number)),
            now=self.now,
        )

    def rules_for(
        self, principal: Principal, number: int, objects: Collection[Key] | None = None
    ) -> tuple[Rule, ...]:
        """Every rule that counts for one of the principals asked for, whoever says it: grants, an authorizer
        of the realm, its settings."""
        given = authorizers.instead(self, principal.ref, number, self.rules_of(number, objects))
        # what the rules of an earlier generation allowed is not known any more
        former = self.past and self.revision < int(self.settings.get("policy_since") or 0)
        return () if former else (*given, *self._by_office(principal, number))

    def parts_for(self, principal: Principal, number: int) -> Iterable[Sequence[Rule]]:
        """The same in parts: what a role gives by one path is the very same part for all who hold it so."""
        plain = not (self.past or dialects.get(self.realm.law).by_text)
        if plain and authorizers.of(self.realm_name) is None:
            return self._parts_of(number)
        return [tuple(self.rules_for(principal, number))]

    def _mode_for(self, number: int) -> str:
        if number in self.shut:
            return "on"
        return "off" if self.settings.get("authentication") == "off" else self.mode

    def signature_of(self, principal: int) -> Signature:
        """Equal for two principals exactly when all facts about them here are, so one answer serves both.

        Where names themselves give rights, nobody is like anybody else.
        """
        return (
            principal if principal in self.shut or dialects.get(self.realm.law).by_text else 0,
            principal in self.members,
            tuple(self.groups.get(principal, ())),
            tuple(self.roles.get(principal, ())),
            tuple(self.owned.get(principal, ())),
            tuple(self.direct.get(principal, ())),
            tuple(self.aliases.get(principal, ())),
        )

    def class_of(self, principal: int) -> Hashable:
        """Equal for two principals who hold the same on the objects that were loaded, by whatever paths, so
        that the same is decided of both there."""
        if self._is_by_text or self.objects is None or principal in self.shut or self.aliases.get(principal):
            return self.signature_of(principal)
        if principal not in self._apart:
            return principal in self.members, self._alike.numbers.get(principal, NOTHING)
        groups = ((group, window) for group, _, window in self.groups.get(principal, ()))
        holders = [(principal, ALWAYS), *groups]
        held = (item for holder, window in holders for item in self._held_here(holder, window))
        return principal in self.members, frozenset(held)

    @cached_property
    def _is_by_text(self) -> bool:
        return dialects.get(self.realm.law).by_text

    @cached_property
    def _alike(self) -> Alike:
        if self.alike is not None:
            return self.alike
        holders = holders_among(self.asked, self.groups, self.roles)
        return alike(self.grants, self.objects or (), holders)

    @cached_property
    def _apart(self) -> set[int]:
        """Those to whom more than roles give something here, or for a time."""
        holders = self._alike.holders
        special = {*self.owned, *self.direct}
        inside = (holders.by_group.get(holder, ()) for holder in special)
        return special.union(holders.timed, *inside)

    def _held_here(self, holder: int, window: Window) -> Iterator[Hashable]:
        for securable, own, _, _ in self.owned.get(holder, ()):
            yield securable, OWNER, True, overlap(window, own)
        for on, privilege, allow, own, _, _ in self.direct.get(holder, ()):
            yield on, privilege, allow, overlap(window, own)
        for role, _, held in self.roles.get(holder, ()):
            both = overlap(window, held)
            if role in (self.objects or ()):
                yield role, both
            for on, privilege, allow, own, _, _ in self.grants.get(role, ()):
                yield on, privilege, allow, overlap(both, own)

    def only(self, privileges: Collection[str]) -> Loaded:
        """The same without grants of other privileges, and without roles that then give nothing."""

        def kept(held: Mapping[int, list[GrantRow]]) -> dict[int, list[GrantRow]]:
            grants = ((key, [row for row in rows if row[1] in privileges]) for key, rows in held.items())
            return {key: rows for key, rows in grants if rows}

        given = kept(self.grants)
        roles = {key: [row for row in rows if row[0] in given] for key, rows in self.roles.items()}
        return replace(self, grants=given, direct=kept(self.direct), roles=roles)

    def rules_of(self, principal: int, objects: Collection[Key] | None = None) -> Iterable[Rule]:
        """Every rule that reaches a principal, by every path."""
        return chain.from_iterable(self._parts_of(principal, objects))

    def _parts_of(self, principal: int, objects: Collection[Key] | None = None) -> Iterable[Sequence[Rule]]:
        yield from self._held(principal, (), ALWAYS, objects)
        for group in self.groups.get(principal, ()):
            yield from self._held_inside(group) if objects is None else self._held_by(group, objects)
        for holder, kind, name in self.aliases.get(principal, ()):
            # the same name in another case is the same person; a pattern is a way of its own
            via = (Station(kind, name, holder),) if kind == Principal.Kind.PATTERN else ()
            yield tuple(rules_from(self.direct.get(holder, ()), via, ALWAYS))

    def _held_inside(self, row: NamedRow) -> Sequence[Sequence[Rule]]:
        """What somebody holds by being in a group for that time; made once for all of its people."""
        if row not in self._inside:
            self._inside[row] = list(self._held_by(row, None))
        return self._inside[row]

    @cached_property
    def _inside(self) -> dict[NamedRow, list[Sequence[Rule]]]:
        return {}

    def _held_by(self, row: NamedRow, objects: Collection[Key] | None) -> Iterable[Sequence[Rule]]:
        group, name, window = row
        return self._held(group, (Station("group", name, group),), window, objects)

    def _by_office(self, principal: Principal, number: int) -> Iterable[Rule]:
        """What a realm's settings give: to its master user, to its admin group, and a principal of a name
        to the user who bears it."""
        if dialects.get(self.realm.law).by_text and number not in self.shut:
            groups = self.groups.get(number, ())
            yield from by_settings.rules(self.root, self.realm.law, self.settings, principal.ref, groups)

    def _held(
        self, holder: int, via: tuple[Station, ...], window: Window, objects: Collection[Key] | None
    ) -> Iterable[Sequence[Rule]]:
        for securable, own, opened, pk in self.owned.get(holder, ()):
            start, end = overlap(window, own)
            yield (Rule(securable, OWNER, True, via, start, end, opened, f"ownership:{pk}"),)
        if direct := self.direct.get(holder):
            yield tuple(rules_from(direct, via, window))
        for role, name, held in self.roles.get(holder, ()):
            # of thousands of holders most roles give nothing on the objects that were loaded
            shared, rows = self.shared.get(role), self.grants.get(role)
            if shared is None and not rows:
                continue
            path, both = (*via, Station("role", name, role)), overlap(window, held)
            if shared is not None:
                yield shared.rules(path, both, objects)
            elif rows:
                yield self._given_by(rows, path, both)

    def _given_by(
        self, rows: Sequence[GrantRow], path: tuple[Station, ...], window: Window
    ) -> Sequence[Rule]:
        """What a role gives by a path; made once for all who hold it without an end."""
        if window != ALWAYS:
            return tuple(rules_from(rows, path, window))
        if path not in self._made:
            self._made[path] = tuple(rules_from(rows, path, window))
        return self._made[path]

    @cached_property
    def _made(self) -> dict[tuple[Station, ...], tuple[Rule, ...]]:
        return {}

    def _selves(self, principal: int) -> Iterable[Key]:
        holders = [
            principal,
            *(group for group, _, window in self.groups.get(principal, ()) if contains(window, self.now)),
        ]
        yield from map(principal_key, holders)
        for holder in holders:
            yield from (role for role, _, window in self.roles.get(holder, ()) if contains(window, self.now))

    def good_until(self, principal: int) -> float | None:
        """The next moment at which a membership or a role of the principal begins or ends, or privileges
        that are managed elsewhere are to be fetched again."""
        holders = [principal, *(group for group, _, _ in self.groups.get(principal, ()))]
        windows = [window for _, _, window in self.groups.get(principal, ())]
        windows += [window for holder in holders for _, _, window in self.roles.get(holder, ())]
        windows.append((None, self.fetched_until.get(principal)))
        edges = (edge for window in windows for edge in window)
        return min((edge for edge in edges if edge is not None and edge > self.now), default=None)

    def keys_of(self, principal: int) -> frozenset[str]:
        """The touch keys whose moving makes this principal's slice stale."""
        if principal in self.shut:
            return self.shut[principal]
        groups = [group for group, _, _ in self.groups.get(principal, ())]
        holders = [principal, *groups]
        aliases = [holder for holder, _, _ in self.aliases.get(principal, ())]
        roles = [role for holder in holders for role, _, _ in self.roles.get(holder, ())]
        return frozenset(
            [
                realm_key(self.realm.pk),
                *map(principal_key, (*holders, *aliases, *self.outside.get(principal, ()))),
                *map(role_key, roles),
            ]
        )


def load(
    realm: Realm,
    realm_name: str,
    principals: Collection[int],
    *,
    now: datetime | None = None,
    as_of: int | None = None,
    objects: Collection[int] | None = None,
    strangers: Mapping[int, str] | None = None,
    roles: Collection[int] = (),
) -> Loaded:
    """Read the facts of some principals in a realm, now or as of a revision, on all objects or only some.

    `strangers` are names that no principal bears yet, by negative numbers; patterns may speak of them.
    What these `roles` give is read too, whoever holds them.
    Raises Archived for a revision whose facts are not live any more.
    """
    now = now or timezone.now()
    principal_ids = frozenset([*principals, *(strangers or ())])
    on = None if objects is None else frozenset(objects)
    loaded = Loaded(realm, realm_name, now.timestamp(), principal_ids, on, past=as_of is not None)
    values = values_of(realm, principals, strangers or {}, objects)
    values |= {"first": as_of, "last": as_of, "roles": list(roles)}
    loaded.read(statement_of(past=as_of is not None, narrowed=objects is not None), values)
    if as_of is not None:
        loaded.stand_at(as_of)
    return loaded


def load_sharing(
    realm: Realm,
    realm_name: str,
    principals: Collection[int],
    *,
    now: datetime,
    owned: Collection[int] | None = None,
) -> Loaded:
    """The same as it is now, with what is held of roles; never inside a change.

    `owned` are the objects whose owners matter, None for all.  One statement where all roles are held and
    untouched, two where some are not: the second one alone counts then.  Where the settings name a replica
    that has all, it is asked.
    """

    def read(held: Mapping[int, RoleFacts] | None, using: str) -> Loaded:
        loaded = Loaded(realm, realm_name, now.timestamp(), frozenset(principals))
        values = values_of(realm, principals, {}, owned)
        values |= {"roles": [], "held": None if held is None else list(held)}
        values["since"] = None if held is None else [item.revision for item in held.values()]
        loaded.read(statement_of(past=False, narrowed=owned is not None, sharing=True), values, using)
        return loaded

    def read_whole(using: str) -> tuple[Loaded, Mapping[int, RoleFacts]]:
        loaded = read(None, using)
        held = role_facts.find(loaded.touched)
        return (loaded if loaded.is_current(held) else read(held, using)), held

    loaded, held = replica.read(read_whole, believed=lambda whole: whole[0].is_undoubted)
    loaded.share(held)
    return loaded


def values_of(
    realm: Realm, principals: Collection[int], strangers: Mapping[int, str], objects: Collection[int] | None
) -> dict[str, Any]:
    law = dialects.get(realm.law)
    return {
        "principals": list(principals),
        "realm": realm.pk,
        "objects": list(objects or ()),
        "strangers": list(strangers),
        "names": list(strangers.values()),
        "open": law.open_to_all,
        "by_name": law.ignores_case,
        "by_text": law.by_text,
    }


def is_service_admin(principal: Principal) -> bool:
    """Whether the settings name them, and their name is one that the console gave them."""
    named = principal.kind == "user" and principal.name in settings.LAKEWARDEN_SERVICE_ADMINS
    return named and principal.is_as_written
