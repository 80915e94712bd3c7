"""What a realm says of access, and what a file says, as the same plain statements, so that they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.record import Fact, FactQuerySet
from accounts.seals import is_fact_sealed
from catalog.models import Detail, Placement
from catalog.nodes import Node, any_of, as_placed_last, nodes
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.objects import ObjectRef
from policies.decisions import personal_role_names
from policies.models import Assignment, Grant, Ownership, RealmMember
from policies.services.entities import entity_of

F = TypeVar("F", bound=Fact)
MEMBER, ROLE, HOLDER, ROLE_OWNER = "member", "role", "holder", "role_owner"
GIVES, OBJECT, OWNER, GRANT = "gives", "object", "owner", "grant"
OF_KIND, DENIES = "object of a kind", "denies"
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
        return self._said(str)

    @property
    def words(self) -> str:
        """The same in the reader's language."""
        return self._said(gettext)

    def _said(self, in_language: Callable[[str], str]) -> str:
        kind = (
            OF_KIND if self.kind == OBJECT and self.code else DENIES if self.effect == "deny" else self.kind
        )
        sentence = in_language(_SENTENCES[kind]).format(**self._asdict())
        bounds = bool(self.start), bool(self.end)
        if bounds not in _WINDOWS:
            return sentence
        return in_language(_WINDOWS[bounds]).format(said=sentence, start=self.start, end=self.end)


_SENTENCES = {
    MEMBER: gettext_noop("{who} is a member"),
    ROLE: gettext_noop("role {role} is there"),
    HOLDER: gettext_noop("{who} holds role {role}"),
    ROLE_OWNER: gettext_noop("{who} owns role {role}"),
    GIVES: gettext_noop("role {role} allows {code} on {target}"),
    DENIES: gettext_noop("role {role} denies {code} on {target}"),
    OBJECT: gettext_noop("{target} is there"),
    OF_KIND: gettext_noop("{target} is there, of kind {code}"),
    OWNER: gettext_noop("{who} owns {target}"),
    GRANT: gettext_noop("{who} has {code} on {target}"),
}
_WINDOWS = {
    (True, True): gettext_noop("{said} from {start} until {end}"),
    (True, False): gettext_noop("{said} from {start}"),
    (False, True): gettext_noop("{said} until {end}"),
}


@dataclass
class RealmStatements:
    """All that a realm says of access, with the objects that it is said of.

    `revisions` has of each statement the change by which it is so, or ended.
    """

    statements: set[Statement] = field(default_factory=set)
    revisions: dict[Statement, int] = field(default_factory=dict)
    targets: dict[str, Node] = field(default_factory=dict)
    roles: dict[str, Node] = field(default_factory=dict)


def of_realm(root: Node) -> RealmStatements:
    """Read what is so in a realm, or will be; what has run out or bears no good seal is left out.

    A fixed number of queries.
    """
    return _Reading(root).out


def ended_since(root: Node, revision: int) -> RealmStatements:
    """What was so and ended after a change, as far as that is live, by the names things have or had last.

    A fixed number of queries.
    """
    return _Reading(root, ended_after=revision, reads_ended=True).out


