"""Carrying out the very plan that was seen, as one change; or asking another person to approve it first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from catalog.resolve import find_all, spelled
from lakewarden.law import dialects
from lakewarden.law.objects import ObjectRef
from lakewarden.law.principals import Principal as PrincipalName
from policies.authority import Actor
from policies.errors import Conflict, Invalid
from policies.events import POLICY_APPLIED
from policies.models import AccessRequest
from policies.models.grants import Effect
from policies.policy_files import applied_files
from policies.policy_files import statements as kinds
from policies.policy_files.comparison import Step
from policies.policy_files.document import PolicyFile
from policies.policy_files.plan import CREATED, Names, Plan, changes_of, principal_name
from policies.policy_files.statements import of_realm, reference_of
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.requests import plan_approvals
from policies.requests.plan_approvals import PlanToApprove
from policies.requests.rules import rules_of_grants, rules_of_roles, strictest
from policies.services import entities, objects, patterns, realm_of, roles
from policies.services.objects import NewObject
from policies.simulation import changes as proposals
from policies.simulation.carrying_out import authority_for, authority_to_make, carry_out, subject_of


class NeedsApproval(Conflict):
    """Another person has to approve this plan of the realm first."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(
            gettext("Another person has to approve this plan before it is applied. Nothing was done.")
        )
        self.plan = plan


@dataclass(frozen=True)
class Outcome:
    """The plan, and the request for its approval where it waits for that."""

    plan: Plan
    waits: AccessRequest | None = None


def needs_approval(plan: Plan) -> bool:
    """Whether another person has to approve it before it is applied."""
    removes = bool(plan.removals or plan.changes)
    return bool(plan.steps) and plan_approvals.is_needed(plan.root, removes=removes)


def apply_or_ask(root: Node, file: PolicyFile, *, seen: str, by: Actor, reason: str = "") -> Outcome:
    """Apply the plan that was seen; where another person has to approve it first, ask for that.

    Raises as `apply`.
    """
    try:
        return Outcome(apply(root, file, seen=seen, by=by, reason=reason))
    except NeedsApproval as waiting:
        return Outcome(waiting.plan, _ask(waiting.plan, by, reason))


def _ask(plan: Plan, by: Actor, reason: str) -> AccessRequest:
    planned = PlanToApprove(plan.root, plan.digest, plan.revision, plan.file.text, plan.listed)
    return plan_approvals.ask(planned, by=by, reason=reason)


def apply(root: Node, file: PolicyFile, *, seen: str, by: Actor, reason: str = "") -> Plan:
    """Carry out the plan that was seen, as one change; each step with the right to it.

    Raises Conflict when it is another plan by now, NeedsApproval when somebody else has to approve it and
    nobody did, Refused, Invalid.
    """
    with change(POLICY_APPLIED, realm=realm_of(root), by=by, reason=reason) as current:
        plan = Plan(root, file)
        if plan.digest != seen:
            raise Conflict(
                gettext("This is not the plan you reviewed: the realm or the file has changed. Plan again.")
            )
        if not plan.steps and applied_files.is_kept(root, file):
            return plan
        _check_reason(plan, reason)
        approval = None
        if needs_approval(plan):
            approval = plan_approvals.approved(root, plan.digest, by=by, now=current.at)
            if approval is None:
                _check_rights(plan, by)
                raise NeedsApproval(plan)
        counts = {"adds": len(plan.adds), "changes": len(plan.changes), "removals": len(plan.removals)}
        authority = authority_to_make(root, by)
        current.say(make_event(POLICY_APPLIED, root, owns=sorted(file.owns), **counts), by=authority)
        _create(plan, by)
        _carry_out(plan, by)
        applied_files.keep(current, root, file)
        if approval is not None:
            plan_approvals.applied(current, approval, by=authority)
    return plan


def _check_reason(plan: Plan, reason: str) -> None:
    """As long as the rule of what the plan gives asks, as on every form that gives it.  Raises Invalid."""
    given, held = list[Node](), list[Node]()
    for proposed in plan.proposed():
        match proposed:
            case (
                proposals.GrantAccess(target=target) | proposals.AddToRole(target=target, effect=Effect.ALLOW)
            ):
                given.append(target.node)
            case proposals.SetOwner(node=node):
                given.append(node)
            case proposals.AssignRole(role=role):
                held.append(role)
    rule = strictest([rules_of_grants(list(dict.fromkeys(given))), rules_of_roles(list(dict.fromkeys(held)))])
    if rule.min_reason:
        rule.check_reason(reason)


def _check_rights(plan: Plan, by: Actor) -> None:
    """See that the actor could carry it out, so that nobody approves what must fail.  Raises Refused."""
    authority_to_make(plan.root, by)
    checked: set[object] = set()
    for proposed in plan.proposed():
        subject = subject_of(proposed)
        if subject not in checked:
            checked.add(subject)
            authority_for(proposed, plan.root, by)


def _create(plan: Plan, by: Actor) -> None:
    """Make the members, objects and roles that are new, parents first."""
    new: Mapping[str, list[Step]] = defaultdict(list)
    for step in plan.adds:
        if step.key.kind in CREATED:
            new[step.key.kind].append(step)
    for step in new[kinds.MEMBER]:
        name = principal_name(step.key.who)
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
            gettext("The parent of %(type)s %(path)s does not exist.")
            % {"type": type_, "path": ".".join(path)}
        )
    return node


def _carry_out(plan: Plan, by: Actor) -> None:
    """Say of what is there by now what the file says; what goes goes last."""
    for step in plan.steps:
        for statement in step.after:
            if statement.who:
                _ensure(principal_name(statement.who))
    names = Names(plan.root, of_realm(plan.root), plan.file.statements)
    created = [step for step in plan.adds if step.key.kind not in CREATED]
    last = {kinds.ROLE: 1, kinds.MEMBER: 2}
    removals = sorted(plan.removals, key=lambda step: last.get(step.key.kind, 0))
    for step in (*plan.changes, *created, *removals):
        carry_out(list(changes_of(step, names)), plan.root, by=by)
