"""What a metalake holds, read over its public API: objects, owners, roles, who has them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from lakewarden.backends.base import Bypass, Column, Foreign, FoundObject, Observation, Right
from lakewarden.backends.console import Fact, Peers, Record
from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.gravitino.names import (
    METALAKE,
    OWNER,
    Marks,
    Person,
    group,
    owner_key,
    rights_of,
    user,
)
from policies.sync.backends.shared import powers
from policies.sync.backends.shared.rest import Refused, Rest

LEAVES = {
    "relational": (("table", "tables"), ("view", "views"), ("function", "functions")),
    "fileset": (("fileset", "filesets"), ("function", "functions")),
    "messaging": (("topic", "topics"), ("function", "functions")),
    "model": (("model", "models"), ("function", "functions")),
}
"""What may lie in a schema, by the type of its catalog, and the word for it in paths."""
_UNKNOWN_THERE = (404, 405)
MEMBER = "MEMBER"
SWITCHED_OFF = "authorization is switched off there: set gravitino.authorization.enable to true"


@dataclass
class Role:
    """One role as it is there; `key` is ours, None for somebody else's."""

    name: str
    key: str | None
    rights: frozenset[Right]
    odd: bool
    members: set[str] = field(default_factory=set)


class Client:
    """One metalake behind its API, and the names we go by in it."""

    def __init__(self, rest: Rest, name: str, marks: Marks, peers: Peers, *, me: str) -> None:
        self.rest, self.name, self.marks, self.peers, self._me = rest, name, marks, peers, me

    @property
    def _root(self) -> tuple[str, ...]:
        return "api", "metalakes", self.name

    def get(self, *names: str, **query: str) -> Any:
        """The object that answers below the metalake.  Raises BackendError."""
        body = self.rest.get(*self._root, *names, **query)
        return body if isinstance(body, dict) else {}

    def put(self, *names: str, body: Any) -> None:
        self.rest.call("PUT", *self._root, *names, body=body)

    def post(self, *names: str, body: Any) -> None:
        self.rest.call("POST", *self._root, *names, body=body)

    def delete(self, *names: str) -> None:
        self.rest.call("DELETE", *self._root, *names)

    @cached_property
    def me(self) -> str:
        """The user that this console's account is there; "" when that cannot be learnt."""
        if self._me:
            return self._me
        try:
            body = self.rest.get("api", "authn", "me")
        except Refused:
            return ""
        return str(body.get("principal", "")) if isinstance(body, dict) else ""

    def owner(self, kind: str, name: str) -> str:
        """Who owns an object, "" when nobody does or it is gone."""
        try:
            body = self.get("owners", kind, name).get("owner")
        except Refused as refusal:
            if refusal.status == 404:
                return ""
            raise
        if not isinstance(body, dict):
            return ""
        plain = str(body.get("name", ""))
        return group(plain) if str(body.get("type", "")).lower() == "group" else user(plain)

    def role(self, name: str) -> Role | None:
        """A role with what it holds; None when it is not there."""
        try:
            body = self.get("roles", name).get("role") or {}
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise
        properties = body.get("properties")
        key = self.marks.key(name, properties)
        return Role(
            name,
            key,
            rights_of(body.get("securableObjects") or ()),
            odd=key is None and self.marks.odd(name, properties),
        )

    def person(self, person: Person) -> frozenset[str] | None:
        """The roles that a user or group holds; None when there is no such."""
        try:
            body = self.get(f"{person.kind}s", person.name).get(person.kind) or {}
        except Refused as refusal:
            if refusal.status == 404:
                return None
            raise
        return frozenset(body.get("roles") or ())

    def people(self) -> dict[str, frozenset[str]]:
        """Every user and group with the roles it holds."""
        groups: dict[str, frozenset[str]] = {}
        for kind, named in (("user", user), ("group", group)):
            try:
                rows = self.get(f"{kind}s", details="true").get(f"{kind}s") or ()
            except Refused as refusal:
                if refusal.status == 405:
                    raise Misconfigured(f"{self.rest.at.place}: {SWITCHED_OFF}") from None
                raise
            groups |= {named(str(row["name"])): frozenset(row.get("roles") or ()) for row in rows}
        return groups

    def roles_members(self, role: str) -> set[str]:
        """Who holds a role now."""
        return {person for person, held in self.people().items() if role in held}

    def roles(self, people: Mapping[str, frozenset[str]]) -> list[Role]:
        """Every role with what it holds and who holds it."""
        names = self.get("roles").get("names") or ()
        roles = {role.name: role for name in names if (role := self.role(str(name))) is not None}
        for person, held in people.items():
            for name in held:
                if name in roles:
                    roles[name].members.add(person)
        return list(roles.values())


