"""One right or membership that a backend refuses: what it is, why, and the ways out."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Reason
from authzsite.console.kit.http import Request, nonce_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.drift.differences import roles_of, spoken_of
from authzsite.console.sync.drift.stuck_reasons import cause
from authzsite.console.sync.operations import refused
from catalog.queries import nodes
from lakewarden.backends.errors import NEXT
from policies.authority import Actor
from policies.errors import NotFound
from policies.models import BackendFinding
from policies.sync.actions import operations


@reads_and_writes
@login_required
def stuck_item(request: Request, id: int) -> HttpResponse:
    """What it is and what can be done; a POST has it tried again."""
    row = (
        BackendFinding.objects.filter(pk=id, kind__in=("missing", "extra")).select_related("backend").first()
    )
    if row is None:
        raise Http404
    backend_access = there(request, row.backend_id)
    if not backend_access.may_look:
        raise Http404
    if request.method != "POST":
        return _show(request, backend_access, row)
    if not backend_access.may_operate:
        return refused(request, backend_access)
    try:
        operations.retry_finding(
            row.pk, by=Actor(backend_access.place.asker, "console", request_id=nonce_in(request.POST))
        )
        say(request, _("It is tried again"))
    except NotFound:
        say(request, _("It has arrived"))
    return redirect("console:sync_backend", id=backend_access.row.pk)


def _show(request: Request, backend_access: BackendAccess, row: BackendFinding) -> HttpResponse:
    places = nodes(set(roles_of([row])) | {int(key) for key in row.concerns or ()})
    about = [place for key, place in places.items() if str(key) in (row.concerns or {})]
    context = {
        "crumbs": Crumbs(((_("Sync"), reverse("console:sync")), (backend_access.name, backend_access.url))),
        "heading": _("A decision is not applied")
        if row.kind == "missing"
        else _("The backend has more than was decided"),
        "what": spoken_of(row, places),
        "cause": cause(row, backend_access.row, whole=backend_access.may_operate),
        "next": NEXT.get(row.error_kind, "") if row.attempts else _("It is tried again by itself."),
        "tried": words.moment(row.tried_at, within=True) if row.tried_at else "",
        "doors": [
            Action(
                _("Open %(place)s") % {"place": terms.short_name(place)},
                terms.page_of(place.id, place.type),
                "",
            )
            for place in sorted(about, key=lambda place: place.names)[:5]
        ],
        "reason": None if backend_access.may_operate else Reason("why-not-operate", _who(backend_access)),
        "nonce": nonce_in(request.POST),
        "back": backend_access.url,
    }
    realm = backend_access.place.node.realm
    return page(request, "console/sync/stuck.html", context, section="sync", realm=realm)


def _who(backend_access: BackendAccess) -> str:
    return _("The owner of %(name)s or a holder of the sync duty runs its sync.") % {
        "name": backend_access.place.node.name
    }
