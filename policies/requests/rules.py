"""What a request must say, set by people who may grant: for a realm, or for an object and all below it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Model
from django.utils.translation import gettext

from catalog.models import Securable
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.errors import Invalid
from policies.events import event
from policies.models import Event, Grant, RequestRule
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.requests import durations
from policies.services import realm_of
from policies.services.authorities import may

RULE_SET = event("request.rule", "set the request rules of {object}: {rule}")
LONGEST_TICKET, LONGEST_REASON = 64, 4000
MOST_REASON, MOST_HOURS = 2000, 24 * 366


@dataclass(frozen=True)
class Rules:
    """What is asked of a request here.  `longest_days` 0 is any time; `ticket` "" needs none.

    `plan_approval` says which plans of policy files another person has to approve.
    """

    min_reason: int = 10
    ticket: str = ""
    escalate_hours: int = 72
    lapse_hours: int = 336
    longest_days: int = 0
    plan_approval: str = RequestRule.PlanApproval.NEVER

    def check(self, reason: str, ticket: str) -> None:
        """Raise Invalid when a request's reason or ticket is not what is asked for."""
        self.check_reason(reason)
        if len(reason) > LONGEST_REASON:
            raise Invalid(
                gettext("A reason has at most %(most)s characters.") % {"most": LONGEST_REASON}, "reason"
            )
        if len(ticket) > LONGEST_TICKET:
            raise Invalid(
                gettext("A ticket has at most %(most)s characters.") % {"most": LONGEST_TICKET}, "ticket"
            )
        if self.ticket and not form(self.ticket).fullmatch(ticket):
            raise Invalid(
                gettext("Enter a ticket of the form %(ticket)s.") % {"ticket": self.ticket}, "ticket"
            )

    def check_reason(self, reason: str) -> None:
        """Raise Invalid when a reason is too short, or a few letters again and again."""
        text = " ".join(reason.split())
        if len(text) < max(self.min_reason, 1) or len(set(text.casefold()) - {" ", "."}) < 3:
            raise Invalid(
                gettext("Give a reason of at least %(least)s characters.")
                % {"least": max(self.min_reason, 3)},
                "reason",
            )

    def check_end(self, start: datetime, end: datetime | None, zone: str) -> None:
        """Raise Invalid when access would last longer than it may here."""
        if not self.longest_days:
            return
        longest = durations.ends(start, f"P{self.longest_days}D", None, zone)
        if end is None or (longest is not None and end > longest):
            raise Invalid(
                gettext("Access is granted for %(most)s days at most here.") % {"most": self.longest_days}
            )

    def lapses(self, now: datetime) -> datetime:
        return now + timedelta(hours=self.lapse_hours)

    def escalates(self, now: datetime) -> datetime | None:
        """When a decision is asked of the next level; None for never."""
        return now + timedelta(hours=self.escalate_hours) if self.escalate_hours else None


def form(ticket: str) -> re.Pattern[str]:
    """The form of a ticket as a pattern: `#` is digits, `@` capital letters, all else itself."""
    # possessive, so that no form, however made, takes long to refuse a ticket
    signs = {"#": "[0-9]++", "@": "[A-Z]++"}
    return re.compile("".join(signs.get(letter) or re.escape(letter) for letter in ticket))


def rules_along(places: Sequence[Node]) -> Rules:
    """What is asked at the end of a way from a realm down, the nearest word counting.  One query."""
    return _along(places, RequestRule.objects.in_bulk([item.id for item in places]), Rules())


def _along(places: Sequence[Node], rows: Mapping[int, RequestRule], rules: Rules) -> Rules:
    for place in places:
        row = rows.get(place.id)
        if row is not None:
            set_here = {name: getattr(row, name) for name in NAMES if getattr(row, name) is not None}
            rules = replace(rules, **set_here)
    return rules


def rules_of_grants(places: Sequence[Node]) -> Rules:
    """What a grant on all of these is asked: a reason where somebody set how long one must be.  One query."""
    if not places:
        return Rules(min_reason=0)
    ways = [[*place.above(), place] for place in places]
    rows = RequestRule.objects.in_bulk({place.id for way in ways for place in way})
    return strictest([_along(way, rows, Rules(min_reason=0)) for way in ways])


