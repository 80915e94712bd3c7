"""What a realm says of access, and what a file says, as the same plain statements, so that they compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from django.db.models import Q
from django.utils import timezone

from accounts.models import Principal
from accounts.record import Fact
from accounts.seals import is_fact_sealed
from catalog.models import Detail, Placement
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.objects import ObjectRef
from policies.decisions import personal_role_names
from policies.models import Assignment, Grant, Ownership, RealmMember
from policies.services.entities import entity_of

F = TypeVar("F", bound=Fact)
MEMBER, ROLE, HOLDER, ROLE_OWNER = "member", "role", "holder", "role_owner"
GIVES, OBJECT, OWNER, GRANT = "gives", "object", "owner", "grant"
OF_KIND = "object of a kind"
OF_ROLES = frozenset((ROLE, HOLDER, ROLE_OWNER, GIVES))
OWNERS = frozenset((OWNER, ROLE_OWNER))


class Statement(NamedTuple):
    """One thing that is so: a member, a role and who holds it, what it gives, an owner, a direct grant.

    `target` is an object as `table:shop.sales.orders`, or a text of a CDAP realm; `code` a privilege, or the
    kind of a catalog.  What a kind of statement does not need is empty.
    """

    kind: str
    role: str = ""
    target: str = ""
    who: str = ""
    code: str = ""
    effect: str = ""
    start: str = ""
    end: str = ""

    @property
    def key(self) -> Statement:
        """What it is about; several statements of one key differ in their window, or in who owns."""
        if self.kind in OWNERS:
            return self._replace(who="")
        if self.kind == OBJECT:
            return self._replace(code="")
        return self._replace(start="", end="")

    def __str__(self) -> str:
        window = "".join(
            f" {word} {moment}" for word, moment in (("from", self.start), ("until", self.end)) if moment
        )
        kind = OF_KIND if self.kind == OBJECT and self.code else self.kind
        return f"{_SENTENCES[kind].format(**self._asdict())}{window}"


_SENTENCES = {
    MEMBER: "{who} is a member",
    ROLE: "role {role} is there",
    HOLDER: "{who} holds role {role}",
    ROLE_OWNER: "{who} owns role {role}",
    GIVES: "role {role} {effect}s {code} on {target}",
    OBJECT: "{target} is there",
    OF_KIND: "{target} is there, of kind {code}",
    OWNER: "{who} owns {target}",
    GRANT: "{who} has {code} on {target}",
}


@dataclass
class RealmStatements:
    """All that a realm says of access, with the objects that it is said of."""

    statements: set[Statement] = field(default_factory=set)
    targets: dict[str, Node] = field(default_factory=dict)
    roles: dict[str, Node] = field(default_factory=dict)


def of_realm(root: Node) -> RealmStatements:
    """Read what is so in a realm, or will be; what has run out or bears no good seal is left out.

    A fixed number of queries.
    """
    return _Reading(root).out


class _Reading:
    def __init__(self, root: Node) -> None:
        self.root, self.now, self.out = root, timezone.now(), RealmStatements()
        keys = Placement.objects.open().filter(securable__realm=root.realm_id)
        self.nodes = nodes(keys.values_list("securable", flat=True))
        self.names = {key: target_of(root, node) for key, node in self.nodes.items()}
        catalogs = [key for key, node in self.nodes.items() if node.type == "catalog"]
        kinds = dict(Detail.objects.filter(securable__in=catalogs).values_list("securable", "properties"))
        for key, node in self.nodes.items():
            if node.type == "role":
                if not personal_role_names.is_personal(node.name):
                    self.out.roles[node.name] = node
                    self._say(ROLE, role=node.name)
            else:
                self.out.targets[self.names[key]] = node
                if node.id != self.root.id:
                    kind = str(kinds.get(key, {}).get("type", "")) if node.type == "catalog" else ""
                    self._say(OBJECT, target=self.names[key], code=kind)
        self.out.targets |= {f"role:{name}": node for name, node in self.out.roles.items()}
        rows = RealmMember.objects.open().filter(realm=self.root.realm_id).select_related("principal")
        for row in self._true(rows):
            self._say(MEMBER, who=str(row.principal))
        self._read_roles()
        self._read_grants()
        self._read_owners()

    def _say(self, kind: str, **fields: str) -> None:
        self.out.statements.add(Statement(kind, **fields))

    def _read_roles(self) -> None:
        rows = Assignment.objects.open().filter(role__realm=self.root.realm_id).select_related("holder")
        self.personal: dict[int, Principal] = {}
        for row in self._true(rows):
            role = self.nodes.get(row.role_id)
            if role is not None and personal_role_names.is_personal(role.name):
                self.personal[role.id] = row.holder
            elif role is not None:
                self._say(HOLDER, role=role.name, who=str(row.holder), **_window(row))

    def _read_grants(self) -> None:
        here = Q(role__realm=self.root.realm_id) | Q(realm=self.root.realm_id)
        rows = Grant.objects.open().filter(here | Q(securable__realm=self.root.realm_id))
        for row in self._true(rows.select_related("holder").distinct()):
            target = row.pattern or self.names.get(row.securable_id or 0, "")
            holder = row.holder or self.personal.get(row.role_id or 0)
            role = self.nodes.get(row.role_id or 0)
            given = {"target": target, "code": row.privilege, **_window(row)}
            if not target:
                continue
            if holder is not None:
                self._say(GRANT, who=str(holder), **given)
            elif role is not None:
                self._say(GIVES, role=role.name, effect=row.effect, **given)

    def _read_owners(self) -> None:
        rows = Ownership.objects.open().filter(securable__realm=self.root.realm_id).select_related("owner")
        for row in self._true(rows):
            node = self.nodes.get(row.securable_id)
            if node is None or personal_role_names.is_personal(node.name):
                continue
            if node.type == "role":
                self._say(ROLE_OWNER, role=node.name, who=str(row.owner))
            else:
                self._say(OWNER, target=self.names[node.id], who=str(row.owner))

    def _true(self, rows: Iterable[F]) -> Iterator[F]:
        for row in rows:
            ended = row.valid_until is not None and row.valid_until <= self.now
            if not ended and is_fact_sealed(row):
                yield row


def target_of(root: Node, node: Node) -> str:
    """An object as files name it: `table:shop.sales.orders`; the realm itself by its type alone."""
    if node.id == root.id:
        return root.type
    if dialects.get(root.kind).by_text and node.type != "role":
        return str(entity_of(node))
    return f"{node.type}:{node.ref.full_name}"


def reference_of(root: Node, target: str) -> ObjectRef:
    """The object that a file names.  Raises BadName, BadEntity."""
    type_, colon, name = target.partition(":")
    if not colon and type_ == root.type:
        return root.ref
    if dialects.get(root.kind).by_text and type_ != "role":
        entity = parse(target, others=True)
        return ObjectRef(entity.type, root.name, entity.parts)
    return ObjectRef.parse(type_, f"{root.name}/{name}")


def _window(row: Assignment | Grant) -> dict[str, str]:
    return {"start": _text(row.valid_from), "end": _text(row.valid_until)}


def _text(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat() if moment else ""
