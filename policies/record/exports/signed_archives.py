"""Archives that leave the site: files, a manifest of their digests, and the site's signature over that."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from lakewarden.record.archive import (
    BLOCK,
    LOOKS,
    LOOKS_SIGNED,
    MANIFEST,
    SIGNATURE,
    manifest_of,
    signature_line,
)
from policies import signing
from policies.models import Checkpoint
from policies.record import checkpoints, lost_ends
from policies.record.exports import chain

CHECKED = """Check this archive far from the site it comes from; a Python (3.9 or newer) is all it takes:

    PYTHONPATH=lakewarden.zip python3 -m lakewarden.record {name} --key 'PUBLIC KEY'

An archive is genuine whatever its file is called.  Say what you asked for, and another is refused:
--object table:REALM/NAME and --as-of 2026-01-31 of evidence about an object; --checkpoints FILE, with
checkpoints of the site that came to you by mail or file, refuses what is older than these.

lakewarden.zip is what `make wheel` packs of Lakewarden's source (dist/lakewarden-*.zip): have it from where
you trust it.  Get the public key from the site's operator by another way than this archive: `manage.py
audit_key`, or History, Integrity.

"""
STAMP = (1980, 1, 1, 0, 0, 0)  # the same content makes the same bytes


def record(target: IO[bytes]) -> int:
    """The whole record with a fresh checkpoint, for whoever may see all of it; answers how many changes."""
    checkpoints.make()
    with tempfile.TemporaryDirectory() as folder:
        changes, signed = _signed_lines(checkpoints.CHANGES, chain.lines, Path(folder) / "record.jsonl")
        files: dict[str, bytes | Path] = {"record.jsonl": Path(folder) / "record.jsonl"}
        files["checkpoints.txt"] = signed
        looks, signed = _signed_lines(checkpoints.ACCESS, chain.looks, Path(folder) / LOOKS)
        if looks:
            files |= {LOOKS: Path(folder) / LOOKS, LOOKS_SIGNED: signed}
        write(target, "record", files, {"changes": changes, "looks": looks})
    return changes


def _signed_lines(log: str, lines: Callable[[int], Iterable[str]], into: Path) -> tuple[int, bytes]:
    """Write a log as far as it was signed; how far that is, and the notes that say so."""
    kept = Checkpoint.objects.filter(log=log).order_by("size")
    last = kept.last()
    size = last.size if last else 0
    with into.open("w", encoding="utf-8") as file:
        file.writelines(lines(size))
    return size, "".join(kept.filter(size__lte=size).values_list("note", flat=True)).encode()


def write(target: IO[bytes], kind: str, files: Mapping[str, bytes | Path], said: Mapping[str, Any]) -> None:
    """Write a signed archive of the files; `said` goes into its manifest."""
    key = signing.public_key()
    # what the record says is gone, so that no checkpoint contradicts it; nothing for most sites
    kept = lost_ends.kept_statements()
    lost = {"lost": kept} if kept else {}
    manifest = manifest_of(kind, files, {"site": checkpoints.origin(), "key": str(key), **lost, **said})
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            _put(archive, name, content)
        _put(archive, MANIFEST, manifest)
        _put(archive, SIGNATURE, signature_line(key, signing.sign(manifest)))


def _put(archive: zipfile.ZipFile, name: str, content: bytes | Path) -> None:
    entry = zipfile.ZipInfo(name, STAMP)
    entry.compress_type = zipfile.ZIP_DEFLATED
    if isinstance(content, bytes):
        archive.writestr(entry, content)
        return
    with content.open("rb") as source, archive.open(entry, "w", force_zip64=True) as file:
        while block := source.read(BLOCK):
            file.write(block)
