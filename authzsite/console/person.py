"""The page of a person, a group or a service account: what it reaches and how, its roles, its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from accounts.models import Membership, Principal
from authzsite import sheet
from authzsite.console import admins, naming, picture, record, words
from authzsite.console.asking.links import asking
from authzsite.console.door import signed_in
from authzsite.console.keyset import ordered, told
from authzsite.console.known import Circle, circle_of, realm_words
from authzsite.console.lists import Pager
from authzsite.console.measures.beside import on_person
from authzsite.console.methods import reads
from authzsite.console.parts import Action, Chip, Crumbs, Empty, Face, Fact, Facts, Reason, Tab, Tabs, Who
from authzsite.console.reach import SHOWN, Asked, Reach
from authzsite.console.requests import Request, number_in
from authzsite.console.shell import page
from catalog.nodes import Node
from catalog.queries import nodes
from policies import access_log, decisions, history, slices
from policies.history import Filter
from policies.models import Assignment, RealmMember
from policies.ownership import owners_of
from policies.services.grants import revision_now
from policies.services.personal import is_personal
from policies.uses import last_uses

NO_GIVING, NO_REMOVING = "why-not-give", "why-not-remove"
TABS = (
    ("person", "Reach"),
    ("person_groups", "Groups and roles"),
    ("person_history", "History"),
    ("person_then", "Past"),
    ("person_sees", "Check as"),
)


@dataclass(frozen=True)
class Held:
    """A group or a role somebody is in, or a person in a group."""

    who: Who
    how: str
    ends: Chip | None
    action: Action | None = None


@dataclass(frozen=True)
class Visit:
    """One viewer looking at one person, with what every tab of the page shows."""

    circle: Circle
    person: Principal
    reach: Reach
    tab: str

    def page(self, request: Request, template: str, context: dict[str, Any]) -> HttpResponse:
        actions = self.actions()
        frame = {
            "crumbs": Crumbs((("People", reverse("console:people")),)),
            "heading": self.person.label,
            "kind": "You" if self.own else self.person.get_kind_display().capitalize(),
            "lead": self._lead(),
            "actions": actions,
            "reasons": self.reasons(actions),
            "facts": self.facts(),
            "tabs": Tabs(tuple(self._tab(*one) for one in TABS)),
            "person": self.person,
            "own": self.own,
        }
        return page(
            request,
            template,
            {**frame, **context},
            room="people",
            realm=realm_words(self.circle),
            revision=revision_now(),
        )

    @property
    def own(self) -> bool:
        return self.person.pk == self.circle.asker.pk

    def _lead(self) -> str:
        realms = words.listed([one.name for one in self.circle.realms])
        if self.circle.is_own(self.person):
            return f"{self.person}; all access in {realms}."
        return f"{self.person}; access in {realms} to what you may know of."

    def actions(self) -> list[Action]:
        asked = urlencode({"who": str(self.person)})
        first = [Action("Ask why", f"{reverse('console:why')}?{asked}", "plain", "why")]
        first += asking(self.circle.asker, self.person)
        if self.own:
            return [*first, Action("Your settings", reverse("console:profile"))]
        give, here = reverse("console:person_grant", args=[self.person.pk]), self.circle
        reason = "" if here.gives_access else NO_GIVING
        return [
            *first,
            *(self._coming_and_going() if here.gives_access or here.runs_the_site else ()),
            *self._removing(),
            *self._handing_over(),
            Action(f"Grant to {self.person.label}", give, "primary", reason=reason, key="a"),
        ]

    def reasons(self, actions: list[Action]) -> list[Reason]:
        """Why some of the buttons are not his, once each."""
        told = {
            NO_GIVING: "Access is given by who owns something, or holds Manage grants on it.",
            NO_REMOVING: "Members are removed by the owner of the realm, or who may manage its users.",
        }
        off = dict.fromkeys(one.reason for one in actions if one.reason in told)
        return [Reason(code, told[code], reverse("console:catalog"), "Find what to ask for") for code in off]

    def _coming_and_going(self) -> Iterable[Action]:
        if self.person.kind != Principal.Kind.GROUP:
            number = [self.person.pk]
            yield Action("Same as a colleague", reverse("console:person_same", args=number), "plain")
            yield Action("Leaving", reverse("console:person_leaving", args=number), "plain")

    def _removing(self) -> Iterable[Action]:
        """From each realm; disabled where the viewer does not manage its members."""
        operation = "Group.removeGroup" if self.person.kind == "group" else "User.removeUser"
        member = RealmMember.objects.open().filter(principal=self.person).values_list("realm", flat=True)
        inside = set(member)
        for realm in self.circle.realms:
            if realm.realm_id in inside:
                url = reverse("console:member_remove", args=[realm.id])
                asked = urlencode({"who": str(self.person)})
                reason = "" if decisions.ask(self.circle.asker, operation, realm) else NO_REMOVING
                yield Action(f"Remove from {realm.name}", f"{url}?{asked}", "danger", reason=reason)

    def _handing_over(self) -> Iterable[Action]:
        if self.reach.counts["owned"]:
            url = f"{reverse('console:owners')}?{urlencode({'of': str(self.person)})}"
            yield Action("Hand over what is owned", url)

    def facts(self) -> Facts:
        counted = self.reach.counts
        groups = {rule.via[0].key for _, rule in self.reach.rules if rule.via and rule.via[0].kind == "group"}
        told = [
            Fact("Reaches", words.count(len(self.reach.all), "object")),
            Fact("Owns", words.count(counted["owned"], "object") if counted["owned"] else "Nothing"),
            Fact("May grant on", words.count(counted["grant"], "object") if counted["grant"] else "Nothing"),
            Fact("Denied on", words.count(counted["denied"], "object") if counted["denied"] else "Nothing"),
            Fact("Ends soon", words.count(counted["soon"], "object") if counted["soon"] else "Nothing"),
        ]
        if groups and self.person.kind != Principal.Kind.GROUP:
            told.append(Fact("Through", words.count(len(groups), "group")))
        if self.person.kind != Principal.Kind.GROUP:
            told.append(self._used())
        return Facts(tuple(told))

    def _used(self) -> Fact:
        """What a job last told that was used under this name, as far as the viewer may know of it."""
        uses = last_uses(self.person, [one.realm_id for one in self.circle.realms])
        places = nodes([use.securable_id for use in uses]) if uses else {}
        known = {key: one for key, one in places.items() if self.circle.sees(self.person, one)}
        for use in uses:
            if use.securable_id in known:
                return Fact(
                    "Last used", words.ago(use.at), note=f"{use.action} {known[use.securable_id].name}"
                )
        return Fact("Last used", "Nothing told")

    def _tab(self, code: str, label: str) -> Tab:
        label = "People and roles" if code == "person_groups" and self.person.kind == "group" else label
        label = "What you see" if code == "person_sees" and self.own else label
        count = words.number(len(self.reach.all)) if code == "person" else ""
        return Tab(label, reverse(f"console:{code}", args=[self.person.pk]), code == self.tab, count)


def visit(request: Request, id: int, tab: str) -> Visit:
    circle = circle_of(request)
    person = circle.meet(id)
    asked = Asked(
        text=request.GET.get("q", "").strip()[:255],
        how=request.GET.get("how", ""),
        pick=number_in(request.GET.get("pick", "")) or 0,
        after=number_in(request.GET.get("after", "")) or 0,
    )
    if not circle.is_own(person):
        for realm in circle.realms:
            access_log.looked(circle.asker, f"access of {person.pseudonym}", realm, via="console")
    return Visit(circle, person, Reach(circle, person, asked), tab)


@reads
@signed_in
def person(request: Request, id: int) -> HttpResponse:
    """What somebody reaches: the picture of the path, and the table."""
    seen = visit(request, id, "person")
    reach, after = seen.reach, seen.reach.asked.after + SHOWN
    many = words.count(len(reach.wanted), "object")
    context = {
        "picture": picture.draw(reach),
        "rows": reach.rows(),
        "asked": reach.asked,
        "toggles": reach.toggles(),
        "count_words": many,
        "csv": reverse("console:person_csv", args=[id]),
        "pager": Pager(
            f"{many}, by name",
            reach.asked.url(after=0) if reach.asked.after else "",
            reach.asked.url(after=after) if after < len(reach.wanted) else "",
        ),
        "empty": _nothing(seen),
        "coming": reach.coming(),
        "givers": _givers(seen) if seen.own else (),
        "latest": record.timeline(record.rows(_changes(seen, limit=4).entries)[:6]),
        "history_url": reverse("console:person_history", args=[id]),
        **on_person(seen.circle.asker, seen.person, seen.circle.realms),
    }
    return seen.page(request, "console/person/reach.html", context)


def _givers(seen: Visit) -> list[Who]:
    """Who owns each realm, and so gives access to all of it."""
    roots = {one.id: one for one in seen.circle.realms}
    owned = owners_of(list(roots))
    url = "console:person"
    return [
        naming.who(one, f"owns {roots[key].name}", reverse(url, args=[one.pk]) if seen.own else "")
        for key, one in owned.items()
        if one.pk != seen.person.pk
    ]


def _changes(seen: Visit, *, limit: int, before: int | None = None) -> history.Page:
    return history.page(
        Filter(person=seen.person), seen.circle.sight, before=before, limit=limit, lines=record.LINES
    )


def _nothing(seen: Visit) -> Empty:
    asked = seen.reach.asked
    if asked.text or asked.how:
        return Empty("Nothing matches", drawn=False, actions=(Action("Show all", "?"),))
    if seen.own:
        browse = Action("Browse the catalog", reverse("console:catalog"))
        return Empty("You reach nothing yet", "Find what you need and ask its owner.", actions=(browse,))
    return Empty(f"{seen.person.label} reaches nothing that you may know of")


@reads
@signed_in
def person_csv(request: Request, id: int) -> HttpResponseBase:
    """The same table as a file, to its end."""
    seen = visit(request, id, "person")
    head = ["principal", "name", "object", "type", "can", "usable", "how", "ends"]
    return sheet.answer(f"reach-{id}", head, _csv_lines(seen))


def _csv_lines(seen: Visit) -> Iterator[list[object]]:
    for one in seen.reach.wanted:
        ways = naming.paths(seen.reach.telling(one), one.node, seen.reach.groups)
        how = "; ".join(" > ".join(chip.text for chip in way.chips) for way in ways)
        when = naming.from_seconds(one.ends)
        usable, ends = "no" if one.lacking else "yes", when.isoformat() if when else ""
        who = (seen.person, seen.person.label)
        yield [*who, one.node.ref.id, one.node.type, one.words, usable, how, ends]


# Groups and roles


@reads
@signed_in
def groups(request: Request, id: int) -> HttpResponse:
    """The groups somebody is in, or the people in a group, and the roles held."""
    seen = visit(request, id, "person_groups")
    group = seen.person.kind == Principal.Kind.GROUP
    shown, pager = _inside(seen, number_in(request.GET.get("after", ""))) if group else (_around(seen), None)
    return seen.page(
        request,
        "console/person/groups.html",
        {
            "groups": shown,
            "pager": pager,
            "groups_action": _joining(seen) if group else None,
            "groups_reason": _no_joining(seen) if group else None,
            "groups_heading": "People in it" if group else "Groups",
            "groups_empty": "Nobody that you may know is in it."
            if group
            else "In no group that you may know.",
            "roles": _roles(seen),
            "roles_action": _giving(seen),
            "roles_empty": "No role that you may see. What is given directly stands under Reach.",
        },
    )


def _around(seen: Visit) -> list[Held]:
    known = seen.circle.people(kind="group").values("pk")
    rows = Membership.objects.open().filter(member=seen.person)
    if not seen.own:
        rows = rows.filter(group__in=known)
    return [_held(row.group, row) for row in rows.select_related("group").order_by("group__name")]


def _inside(seen: Visit, after: int | None) -> tuple[list[Held], Pager | None]:
    """One page of the people in a group, by name."""
    known = seen.circle.people().values("pk")
    rows = Membership.objects.open().filter(group=seen.person, member__in=known).select_related("member")
    found = list(ordered(rows, ("member__display_name", "member__name"), after)[: SHOWN + 1])
    shown, more = found[:SHOWN], len(found) > SHOWN
    told_ = told(shown[0].member.label, shown[-1].member.label) if shown else ""
    pager = Pager(told_, "?" if after else "", f"?after={shown[-1].pk}" if more else "")
    held = [_held(row.member, row, _leaving(seen, row.member)) for row in shown]
    return held, pager if more or after else None


def _held(one: Principal, row: Membership, action: Action | None = None) -> Held:
    url = reverse("console:person", args=[one.pk])
    when = naming.window_chip(row.valid_from, row.valid_until)
    return Held(naming.who(one, one.name, url), "", when, action)


def _joining(seen: Visit) -> Action:
    url = reverse("console:group_join", args=[seen.person.pk])
    return Action("Put somebody in", url, reason="" if seen.circle.runs_the_site else "why-not-join")


def _no_joining(seen: Visit) -> Reason | None:
    if seen.circle.runs_the_site:
        return None
    text = f"Who is in a group is the site's word; it is changed by its service admins, {admins.who_words()}."
    return Reason("why-not-join", text)


def _giving(seen: Visit) -> Action | None:
    """The button, for which the head says the reason; none on the own page of who gives nothing."""
    gives = seen.circle.gives_access
    url = reverse("console:person_roles", args=[seen.person.pk])
    return None if seen.own and not gives else Action("Give roles", url, reason="" if gives else NO_GIVING)


def _leaving(seen: Visit, member: Principal) -> Action | None:
    if not seen.circle.runs_the_site:
        return None
    url = f"{reverse('console:group_leave', args=[seen.person.pk])}?{urlencode({'who': str(member)})}"
    return Action("Take out", url, "mini", more=f"{member.label} of {seen.person.label}")


def _roles(seen: Visit) -> list[Held]:
    """The roles held, directly and through groups, personal ones left out, that the viewer may see."""
    around = Membership.objects.open().filter(member=seen.person).values("group")
    held = Assignment.objects.open().filter(Q(holder=seen.person) | Q(holder__in=around))
    realms = {one.realm_id: one for one in seen.circle.realms}
    rows = list(held.filter(role__realm__in=realms).select_related("holder"))
    places = nodes({row.role_id for row in rows})
    now = seen.reach.now
    sliced = {key: slices.current(seen.circle.asker, realm, now=now) for key, realm in realms.items()}
    shown = [
        (places[row.role_id], row)
        for row in rows
        if row.role_id in places
        and not is_personal(places[row.role_id].name)
        and (
            seen.own or decisions.may_see(sliced[places[row.role_id].realm_id], places[row.role_id], now=now)
        )
    ]
    return [_role(seen, role, row) for role, row in sorted(shown, key=lambda pair: pair[0].names)]


def _role(seen: Visit, role: Node, row: Assignment) -> Held:
    direct = row.holder_id == seen.person.pk
    who = Who(role.name, Face("thing", "role"), role.realm, naming.page_of(role.id, "role"))
    how = "Directly" if direct else f"As {row.holder.label}"
    return Held(who, how, naming.window_chip(row.valid_from, row.valid_until))


# The record


@reads
@signed_in
def past(request: Request, id: int) -> HttpResponse:
    """What changed about somebody, newest first."""
    seen = visit(request, id, "person_history")
    before = number_in(request.GET.get("before", ""))
    found = _changes(seen, limit=50, before=before)
    next_ = f"?before={found.next}" if found.next else ""
    context = {
        "rows": record.rows(found.entries),
        "pager": Pager("Newest first", "?" if before else "", next_),
        "empty": Empty("Nothing that you may see has changed"),
    }
    return seen.page(request, "console/person/history.html", context)
