"""Breaking the glass: holders of the duty open an object for themselves at once, for hours, in sight of all.

The duty is given beforehand; it gives nothing by itself.  Opening writes rights with an end, as any grant,
tells the owners at once, and leaves a review open until somebody else closes it.  A denial stays: it is said,
and its author must lift it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal, User
from accounts.record import Origin
from accounts.text import recordable
from catalog.nodes import Node, nodes
from catalog.nodes import node as node_of
from lakewarden.law import dialects
from lakewarden.law.dialects.base import Privilege
from policies import authority as authorities
from policies import notices
from policies.authority import Actor, Authority
from policies.decisions import approvers, ask, duties
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import owners_along
from policies.errors import Conflict, Invalid, NotFound, Refused
from policies.events import (
    EMERGENCY_CLOSED,
    EMERGENCY_ENDED,
    EMERGENCY_OPENED,
    GRANT_ADDED,
    GRANT_REMOVED,
)
from policies.models import Emergency, Event, Grant
from policies.models.emergencies import EMERGENCY
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.requests import parties
from policies.sentences import either, say, sentence
from policies.services import grant_holders, personal_roles, realm_of
from policies.services.roles import catalog_kind, must_be_member

log = logging.getLogger(__name__)
DUTY = "break_glass"
READ, WRITE = "read", "write"
SHORTEST_REASON, SHORTEST_VERDICT, LONGEST, NAMED = 12, 12, 2000, 3
OPENED = notices.kind("emergency.opened", "your data opened in an emergency")
TO_REVIEW = notices.kind("emergency.review", "emergencies whose review waits for you")
TO_READ = sentence("emergency.to_read", "{who} opened {name} in an emergency, to read: {reason}")
TO_WRITE = sentence("emergency.to_write", "{who} opened {name} in an emergency, to read and write: {reason}")
IS_OVER = sentence("emergency.over", "The emergency of {who} on {name} is over; review what was done.")


@dataclass(frozen=True)
class EmergencyRequest:
    """What somebody opens for themselves: an object, to read or to read and write, for some hours."""

    node: Node
    action: str
    hours: int
    reason: str
    key: str = ""


def longest() -> int:
    """For how many hours at most."""
    hours: int = settings.LAKEWARDEN_EMERGENCY_HOURS
    return hours


def may(person: Principal, node: Node, *, now: datetime | None = None) -> bool:
    """Whether they have the duty on the object or above it.  Two queries."""
    return duties.has(person, DUTY, node, now=now)


def open_for_oneself(wanted: EmergencyRequest, *, by: Actor) -> Emergency:
    """Open the object for the actor alone, at once.  Raises Refused, Invalid, Conflict, Separated.

    The same `key` again answers what was opened by it.
    """
    person = _person(by)
    if wanted.key and (emergency := Emergency.objects.filter(person=person, request_id=wanted.key).first()):
        if emergency.securable_id != wanted.node.id:
            raise Conflict(gettext("This key was used to open something else."))
        return emergency
    with change(EMERGENCY_OPENED, realm=realm_of(wanted.node), by=by, reason=wanted.reason) as current:
        authority = _authority(by, person, wanted.node, current.at)
        codes = _check(wanted, person, current.at)
        until = current.at + timedelta(hours=wanted.hours)
        row = Emergency.objects.create(
            person=person,
            realm_id=wanted.node.realm_id,
            securable_id=wanted.node.id,
            privileges=list(codes),
            reason=recordable(wanted.reason.strip(), LONGEST),
            request_id=recordable(wanted.key, 64),
            opened=current.at,
            until=until,
            revision=current.revision,
        )
        for node, code in _rights(wanted.node, codes):
            fact = Grant(
                **grant_holders.ensure(current, node, person),
                securable_id=node.id,
                privilege=code,
                origin=Origin.EMERGENCY,
                valid_until=until,
            )
            event = make_event(
                GRANT_ADDED, node, person, privilege=code, holder=person.pseudonym, until=until.isoformat()
            )
            current.begin(fact, event, by=authority)
        event = make_event(EMERGENCY_OPENED, wanted.node, person, until=until.isoformat(), emergency=row.pk)
        current.say(event, by=authority)
        _tell(row, wanted.node)
        _show_to(person)
    return row


def _person(by: Actor) -> Principal:
    if by.principal is None or by.on_behalf_of is not None:
        raise Refused(gettext("People open an emergency for themselves, and for nobody else."))
    return by.principal


def _authority(actor: Actor, person: Principal, node: Node, now: datetime) -> Authority:
    return authorities.of_duty(
        actor,
        DUTY,
        held=may(person, node, now=now),
        otherwise=gettext("Only people with the duty for emergencies may open this."),
    )


def _check(wanted: EmergencyRequest, person: Principal, now: datetime) -> tuple[str, ...]:
    """What is to be given.  Raises Invalid, Conflict, Refused."""
    if not 1 <= wanted.hours <= longest():
        raise Invalid(gettext("An emergency lasts 1 to %(most)s hours.") % {"most": longest()})
    if len(wanted.reason.strip()) < SHORTEST_REASON:
        raise Invalid(
            gettext("Describe what happened in at least %(least)s characters; the owners read it.")
            % {"least": SHORTEST_REASON}
        )
    must_be_member(wanted.node, person)
    codes = privileges(wanted.node, wanted.action)
    if not codes:
        raise Invalid(gettext("There is no emergency access to an object of this type."))
    running = Emergency.objects.filter(person=person, securable=wanted.node.id, state="open", until__gt=now)
    if running.exists():
        raise Conflict(gettext("You have opened this already; it is still open."))
    if overlapping := _overlapping(person, wanted.node, now):
        name = overlapping.ref.full_name or overlapping.name
        raise Conflict(
            gettext("You have already opened %(name)s, which overlaps this. End it first.") % {"name": name}
        )
    if why := barred(person, wanted.node, now):
        raise Conflict(why)
    if denied := denials(person, wanted.node, codes, now):
        raise Refused(
            gettext("%(denied)s An emergency does not lift a denial; ask the author of the denial.")
            % {"denied": denied}
        )
    return codes


def _overlapping(person: Principal, node: Node, now: datetime) -> Node | None:
    """What the person has open on the way to an object, or in it: one at a time on one branch."""
    rows = Emergency.objects.filter(person=person, state="open", until__gt=now)
    by_id = nodes(rows.values_list("securable", flat=True))
    return next((item for item in by_id.values() if item.id in node.lineage or node.id in item.lineage), None)


def barred(person: Principal, node: Node, now: datetime, *, inside: bool = True) -> str:
    """Why they may not open it again: an earlier opening waits for its review; empty where none does.

    `inside`: what was opened in it counts, too; all else in it may still be opened.  One query where nothing
    of theirs waits.
    """
    rows = {row.securable_id: row for row in waiting(now).filter(person=person)}
    # a container holds what was opened in it
    by_id = nodes(rows) if rows else {}
    opened = [
        item for item in by_id.values() if item.id in node.lineage or (inside and node.id in item.lineage)
    ]
    before = max(opened, key=lambda node: rows[node.id].pk, default=None)
    if before is None:
        return ""
    row = rows[before.id]
    principals = [
        item.principal for item in approvers.of(before, now=now) if _reviews(item.principal, row, before)
    ]
    names = list(dict.fromkeys(item.label for item in principals))[:NAMED]
    who = either(names) or gettext("a site admin")
    name = before.ref.full_name or before.name
    return gettext(
        "Your earlier emergency on %(name)s waits for its review. %(who)s can close it; then open it again."
    ) % {"name": name, "who": who}


def privileges(node: Node, action: str) -> tuple[str, ...]:
    """The codes that open an object to be read, or read and written; empty where nothing fits."""
    law = dialects.get(node.kind)
    if law.by_text or action not in (READ, WRITE) or node.type == "role":
        return ()
    wanted = (READ,) if action == READ else (READ, WRITE)
    return tuple(item.code for item in _fitting(node) if item.category in wanted)


def _fitting(node: Node) -> list[Privilege]:
    """What the law lets be given on an object, in its order."""
    law, kind = dialects.get(node.kind), catalog_kind(node)
    bindable = [
        privilege
        for privilege in law.privileges.values()
        if not law.bindable(privilege.code, node.type, kind)
    ]
    return sorted(bindable, key=lambda privilege: privilege.bit)


def _rights(node: Node, codes: Sequence[str]) -> list[tuple[Node, str]]:
    """The rights on the object, after those to use what is above it and what it holds."""
    way = [
        (place, item.code)
        for place in node.above()
        for item in _fitting(place)
        if item.code == f"USE_{place.type.upper()}"
    ]
    inside = [(node, item.code) for item in _fitting(node) if item.category == "use"]
    return [*way, *inside, *((node, code) for code in codes)]


def denials(person: Principal, node: Node, codes: Sequence[str], now: datetime) -> str:
    """Which denials would stay, in a sentence; empty when there is none on the object or above it."""
    answer = ask.ask(person, READ, node, now=now)
    rules = [
        rule
        for rule in answer.slice.rules
        if not rule.allow and rule.object in node.lineage and rule.holds_at(now.timestamp())
    ]
    mine = [rule for rule in rules if rule.privilege in {code for _, code in _rights(node, codes)}]
    if not mine:
        return ""
    by = [
        station.name for station in mine[0].via if station.kind == "role" and not station.name.startswith("~")
    ]
    if not by:
        return gettext("%(privilege)s is denied to you.") % {"privilege": mine[0].privilege}
    return gettext("%(privilege)s is denied to you by role %(role)s.") % {
        "privilege": mine[0].privilege,
        "role": by[-1],
    }


def _tell(row: Emergency, node: Node) -> None:
    reads = tuple(row.privileges) == privileges(node, READ)
    code, name = TO_READ if reads else TO_WRITE, node.ref.full_name or node.name
    notices.tell(
        watchers(row, node),
        OPENED,
        say(code, name=name, reason=row.reason),
        key=f"emergency:{row.pk}",
        link=f"/emergency/{row.pk}",
        who=row.person,
        until=row.until,
        urgent=True,
    )


def watchers(row: Emergency, node: Node) -> list[Principal]:
    """Whom an emergency is told to: who answers for the object, and who may say who has access to it."""
    owners = [item for item in owners_along(node).values() if item.pk != row.person_id]
    deciding = [item.principal for item in approvers.of(node, without=[row.person])]
    return list({owner.pk: owner for owner in (*owners, *deciding)}.values())


def _show_to(person: Principal) -> None:
    """Keep beside the account until when something is open, so that every page can say so."""
    open_ = Emergency.objects.filter(person=person, state="open").order_by("-until")
    User.objects.filter(principal=person).update(emergency_until=open_.values("until")[:1])


# Its end


def end(number: int, *, by: Actor, reason: str = "") -> Emergency:
    """End it sooner: by its opener, or an approver of the object.

    Raises NotFound, Refused, Conflict.
    """
    row, node = seen(number, by)
    with change(EMERGENCY_ENDED, realm=realm_of(node), by=by, reason=reason) as current:
        own = by.principal is not None and by.principal.pk == row.person_id
        held = own or _governs(by.principal, row, node)
        authority = authorities.of_duty(by, DUTY, held=held, otherwise=gettext("You cannot end it."))
        EMERGENCY.move(Emergency.objects.filter(pk=row.pk), "end", ended=current.at)
        given = Grant.objects.open().filter(opened=row.revision, origin=Origin.EMERGENCY)
        for fact in given:
            place = node_of(fact.securable_id or 0) or node
            told_ = {"privilege": fact.privilege, "holder": row.person.pseudonym, "until": None}
            current.end(fact, make_event(GRANT_REMOVED, place, row.person, **told_), by=authority)
        personal_roles.drop_when_empty(current, node, row.person)
        current.say(make_event(EMERGENCY_ENDED, node, row.person, emergency=row.pk), by=authority)
        _review_waits(row, node)
        _show_to(row.person)
    row.refresh_from_db()
    return row


def finish(row: Emergency, now: datetime) -> None:
    """Its time is over: from now on its review waits."""
    rows = Emergency.objects.filter(pk=row.pk, state="open", until__lte=now)
    if rows.update(state="ended", ended=row.until):
        node = node_of(row.securable_id)
        if node is not None:
            _review_waits(row, node)
        _show_to(row.person)


def finish_all(now: datetime) -> int:
    """Have the reviews wait of all whose time is over; answers how many.  The access ended by itself."""
    over = list(Emergency.objects.filter(state="open", until__lte=now).select_related("person"))
    for row in over:
        finish(row, now)
    return len(over)


def reopen_reviews() -> int:
    """Have reviews wait that nobody closed by the record, whatever the row says; answers how many.

    Whoever closed their own in the database would be reviewed by nobody, and could open it anew.
    """
    closed = list(Emergency.objects.filter(state="closed").select_related("person"))
    numbers = (
        set(Event.objects.filter(kind=kind).values_list("data__emergency", flat=True))
        for kind in (EMERGENCY_OPENED, EMERGENCY_CLOSED)
    )
    opened, reviewed = numbers if closed else (set(), set())  # of what is archived both are
    unreviewed = opened - reviewed
    forged = [row for row in closed if row.pk in unreviewed]
    for row in forged:
        log.error("the review of emergency %s was closed outside the console", row.pk)
        again = {"state": "ended", "reviewer": None, "verdict": "", "reviewed": None}
        Emergency.objects.filter(pk=row.pk).update(**again)
        node = node_of(row.securable_id)
        if node is not None:
            _review_waits(row, node)
    return len(forged)


def _review_waits(row: Emergency, node: Node) -> None:
    notices.settle(f"emergency:{row.pk}")
    notices.tell(
        watchers(row, node),
        TO_REVIEW,
        say(IS_OVER, name=node.ref.full_name or node.name),
        key=f"emergency-review:{row.pk}",
        link=f"/emergency/{row.pk}",
        who=row.person,
    )


# Its review


def close(number: int, verdict: str, *, by: Actor) -> Emergency:
    """Close the review with words: somebody else with authority over the object.

    Raises NotFound, Refused, Invalid, Conflict.
    """
    row, node = seen(number, by)
    finish(row, timezone.now())
    with change(EMERGENCY_CLOSED, realm=realm_of(node), by=by) as current:
        held = _reviews(by.principal, row, node)
        words = gettext("Another approver of the object closes it; nobody reviews their own emergency.")
        authority = authorities.of_duty(by, "emergency_review", held=held, otherwise=words)
        verdict = recordable(verdict.strip(), LONGEST)
        if len(verdict) < SHORTEST_VERDICT:
            raise Invalid(
                gettext("Describe what you found in at least %(least)s characters.")
                % {"least": SHORTEST_VERDICT}
            )
        EMERGENCY.move(
            Emergency.objects.filter(pk=row.pk),
            "close",
            reviewer=by.principal,
            verdict=verdict,
            reviewed=current.at,
        )
        current.say(
            make_event(EMERGENCY_CLOSED, node, row.person, emergency=row.pk, words=verdict), by=authority
        )
        notices.settle(f"emergency-review:{row.pk}")
    row.refresh_from_db()
    return row


def may_review(person: Principal, row: Emergency, node: Node) -> bool:
    return row.state != "closed" and _reviews(person, row, node)


def _reviews(person: Principal | None, row: Emergency, node: Node) -> bool:
    """Another person who governs it.

    No program, since the opener may keep it; nor, where a program opened it, its keeper.
    """
    if person is None or person.kind != Principal.Kind.USER:
        return False
    own = row.person.kind != Principal.Kind.USER and row.person_id in parties.served_by_own(person)
    return not own and _governs(person, row, node)


def _governs(person: Principal | None, row: Emergency, node: Node) -> bool:
    """Somebody else, who may say who has access to the object, or is site admin."""
    if person is None or person.pk == row.person_id:
        return False
    return is_service_admin(person) or bool(approvers.may(person, node))


# Looking at it


def seen(number: int, by: Actor) -> tuple[Emergency, Node]:
    """An emergency that the actor may see, with its object.  Raises NotFound for all others alike."""
    row = Emergency.objects.filter(pk=number).select_related("person", "reviewer").first()
    node = node_of(row.securable_id) if row else None
    if row is None or node is None or by.principal is None or not _sees(by.principal, row, node):
        raise NotFound(gettext("There is no such emergency, or you may not see it."))
    return row, node


def _sees(person: Principal, row: Emergency, node: Node) -> bool:
    if person.pk == row.person_id or _governs(person, row, node):
        return True
    return duties.has(person, "view_history", node)


def of_person(person: Principal) -> QuerySet[Emergency]:
    """What somebody opened, the newest first."""
    return Emergency.objects.filter(person=person).select_related("person").order_by("-pk")


def waiting(now: datetime) -> QuerySet[Emergency]:
    """All whose review waits, the oldest first."""
    over = Q(state="ended") | Q(state="open", until__lte=now)
    return Emergency.objects.filter(over).select_related("person").order_by("pk")


def on(keys: Collection[int]) -> QuerySet[Emergency]:
    """Those on some objects, the newest first."""
    return Emergency.objects.filter(securable__in=keys).select_related("person").order_by("-pk")
