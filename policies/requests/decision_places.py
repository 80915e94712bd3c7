"""Where a decision is made, as keys: what a part is addressed to, and what somebody decides on.

`o12`: who may grant on object 12; `d12`: who has the duty on it; `m12` and `n12`: who may admit people or
groups to the realm whose root is 12; `r12` and `g12`: who may give role 12 to people or groups;
`t12:dataset:ns1.d`: who may grant on that text in the realm whose root is 12.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.utils import timezone

from accounts.models import Principal
from catalog.nodes import Node, nodes
from catalog.resolve import spelled
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from lakewarden.law.objects import ObjectRef
from lakewarden.law.patterns import parts_of
from policies.decisions import approvers, ask, duties, slices
from policies.decisions.approvers import APPROVE, Approver
from policies.decisions.lookups import resolve_path, visible_objects
from policies.models import RequestPart, RequestWant
from policies.models.requests import WAITING
from policies.services.members import ADMITS

Kind = RequestPart.Kind
GROUP_ROLE = "Permission.grantRolesToGroup"


@dataclass(frozen=True)
class DecisionPlace:
    """Where one decision is made: on `node` the law is asked for `action`; `exact`: it is the very object."""

    kind: str
    node: Node
    action: str
    exact: bool
    whose: str
    way: resolve_path.Places

    def keys(self, node: Node) -> list[str]:
        """The keys of one level of the way."""
        keys = [f"d{node.id}"] if node.exists else []
        if self.kind == Kind.MEMBERSHIP:
            return [*keys, f"{_by_kind(self.whose, 'm', 'n')}{node.id}"]
        if self.kind == Kind.ROLE and node.type == "role":
            return [*keys, f"{_by_kind(self.whose, 'r', 'g')}{node.id}"]
        if dialects.get(node.kind).by_text and node.id != node.root_id:
            return [*keys, f"t{node.root_id}:{node.levels[-1].key if not node.exists else _text(node)}"]
        return [*keys, f"o{node.id}"]

    @property
    def levels(self) -> list[Node]:
        """From the realm down."""
        return [*self.node.above(), self.node]

    @property
    def text(self) -> str:
        """The text that a grant here is about, where the law is about texts."""
        key = self.node.levels[-1].key
        return _text(self.node) if self.node.exists else str(key)

    @property
    def all_keys(self) -> list[str]:
        return [key for level in self.levels for key in self.keys(level)]

    def from_level(self, depth: int) -> list[str]:
        """The keys of that level and of all below it."""
        return [key for level in self.levels[depth:] for key in self.keys(level)]

    def nearest(self, found: Collection[Approver]) -> list[str]:
        """The keys down to the nearest level on which somebody decides; none where nobody does."""
        return self.from_level(max(map(_depth, found))) if found else []

    def next(self, found: Collection[Approver], addressed: Collection[str]) -> list[str]:
        """The keys down to the next level above those addressed on which somebody decides."""
        now = next(
            (at for at, level in enumerate(self.levels) if set(self.keys(level)) & set(addressed)), None
        )
        above = [item for item in found if now is None or _depth(item) < now]
        return self.nearest(above) or list(addressed)

    def deciders(self, without: Collection[int] = (), *, now: datetime | None = None) -> list[Approver]:
        """The people who may decide here, nearest first."""
        return deciders_of([self], without, now=now)[0]


def deciders_of(
    several: Sequence[DecisionPlace], without: Collection[int] = (), *, now: datetime | None = None
) -> list[list[Approver]]:
    """The people who may decide at each of some places, nearest first.  Eleven queries a realm."""
    questions = [(place.node, place.action) for place in several]
    every = approvers.of_many(questions, duty=APPROVE, now=now) if questions else []
    return [[item for item in approvers if item.principal.pk not in without] for approvers in every]


def _depth(approver: Approver) -> int:
    return len(approver.where.levels) - 1


def _by_kind(kind: str, person: str, group: str) -> str:
    return group if kind == Principal.Kind.GROUP else person


def _text(node: Node) -> str:
    return f"{node.type}:{'.'.join(node.names[1:])}"


def find(kind: str, ref: ObjectRef, whose: str) -> DecisionPlace | None:
    """Where a part is decided as things stand; None where no realm bears the name.  Three queries.

    `whose` is the kind of principal that is to have it.
    """
    return find_all([(kind, ref)], whose)[0]


def find_all(asked: Sequence[tuple[str, ObjectRef]], whose: str) -> list[DecisionPlace | None]:
    """The same for many.  Three queries, nested schemas apart."""
    refs = spelled([ref for _, ref in asked])
    by_ref = resolve_path.places(set(refs))
    return [of(kind, ref, whose, by_ref[ref]) for (kind, _), ref in zip(asked, refs, strict=True)]


def of_row(row: RequestPart | RequestWant, whose: str) -> DecisionPlace | None:
    """Where a part, or what is wanted, is decided: on the object it was about, however that is called now.

    What was dropped is not taken for another of the same name that came after it.
    """
    return of_rows([row], whose)[row.pk]


def of_rows(rows: Sequence[RequestPart | RequestWant], whose: str) -> dict[int, DecisionPlace | None]:
    """The same for many, by their numbers.  Four queries, nested schemas apart."""
    by_id = nodes(row.securable_id for row in rows if row.securable_id)
    refs = {row.pk: ObjectRef.parse(row.type, row.name) for row in rows}
    sought = {refs[row.pk] for row in rows if row.securable_id not in by_id}
    by_ref = resolve_path.places(sought) if sought else {}
    return {row.pk: _of_row(row, refs[row.pk], by_id, by_ref, whose) for row in rows}


def _of_row(
    row: RequestPart | RequestWant,
    ref: ObjectRef,
    by_id: Mapping[int, Node],
    by_ref: Mapping[ObjectRef, resolve_path.Places],
    whose: str,
) -> DecisionPlace | None:
    kind = row.kind if isinstance(row, RequestPart) else Kind.PRIVILEGE
    node = by_id.get(row.securable_id or 0)
    if node is not None:
        return of(kind, node.ref, whose, resolve_path.steps(node))
    place = of(kind, ref, whose, by_ref[ref])
    return replace(place, exact=False) if place and row.securable_id else place


def of(kind: str, ref: ObjectRef, whose: str, known: resolve_path.Places) -> DecisionPlace | None:
    """The same when what exists along the name is at hand."""
    if not known:
        return None
    node = resolve_path.named_by(ref, known)
    target = node or known[-1]
    if kind == Kind.MEMBERSHIP:
        return DecisionPlace(kind, known[0], ADMITS[whose], True, whose, known)
    exact = node is not None and (node.exists or not _must_exist(node))
    action = approvers.GRANT
    if kind == Kind.ROLE and target.type == "role" and whose == Principal.Kind.GROUP:
        action = ask.operation_for(target, GROUP_ROLE) if _knows(target, GROUP_ROLE) else action
    return DecisionPlace(kind, target, action, exact, whose, known)


def _knows(node: Node, operation: str) -> bool:
    return operation in dialects.get(node.kind).operations


def _must_exist(node: Node) -> bool:
    return "ALL" in dialects.get(node.kind).privileges


def decided_by(
    person: Principal, *, now: datetime | None = None, among: Collection[str] | None = None
) -> list[str]:
    """The keys on which somebody decides, of some or of all to which something open is addressed.

    A number of queries that depends only on the realms they belong to; one where nothing is asked for.
    """
    now = now or timezone.now()
    wanted = _addressed() if among is None else set(among)
    if not wanted:
        return []
    mine = {f"d{number}" for number in duties.held(person, APPROVE, now=now)} & wanted
    for top in visible_objects.realms_of(person):
        slice_ = slices.current(person, top, now=now)
        mine |= _by_law(slice_, top, wanted, now)
    return sorted(mine)


def _addressed() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(_KEYS, [list(WAITING)])
        return {key for (key,) in cursor.fetchall()}


_KEYS = "SELECT DISTINCT unnest(addressed) FROM policies_requestpart WHERE state = ANY(%s)"


def _by_law(slice_: Slice, top: Node, wanted: Iterable[str], now: datetime) -> set[str]:
    law, object_ids = dialects.get(top.kind), slice_.bits.keys() | {top.id}
    counted, numbered = set(), {}
    for key in wanted:
        head, _, text = key[1:].partition(":")
        if key[0] == "t":
            if int(head) == top.id and law.by_text and _may_on_text(slice_, top, text, now):
                counted.add(key)
        elif int(head) in object_ids or key[0] in "rg":
            numbered[key] = int(head)
    by_id = nodes(set(numbered.values()) - {top.id}) | {top.id: top} if numbered else {}
    return counted | {
        key for key, number in numbered.items() if _may(slice_, key[0], by_id.get(number), top, now)
    }


def _may_on_text(slice_: Slice, top: Node, text: str, now: datetime) -> bool:
    type_, path = parts_of(text)
    node = resolve_path.named_by(ObjectRef(type_, top.name, path), (top,))
    return node is not None and bool(ask.answer(slice_, approvers.GRANT, node, now=now))


def _may(slice_: Slice, sign: str, node: Node | None, top: Node, now: datetime) -> bool:
    if node is None or node.realm_id != top.realm_id:
        return False
    actions = {
        "o": approvers.GRANT,
        "r": approvers.GRANT,
        "g": GROUP_ROLE if _knows(node, GROUP_ROLE) else approvers.GRANT,
        "m": ADMITS[Principal.Kind.USER],
        "n": ADMITS[Principal.Kind.GROUP],
    }
    action = actions.get(sign)
    return action is not None and bool(ask.answer(slice_, action, node, now=now))
