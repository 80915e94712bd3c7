"""What a policy file would change: adds, changes and, apart, removals; and carrying the very same plan out.

A file removes nothing but what it owns.  What is said in it is added wherever it lacks.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Max, Q
from django.utils.translation import gettext

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from catalog.resolve import find_all, spelled
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import BadEntity, parse
from lakewarden.law.facts import Level
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.principals import BadPrincipal
from lakewarden.law.principals import Principal as PrincipalName
from policies.authority import Actor
from policies.errors import Conflict, Invalid
from policies.events import POLICY_APPLIED
from policies.models import Change as Revision
from policies.policy_files import statements as kinds
from policies.policy_files.document import EVERYTHING, PolicyFile
from policies.policy_files.statements import RealmStatements, Statement, of_realm, reference_of
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import entities, objects, patterns, realm_of, roles
from policies.services.objects import NewObject
from policies.simulation import changes as proposals
from policies.simulation.carrying_out import authority_to_make, carry_out
from policies.simulation.changes import Change, Target, Window

ADD, CHANGE, REMOVE = "add", "change", "remove"
CREATED = (kinds.MEMBER, kinds.OBJECT, kinds.ROLE)
"""What is made before anything is said of it, in this order."""


@dataclass(frozen=True)
class Step:
    """What becomes of one thing: the statements about it that are so, and those that will be."""

    action: str
    before: tuple[Statement, ...]
    after: tuple[Statement, ...]

    @property
    def key(self) -> Statement:
        return (self.after or self.before)[0].key

    def __str__(self) -> str:
        if self.action == CHANGE:
            return f"{' and '.join(map(str, self.before))}, then {' and '.join(map(str, self.after))}"
        return " and ".join(map(str, self._differing))

    @property
    def _differing(self) -> list[Statement]:
        mine, other = (self.after, self.before) if self.action == ADD else (self.before, self.after)
        return [statement for statement in mine if statement not in other]


class Plan:
    """The steps from what is so to what a file says, at one revision of the realm.

    Raises Invalid for a file that is not about the realm, or names what is not there.
    """

    def __init__(self, root: Node, file: PolicyFile) -> None:
        self.root, self.file = root, file
        if file.realm != root.name:
            raise Invalid(
                gettext("This file is about realm %(realm)s, not %(here)s.")
                % {"realm": file.realm, "here": root.name}
            )
        if file.law and file.law != root.kind:
            raise Invalid(
                gettext("This file is written for the law %(law)s; %(realm)s has %(its_law)s.")
                % {"law": file.law, "realm": root.name, "its_law": root.kind}
            )
        # the last change that could matter to the realm: its own, or of no realm, such as of a group
        rows = Revision.objects.filter(Q(realm=root.realm_id) | Q(realm__isnull=True))
        self.revision = rows.aggregate(last=Max("revision"))["last"] or 0
        self.present = of_realm(root)
        self._resolve()
        self.steps = sorted(self._steps(), key=lambda step: (step.action, step.key))

    @property
    def adds(self) -> list[Step]:
        return [step for step in self.steps if step.action == ADD]

    @property
    def changes(self) -> list[Step]:
        return [step for step in self.steps if step.action == CHANGE]

    @property
    def removals(self) -> list[Step]:
        return [step for step in self.steps if step.action == REMOVE]

    @cached_property
    def digest(self) -> str:
        """What the plan is known by: another file, or anything that changed in the realm, makes another."""
        lines = [[step.action, str(step)] for step in self.steps]
        body = json.dumps([self.root.name, self.revision, lines], separators=(",", ":"))
        return hashlib.sha256(body.encode()).hexdigest()

    def proposed(self) -> list[Change]:
        """The same as changes that can be simulated; new objects are left out, as nobody has access yet.

        Removals come first, as one role may not allow and deny the same.
        """
        names = _Names(self.root, self.present, self.file.statements)
        ordered = [*self.removals, *self.changes, *self.adds]
        known = [step for step in ordered if step.key.kind != kinds.OBJECT and names.knows(step.key)]
        return [change for step in known for change in _changes(step, names)]

    # what the file says, held against what is so

    def _resolve(self) -> None:
        """See that everything named is there or will be.  Raises Invalid."""
        new = {item.target for item in self.file.statements if item.kind == kinds.OBJECT}
        roles_named = {item.role for item in self.file.statements if item.kind == kinds.ROLE}
        law = dialects.get(self.root.kind)
        for statement in sorted(self.file.statements):
            if statement.who:
                _principal_name(statement.who)
            target = statement.target
            if statement.kind == kinds.OBJECT:
                root = self.root
                try:
                    ref = reference_of(root, target)
                except (BadName, BadEntity) as problem:
                    raise Invalid(
                        gettext("%(target)s names no object: %(problem)s.")
                        % {"target": target, "problem": problem}
                    ) from None
                if not ref.path or ref.type not in dialects.get(root.kind).types:
                    raise Invalid(
                        gettext("%(target)s names no object of %(realm)s.")
                        % {"target": target, "realm": root.name}
                    )
            if not target or target in new or target in self.present.targets:
                continue
            if law.by_text and statement.kind in (kinds.GRANT, kinds.GIVES):
                patterns.named(self.root, target)
            elif not (target.startswith("role:") and target[5:] in roles_named):
                raise Invalid(
                    gettext("There is no %(target)s in %(realm)s, and the file does not register it.")
                    % {"target": target, "realm": self.root.name}
                )

    def _steps(self) -> Iterator[Step]:
        wanted, present = _by_key(self.file.statements), _by_key(self.present.statements)
        for key in wanted.keys() | present.keys():
            stated, so = wanted.get(key, set()), present.get(key, set())
            step = self._step(key, stated, so)
            if step is not None:
                yield step

    def _step(self, key: Statement, stated: set[Statement], so: set[Statement]) -> Step | None:
        before, after = tuple(sorted(so)), tuple(sorted(stated))
        if key.kind == kinds.OBJECT:
            return Step(ADD, (), after) if stated and not so else None
        if key.kind in kinds.OWNERS:
            if not stated or stated == so:
                return None  # a file that names no owner does not say that there is none
            return Step(CHANGE if so else ADD, before, after)
        gone = so - stated if self._owns(key) else set()
        if not gone:
            return Step(ADD, before, tuple(sorted(so | stated))) if stated - so else None
        return Step(CHANGE if stated else REMOVE, before, after)

    def _owns(self, key: Statement) -> bool:
        owns = self.file.owns
        if EVERYTHING in owns:
            return True
        if key.kind == kinds.MEMBER:
            return "members" in owns
        if key.kind in kinds.OF_ROLES:
            return "roles" in owns or f"role:{key.role}" in owns
        node = self.present.targets.get(key.target)
        if node is not None and not self._owned_nodes.isdisjoint(node.lineage):
            return True
        return dialects.get(self.root.kind).by_text and self._owns_text(key.target)

    @cached_property
    def _owned_nodes(self) -> frozenset[int]:
        return frozenset(
            self.present.targets[name].id for name in self.file.owns if name in self.present.targets
        )

    def _owns_text(self, text: str) -> bool:
        if "texts" in self.file.owns:
            return True
        parts = parse(text, others=True).parts
        within = (parse(name, others=True).parts for name in self.file.owns if name.startswith("namespace:"))
        return any(parts[: len(above)] == above for above in within)


def _by_key(some: Iterable[Statement]) -> dict[Statement, set[Statement]]:
    groups: dict[Statement, set[Statement]] = defaultdict(set)
    for statement in some:
        groups[statement.key].add(statement)
    return groups


def _principal_name(text: str) -> PrincipalName:
    kind, _, name = text.partition(":")
    if kind == Principal.Kind.PATTERN and name:
        return PrincipalName(kind, name)
    try:
        return PrincipalName.parse(text)
    except BadPrincipal as problem:
        raise Invalid(f"{str(problem).capitalize()}.") from None


class _Names:
    """Objects, roles and principals by the names that statements have for them.  Three queries."""

    def __init__(self, root: Node, present: RealmStatements, stated: Iterable[Statement]) -> None:
        self.root, self.present = root, present
        every = [*present.statements, *stated]
        self.roles = dict(present.roles)
        for number, name in enumerate(sorted({item.role for item in every if item.role} - self.roles.keys())):
            key = -1 - number
            self.roles[name] = Node(
                key, root.realm_id, root.kind, (root.levels[0], Level("role", key)), (root.name, name)
            )
        names = {item.who for item in every if item.who}
        parsed = {text: _principal_name(text) for text in names}
        rows = Principal.objects.filter(name__in={name.name for name in parsed.values()})
        there = {(row.kind, row.name): row for row in rows}
        self.people = {
            text: there.get((name.kind, name.name)) or Principal(kind=name.kind, name=name.name)
            for text, name in parsed.items()
        }

    def knows(self, key: Statement) -> bool:
        return not key.target or key.target in self.present.targets or self._is_text(key)

    def _is_text(self, key: Statement) -> bool:
        return dialects.get(self.root.kind).by_text and key.kind in (kinds.GRANT, kinds.GIVES)

    def target(self, key: Statement) -> Target:
        if self._is_text(key):
            return Target.of_text(self.root, patterns.named(self.root, key.target))
        return Target(self.present.targets[key.target])


def _changes(step: Step, names: _Names) -> Iterator[Change]:
    """The changes of a step; what goes in one window and stays in another is given again."""
    key, removes = step.key, step.action != ADD
    given = step.after if removes else tuple(item for item in step.after if item not in step.before)
    who = names.people[key.who] if key.who else None
    if key.kind == kinds.MEMBER and who is not None:
        yield proposals.RemoveMember(who) if step.action == REMOVE else proposals.AddMember(who)
    elif key.kind == kinds.ROLE:
        if step.action == REMOVE:
            yield proposals.DeleteRole(names.roles[key.role])
    elif key.kind in kinds.OWNERS:
        owned = names.roles[key.role] if key.kind == kinds.ROLE_OWNER else names.present.targets[key.target]
        yield proposals.SetOwner(owned, names.people[step.after[0].who])
    elif key.kind == kinds.HOLDER and who is not None:
        role = names.roles[key.role]
        if removes:
            yield proposals.UnassignRole(role, who)
        for item in given:
            yield proposals.AssignRole(role, who, _window(item))
    elif key.kind == kinds.GIVES:
        role, target, codes = names.roles[key.role], names.target(key), (key.code,)
        if removes:
            yield proposals.RemoveFromRole(role, target, codes, key.effect)
        for item in given:
            yield proposals.AddToRole(role, target, codes, key.effect, _window(item))
    elif key.kind == kinds.GRANT and who is not None:
        target, codes = names.target(key), (key.code,)
        if removes:
            yield proposals.RevokeAccess(target, who, codes)
        for item in given:
            yield proposals.GrantAccess(target, who, codes, _window(item))


def _window(statement: Statement) -> Window:
    return _moment(statement.start), _moment(statement.end)


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def apply(root: Node, file: PolicyFile, *, seen: str, by: Actor, reason: str = "") -> Plan:
    """Carry out the plan that was seen, as one change; each step with the right to it.

    Raises Conflict when it is another plan by now, Refused, Invalid.
    """
    with change(POLICY_APPLIED, realm=realm_of(root), by=by, reason=reason) as current:
        plan = Plan(root, file)
        if plan.digest != seen:
            raise Conflict(
                gettext("This is not the plan that was seen: the realm or the file changed. Plan again.")
            )
        if not plan.steps:
            return plan
        counts = {"adds": len(plan.adds), "changes": len(plan.changes), "removals": len(plan.removals)}
        authority = authority_to_make(root, by)
        current.say(make_event(POLICY_APPLIED, root, **counts), by=authority)
        _create(plan, by)
        _carry_out(plan, by)
    return plan


def _create(plan: Plan, by: Actor) -> None:
    """Make the members, objects and roles that are new, parents first."""
    new: Mapping[str, list[Step]] = defaultdict(list)
    for step in plan.adds:
        if step.key.kind in CREATED:
            new[step.key.kind].append(step)
    for step in new[kinds.MEMBER]:
        name = _principal_name(step.key.who)
        joins = proposals.AddMember(_ensure(name))
        carry_out([joins], plan.root, by=by)
    for step in sorted(new[kinds.OBJECT], key=lambda step: _depth(plan.root, step.key.target)):
        _register(plan.root, step.key.target, step.after[0].code, by)
    for step in new[kinds.ROLE]:
        authority = authority_to_make(plan.root, by, roles.operation(plan.root, "create"))
        roles.create(plan.root, step.key.role, by=by, authority=authority, owner=by.decides_as)


def _ensure(name: PrincipalName) -> Principal:
    try:
        return people.ensure(name.kind, name.name)
    except people.BadName as problem:
        raise Invalid(f"{str(problem).capitalize()}.") from None


def _depth(root: Node, target: str) -> tuple[int, int, str]:
    """What stands higher comes before what stands in it."""
    path = reference_of(root, target).path
    return len(path), path[-1].count(":"), target


def _register(root: Node, target: str, kind: str, by: Actor) -> None:
    if dialects.get(root.kind).by_text:
        entities.create(root, patterns.named(root, target), by=by)
        return
    ref = reference_of(root, target)
    type_, path = ref.type, ref.path
    scope = _parent(root, type_, path[:-1])
    parent = scope
    if type_ == "schema" and ":" in path[-1]:
        parent = _parent(root, type_, (*path[:-1], path[-1].rpartition(":")[0]), schema=True)
    authority = authority_to_make(parent, by, f"create_{type_}")
    properties = {"type": kind} if kind else {}
    new = NewObject(type_, path[-1], properties=properties)
    objects.register(parent, [new], by=by, authority=authority, scope=scope, owner=by.decides_as)


def _parent(root: Node, type_: str, path: tuple[str, ...], *, schema: bool = False) -> Node:
    if not path:
        return root
    types = dialects.get(root.kind).type_path(type_, len(path) + (0 if schema else 1)) or ()
    above = "schema" if schema else next(iter(types[-2:-1]), "")
    [node] = find_all(spelled([ObjectRef(above, root.name, path)]))
    if node is None:
        raise Invalid(
            gettext("There is nothing that %(type)s %(path)s could stand in.")
            % {"type": type_, "path": ".".join(path)}
        )
    return node


def _carry_out(plan: Plan, by: Actor) -> None:
    """Say of what is there by now what the file says; what goes goes last."""
    for step in plan.steps:
        for statement in step.after:
            if statement.who:
                _ensure(_principal_name(statement.who))
    names = _Names(plan.root, of_realm(plan.root), plan.file.statements)
    created = [step for step in plan.adds if step.key.kind not in CREATED]
    last = {kinds.ROLE: 1, kinds.MEMBER: 2}
    removals = sorted(plan.removals, key=lambda step: last.get(step.key.kind, 0))
    for step in (*plan.changes, *created, *removals):
        carry_out(list(_changes(step, names)), plan.root, by=by)