@dataclass
class Objects:
    """What lies in a metalake; `unread` says in words what could not be looked into."""

    found: list[FoundObject] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def objects_of(client: Client) -> Objects:
    """Every catalog, schema and what lies in them, by name: there is no id in the API."""
    seen = Objects()
    for row in client.get("catalogs", details="true").get("catalogs") or ():
        name, type_ = str(row["name"]), str(row.get("type", "")).lower()
        seen.found.append(_object("catalog", (name,), row, type=type_, provider=row.get("provider") or ""))
        try:
            _schemas(client, seen, name, LEAVES.get(type_, ()))
        except Refused as refusal:
            if refusal.status == 404:
                continue  # dropped since it was listed
            seen.unread.append(f"catalog {name} cannot be looked into: {refusal}")
    return seen


def _schemas(client: Client, seen: Objects, catalog: str, leaves: tuple[tuple[str, str], ...]) -> None:
    inside = ("catalogs", catalog, "schemas")
    for schema in _names(client.get(*inside)):
        seen.found.append(_object("schema", (catalog, schema), {}))
        for kind, word in leaves:
            for name in _optional(client, *inside, schema, word):
                seen.found.append(_object(kind, (catalog, schema, name), {}))


def _optional(client: Client, *names: str) -> list[str]:
    """What lies there; nothing where that version knows no such list."""
    try:
        return _names(client.get(*names))
    except Refused as refusal:
        if refusal.status in _UNKNOWN_THERE:
            return []
        raise


def _names(answer: Mapping[str, Any]) -> list[str]:
    return [str(row["name"]) for row in answer.get("identifiers") or ()]


def _object(kind: str, path: tuple[str, ...], row: Mapping[str, Any], **detail: str) -> FoundObject:
    # a rename cannot be told from a drop and a new object, so the name is the id and nothing is merged
    return FoundObject(
        kind,
        path,
        id=".".join(path),
        comment=str(row.get("comment") or ""),
        detail={name: value for name, value in detail.items() if value},
    )


def described(client: Client, found_object: FoundObject) -> FoundObject:
    """An object with its comment and columns, which only a call of its own tells."""
    words = {"table": "tables", "view": "views", "topic": "topics", "fileset": "filesets", "model": "models"}
    if found_object.kind != "schema" and found_object.kind not in words:
        return found_object
    catalog, schema, *rest = found_object.path
    inside = (words[found_object.kind], *rest) if rest else ()
    try:
        row = client.get("catalogs", catalog, "schemas", schema, *inside).get(found_object.kind) or {}
    except Refused as refusal:
        if refusal.status == 404:
            return found_object  # gone since it was listed
        raise
    columns = tuple(_column(col) for col in row.get("columns") or ())
    return replace(found_object, comment=str(row.get("comment") or ""), columns=columns)


def _column(row: Mapping[str, Any]) -> Column:
    type_ = row.get("type")
    return Column(
        str(row["name"]),
        type_ if isinstance(type_, str) else str((type_ or {}).get("type", "")),
        row.get("nullable") is not False,
        str(row.get("comment") or ""),
    )


def position(client: Client) -> str:
    """Where a metalake stands, by a call for each role and none for any object."""
    people = client.people()
    return position_of(people, client.roles(people))


