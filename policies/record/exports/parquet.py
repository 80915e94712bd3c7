"""A realm's state at one revision as Parquet files, the input of every pipeline.

Everything is read in one transaction, streamed, written into a folder aside and renamed when it is whole: who
finds the folder finds all of it.  The manifest tells the revision, the counts and the digests.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from catalog.models import Realm
from catalog.nodes import Node
from policies.decisions import live_history
from policies.errors import Invalid, NotFound
from policies.models import Change, Counter
from policies.record import columns
from policies.record.columns import WrittenFile
from policies.record.exports.tables import TABLES, Moment

MANIFEST = "manifest.json"
PART = "part-0.parquet"
SCHEMA = 2


class NoSnapshot(Exception):
    """There is no whole snapshot in the folder; the message says what is wrong with it."""


@dataclass(frozen=True)
class Manifest:
    """What a snapshot holds.

    `at` is the moment by which windows are to be judged, `good_until` the next one at which one of them
    begins or ends; `uses` tells up to where uses were taken along, which are no facts of a revision.
    """

    realm: str
    kind: str
    law: str
    revision: int
    at: datetime
    good_until: datetime | None
    uses: str
    tables: dict[str, WrittenFile]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    def text(self) -> str:
        def plain(value: Any) -> str:
            return str(value.isoformat())

        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, default=plain) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in a folder.  Raises NoSnapshot."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            if manifest.pop("schema") != SCHEMA:
                raise NoSnapshot(f"{folder} holds a snapshot of another form")
            tables = {name: WrittenFile(**table) for name, table in manifest.pop("tables").items()}
            at, good_until = datetime.fromisoformat(manifest.pop("at")), manifest.pop("good_until")
            until = datetime.fromisoformat(good_until) if good_until else None
            return cls(**manifest, at=at, good_until=until, tables=tables)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoSnapshot(f"{folder} holds no snapshot") from error


def folder_of(realm_id: int, revision: int) -> Path:
    """Where the pipelines of a realm look for the snapshot of a revision."""
    return Path(settings.ENVIRONMENT.var) / "pipelines" / str(realm_id) / str(revision) / "input"


def check(folder: Path) -> Manifest:
    """The manifest of a snapshot whose every file has its digest.  Raises NoSnapshot."""
    manifest = Manifest.read(folder)
    for name, table in manifest.tables.items():
        path = folder / name / PART
        if not path.is_file() or columns.digest_of(path) != table.digest:
            raise NoSnapshot(f"{path} differs from what was written")
    return manifest


def export(root: Node, revision: int, folder: Path) -> Manifest:
    """Write a realm's state at a revision into `folder`; one that is there and still good is kept.

    Raises NotFound for a revision that there is not, Archived for one that is not live, Invalid inside a
    transaction, OSError when the disk is full or the folder cannot be written; then nothing is left behind,
    and what was there stays.
    """
    with _one_state():
        last = Counter.objects.get().revision
        if not 0 < revision <= last:
            raise NotFound(f"There is no revision {revision}; the last one is {last}.")
        live_history.must_be_live(root.realm_id, revision)
        realm = Realm.objects.get(pk=root.realm_id)
        if realm.opened > revision or (realm.closed is not None and realm.closed <= revision):
            raise NotFound(f"Realm {root.realm} was not there at revision {revision}.")
        # a past state is judged by the last moment at which it was true
        ended = Change.objects.filter(revision=revision + 1).values_list("at", flat=True).first()
        moment = Moment(root, realm, revision, ended or timezone.now())
        kept = _kept(folder, moment)
        if kept is not None:
            return kept
        with _aside(folder) as place:
            manifest = _write(place, moment)
            _publish(place, folder)
    return manifest


@contextmanager
def _one_state() -> Iterator[None]:
    if connection.in_atomic_block:
        raise Invalid("A snapshot is read in a transaction of its own.")
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _kept(folder: Path, moment: Moment) -> Manifest | None:
    """What is there from before, if it says the same as what would be written now."""
    try:
        manifest = check(folder)
    except NoSnapshot:
        return None
    same = (manifest.realm, manifest.revision, manifest.uses) == (
        moment.root.realm,
        moment.revision,
        _uses(moment),
    )
    still = manifest.good_until is None or moment.at < manifest.good_until
    return manifest if same and still else None


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder beside the one that is meant, which is gone when it was not renamed."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.parent.chmod(0o700)
    place = folder.parent / f".{folder.name}-{secrets.token_hex(6)}"
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(place: Path, moment: Moment) -> Manifest:
    tables = {}
    for table in TABLES:
        (place / table.name).mkdir(mode=0o700)
        tables[table.name] = columns.write(place / table.name / PART, table.schema, table.rows(moment))
    # the next edge of a window, of any realm: too early costs an export, too late would be wrong
    with connection.cursor() as cursor:
        cursor.execute(_EDGES, {"at": moment.at})
        exported_at: datetime | None = cursor.fetchone()[0]
    manifest = Manifest(
        realm=moment.root.realm,
        kind=moment.realm.kind,
        law=moment.realm.law,
        revision=moment.revision,
        at=moment.at,
        good_until=exported_at,
        uses=_uses(moment),
        tables=tables,
    )
    path = place / MANIFEST
    path.touch(mode=0o600)
    path.write_text(manifest.text())
    return manifest


def _publish(place: Path, folder: Path) -> None:
    """Put the whole folder in its place; what was there from before is taken away first."""
    if folder.exists():
        old = folder.parent / f".{folder.name}-{secrets.token_hex(6)}"
        os.rename(folder, old)
        os.rename(place, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(place, folder)


_EDGES = """
SELECT min(edge) FROM (
    SELECT valid_from AS edge FROM accounts_membership WHERE valid_from > %(at)s
    UNION ALL SELECT valid_until FROM accounts_membership WHERE valid_until > %(at)s
    UNION ALL SELECT valid_from FROM policies_realmmember WHERE valid_from > %(at)s
    UNION ALL SELECT valid_until FROM policies_realmmember WHERE valid_until > %(at)s
    UNION ALL SELECT valid_from FROM policies_assignment WHERE valid_from > %(at)s
    UNION ALL SELECT valid_until FROM policies_assignment WHERE valid_until > %(at)s
    UNION ALL SELECT valid_from FROM policies_grant WHERE valid_from > %(at)s
    UNION ALL SELECT valid_until FROM policies_grant WHERE valid_until > %(at)s
    UNION ALL SELECT valid_from FROM policies_ownership WHERE valid_from > %(at)s
    UNION ALL SELECT valid_until FROM policies_ownership WHERE valid_until > %(at)s
) edges"""


def _uses(moment: Moment) -> str:
    statement = """
        SELECT count(*) || '/' || count(*) FILTER (WHERE executed) || '/' || coalesce(max(at)::text, '')
          FROM policies_use WHERE realm_id = %s"""
    with connection.cursor() as cursor:
        cursor.execute(statement, [moment.realm.pk])
        return str(cursor.fetchone()[0])
