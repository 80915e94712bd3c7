"""Tables as files: a page's list to its end, for those who may see the page and under the same filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase

from accounts.models import Membership, Principal
from authzsite.console.accounts import views as accounts_views
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.objects.access import get_object_or_404
from authzsite.console.objects.owners import Chosen
from authzsite.console.objects.rules import applies_to
from authzsite.console.people import views as people_views
from authzsite.console.roles import compare
from authzsite.console.roles import views as roles_views
from authzsite.console.roles.role import VisibleRole, rights, visit_role
from authzsite.console.settings import duties
from authzsite.console.sync import views as sync_views
from authzsite.console.sync.drift.differences import asked_for
from authzsite.console.why import check_as
from authzsite.downloads import csv_file
from authzsite.downloads.csv_file import CHUNK, chunks, moment
from catalog.models import Placement
from catalog.nodes import Node, nodes
from policies.decisions import ownership, slices
from policies.decisions.lookups.visible_objects import children, realms_of
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment, BackendFinding, Grant
from policies.models.grants import Effect
from policies.record import access_log


@reads
@login_required
def of_people(request: Request) -> HttpResponseBase:
    """Whom the viewer may look up, with their groups."""
    circle = circle_of(request)
    asked = people_views.asked_in(request)
    head = ["kind", "name", "shown as", "groups"]
    return csv_file.answer("people", head, _people(circle, circle.people(*asked).iterator(CHUNK)))


def _people(circle: VisiblePrincipals, rows: Iterable[Principal]) -> Iterator[list[object]]:
    for some in chunks(rows):
        groups = people_views.groups_of(circle, some)
        for item in some:
            yield [item.kind, item.name, item.label, "; ".join(groups.get(item.pk, []))]


@reads
@login_required
def of_members(request: Request, id: int) -> HttpResponseBase:
    """The people of a group, or the groups of a person, that the viewer may know of."""
    circle = circle_of(request)
    one = circle.meet(id)
    known = circle.people().values("pk")
    if not circle.is_own(one):
        for realm in circle.realms:
            access_log.looked(circle.asker, f"groups of {one.pseudonym}", realm, via="console")
    rows = Membership.objects.open().filter(member=one) | Membership.objects.open().filter(group=one)
    if not circle.is_own(one):
        rows = rows.filter(member__in=known, group__in=known)
    told = rows.select_related("group", "member").order_by("group__name", "member__name")
    lines = (
        [row.group.name, row.member, row.member.label, moment(row.valid_from), moment(row.valid_until)]
        for row in told.iterator(CHUNK)
    )
    return csv_file.answer(f"groups-{id}", ["group", "member", "shown as", "begins", "ends"], lines)


@reads
@login_required
@accounts_views.admin_only
def of_accounts(request: Request) -> HttpResponseBase:
    """Who can sign in, or which programs act here and who answers for them."""
    text, kind = accounts_views.asked_in(request)
    services = accounts_views.services_of(kind, text)
    if services is not None:
        head = ["service account", "answers for it", "token", "state"]
        return csv_file.answer("service-accounts", head, _services(services.order_by("name").iterator(CHUNK)))
    head = ["account", "shown as", "acts as", "token", "last sign-in", "state"]
    rows = accounts_views.people_of(kind, text).order_by("username", "pk")
    return csv_file.answer("accounts", head, map(_account, rows.iterator(CHUNK)))


def _account(row: Any) -> list[object]:
    one, state = row.principal, accounts_views.state_of(row)
    label = one.label if one else row.username
    return [row.username, label, one or "", _yes(row.tokens), moment(row.last_login), state.word]


def _services(rows: Iterable[Principal]) -> Iterator[list[object]]:
    for some in chunks(rows):
        for program in accounts_views.programs(some):
            yield [program.row.name, program.keeper or "", _yes(program.tokens), program.state.word]


def _yes(so: object) -> str:
    return "yes" if so else "no"


@reads
@login_required
def of_what_is_seen(request: Request, id: int) -> HttpResponseBase:
    """What somebody sees below an object, and what they can do with it, as the engine answers."""
    look = check_as.look_at(request, id)
    one = look.seen.person
    lines = ([one, one.label, row.ref.id, row.type, look.eyes.can(row)] for row in look.rows())
    return csv_file.answer(f"seen-by-{id}", ["principal", "shown as", "object", "type", "can"], lines)


@reads
@login_required
def of_comparison(request: Request) -> HttpResponseBase:
    """Two roles, or a person and a role, object by object; nothing until both are named."""
    desk, only = compare.asked_in(request)
    head = ["object", "type", "first", "first gives", "second", "second gives", "which"]
    return csv_file.answer("compared", head, _compared(desk, compare.fitting(desk.lines(), only)))


def _compared(
    desk: compare.ComparisonQuery, lines: Iterable[compare.ComparisonRow]
) -> Iterator[list[object]]:
    for row in lines:
        one, two = ("; ".join(chip.text for chip in side) for side in (row.first, row.second))
        yield [row.node.ref.id, row.node.type, desk.a, one, desk.b, two, row.word]


@reads
@login_required
def of_roles(request: Request) -> HttpResponseBase:
    """The roles the viewer may see, with how many hold each and what it is given on."""
    circle = circle_of(request)
    text, personal = roles_views.asked_in(request)
    found = (
        row
        for realm in circle.realms
        for row in children(slices.current(circle.asker, realm), realm, "role")
        if text.casefold() in row.name.casefold() and is_personal(row.name) == personal
    )
    head = ["role", "realm", "held by", "allows", "denies", "owner"]
    return csv_file.answer("roles", head, _roles(circle, found))


def _roles(circle: VisiblePrincipals, found: Iterable[Placement]) -> Iterator[list[object]]:
    for some in chunks(found):
        for row in roles_views.lines(some, circle.realms):
            yield [row.who.name, row.who.note, row.holders, row.gives, row.denies, row.owner]


@reads
@login_required
def of_holders(request: Request, id: int) -> HttpResponseBase:
    """Who holds a role, directly or by a group, as far as the viewer may know."""
    seen = visit_role(request, id)
    if seen.all_holders:
        access_log.looked(seen.place.asker, "holders as a file", seen.node, via="console")
    head = ["role", "holder", "person", "shown as", "begins", "ends"]
    return csv_file.answer(f"holders-{id}", head, _holders(seen))


def _holders(seen: VisibleRole) -> Iterator[list[object]]:
    for row in seen.assigned:
        held = [seen.node.name, row.holder]
        if row.holder.kind != Principal.Kind.GROUP:
            window = (moment(row.valid_from), moment(row.valid_until))
            yield [*held, row.holder, row.holder.label, *window]
            continue
        inside = Membership.objects.open().within(seen.place.now).filter(group=row.holder)
        for item in inside.select_related("member").order_by("member__name").iterator(CHUNK):
            begins = [begin for begin in (row.valid_from, item.valid_from) if begin]
            ends = [end for end in (row.valid_until, item.valid_until) if end]
            window = (moment(max(begins, default=None)), moment(min(ends, default=None)))
            yield [*held, item.member, item.member.label, *window]


@reads
@login_required
def of_gifts(request: Request, id: int) -> HttpResponseBase:
    """What a role allows and denies, on which objects the viewer may see."""
    seen = visit_role(request, id)
    lines = (
        [seen.node.name, item.ref.id, item.type, rights(item, seen.grants[item.id], effect), effect]
        for item in seen.objects
        for effect in Effect.values
        if rights(item, seen.grants[item.id], effect)
    )
    return csv_file.answer(f"gives-{id}", ["role", "object", "type", "rights", "effect"], lines)


@reads
@login_required
def of_owned(request: Request) -> HttpResponseBase:
    """What the viewer may know of by owner, to its end."""
    chosen = Chosen(circle_of(request), request.GET)
    if chosen.root and chosen.circle.gives_access:
        access_log.looked(chosen.circle.asker, "owners as a file", chosen.root, via="console")
    rows = chosen.rows.iterator(CHUNK) if chosen.asked else ()
    return csv_file.answer("owners", ["object", "type", "owner", "shown as"], _owned(rows))


def _owned(rows: Iterable[Placement]) -> Iterator[list[object]]:
    for some in chunks(rows):
        shown = ownership.in_order(some)
        owners = ownership.owners_of([node.id for node in shown])
        for node in shown:
            owner = owners.get(node.id)
            yield [node.ref.id, node.type, owner or "", owner.label if owner else ""]


@reads
@login_required
def of_rules(request: Request, id: int) -> HttpResponseBase:
    """Every rule on an object and above it, with its holder."""
    place = get_object_or_404(request, id)
    if not place.may_look:
        raise Http404
    access_log.looked(place.asker, "rules as a file", place.node, via="console")
    head = ["object", "on", "right", "effect", "role", "holder", "begins", "ends", "revision"]
    return csv_file.answer(f"rules-{id}", head, _rules(place.node))


def _rules(node: Node) -> Iterator[list[object]]:
    names = {key: one.ref.id for key, one in nodes(node.lineage).items()}
    rows = Grant.objects.open().filter(securable__in=node.lineage).select_related("holder").order_by("pk")
    for some in chunks(row for row in rows.iterator(CHUNK) if applies_to(node, row.privilege)):
        keys = {row.role_id for row in some if row.role_id}
        roles_ = dict(Placement.objects.open().filter(securable__in=keys).values_list("securable", "name"))
        held: dict[int, list[str]] = {}
        for assignment in Assignment.objects.open().filter(role__in=keys).select_related("holder"):
            held.setdefault(assignment.role_id, []).append(str(assignment.holder))
        for row in some:
            holders = held.get(row.role_id or 0, []) or [str(row.holder or "")]
            role = roles_.get(row.role_id or 0, "")
            told = [node.ref.id, names.get(row.securable_id or 0, ""), row.privilege, row.effect]
            window = (moment(row.valid_from), moment(row.valid_until))
            yield [*told, role, "; ".join(sorted(holders)), *window, row.opened]


@reads
@login_required
def of_duties(request: Request, id: int) -> HttpResponseBase:
    """Who has which duty on an object, from it or from above it, as far as the viewer may know."""
    office = duties.visit_office(request, id)
    node = office.place.node
    access_log.looked(office.place.asker, "duties", node, via="console")
    lines = ([node.ref.id, row.holder, row.holder.label, row.duty, row.node.ref.id] for row in office.rows)
    return csv_file.answer(f"duties-{id}", ["object", "holder", "shown as", "duty", "given on"], lines)


@reads
@login_required
def of_findings(request: Request) -> HttpResponseBase:
    """What differs between here and the backends, on what the viewer owns or may grant."""
    asker = asker_of(request)
    realms = realms_of(asker)
    rows = asked_for(sync_views.visible_findings(asker, realms), request.GET.get("s", ""))
    for realm in realms:
        access_log.looked(asker, "findings as a file", realm, via="console")
    head = ["backend", "state", "holder", "right", "object", "place", "granted by"]
    head += ["seen first", "accepted until"]
    told = rows.select_related("backend").order_by("backend", "kind", "holder", "pk")
    return csv_file.answer("sync", head, _findings(told.iterator(CHUNK)))


def _findings(rows: Iterable[BackendFinding]) -> Iterator[list[object]]:
    for some in chunks(rows):
        places = nodes({row.securable_id for row in some if row.securable_id})
        for row in some:
            node = places.get(row.securable_id or 0)
            what = [row.backend, row.kind, row.holder, row.what, node.ref.id if node else "", row.place]
            yield [*what, row.grantor, moment(row.first_seen), moment(row.accepted_until)]