def position_of(people: Mapping[str, frozenset[str]], roles: Iterable[Role]) -> str:
    """The same while nobody's roles and no role's rights have changed."""
    held = sorted((name, sorted(mine)) for name, mine in people.items())
    rights = sorted((role.name, role.key or "", sorted(map(str, role.rights))) for role in roles)
    return hashlib.sha256(repr((held, rights)).encode()).hexdigest()


def observe(client: Client, record: Record, admits: frozenset[str]) -> Observation:
    """Everything that matters of a metalake.  Not one consistent look: the API has none.

    `admits` are those who would be let in when they get something.
    """
    people = client.people()
    roles = client.roles(people)
    seen = objects_of(client)
    owners = _owners(client, seen)
    ours = [role for role in roles if role.key is not None]
    theirs = [role for role in roles if role.key is None and not role.odd]
    mine = client.owner(METALAKE, client.name)
    blind = [] if client.me and mine == user(client.me) else [_blind(client, mine)]
    complete = not (blind or seen.unread)
    recorded = record.seen(set(owners), complete=complete)
    owned = _owned(fact for fact in owners if fact in recorded)
    return Observation(
        complete=complete,
        position=position_of(people, roles),
        objects=(FoundObject(METALAKE, (), client.name), *_with_owners(seen.found, owners)),
        people=frozenset(people) | admits,
        roles={str(role.key): role.rights for role in ours} | owned,
        members={str(role.key): frozenset(role.members) for role in ours}
        | {key: frozenset({key.removeprefix("owner:")}) for key in owned},
        foreign=tuple(sorted(_foreign(theirs, owners, recorded, client.me), key=str)),
        bypasses=(Bypass(mine, powers.OWNS_METALAKE.english(), ()),) if blind and mine else (),
        unknown=(
            *blind,
            *seen.unread,
            *(f"role {role.name} looks like one of ours and is not" for role in roles if role.odd),
        ),
        groups={role.name: frozenset(role.members) for role in theirs},
    )


def _blind(client: Client, owner: str) -> str:
    who = client.me or "the account of this console"
    text = f"it belongs to {owner}" if owner else "it belongs to nobody"
    return f"{who} does not own the metalake {client.name} ({text}) and may not see all of it"


def _owners(client: Client, seen: Objects) -> dict[Fact, FoundObject]:
    owners = {}
    for object_ in seen.found:
        if holder := client.owner(object_.kind, ".".join(object_.path)):
            owners[Fact(holder, Right(object_.kind, object_.path, OWNER))] = object_
    return owners


def _with_owners(objects: list[FoundObject], owners: Mapping[Fact, FoundObject]) -> Iterator[FoundObject]:
    holders = {(object_.kind, object_.path): fact.holder for fact, object_ in owners.items()}
    yield from (replace(object_, owner=holders.get((object_.kind, object_.path), "")) for object_ in objects)


def _owned(facts: Iterator[Fact]) -> dict[str, frozenset[Right]]:
    by_owner: dict[str, set[Right]] = defaultdict(set)
    for fact in facts:
        by_owner[owner_key(fact.holder)].add(fact.right)
    return {key: frozenset(rights) for key, rights in by_owner.items()}


def _foreign(
    roles: list[Role], owners: Mapping[Fact, FoundObject], recorded: Mapping[Fact, bool], me: str
) -> Iterator[Foreign]:
    for role in roles:
        alone = sole(role.members)
        if alone is None:
            yield from (Foreign(Right("role", (role.name,), MEMBER), member) for member in role.members)
        for right in role.rights:
            yield Foreign(right, alone, f"role {role.name}") if alone else Foreign(right, f"role {role.name}")
    for fact in owners:
        # what was there before us stays somebody else's, though it is wanted here too
        if recorded.get(fact, fact.holder != user(me)):
            yield Foreign(fact.right, fact.holder)


def sole(members: set[str]) -> str | None:
    """The one user who alone holds a role: then what is in the role was given to that user."""
    only = members if len(members) == 1 else set()
    return next((member for member in sorted(only) if Person.of(member).kind == "user"), None)