def rules_of_roles(roles: Sequence[Node]) -> Rules:
    """What giving these roles is asked: what a grant on all that they allow would be.  Three queries at most.

    Of a role that allows something by names, or nothing yet, it is what the realm asks.
    """
    realms = {role.realm_id for role in roles}
    if not RequestRule.objects.filter(min_reason__gt=0, securable__realm__in=realms).exists():
        return Rules(min_reason=0)
    allowed = Grant.objects.open().filter(role__in=[role.id for role in roles], effect="allow")
    places = dict[int, set[int | None]]()
    for role, place in allowed.values_list("role", "securable").distinct():
        places.setdefault(role or 0, set()).add(place)
    named = nodes({place for some in places.values() for place in some if place is not None})
    of_realm = [role for role in roles if None in places.get(role.id, {None})]
    return rules_of_grants([*named.values(), *of_realm])


NAMES = ("min_reason", "ticket", "escalate_hours", "lapse_hours", "longest_days", "plan_approval")


def strictest(several: Sequence[Rules]) -> Rules:
    """What satisfies several at once; a ticket of the first form that is asked for."""
    days = [item.longest_days for item in several if item.longest_days]
    return Rules(
        max(item.min_reason for item in several),
        next((item.ticket for item in several if item.ticket), ""),
        min((item.escalate_hours for item in several if item.escalate_hours), default=0),
        min(item.lapse_hours for item in several),
        min(days, default=0),
    )


def own(node: Node) -> RequestRule | None:
    """What is said on this very object."""
    return RequestRule.objects.filter(securable=node.id).first()


def told_of(root: Node) -> set[str]:
    """Which plans need approval by the last word of the record about the rule of a realm.  One query."""
    last = Event.objects.filter(kind=RULE_SET, object_key=root.id).order_by("-change", "-number").first()
    words = last.data["rule"].split(", ") if last else []
    return {value for value in RequestRule.PlanApproval.values if f"plan_approval {value}" in words}


def set_rule(
    node: Node,
    *,
    by: Actor,
    min_reason: int | None = None,
    ticket: str | None = None,
    escalate_hours: int | None = None,
    lapse_hours: int | None = None,
    longest_days: int | None = None,
    plan_approval: str | None = None,
    reason: str = "",
) -> bool:
    """Say what requests for an object and all below it need; None leaves it to what is said above.

    False when nothing changes.  Raises Refused without the right to grant on it, Invalid.
    """
    wanted = (min_reason, ticket, escalate_hours, lapse_hours, longest_days, plan_approval)
    values = dict(zip(NAMES, wanted, strict=True))
    _check(min_reason, ticket, escalate_hours, lapse_hours, longest_days)
    _check_plan_approval(node, plan_approval)
    with change(RULE_SET, realm=realm_of(node), by=by, reason=reason) as current:
        authority = may(
            by,
            "grant",
            node,
            otherwise=gettext("You may not set the request rules of %(name)s.") % {"name": node.name},
        )
        if _values(own(node)) == values:
            return False
        row: Model = RequestRule(securable=Securable(pk=node.id), **values)
        if any(value is not None for value in wanted):
            row.save()
        else:
            RequestRule.objects.filter(securable=node.id).delete()
        text = ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
        current.say(make_event(RULE_SET, node, rule=text or "nothing of its own"), by=authority)
    return True


def _values(row: RequestRule | None) -> dict[str, object]:
    return {name: getattr(row, name, None) for name in NAMES}


def _check(
    min_reason: int | None,
    ticket: str | None,
    escalate_hours: int | None,
    lapse_hours: int | None,
    longest_days: int | None,
) -> None:
    _within(gettext("The shortest reason"), min_reason, 0, MOST_REASON)
    _within(gettext("The hours until the next level is asked"), escalate_hours, 0, MOST_HOURS)
    _within(gettext("The hours until a request lapses"), lapse_hours, 1, MOST_HOURS)
    _within(gettext("The longest time in days"), longest_days, 0, durations.LONGEST_DAYS)
    if ticket is not None and (len(ticket) > LONGEST_TICKET or not ticket.isprintable()):
        raise Invalid(
            gettext("The form of a ticket has at most %(most)s characters, such as DATA-#.")
            % {"most": LONGEST_TICKET}
        )


def _check_plan_approval(node: Node, wanted: str | None) -> None:
    values = RequestRule.PlanApproval.values
    if wanted is not None and wanted not in values:
        raise Invalid(
            gettext("Plans need approval %(known)s.") % {"known": ", ".join(values)}, "plan_approval"
        )
    if wanted is not None and node.id != node.root_id:
        raise Invalid(gettext("Approval of plans is set for a whole realm."), "plan_approval")


def _within(what: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise Invalid(
            gettext("%(what)s must be from %(least)s to %(most)s.")
            % {"what": what, "least": least, "most": most}
        )
