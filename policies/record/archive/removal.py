"""Taking old history out of the live tables: written, verified, recorded in the chain, and only then removed.

Each step can be begun again: what was written and not recorded is written anew, what was recorded is removed
from where the removal stood.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import connection, transaction
from django.utils import timezone

from catalog.models import Realm
from catalog.queries import root
from policies import authority
from policies.authority import SYSTEM
from policies.decisions import live_history
from policies.events import HISTORY_ARCHIVED
from policies.models import Archive, Change
from policies.models.archives import ARCHIVES
from policies.record.archive import files as archive_files
from policies.record.archive import retention
from policies.record.change import change
from policies.record.event_drafts import make_event

STEP = 2_000
"""Changes whose events, and facts that, are removed in one transaction."""
Tell = Callable[[str], object]


def write(realm: Realm, now: datetime) -> Archive | None:
    """Write what is beyond the retention, with what was begun before; None when there is nothing.

    Raises OSError; then the live tables are as before.
    """
    begun = Archive.objects.filter(realm=realm, state="recorded").first()
    if begun is not None:
        return begun
    Archive.objects.filter(realm=realm, state="written").delete()
    first, upto = live_history.floor(realm.pk), retention.old(realm, now)
    if (
        upto <= first
        or not Change.objects.filter(realm=realm.pk, revision__gt=first, revision__lte=upto).exists()
    ):
        return None
    folder, digest, events, facts = archive_files.write(realm, first, upto)
    return Archive.objects.create(
        realm=realm,
        first=first,
        upto=upto,
        folder=folder,
        digest=digest,
        events=events,
        facts=facts,
        at=timezone.now(),
    )


def record(archive: Archive) -> None:
    """Say in the chain what was moved, with the digest of it.  Raises ArchiveBroken, Conflict."""
    if archive.state != "written":
        return
    archive_files.check(archive.folder, archive.digest)
    with change(HISTORY_ARCHIVED, realm=archive.realm, by=SYSTEM) as current:
        mine = Archive.objects.filter(pk=archive.pk)
        ARCHIVES.move(mine, "record", recorded=current.revision)
        draft = make_event(
            HISTORY_ARCHIVED,
            root(archive.realm),
            upto=str(archive.upto),
            archive=archive.folder,
            digest=archive.digest,
            events=str(archive.events),
            facts=str(archive.facts),
        )
        current.say(draft, by=authority.of_system("retention"))
    archive.refresh_from_db()


def remove(archive: Archive, tell: Tell = bool) -> None:
    """Take out of the live tables what a recorded archive holds, step by step.  Raises ArchiveBroken."""
    if archive.state != "recorded":
        return
    archive_files.check(archive.folder, archive.digest)
    while archive.removed < archive.upto:
        _remove_events(archive)
        tell(f"removing what is archived: up to revision {archive.removed} of {archive.upto}")
    for batch in archive_files.batches(archive.folder, archive_files.FACTS, ["table", "id"]):
        rows = batch.to_pylist()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lakewarden.archive', %s, true)", [str(archive.pk)])
            for table in archive_files.TABLES:
                ids = [row["id"] for row in rows if row["table"] == table]
                if ids:
                    cursor.execute(f"DELETE FROM {table} WHERE id = ANY(%s)", [ids])  # noqa: S608 - ours
    ARCHIVES.move(Archive.objects.filter(pk=archive.pk), "remove")
    archive.refresh_from_db()


def _remove_events(archive: Archive) -> None:
    mine = Change.objects.filter(realm=archive.realm_id, revision__gt=max(archive.removed, archive.first))
    keys = mine.filter(revision__lte=archive.upto).order_by("revision").values_list("revision", flat=True)
    step = list(keys[:STEP])
    last = step[-1] if len(step) == STEP else archive.upto
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lakewarden.archive', %s, true)", [str(archive.pk)])
        cursor.execute("DELETE FROM policies_event WHERE change_id = ANY(%s)", [step])
        Archive.objects.filter(pk=archive.pk).update(removed=last)
    archive.removed = last