class _Reading:
    """Reads what is so, or what ended after a change."""

    def __init__(self, root: Node, *, ended_after: int = 0, reads_ended: bool = False) -> None:
        self.root, self.now, self.out = root, timezone.now(), RealmStatements()
        self.ended_after, self.reads_ended = ended_after, reads_ended
        self.placed = dict(self._of_realm(Placement).order_by("opened").values_list("securable", "opened"))
        self.nodes = nodes(self.placed) if ended_after is None else self._nodes_or_last()
        self.names = {key: target_of(root, node) for key, node in self.nodes.items()}
        catalogs = [key for key, node in self.nodes.items() if node.type == "catalog"]
        self.kinds = dict(
            Detail.objects.filter(securable__in=catalogs).values_list("securable", "properties")
        )
        for key, node in self.nodes.items():
            self._read_place(key, node)
        self.out.targets |= {f"role:{name}": node for name, node in self.out.roles.items()}
        rows = self._rows(RealmMember).filter(realm=self.root.realm_id).select_related("principal")
        for row in self._true(rows):
            self._say(MEMBER, self._at(row), who=str(row.principal))
        self._read_roles()
        self._read_grants()
        self._read_owners()

    def _rows(self, model: type[F]) -> FactQuerySet[F]:
        if self.reads_ended:
            ran_out = Q(closed__isnull=True, valid_until__lte=self.now)
            return model.objects.filter(Q(closed__gt=self.ended_after) | ran_out)
        return model.objects.open()

    def _of_realm(self, model: type[Placement]) -> FactQuerySet[Placement]:
        return self._rows(model).filter(securable__realm=self.root.realm_id)

    def _nodes_or_last(self) -> dict[int, Node]:
        """What ended facts are about: what is there still by the name it has, what is gone by its last."""
        self.gone = dict(self._of_realm(Placement).order_by("closed").values_list("securable", "closed"))
        again = Placement.objects.open().filter(securable__in=self.gone)
        keys = set(self.gone)
        for key in again.values_list("securable", flat=True):
            del self.gone[key]
        realm = self.root.realm_id
        keys |= set(self._rows(Assignment).filter(role__realm=realm).values_list("role", flat=True))
        keys |= set(self._rows(Ownership).filter(securable__realm=realm).values_list("securable", flat=True))
        for pair in self._grants().values_list("role", "securable"):
            keys |= {key for key in pair if key is not None}
        return as_placed_last(keys)

    def _read_place(self, key: int, node: Node) -> None:
        at = self.gone.get(key, 0) if self.reads_ended else self._named_since(node)
        if node.type == "role":
            if not personal_role_names.is_personal(node.name):
                self.out.roles[node.name] = node
                if at:
                    self._say(ROLE, at, role=node.name)
        else:
            self.out.targets[self.names[key]] = node
            if at and node.id != self.root.id:
                kind = str(self.kinds.get(key, {}).get("type", "")) if node.type == "catalog" else ""
                self._say(OBJECT, at, target=self.names[key], code=kind)

    def _named_since(self, *places: Node | None) -> int:
        """The change since which these have their names."""
        keys = (key for place in places if place is not None for key in place.lineage)
        return max((self.placed.get(key, 0) for key in keys), default=0)

    def _at(self, row: Fact, *places: Node | None) -> int:
        """The change by which a statement became so, of what has these names; or by which it ended."""
        if self.reads_ended:
            return row.closed or row.opened
        return max(row.opened, self._named_since(*places))

    def _say(self, kind: str, at: int, **fields: str) -> None:
        statement = Statement(kind, **fields)
        self.out.statements.add(statement)
        self.out.revisions[statement] = max(at, self.out.revisions.get(statement, 0))

    def _read_roles(self) -> None:
        own = {key for key, node in self.nodes.items() if personal_role_names.is_personal(node.name)}
        held = Assignment.objects.filter(any_of("role_id", own)).order_by("opened").select_related("holder")
        self.personal = {row.role_id: row.holder for row in held if is_fact_sealed(row)}
        rows = self._rows(Assignment).filter(role__realm=self.root.realm_id).select_related("holder")
        for row in self._true(rows):
            role = self.nodes.get(row.role_id)
            if role is not None and role.id not in own:
                who = str(row.holder)
                self._say(HOLDER, self._at(row, role), role=role.name, who=who, **_window(row))

    def _grants(self) -> FactQuerySet[Grant]:
        here = Q(role__realm=self.root.realm_id) | Q(realm=self.root.realm_id)
        return self._rows(Grant).filter(here | Q(securable__realm=self.root.realm_id)).distinct()

    def _read_grants(self) -> None:
        for row in self._true(self._grants().select_related("holder")):
            node = self.nodes.get(row.securable_id or 0)
            target = row.pattern or self.names.get(row.securable_id or 0, "")
            holder = row.holder or self.personal.get(row.role_id or 0)
            role = self.nodes.get(row.role_id or 0)
            given = {"target": target, "code": row.privilege, **_window(row)}
            if not target:
                continue
            if holder is not None:
                self._say(GRANT, self._at(row, node), who=str(holder), **given)
            elif role is not None:
                at = self._at(row, node, role)
                self._say(GIVES, at, role=role.name, effect=row.effect, **given)

    def _read_owners(self) -> None:
        here = {"securable__realm": self.root.realm_id}
        for row in self._true(self._rows(Ownership).filter(**here).select_related("owner")):
            node = self.nodes.get(row.securable_id)
            if node is None or personal_role_names.is_personal(node.name):
                continue
            if node.type == "role":
                self._say(ROLE_OWNER, self._at(row, node), role=node.name, who=str(row.owner))
            else:
                self._say(OWNER, self._at(row, node), target=self.names[node.id], who=str(row.owner))

    def _true(self, rows: Iterable[F]) -> Iterator[F]:
        for row in rows:
            ended = row.valid_until is not None and row.valid_until <= self.now
            if is_fact_sealed(row) and (self.reads_ended or not ended):
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
