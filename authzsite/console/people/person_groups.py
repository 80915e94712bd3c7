"""The groups and roles of a person, and the people of a group."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import directory
from accounts.models import Membership, Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.keyset import keyset_page
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Chip, Empty, Face, Reason, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.people.group_members import DIRECTORY_KEEPS
from authzsite.console.people.person_access import NO_GIVING, PersonAccess, get_person_or_404
from catalog.nodes import Node
from catalog.queries import nodes
from policies.decisions import ask, slices
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment

SHOWN = 50


@dataclass(frozen=True)
class MembershipRow:
    """A group or a role somebody is in, or a person in a group."""

    who: Who
    how: str
    ends: Chip | None
    action: Action | None = None


def nothing_to_give(text: str) -> Empty:
    """Where somebody looks for an object to give access to, by a name or at all, and has none."""
    return Empty(
        _("You cannot grant access to anything called “%(text)s”") % {"text": text}
        if text
        else _("You cannot grant access to anything"),
        _("Its owner can grant access to it."),
        drawn=False,
        level=2,
    )


@reads
@login_required
def membership_list(request: Request, id: int) -> HttpResponse:
    """The groups somebody is in, or the people in a group, and the roles held."""
    seen = get_person_or_404(request, id, "person_groups")
    group = seen.person.kind == Principal.Kind.GROUP
    kept = group and directory.keeps(seen.person)
    after = number_in(request.GET.get("after", ""))
    shown, pager = _inside(seen, after, kept=kept) if group else (_around(seen), None)
    # the button, for which the head says the reason; none on the own page of who gives nothing
    gives = seen.circle.gives_access
    url = reverse("console:person_roles", args=[seen.person.pk])
    giving = (
        None if seen.own and not gives else Action(_("Assign roles"), url, reason="" if gives else NO_GIVING)
    )
    return seen.page(
        request,
        "console/people/person_groups.html",
        {
            "groups": shown,
            "pager": pager,
            "groups_action": _joining(seen) if group and not kept else None,
            "groups_reason": _no_joining(seen, kept=kept) if group else None,
            "groups_heading": _("People in it") if group else _("Groups"),
            "groups_empty": _("Nobody you can see is in it.")
            if group
            else _("In no group that you can see."),
            "roles": _roles(seen),
            "roles_action": giving,
            "roles_empty": _("No role that you can see. What is granted directly is under Rights."),
        },
    )


def _around(seen: PersonAccess) -> list[MembershipRow]:
    visible = seen.circle.people(kind="group").values("pk")
    rows = Membership.objects.open().filter(member=seen.person)
    if not seen.own:
        rows = rows.filter(group__in=visible)
    return [_held(row.group, row) for row in rows.select_related("group").order_by("group__name")]


def _inside(seen: PersonAccess, after: int | None, *, kept: bool) -> tuple[list[MembershipRow], Pager | None]:
    """One page of the people in a group, by name."""
    visible = seen.circle.people().values("pk")
    rows = Membership.objects.open().filter(group=seen.person, member__in=visible).select_related("member")
    shown = keyset_page(rows, ("member__display_name", "member__name"), after, SHOWN)
    bounds = shown.bounds(lambda row: row.member.label)
    pager = shown.pager(bounds, lambda after: f"?after={after}" if after else "?")
    held = [_held(row.member, row, None if kept else _leaving(seen, row.member)) for row in shown.rows]
    return held, pager if shown.following or after else None


def _held(principal: Principal, row: Membership, action: Action | None = None) -> MembershipRow:
    url = reverse("console:person", args=[principal.pk])
    when = terms.window_chip(row.valid_from, row.valid_until)
    return MembershipRow(terms.who(principal, principal.name, url), "", when, action)


def _joining(seen: PersonAccess) -> Action:
    url = reverse("console:group_join", args=[seen.person.pk])
    return Action(_("Add someone"), url, reason="" if seen.circle.runs_the_site else "why-not-join")


def _no_joining(seen: PersonAccess, *, kept: bool) -> Reason | None:
    if kept:
        return Reason("why-not-join", DIRECTORY_KEEPS)
    if seen.circle.runs_the_site:
        return None
    text = _("Only a site admin can change who is in a group. %(admin_names)s") % {
        "admin_names": site_admins.admin_names()
    }
    return Reason("why-not-join", text)


def _leaving(seen: PersonAccess, member: Principal) -> Action | None:
    if not seen.circle.runs_the_site:
        return None
    url = f"{reverse('console:group_leave', args=[seen.person.pk])}?{urlencode({'who': str(member)})}"
    return Action(
        _("Take out"),
        url,
        "mini",
        more=_("%(label)s of %(label2)s") % {"label": member.label, "label2": seen.person.label},
    )


def _roles(seen: PersonAccess) -> list[MembershipRow]:
    """The roles held, directly and through groups, personal ones left out, that the viewer may see."""
    around = Membership.objects.open().filter(member=seen.person).values("group")
    held = Assignment.objects.open().filter(Q(holder=seen.person) | Q(holder__in=around))
    realms = {item.realm_id: item for item in seen.circle.realms}
    rows = list(held.filter(role__realm__in=realms).select_related("holder"))
    places = nodes({row.role_id for row in rows})
    now = seen.reach.now
    sliced = {key: slices.current(seen.circle.asker, realm, now=now) for key, realm in realms.items()}
    shown = [
        (places[row.role_id], row)
        for row in rows
        if row.role_id in places
        and not is_personal(places[row.role_id].name)
        and (seen.own or ask.may_see(sliced[places[row.role_id].realm_id], places[row.role_id], now=now))
    ]
    return [_role(seen, role, row) for role, row in sorted(shown, key=lambda pair: pair[0].names)]


def _role(seen: PersonAccess, role: Node, row: Assignment) -> MembershipRow:
    direct = row.holder_id == seen.person.pk
    who = Who(role.name, Face("thing", "role"), role.realm, terms.page_of(role.id, "role"))
    how = _("Directly") if direct else _("As %(label)s") % {"label": row.holder.label}
    return MembershipRow(who, how, terms.window_chip(row.valid_from, row.valid_until))
