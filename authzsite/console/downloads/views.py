"""Tables as files: a page's list to its end, for those who may see the page and under the same filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.http.response import HttpResponseBase

from accounts.models import Membership, Principal
from authzsite.console.accounts import views as accounts_views
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.roles import compare
from authzsite.console.roles.role import VisibleRole, rights, visit_role
from authzsite.console.sync import views as sync_views
from authzsite.console.sync.drift.board_query import BoardQuery
from authzsite.console.why import check_as
from authzsite.downloads import csv_file
from authzsite.downloads.csv_file import CHUNK, chunks, moment
from catalog.nodes import nodes
from policies.decisions.lookups.visible_objects import realms_of
from policies.models import BackendFinding
from policies.models.grants import Effect
from policies.record import access_log


@reads
@login_required
def of_members(request: Request, id: int) -> HttpResponseBase:
    """The people of a group, or the groups of a person, that the viewer may know of."""
    circle = circle_of(request)
    member = circle.meet(id)
    visible = circle.people().values("pk")
    if not circle.is_own(member):
        for realm in circle.realms:
            access_log.looked(circle.asker, f"groups of {member.pseudonym}", realm, via="console")
    rows = Membership.objects.open().filter(member=member) | Membership.objects.open().filter(group=member)
    if not circle.is_own(member):
        rows = rows.filter(member__in=visible, group__in=visible)
    memberships = rows.select_related("group", "member").order_by("group__name", "member__name")
    lines = (
        [row.group.name, row.member, row.member.label, moment(row.valid_from), moment(row.valid_until)]
        for row in memberships.iterator(CHUNK)
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
    principal, state = row.principal, accounts_views.state_of(row)
    label = principal.label if principal else row.username
    return [row.username, label, principal or "", _yes(row.tokens), moment(row.last_login), state.word]


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
    person = look.seen.person
    lines = ([person, person.label, row.ref.id, row.type, look.eyes.can(row)] for row in look.rows())
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
        first, two = ("; ".join(chip.text for chip in side) for side in (row.first, row.second))
        yield [row.node.ref.id, row.node.type, desk.a, first, desk.b, two, row.word]


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
def of_findings(request: Request) -> HttpResponseBase:
    """What differs between here and the backends, on what the viewer owns or may grant."""
    asker = asker_of(request)
    realms = realms_of(asker)
    rows = BoardQuery.of(request.GET).rows(sync_views.visible_findings(asker, realms))
    for realm in realms:
        access_log.looked(asker, "findings as a file", realm, via="console")
    head = ["backend", "state", "holder", "right", "object", "place", "granted by"]
    head += ["seen first", "accepted until"]
    findings = rows.select_related("backend").order_by("backend", "kind", "holder", "pk")
    return csv_file.answer("sync", head, _findings(findings.iterator(CHUNK)))


def _findings(rows: Iterable[BackendFinding]) -> Iterator[list[object]]:
    for some in chunks(rows):
        places = nodes({row.securable_id for row in some if row.securable_id})
        for row in some:
            node = places.get(row.securable_id or 0)
            what = [row.backend, row.kind, row.holder, row.what, node.ref.id if node else "", row.place]
            yield [*what, row.grantor, moment(row.first_seen), moment(row.accepted_until)]
