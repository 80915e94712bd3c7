"""Raising the generation of a CDAP realm's rules: what becomes of each policy, who gains and who loses.

Nothing is kept silently.  Each privilege that is given is listed with what it is afterwards: the same, others
in its place, or nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Membership, Principal
from catalog.models import Realm, Securable
from catalog.nodes import Node, nodes
from catalog.queries import root as root_of
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import INSTANCE, BadEntity, parse
from lakewarden.law.dialects.patterns import TextDialect
from policies.authority import Actor, Authority
from policies.decisions.cache_versions import realm_key
from policies.errors import Conflict, Invalid
from policies.events import REALM_SET
from policies.models import Assignment, Backend, Grant, Ownership
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import patterns, realm_of
from policies.simulation.difference import Difference
from policies.simulation.proposed_facts import ProposedFacts, copy_of
from policies.simulation.simulation import PEOPLE, Simulation

GENERATIONS = ("3.4", "3.5", "4.3")
SINCE = "policy_since"
"""The setting that keeps the revision since which the rules are of their generation."""


def later_than(policy: str) -> tuple[str, ...]:
    """The generations to which a realm of this one can be raised."""
    return GENERATIONS[GENERATIONS.index(policy) + 1 :] if policy in GENERATIONS else ()


def becomes(law: TextDialect, text: str, privilege: str) -> tuple[str, ...]:
    """What a privilege on a text is under a law; nothing for what means nothing there."""
    try:
        target = parse(text, others=bool(law.other))
    except BadEntity:
        return ()
    if "ALL" in law.privileges:
        return (privilege,)
    if target.type == INSTANCE:
        return ()  # the generation has no privileges on the instance
    return tuple(law.privileges) if privilege == "ALL" else (privilege,)


@dataclass(frozen=True)
class Policy:
    """A privilege as it is given, and what it is afterwards."""

    row: Grant
    holder: patterns.Holder
    after: tuple[str, ...]

    @property
    def stays(self) -> bool:
        return self.after == (self.row.privilege,)

    def __str__(self) -> str:
        outcome = "stays" if self.stays else f"becomes {', '.join(self.after)}" if self.after else "ends"
        return f"{self.row.privilege} on {self.row.pattern} of {self.name}: {outcome}"

    @property
    def name(self) -> str:
        """Who has it: a principal, or a role."""
        return f"role {self.holder.name}" if isinstance(self.holder, Node) else str(self.holder)


class _UnderLaterLaw(Simulation):
    """Everybody who has something in the realm, under its law and under the later one."""

    def __init__(self, root: Node, law: str) -> None:
        super().__init__(root, (), at=timezone.now())
        self.later = law

    @cached_property
    def people(self) -> dict[int, Principal]:
        """Who holds or owns something, or is named by a setting or by a principal that programs run as."""
        realm = Realm.objects.get(pk=self.root.realm_id)
        grants = Grant.objects.open().filter(Q(realm=realm) | Q(role__realm=realm))
        roles = Assignment.objects.open().filter(role__realm=realm)
        owners = Ownership.objects.open().filter(securable__realm=realm)
        holders = Q(pk__in=grants.filter(holder__isnull=False).values("holder"))
        holders |= Q(pk__in=roles.values("holder")) | Q(pk__in=owners.values("owner"))
        holders |= Q(kind=Principal.Kind.GROUP, name=realm.settings.get("admin_group") or "")
        groups = Principal.objects.filter(holders, kind=Principal.Kind.GROUP)
        inside = Membership.objects.open().filter(group__in=groups).values("member")
        rows = Securable.objects.filter(
            realm=self.root.realm_id, type="kerberosprincipal", placements__closed__isnull=True
        )
        run_as = list(rows.values_list("placements__name", flat=True))
        named = [realm.settings.get("master_user") or "", *run_as]
        wanted = holders | Q(pk__in=inside) | Q(kind=Principal.Kind.USER, name__in=named)
        return {row.pk: row for row in Principal.objects.filter(wanted, kind__in=PEOPLE).order_by("pk")}

    @cached_property
    def proposed(self) -> ProposedFacts:
        """The same facts as the later law takes them."""
        twin = copy_of(self.before)
        twin.realm = Realm(pk=self.root.realm_id, kind=self.later)
        law = text_law(self.later)
        for held in (twin.grants, twin.direct):
            for rows in held.values():
                rows[:] = [
                    (text, code, *rest) for text, given, *rest in rows for code in becomes(law, text, given)
                ]
        return ProposedFacts(self.root, twin, self.people, {}, frozenset(), {})

    @cached_property
    def touched(self) -> frozenset[int]:
        return frozenset((self.root.id,))


def text_law(code: str) -> TextDialect:
    law = dialects.get(code)
    if not isinstance(law, TextDialect):
        raise Invalid(gettext("%(code)s is not a law of a CDAP.") % {"code": code})
    return law


class Raise:
    """The plan to raise a realm to a later generation.  Raises Invalid, Conflict where it cannot be."""

    def __init__(self, root: Node, policy: str) -> None:
        self.root, self.policy, self.realm = root, policy, Realm.objects.get(pk=root.realm_id)
        before = str(self.realm.settings.get("policy", ""))
        if self.realm.kind != Realm.Kind.CDAP or policy not in later_than(before):
            names = ", ".join(later_than(before))
            text = (
                gettext("%(realm)s cannot be raised to `%(policy)s`; later generations are: %(known)s.")
                if names
                else gettext("%(realm)s cannot be raised to `%(policy)s`: no later generation exists.")
            )
            raise Invalid(text % {"realm": root.name, "policy": policy, "known": names})
        if Backend.objects.filter(realm=root.realm_id).exists():
            raise Conflict(
                gettext("%(realm)s is connected to a server of its generation; disconnect it first.")
                % {"realm": root.name}
            )
        self.before = before

    @property
    def law(self) -> TextDialect:
        return text_law(Realm(kind=self.realm.kind, settings={"policy": self.policy}).law)

    @cached_property
    def policies(self) -> list[Policy]:
        """Each privilege that is given in the realm, by text and holder."""
        rows = Grant.objects.open().filter(realm=self.root.realm_id).select_related("holder")
        ordered = list(rows.order_by("pattern", "pk"))
        roles = nodes({row.role_id for row in ordered if row.role_id})
        holders = (row.holder or roles[row.role_id or 0] for row in ordered)
        return [
            Policy(row, holder, becomes(self.law, row.pattern, row.privilege))
            for row, holder in zip(ordered, holders, strict=True)
        ]

    @cached_property
    def difference(self) -> Difference:
        """Who could do what else, on everything that is registered."""
        return Difference(_UnderLaterLaw(self.root, self.law.code))

    @cached_property
    def digest(self) -> str:
        """What the plan is known by: a policy more or less makes another."""
        body = json.dumps([self.root.name, self.before, self.policy, *map(str, self.policies)])
        return hashlib.sha256(body.encode()).hexdigest()

    def lines(self, limit: int) -> Iterator[str]:
        """Who gains and loses what, one person and object a line."""
        for item in self.difference.page(limit=limit):
            for verb, what in (("loses", item.loses), ("gains", item.gains)):
                if what:
                    yield f"{item.person} {verb} {', '.join(sorted(what))} on {item.node.ref}"


def carry_out(
    root: Node, policy: str, *, seen: str, by: Actor, authority: Callable[[], Authority], reason: str = ""
) -> Raise:
    """Raise the realm as it was seen to be, in one change.  Raises Invalid, Conflict, Refused.

    `authority` is decided within the change: who lost it a moment before raises nothing.
    """
    with change(REALM_SET, realm=realm_of(root), by=by, reason=reason) as current:
        allowed = authority()
        plan = Raise(root, policy)
        if plan.digest != seen:
            raise Conflict(
                gettext("This is not the plan you reviewed: someone changed what is granted. Check it again.")
            )
        moved = [item for item in plan.policies if not item.stays]
        patterns.end(current, root, [item.row for item in moved], by=allowed)
        row = Realm.objects.get(pk=root.realm_id)
        new = {"policy": policy, SINCE: str(current.revision)}
        row.settings = {**row.settings, **new}
        row.save(update_fields=["settings"])
        raised = root_of(row)
        for name, value in new.items():
            current.say(make_event(REALM_SET, raised, setting=name, value=value), by=allowed)
        for item in moved:
            target = parse(item.row.pattern, others=True)
            until = item.row.valid_until
            patterns.give(
                current,
                raised,
                target,
                item.holder,
                item.after,
                by=by,
                authority=allowed,
                valid_until=until,
            )
        current.touch(realm_key(row.pk))
    return plan
