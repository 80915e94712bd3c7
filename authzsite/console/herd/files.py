"""The tables of a Herd as files, to their end, for those who may see the page and under the same filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.http.response import HttpResponseBase

from accounts.models import Principal
from authzsite.console.catalog.views import child_of
from authzsite.console.herd.context import ANY_DATA_OWNER, REVIEW, HerdContext, herd_at, namespace_at
from authzsite.console.herd.roles import held_by, looks_after
from authzsite.console.herd.users import user_at
from authzsite.console.herd.views import EntryRow, Herd, held_oneself, listed
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.refusal import refused
from authzsite.downloads import csv_file
from catalog.models import Placement
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, ON_NAMESPACE, OPS
from policies.decisions.lookups.entries import holders_on
from policies.models import Grant
from policies.record import access_log


@reads
@login_required
def of_namespaces(request: Request, id: int) -> HttpResponseBase:
    """Every namespace with its data owners, and what the viewer may do in it."""
    herd = listed(request, id)
    rows: Iterable[Placement] = herd.without_owner if herd.lacking else herd.named.iterator(csv_file.CHUNK)
    return csv_file.answer(
        f"namespaces-{id}", ["namespace", "data owners", "you may"], _namespaces(herd, rows)
    )


def _namespaces(herd: Herd, rows: Iterable[Placement]) -> Iterator[list[object]]:
    for some in csv_file.chunks(rows):
        places = [child_of(herd.desk.herd, row) for row in some]
        owners = herd.desk.data_owners(places)
        for place in places:
            yield [place.name, "; ".join(map(str, owners[place.id])), herd.own(place)]


@reads
@login_required
def of_mine(request: Request, id: int) -> HttpResponseBase:
    """The viewer's own permissions, namespace by namespace."""
    lines = map(_held, held_oneself(herd_at(request, id)))
    return csv_file.answer(f"mine-{id}", ["namespace", "may", "how"], lines)


def _held(entry_row: EntryRow) -> list[object]:
    return [entry_row.what.name, entry_row.may, entry_row.through]


@reads
@login_required
def of_roles(request: Request, id: int) -> HttpResponseBase:
    """Who holds which role, and what each data owner looks after."""
    head = ["role", "holder", "shown as", "looks after"]
    return csv_file.answer(f"herd-roles-{id}", head, _roles(herd_at(request, id)))


def _roles(desk: HerdContext) -> Iterator[list[object]]:
    for name in (DATA_OWNER, OPS):
        role = desk.roles.get(name)
        after = looks_after(desk, role) if role and name == DATA_OWNER else {}
        for item in held_by(role) if role else ():
            yield [name, item, item.label, "; ".join(after.get(item.pk, ()))]


@reads
@login_required
def of_user(request: Request, id: int) -> HttpResponseBase:
    """Every entry of one user id that the viewer may review."""
    user = user_at(request, id)
    if not user.told:
        return refused(request, user.desk.place, ANY_DATA_OWNER)
    user.record()
    lines = ([user.name, *_held(row)] for row in user.rows())
    return csv_file.answer(f"entries-of-a-user-{id}", ["user id", "namespace", "may", "how"], lines)


@reads
@login_required
def of_entries(request: Request, id: int) -> HttpResponseBase:
    """The grid of a namespace: each entry with its permissions, `yes` or until when."""
    desk = namespace_at(request, id)
    if not desk.may_review:
        return refused(request, desk.place, REVIEW)
    access_log.looked(desk.place.asker, "review access", desk.node, via="console")
    rows = holders_on(desk.node, text=request.GET.get("q", "").strip()[:255], now=desk.place.now)
    head = ["namespace", "holder", "shown as", *ON_NAMESPACE]
    return csv_file.answer(f"entries-{id}", head, _entries(desk, rows.iterator(csv_file.CHUNK)))


def _entries(desk: HerdContext, rows: Iterable[Principal]) -> Iterator[list[object]]:
    given = Grant.objects.open().within(desk.place.now).filter(securable=desk.node.id)
    for some in csv_file.chunks(rows):
        held: dict[tuple[int | None, str], str] = {}
        for row in given.filter(holder__in=some).order_by("pk"):
            until = csv_file.moment(row.valid_until)
            # of two that give the same the one without an end counts
            if held.get((row.holder_id, row.privilege)) != "yes":
                held[row.holder_id, row.privilege] = f"until {until}" if until else "yes"
        for item in some:
            cells = [held.get((item.pk, code), "") for code in ON_NAMESPACE]
            yield [desk.node.name, item, item.label, *cells]
