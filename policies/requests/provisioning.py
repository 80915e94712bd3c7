"""Provisioned is not approved: what was given is followed into each backend until it was read back there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from accounts.models import Membership, Principal
from catalog.nodes import Node, nodes
from policies.authority import SYSTEM, of_system
from policies.models import AccessRequest, Backend, RequestFollow
from policies.models.requests import FOLLOW
from policies.record.change import ChangeInProgress, change
from policies.requests import notifications
from policies.requests.steps import PROVED, STUCK, stepped
from policies.sync.status import status_on

MOST = 500
"""So many deliveries are looked at in one turn."""
NAMED = 3
HALTED: dict[str, str] = {
    Backend.State.PAUSED: noop("The sync with %(backend)s is paused; its operators see why."),
    Backend.State.HELD: noop("%(backend)s holds a plan with many removals; its operators must review it."),
    Backend.State.FAILED: noop("%(backend)s refuses changes; the operators of its sync see why."),
}


@dataclass(frozen=True)
class BackendProgress:
    """How far it has come in one backend; `text` says what stands in the way, when something does."""

    backend: Backend
    state: str
    text: str
    since: datetime


def begin(request: AccessRequest, places: Sequence[Node], current: ChangeInProgress) -> None:
    """Follow what is given on these objects into the backends that mirror their catalogs."""
    catalogs = {key for place in places for key in place.lineage}
    catalogs |= {key for node in _wanted(request) for key in node.lineage}
    rows = [
        RequestFollow(request=request, backend=backend, revision=current.revision, since=current.at)
        for backend in Backend.objects.filter(catalog__in=catalogs)
    ]
    RequestFollow.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["request", "backend"],
        update_fields=["revision", "since", "state", "text"],
    )


def _wanted(request: AccessRequest) -> list[Node]:
    keys = request.wants.values_list("securable", flat=True)
    return list(nodes(key for key in keys if key).values())


def standings(request: AccessRequest) -> list[BackendProgress]:
    """How far it has come in each backend, as things are now; none where nothing is mirrored."""
    rows = request.deliveries.select_related("backend").order_by("pk")
    return [BackendProgress(row.backend, *_delivery_state(request, row), row.since) for row in rows]


def look(backend: int | None = None) -> int:
    """Look whether what is on its way has arrived, in one backend or in all; answers how many moved on."""
    rows = RequestFollow.objects.exclude(state="proved").order_by("pk")
    if backend is not None:
        rows = rows.filter(backend=backend)
    moved = 0
    for row in rows.select_related("request__holder", "request__asker", "request__realm", "backend")[:MOST]:
        with translation.override(None):  # what is kept of it is in English
            state, text = _delivery_state(row.request, row)
        if (state, text) != (row.state, row.text):
            moved += _move(row, state, text)
    return moved


def _move(row: RequestFollow, state: str, text: str) -> bool:
    rows = RequestFollow.objects.filter(pk=row.pk, revision=row.revision, state=row.state)
    if state == row.state or state == "behind":
        # nothing is known for certain, so nothing is said for ever
        return bool(rows.update(text=text, state=state))
    kind = PROVED if state == "proved" else STUCK
    with change(kind, realm=row.request.realm, by=SYSTEM) as current:
        moved = rows.exists()
        if moved:
            FOLLOW.move(rows, "prove" if state == "proved" else "hold", text=text, since=current.at)
            where = str(row.backend)
            stepped(current, row.request, kind, by=of_system("sync"), text=text, backend=where)
            if state == "proved":
                notifications.delivered(row.request, where)
    return moved


def _delivery_state(request: AccessRequest, row: RequestFollow) -> tuple[str, str]:
    """How a delivery stands now, and what stands in its way."""
    backend = row.backend
    if row.state == "proved":
        return "proved", row.text
    if backend.does == Backend.Policy.REPORT:
        text = gettext("%(backend)s only reports; changes there are made by other means.")
        return "stuck", text % {"backend": backend}
    if backend.state in HALTED:
        return "stuck", gettext(HALTED[backend.state]) % {"backend": backend}
    if backend.compared_revision < row.revision:
        return "behind", ""
    holder = request.holder
    if holder.kind != Principal.Kind.GROUP:
        names = [holder.name]
    else:
        inside = Membership.objects.open().within(timezone.now()).filter(group=holder)
        names = list(inside.values_list("member__name", flat=True))
    nodes_here = [node for node in _wanted(request) if backend.catalog_id in node.lineage]
    states = [status_on(backend, node, names) for node in nodes_here]
    if any(item.refused for item in states):
        text = gettext("%(backend)s refused it; the operators of its sync see why.")
        return "stuck", text % {"backend": backend}
    if any(item.left for item in states):
        text = gettext("%(backend)s refused it; it is left as it is for now.")
        return "stuck", text % {"backend": backend}
    without = sorted({name for item in states for name in item.without_login})
    if any(item.waiting for item in states):
        return "behind", ""
    if without and len(without) == len(names):
        text = gettext("%(people)s cannot sign in to %(backend)s; an administrator there must add a login.")
        return "stuck", text % {"people": ", ".join(without[:NAMED]), "backend": backend}
    return "proved", ""
