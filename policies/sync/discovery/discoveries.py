"""Readings of sources, asked for or due at night, run by a worker; progress and outcome are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import node
from lakewarden.backends.errors import BackendError
from policies.authority import SYSTEM, Actor, Authority, of_system
from policies.errors import NotFound, PolicyError
from policies.events import BACKEND_READ_NIGHTLY
from policies.models import Backend, Discovery
from policies.record import session_locks, wakeups
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from policies.simulation.stored_replays import to_json
from policies.sync.connections.registration import authority_to_connect
from policies.sync.connections.sources import opened
from policies.sync.discovery.objects import discover, read
from policies.sync.runs import nightly

LOCKS = 0x6469_7363
MOST_LEFT_OUT = 100
"""So many objects that cannot be governed are kept by name."""


def ask(row: Backend, *, by: Actor) -> Discovery:
    """A new reading, or the one that waits or is under way; a worker is told.  Raises Refused."""
    authority_to_connect(by, _catalog(row))
    unfinished = latest(row)
    if unfinished is not None and unfinished.finished is None:
        return unfinished
    made = Discovery.objects.create(backend=row, by=by.pseudonym)
    wakeups.send("policies.tasks.discover")
    return made


def ask_nightly(now: datetime) -> list[Discovery]:
    """Readings of those whose turn of this night has come; the law itself asks, as they were read before."""
    rows = [Discovery(backend_id=pk, by=SYSTEM.pseudonym) for pk in nightly.unread(now)]
    return Discovery.objects.bulk_create(rows)


def set_nightly(row: Backend, *, by: Actor, on: bool) -> None:
    """Have a source read again each night, or only when somebody asks.  Raises Refused."""
    catalog = _catalog(row)
    with change(BACKEND_READ_NIGHTLY, realm=realm_of(catalog), by=by) as current:
        authority = authority_to_connect(by, catalog)
        Backend.objects.filter(pk=row.pk).update(read_nightly=on)
        setting = "each night" if on else "only when somebody asks"
        current.say(make_event(BACKEND_READ_NIGHTLY, catalog, when=setting), by=authority)


def _catalog(row: Backend) -> Node:
    catalog = node(row.catalog_id)
    if catalog is None:
        raise NotFound(gettext("The catalog no longer exists."))
    return catalog


def latest(row: Backend) -> Discovery | None:
    return Discovery.objects.filter(backend=row).order_by("-pk").first()


def run_waiting() -> None:
    """Read what waits to be read; each reading is run by one worker."""
    session_locks.run_each(Discovery.objects.all(), LOCKS, _run)


def _run(reading: Discovery) -> None:
    rows = Discovery.objects.filter(pk=reading.pk)
    try:
        result = _read(reading)
    except (BackendError, PolicyError) as error:
        rows.update(finished=timezone.now(), error=str(error)[:2000])
        return
    rows.update(finished=timezone.now(), **result)


def _read(reading: Discovery) -> dict[str, Any]:
    """Decided again as it begins: who asked may have lost the right meanwhile."""
    rows, backend = Discovery.objects.filter(pk=reading.pk), reading.backend
    catalog = _catalog(backend)
    by, authority = _acting(reading, catalog)
    with opened(backend, catalog) as source:
        seen = read(source)
    rows.update(total=len(seen.objects))
    result = discover(catalog, seen, by=by, authority=authority, tell=lambda new: rows.update(done=new))
    return {
        "done": len(seen.objects),
        "added": result.added,
        "renamed": result.renamed,
        "moved": result.moved,
        "replays": [to_json(outcome) for outcome in result.replays],
        "described": result.described,
        "vanished": len(result.vanished),
        "left_out": result.left_out[:MOST_LEFT_OUT],
        "left_out_count": len(result.left_out),
    }


def _acting(reading: Discovery, catalog: Node) -> tuple[Actor, Authority]:
    if reading.by == SYSTEM.pseudonym:
        return SYSTEM, of_system("a source is read again each night")
    by = Actor(Principal.objects.filter(pseudonym=reading.by).first(), "console")
    return by, authority_to_connect(by, catalog)
