"""Objects that their source no longer has: listed with what goes with them before anybody closes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Empty, Note, Reason
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.downloads import csv_file
from catalog.queries import nodes
from lakewarden.backends.errors import BackendError
from policies.authority import Actor
from policies.decisions.personal_role_names import is_personal
from policies.errors import PolicyError, Refused
from policies.models import Assignment
from policies.record import access_log
from policies.sync.connections import registration
from policies.sync.discovery.vanished import Gone, close, vanished

NAMED = 5


@dataclass(frozen=True)
class VanishedRow:
    """One object that is gone, with what closing it ends."""

    id: int
    name: str
    url: str
    kind: str
    goes: str


@reads_and_writes
@login_required
def vanished_list(request: Request, id: int) -> HttpResponse:
    """What is gone there and what hangs on it; a POST closes what was chosen."""
    one, may = _visit(request, id)
    if request.method == "POST":
        return _close(request, one)
    return _show(request, one, [], may=may)


def _visit(request: Request, id: int) -> tuple[BackendAccess, bool]:
    """The backend, and whether the asker closes what is gone there.  Raises Http404."""
    one = there(request, id)
    may = registration.may_connect(one.place.actor, one.place.node)
    if not (may or one.may_look):
        raise Http404
    return one, may


@reads
@login_required
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """The same list as a file."""
    one, _ = _visit(request, id)
    access_log.looked(one.place.asker, "what is gone as a file", one.place.node, via="console")
    head = ["object", "type", "grants on it", "objects in it", "what goes with it"]
    return csv_file.answer(f"gone-{id}", head, _told(vanished(one.row)))


def _told(gone: Sequence[Gone]) -> Iterator[list[object]]:
    for one, line in zip(gone, _lines(gone), strict=True):
        yield [one.node.ref.id, one.node.type, len(one.grants), one.below, line.goes]


def _close(request: Request, backend_access: BackendAccess) -> HttpResponse:
    actor = Actor(backend_access.place.asker, "console", request_id=nonce_in(request))
    chosen = {number for text in request.POST.getlist("object") if (number := number_in(text))}
    reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
    if not chosen:
        note = Note("warn", "Nothing is chosen.", "Choose what to close here.")
        return _show(request, backend_access, [note], may=True, status=422)
    closed = []
    if done_before(actor) is None:
        try:
            closed = close(backend_access.row, chosen, by=actor, reason=reason)
        except Refused:
            access_log.refused(
                backend_access.place.asker, registration.DUTY, backend_access.place.node, via="console"
            )
            return _show(request, backend_access, [], may=False, status=403)
        except (PolicyError, BackendError) as problem:
            note = Note("bad", "Nothing was closed.", str(problem))
            return _show(request, backend_access, [note], may=True, status=422)
    kept = len(chosen) - len(closed)
    left = f"; {words.number(kept)} found again and kept" if kept and closed else ""
    say(request, f"{words.count(len(closed), 'object')} closed{left}")
    return redirect("console:sync_vanished", id=backend_access.row.pk)


def _show(
    request: Request, backend_access: BackendAccess, notes: list[Note], *, may: bool, status: int = 200
) -> HttpResponse:
    node, system = backend_access.place.node, backend_access.row.get_kind_display()
    context: dict[str, Any] = {
        "heading": f"Gone from {backend_access.name}",
        "lead": f"{system} no longer has these. They stay here, with all decisions about them, until closed.",
        "crumbs": Crumbs(
            ((backend_access.name, reverse("console:sync_backend", args=[backend_access.row.pk])),)
        ),
        "notes": notes,
        "rows": _lines(vanished(backend_access.row)),
        "csv": reverse("console:sync_vanished_csv", args=[backend_access.row.pk]),
        "may": may,
        "locked": None
        if may
        else Reason(
            "why-not-close", f"Only the owner of {node.name} or a holder of the connect duty can close them."
        ),
        "nonce": nonce_in(request),
        "reason": request.POST.get("reason", ""),
        "back": reverse("console:sync_backend", args=[backend_access.row.pk]),
        "nothing": Empty("Nothing is gone", "Everything here was found there.", drawn=False, level=2),
    }
    return page(
        request, "console/sync/vanished.html", context, section="sync", realm=node.realm, status=status
    )


def _lines(gone: Sequence[Gone]) -> list[VanishedRow]:
    """One for each, with the names of all whom something is given.  Three queries."""
    grants = [row for item in gone for row in item.grants]
    keys = {row.role_id for row in grants if row.role_id}
    roles = {key: one.name for key, one in nodes(keys).items()} if keys else {}
    personal = [key for key, name in roles.items() if is_personal(name)]
    holders = Assignment.objects.open().filter(role__in=personal).select_related("holder")
    named = {key: f"role {name}" for key, name in roles.items()}
    named |= {row.role_id: row.holder.label for row in holders} if personal else {}
    return [_line(item, named) for item in gone]


def _line(gone: Gone, roles: Mapping[int, str]) -> VanishedRow:
    node, page_of = gone.node, terms.page_of
    kind, goes = terms.kind_of(node.type), _goes(gone, roles)
    return VanishedRow(node.id, node.ref.full_name, page_of(node.id, node.type), kind, goes)


def _goes(gone: Gone, roles: Mapping[int, str]) -> str:
    """3 grants go with it: to Ana Analyst and Analysts; 4 objects in it."""
    told = []
    if gone.grants:
        many = words.count(len(gone.grants), "grant goes", "grants go")
        named = [row.holder.label if row.holder else roles.get(row.role_id or 0, "") for row in gone.grants]
        told.append(f"{many} with it: {words.listed(list(dict.fromkeys(filter(None, named))), NAMED)}")
    if gone.below:
        told.append(f"{words.count(gone.below, 'object')} in it")
    return "; ".join(told) or "Nothing was granted on it"
