"""Files that an auditor takes away, checked without the site: the whole record, evidence about one object
(`evidence.py`), or that of a review (`review.py`).

All are zip archives with a signed manifest.  Needs the public key (`manage.py audit_key`), nothing else.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lakewarden.record import chain, evidence, notes, review
from lakewarden.record.archive import (
    DAMAGE,
    LOOKS,
    LOOKS_SIGNED,
    Broken,
    Keys,
    ProvedStatements,
    manifest_in,
    signed_roots,
    unchanged,
)
from lakewarden.record.expected import Expected
from lakewarden.record.lost_ends import EVENT, Lost, excuse
from lakewarden.record.lost_ends import opened as opened_statement
from lakewarden.record.signed import Misfit, Roots, SignedLog

ANY = Expected()
LogRoots = Mapping[str, Roots]


def check(
    path: Path,
    keys: notes.PublicKey | Keys,
    person: str = "",
    expected: Expected = ANY,
    record: Path | None = None,
) -> ProvedStatements:
    """Check an archive; of evidence, tell about everybody or one `person`.

    Evidence about an object is held against the archive of the whole `record`, where there is one.
    Raises Broken, OSError when there is no such file.
    """
    public_keys = (keys,) if isinstance(keys, notes.PublicKey) else keys
    with _opened(path) as archive:
        if record is None:
            return _check(archive, public_keys, person, expected)
        with _opened(record) as whole:
            return _check(archive, public_keys, person, expected, whole)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except (notes.BadNote, Misfit) as error:
            raise Broken(str(error)) from None
        except DAMAGE as error:
            raise Broken(f"the archive is damaged: {error}") from error


def _check(
    archive: zipfile.ZipFile,
    keys: Keys,
    person: str,
    expected: Expected,
    whole: zipfile.ZipFile | None = None,
) -> ProvedStatements:
    manifest = manifest_in(archive, keys)
    if differs := expected.differs(manifest):
        raise Broken(differs)
    kept, losses = expected.roots(keys), _lost(manifest, keys)
    for log in list(kept):
        excuse(kept[log], [item for item in losses if item.log == log])
    if whole is not None and manifest["kind"] != "evidence":
        raise Broken(
            f"only evidence about an object can be compared with the audit log, not a {manifest['kind']}"
        )
    statements = _checked(archive, keys, manifest, kept, person, whole)
    statements.lines += [str(item) for item in losses]
    return statements


def _lost(manifest: Mapping[str, Any], keys: Keys) -> Sequence[Lost]:
    """What the site says that it lost of its record, each statement signed by itself.  Raises BadNote."""
    return [opened_statement(item, keys) for item in manifest.get("lost", ())]


def _stated(event: Mapping[str, Any]) -> Sequence[Any]:
    lost: Sequence[Any] = event["data"]["lost"] if event["kind"] == EVENT else ()
    return lost


def _checked(
    archive: zipfile.ZipFile,
    keys: Keys,
    manifest: Mapping[str, Any],
    kept: LogRoots,
    person: str,
    whole: zipfile.ZipFile | None,
) -> ProvedStatements:
    if manifest["kind"] == "record":
        return _record(archive, keys, manifest, kept)
    head = _head(archive, keys, manifest["site"], kept)
    if manifest["kind"] == "review":
        return review.check(archive, head, manifest, person)
    changes = _changes(whole, keys, head, kept) if whole is not None else None
    return evidence.check(archive, head, manifest, person, changes)


def _changes(
    whole: zipfile.ZipFile, keys: Keys, head: notes.Checkpoint, kept: LogRoots
) -> Iterator[Mapping[str, Any]]:
    """Every change of the record that the checkpoint is of, once all of it was found to follow."""
    manifest = manifest_in(whole, keys)
    if (manifest["kind"], manifest["site"]) != ("record", head.log):
        raise Broken(f"the archive to compare with is not the audit log of {head.log}")
    roots = {size: set(some) for size, some in kept.get(head.log, {}).items()}
    _join(roots, {head.size: {head.root}})
    _record(whole, keys, manifest, {head.log: roots})
    with whole.open("record.jsonl") as file:
        for line in file:
            yield json.loads(line)["change"]


def _record(
    archive: zipfile.ZipFile, keys: Keys, manifest: Mapping[str, Any], kept: LogRoots
) -> ProvedStatements:
    """The whole record: every digest follows, and every signed checkpoint comes out."""
    site = manifest["site"]
    roots = signed_roots(archive, keys, "checkpoints.txt", site)
    _join(roots, kept.get(site, {}))
    log, previous, last = SignedLog(roots, "change"), "", ""
    losses = _lost(manifest, keys)
    excuse(roots, [item for item in losses if item.log == site])
    on_record: list[Any] = []
    with archive.open("record.jsonl") as file:
        for line in file:
            entry = json.loads(line)
            _follows(entry, previous, log.size + 1)
            on_record += [item for event in entry["change"]["events"] for item in _stated(event)]
            previous, last = entry["digest"], entry["change"]["at"]
            if not log.size and site != f"lakewarden/{previous[:12]}":
                raise Broken(f"the record does not begin as that of {site}")
            log.append(previous)
    log.end()
    if on_record != manifest.get("lost", []):
        raise Broken("what was lost by a restore is not what the record says")
    statements = ProvedStatements(
        [
            f"intact: {log.size} changes up to {last}",
            f"signed: {len(roots)} checkpoints, the last over {max(roots)} changes",
        ]
    )
    if LOOKS in manifest["files"]:
        statements.lines.append(_looks(archive, keys, f"{site}/access", kept, losses))
    return statements


def _looks(
    archive: zipfile.ZipFile, keys: Keys, log_name: str, kept: LogRoots, losses: Sequence[Lost]
) -> str:
    """The same of the access log: who was refused, and who looked."""
    roots = signed_roots(archive, keys, LOOKS_SIGNED, log_name)
    _join(roots, kept.get(log_name, {}))
    excuse(roots, [item for item in losses if item.log == log_name])
    log, previous = SignedLog(roots, "refusal or view"), ""
    with archive.open(LOOKS) as file:
        for line in file:
            entry, number = json.loads(line), log.size + 1
            if entry["previous"] != previous:
                raise Broken(f"refusal or view {number} does not follow from the one before")
            if chain.digest(previous, entry["record"]) != entry["digest"]:
                raise Broken(f"refusal or view {number} was changed after it was written")
            previous = entry["digest"]
            log.append(previous)
    log.end()
    return f"intact: {log.size} refusals and views, signed by {len(roots)} checkpoints"


def _join(roots: Roots, further: Roots) -> None:
    for size, some in further.items():
        roots.setdefault(size, set()).update(some)


def _follows(entry: Mapping[str, Any], previous: str, revision: int) -> None:
    if entry["change"]["revision"] != revision:
        raise Broken(f"change {revision} is missing")
    if entry["previous"] != previous:
        raise Broken(f"change {revision} does not follow from the one before")
    unchanged(entry)


def _head(archive: zipfile.ZipFile, keys: Keys, site: str, kept: LogRoots) -> notes.Checkpoint:
    """The checkpoint that proofs lead to; none of those kept elsewhere is later or says otherwise."""
    roots, elsewhere = signed_roots(archive, keys, "checkpoints.txt", site), kept.get(site, {})
    size, later = max(roots), max(elsewhere, default=0)
    if later > size:
        raise Broken(
            f"this was made when {size} changes were signed, and {later} are by now: "
            "it does not know what has ended since"
        )
    both = roots[size] | elsewhere.get(size, set())
    if len(both) != 1:
        raise Broken(f"two records of {size} changes were signed")
    return notes.Checkpoint(site, size, *both)
