"""Files that an auditor takes away, checked without the site: the whole record, evidence about one object, or
that of a review (`review.py`).

All are zip archives with a signed manifest.  Needs the public key (`manage.py audit_key`), nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from lakewarden.record import chain, notes
from lakewarden.record.merkle import Frontier, root_from_proof

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
FORM = 1
BLOCK = 1 << 20  # bytes
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError),
    *(KeyError, TypeError, ValueError, AttributeError, IndexError),
)
"""What reading a changed archive raises: of a zip, of its compression, of what is written in its files."""
LINKS = ("membership", "assignment", "realmmember")
"""Kinds of facts that tie a person to what is given: by group, by role, by being admitted."""


class Broken(Exception):
    """The first thing that does not fit, in words."""


@dataclass
class Found:
    """What was proved, as sentences."""

    lines: list[str] = field(default_factory=list)


def check(path: Path, key: notes.PublicKey, person: str = "") -> Found:
    """Check an archive; of evidence, tell about everybody or one `person`.

    Raises Broken, OSError when there is no such file.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _check(archive, key, person)
        except DAMAGE as error:
            raise Broken(f"the archive is damaged: {error}") from error


def _check(archive: zipfile.ZipFile, key: notes.PublicKey, person: str) -> Found:
    manifest = _manifest(archive, key)
    if manifest["kind"] == "record":
        return _record(archive, key, manifest)
    if manifest["kind"] == "review":
        from lakewarden.record import review  # it builds on what is below

        return review.check(archive, key, manifest, person)
    return _evidence(archive, key, manifest, person)


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


def _manifest(archive: zipfile.ZipFile, key: notes.PublicKey) -> dict[str, Any]:
    """The manifest, once its signature and every file's digest were found good."""
    text = archive.read(MANIFEST)
    said = archive.read(SIGNATURE)
    line = said.decode().split()
    if len(line) != 3 or line[1] != key.name:
        raise Broken(f"the manifest is not signed by {key.name}")
    signature = base64.b64decode(line[2])[4:]
    if said != signature_line(key, signature):  # a signature is written in one way
        raise Broken(f"{SIGNATURE} was changed")
    try:
        notes.check(key, signature, text)
    except notes.BadNote as error:
        raise Broken(f"the manifest was changed: {error}") from None
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
    for name, said in listed.items():
        with archive.open(name) as file:
            if _sha256(iter(lambda file=file: file.read(BLOCK), b"")) != said["sha256"]:  # type: ignore[misc]
                raise Broken(f"{name} was changed")


def _record(archive: zipfile.ZipFile, key: notes.PublicKey, manifest: Mapping[str, Any]) -> Found:
    """The whole record: every digest follows, and every signed checkpoint comes out."""
    signed = _signed(archive, key)
    previous, tree, last = "", Frontier(), ""
    with archive.open("record.jsonl") as file:
        for line in file:
            entry = json.loads(line)
            _follows(entry, previous, tree.size + 1)
            previous, last = entry["digest"], entry["change"]["at"]
            tree.append(bytes.fromhex(previous))
            if tree.size in signed and signed[tree.size] != {tree.root().hex()}:
                raise Broken(f"changes up to {tree.size} are not those that were signed")
    if max(signed) > tree.size:
        raise Broken(
            f"change {max(signed)} was signed, but the record ends at {tree.size}: its end was cut off"
        )
    return Found(
        [
            f"whole: {tree.size} changes up to {last}",
            f"signed: {len(signed)} checkpoints, the last over {max(signed)} changes",
        ]
    )


def _follows(entry: Mapping[str, Any], previous: str, revision: int) -> None:
    if entry["change"]["revision"] != revision:
        raise Broken(f"change {revision} is missing")
    if entry["previous"] != previous:
        raise Broken(f"change {revision} does not follow from the one before")
    _unchanged(entry)


def _unchanged(entry: Mapping[str, Any]) -> None:
    if chain.digest(entry["previous"], entry["change"]) != entry["digest"]:
        raise Broken(f"change {entry['change']['revision']} was changed after it was written")


def _signed(archive: zipfile.ZipFile, key: notes.PublicKey) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    try:
        for text in notes.each(archive.read("checkpoints.txt").decode()):
            checkpoint = notes.opened(text, key)
            found.setdefault(checkpoint.size, set()).add(checkpoint.root)
    except notes.BadNote as error:
        raise Broken(str(error)) from None
    if not found:
        raise Broken("there is no checkpoint, so nothing is proved")
    return found


def _evidence(
    archive: zipfile.ZipFile, key: notes.PublicKey, manifest: Mapping[str, Any], person: str
) -> Found:
    """Evidence: every change is in the signed tree, and every row rests on what the changes say."""
    question = manifest["question"]
    facts, last = Facts(question["revision"], _moment(question["as_of"])), 0
    for size, change in proved(archive, key):
        facts.take(change)
        last = size
    told = json.loads(archive.read("access.json"))
    facts.names = told.get("names", {})
    rows = [row for row in told["rows"] if person in ("", row["principal"])]
    if not rows:
        raise Broken(f"the evidence says nothing about {person}")
    where = f"{question['object']['type']} {question['object']['id']}"
    when = f"{question['as_of']} (revision {question['revision']})"
    found = Found([f"proved: {where} as of {when}, record signed up to {last}"])
    for row in rows:
        found.lines += _told(row, told["objects"], facts)
    return found


