"""The zip archives that leave the site: their signed manifest, the notes and the changes in them."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakewarden.record import chain, notes
from lakewarden.record.merkle import root_from_proof
from lakewarden.record.signed import Roots

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
LOOKS, LOOKS_SIGNED = "access.jsonl", "access-checkpoints.txt"
"""Of the whole record: who was refused and who looked, and how far that was signed."""
FORM = 1
BLOCK = 1 << 20  # bytes
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError),
    *(KeyError, TypeError, ValueError, AttributeError, IndexError),
)
"""What reading a changed archive raises: of a zip, of its compression, of what is written in its files."""


class Broken(Exception):
    """The first thing that does not fit, in words."""


@dataclass
class ProvedStatements:
    """What was proved, as sentences."""

    lines: list[str] = field(default_factory=list)


Keys = Sequence[notes.PublicKey]
"""The site's public keys: the one it signs with now, and any that it has signed with before."""


def manifest_of(kind: str, files: Mapping[str, bytes | Path], said: Mapping[str, Any]) -> bytes:
    """The manifest that names the files of an archive, their sizes and digests."""
    listed = {
        name: {"sha256": _sha256(_blocks(content)), "bytes": _size(content)}
        for name, content in files.items()
    }
    return chain.canonical({"form": FORM, "kind": kind, "files": listed, **said}).encode()


def signature_line(key: notes.PublicKey, signature: bytes) -> bytes:
    return f"— {key.name} {base64.b64encode(key.number + signature).decode()}\n".encode()


def _blocks(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _size(content: bytes | Path) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _sha256(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def manifest_in(archive: zipfile.ZipFile, keys: Keys) -> dict[str, Any]:
    """The manifest, once its signature and every file's digest were found good."""
    text = archive.read(MANIFEST)
    signed = archive.read(SIGNATURE)
    line = signed.decode(errors="replace").split()
    key = next((item for item in keys if len(line) == 3 and line[1] == item.name), None)
    if key is None:
        raise Broken(f"{SIGNATURE} was changed, or is not by {keys[0].name}")
    signature = notes.decoded(line[2])[4:]
    if signed != signature_line(key, signature):  # a signature is written in one way
        raise Broken(f"{SIGNATURE} was changed")
    try:
        notes.check(key, signature, text)
    except notes.BadNote as error:
        raise Broken(f"the manifest was changed, or {SIGNATURE} was: {error}") from None
    manifest: dict[str, Any] = json.loads(text)
    if manifest["form"] != FORM:
        raise Broken(f"the archive is of form {manifest['form']}; this program knows form {FORM}")
    _same_files(archive, manifest["files"])
    return manifest


def _same_files(archive: zipfile.ZipFile, listed: Mapping[str, Mapping[str, Any]]) -> None:
    names = archive.namelist()
    wanted = {*listed, MANIFEST, SIGNATURE}
    if len(names) != len(set(names)) or set(names) != wanted:
        raise Broken(
            f"files were added or removed: {', '.join(sorted(set(names) ^ wanted)) or 'one is there twice'}"
        )
    for name, digest in listed.items():
        with archive.open(name) as file:
            if _sha256(iter(lambda file=file: file.read(BLOCK), b"")) != digest["sha256"]:  # type: ignore[misc]
                raise Broken(f"{name} was changed")


def unchanged(entry: Mapping[str, Any]) -> None:
    if chain.digest(entry["previous"], entry["change"]) != entry["digest"]:
        raise Broken(f"change {entry['change']['revision']} was changed after it was written")


def signed_roots(archive: zipfile.ZipFile, keys: Keys, name: str, log: str) -> Roots:
    """What the notes of a file say of a log; there is one at least.  Raises Broken, BadNote."""
    roots: Roots = {}
    for text in notes.each(archive.read(name).decode()):
        checkpoint = notes.opened_by(text, keys)
        if checkpoint.log != log:
            raise Broken(f"a checkpoint in {name} is of {checkpoint.log}, not of {log}")
        roots.setdefault(checkpoint.size, set()).add(checkpoint.root)
    if not roots:
        raise Broken("there is no checkpoint, so nothing is proved")
    return roots


def proved(archive: zipfile.ZipFile, head: notes.Checkpoint) -> Iterator[Mapping[str, Any]]:
    """Each change of the archive, which is in the signed tree.  Raises Broken."""
    with archive.open("changes.jsonl") as lines:
        for line in lines:
            entry = json.loads(line)
            unchanged(entry)
            proof = [bytes.fromhex(part) for part in entry["proof"]]
            leaf, place = bytes.fromhex(entry["digest"]), entry["change"]["revision"] - 1
            if (root_from_proof(leaf, place, head.size, proof) or b"").hex() != head.root:
                raise Broken(f"change {place + 1} is not among those that were signed")
            yield entry["change"]
