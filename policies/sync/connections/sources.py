"""Which system a connection leads to, looked at again at each run, and who else governs the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import ProgrammingError, connection, transaction

from catalog.nodes import Node, last, node
from lakewarden.backends import base, kinds
from lakewarden.backends.base import Source
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind
from policies.authority import SYSTEM, of_system
from policies.events import BACKEND_FOUND, BACKEND_MOVED, BACKEND_SHARED
from policies.models import Backend
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.secrets import decrypt
from policies.services import realm_of
from policies.sync.backends.postgresql.source import database
from policies.sync.connections.destinations import network
from policies.sync.connections.opening import check_allowed, must_be_ours, open_backend

LONGEST = 255
OWN = "this is the console's own database"
OWN_CLUSTER = (
    "this database lies in the same cluster as the console's own, where its governors come near that; "
    "only the operator of this Lakewarden may let it be connected"
)


@contextmanager
def opened(row: Backend, place: Node) -> Iterator[base.Backend]:
    """What is connected to a node, where it may lead and leads still.  Raises BackendError."""
    must_be_ours(row)
    kind, url = kinds.get(row.kind), decrypt(row.sealed_url)
    if "folder" not in kind.parts(url):  # a folder is judged when its source is known
        check_allowed(kind, url)
    out_there = open_backend(row, place)
    try:
        look_again(row, source_of(kind, url, out_there))
        yield out_there
    finally:
        out_there.close()


def source_of(kind: Kind, url: str, out_there: object) -> Source:
    """Which system this is: as it says itself, else by real folder, or by addresses.  Raises BackendError."""
    tells = getattr(out_there, "source", None)
    identity = tells() if tells else _by_place(kind, url)
    if folder := kind.parts(url).get("folder"):
        network().check_folder(folder)  # it answers, so a look at it does not hang
    return Source(_short(identity.key), tuple(map(_short, identity.within)))


def _by_place(kind: Kind, url: str) -> Source:
    parts = kind.parts(url)
    if "folder" in parts:
        return _on_this_machine(parts["folder"])
    at = network().machine(parts.get("host", ""), parts.get("port", ""))
    return Source(f"{kind.code} at {at} {parts.get('dbname', '')}".strip())


def _on_this_machine(path: str) -> Source:
    """A folder, or a file by its name in its folder: a file that is written anew has another number."""
    from policies.sync.backends.posix.tree import folder_source

    real = os.path.realpath(path)
    if not os.path.isfile(real):
        return folder_source(real)
    above = folder_source(os.path.dirname(real))
    return Source(f"{os.path.basename(real)} in {above.key}", (above.key, *above.within))


def _short(key: str) -> str:
    return key if len(key) <= LONGEST else f"{key[:180]} {hashlib.sha256(key.encode()).hexdigest()}"


# the console's own


def refuse_own(source: Source, *, cluster_too: bool = True) -> None:
    """Raise Misconfigured for the console's own database, and for what lies in its cluster beside it."""
    if not source.key.startswith("postgresql "):
        return
    own = _own()
    if source.key == own.key:
        raise Misconfigured(OWN)
    embedded = connection.settings_dict["ENGINE"] == "authzsite.embedded_database"
    if (cluster_too or embedded) and set(own.within) & set(source.within):
        raise Misconfigured(OWN_CLUSTER)


def _own() -> Source:
    """The console's own database.  Raises Misconfigured when its server does not tell which it is."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT (SELECT system_identifier FROM pg_control_system()), oid FROM pg_database "
                "WHERE datname = current_database()"
            )
            return database(*cursor.fetchone())
    except ProgrammingError:
        raise Misconfigured(
            "the console's own database does not tell which server it is, so no other can be told from it: "
            "GRANT EXECUTE ON FUNCTION pg_control_system() TO the console's role"
        ) from None


# who governs the same


def others(source: Source, mine: Backend | None) -> list[Backend]:
    """The other connections, of whatever realm, that govern something of a source."""
    rows = Backend.objects.exclude(source="").exclude(pk=mine.pk if mine else 0)
    near = [row for row in rows if source.overlaps(Source(row.source, tuple(row.within)))]
    return [row for row in near if node(row.catalog_id) is not None]


def give_up(source: Source, mine: Backend | None) -> None:
    """What is connected to a catalog that is gone keeps nobody from connecting the source anew."""
    rows = Backend.objects.filter(source=source.key, sole=True).exclude(pk=mine.pk if mine else 0)
    gone = [row.pk for row in rows if node(row.catalog_id) is None]
    Backend.objects.filter(pk__in=gone).update(sole=False)


def look_again(row: Backend, source: Source) -> None:
    """Hold a connection's source against the kept one; where it is another, only report from now on.

    Raises Misconfigured for what must not be governed at all.
    """
    # that it is shared lets in what it was said of, and no other database beside the console's own
    refuse_own(source, cluster_too=row.sole or row.source != source.key)
    if row.source == source.key:
        return
    place = last(row.catalog_id)
    if place is None:
        raise Misconfigured("its catalog is no longer there")
    with change(BACKEND_MOVED, realm=realm_of(place), by=SYSTEM) as current:
        row.refresh_from_db()
        give_up(source, row)
        moved, shared = row.source not in ("", source.key), bool(others(source, row))
        row.source, row.within = source.key, list(source.within)
        if moved or shared:
            row.awaits = Backend.Awaits.SHARED if shared else Backend.Awaits.MOVED
        kind = BACKEND_SHARED if shared else BACKEND_MOVED if moved else BACKEND_FOUND
        looked = of_system("a source is looked at each time")
        current.say(make_event(kind, place, backend=str(row)), by=looked)
        row.sole = not shared
        row.save(update_fields=["source", "within", "awaits", "sole"])