def proved(archive: zipfile.ZipFile, key: notes.PublicKey) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each change of the archive that is in the signed tree, with the tree's size.  Raises Broken."""
    signed = _signed(archive, key)
    size = max(signed)
    if len(signed[size]) != 1:
        raise Broken(f"two records of {size} changes were signed")
    [root] = signed[size]
    with archive.open("changes.jsonl") as lines:
        for line in lines:
            entry = json.loads(line)
            _unchanged(entry)
            proof = [bytes.fromhex(part) for part in entry["proof"]]
            leaf, place = bytes.fromhex(entry["digest"]), entry["change"]["revision"] - 1
            if (root_from_proof(leaf, place, size, proof) or b"").hex() != root:
                raise Broken(f"change {place + 1} is not among those that were signed")
            yield size, entry["change"]


class Facts:
    """When each fact began and ended and what it stated, by the changes alone.

    `names` are what the site calls people, by pseudonym: no part of the record, so the site answers for them.
    """

    def __init__(self, revision: int, moment: datetime):
        self.revision, self.moment = revision, moment
        self.names: Mapping[str, str] = {}
        self.begun: dict[str, Mapping[str, Any]] = {}
        self.ended: dict[str, Mapping[str, Any]] = {}
        self.stated: dict[str, Mapping[str, Any]] = {}

    def take(self, change: Mapping[str, Any]) -> None:
        for event in change["events"]:
            code = event["data"].get("fact")
            if code and "state" in event["data"]:
                self.begun[code], self.stated[code] = change, event
            elif code:
                self.ended[code] = change

    def carry(self, path: Mapping[str, Any], pseudonym: str) -> None:
        """Raises Broken unless the facts held at the revision, lead to the person and give what is said."""
        for code in path["facts"]:
            self._held(code)
        links = [code for code in path["facts"] if code.partition(":")[0] in LINKS]
        if links and not any(pseudonym in self.stated[code]["people"] for code in links):
            raise Broken(f"{', '.join(links)} do not speak of {pseudonym}")
        last = path["facts"][-1]
        if _given(self.stated[last]["data"]["state"]) != (path["privilege"], path["allow"], path["object"]):
            raise Broken(f"{last} does not give {path['privilege']} there")

    def _held(self, code: str) -> None:
        begun, ended = self.begun.get(code), self.ended.get(code)
        if begun is None or begun["revision"] > self.revision:
            raise Broken(f"{code} had not begun at revision {self.revision}")
        if ended is not None and ended["revision"] <= self.revision:
            raise Broken(f"{code} had ended at revision {self.revision}")
        since, until = (self._window(code, edge) for edge in ("valid_from", "valid_until"))
        if (since and since > self.moment) or (until and until <= self.moment):
            raise Broken(f"{code} did not hold at {self.moment.isoformat()}: it says from when until when")

    def _window(self, code: str, edge: str) -> datetime | None:
        told = self.stated[code]["data"]["state"].get(edge)
        return _moment(told) if told else None

    def span(self, codes: list[str]) -> str:
        """Since when all of them held, and until when, in words."""
        begun = max((self.begun[code] for code in codes), key=lambda change: change["revision"])
        text = f"since {self._change(begun)}"
        ends = [self.ended[code] for code in codes if code in self.ended]
        end = min(ends, key=lambda change: change["revision"], default=None)
        window = min(filter(None, (self._window(code, "valid_until") for code in codes)), default=None)
        if window and (end is None or window <= _moment(end["at"])):
            return f"{text}, given until {window.isoformat()} and no longer"
        if end is None:
            return f"{text}, and it had not ended when the record was signed"
        return f"{text}, ended by {self._change(end)}"

    def _change(self, change: Mapping[str, Any]) -> str:
        who = self.names.get(change["actor"], change["actor"])
        because = f": {change['reason']}" if change["reason"] else ""
        return f"change {change['revision']} ({change['at']}, by {who}{because})"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _given(state: Mapping[str, Any]) -> tuple[str, bool, Any]:
    """The privilege, whether it is allowed, and on what: as a grant or an ownership states them."""
    if "privilege" not in state:
        return "OWNER", True, state["securable_id"]
    on = state["securable_id"] if state["securable_id"] is not None else state["pattern"]
    return state["privilege"], state["effect"] == "allow", on


def _told(row: Mapping[str, Any], objects: Mapping[str, Mapping[str, str]], facts: Facts) -> Iterator[str]:
    can = ", ".join(row["actions"]) or "nothing"
    yield f"{row['principal']} could do: {can}"
    for path in row["paths"]:
        facts.carry(path, row["pseudonym"])
        place = objects.get(str(path["object"]), {"id": "an object"})["id"]
        via = f" via {', '.join(path['via'])}" if path["via"] else ""
        verb = "held" if path["allow"] else "was denied"
        yield f"  {verb} {path['privilege']} on {place}{via}: {facts.span(path['facts'])}"
