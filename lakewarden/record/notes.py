"""Signed checkpoints: what a log was when its keeper signed it, in the text form of C2SP's signed notes.

    lakewarden/5f3a90c1            the log
    42                             its size: changes 1 to 42
    q0v…=                          the root of the Merkle tree over their digests, base64

    — lakewarden/5f3a90c1 8J2…=    the key's name; base64 of its number and the Ed25519 signature

A public key is one line, `name+number+base64`, as the same specification writes it; a site that has changed
its key has several.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from lakewarden.record import ed25519

ED25519 = b"\x01"
_KEY = re.compile(r"^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$")
_SIGNATURE = re.compile(r"^— (\S+) ([A-Za-z0-9+/=]+)$")


class BadNote(ValueError):
    """The text is no checkpoint, or not one that the key has signed."""


class PublicKey(NamedTuple):
    name: str
    raw: bytes

    @property
    def number(self) -> bytes:
        return key_number(self.name, self.raw)

    def __str__(self) -> str:
        return f"{self.name}+{self.number.hex()}+{base64.b64encode(ED25519 + self.raw).decode()}"

    @classmethod
    def read(cls, text: str) -> PublicKey:
        """Raises BadNote."""
        match = _KEY.match(text.strip())
        raw = decoded(match[3]) if match else b""
        if match is None or raw[:1] != ED25519 or len(raw) != 33:
            raise BadNote("this is not a public key; one looks like name+12ab34cd+AbC…=")
        key = cls(match[1], raw[1:])
        if key.number.hex() != match[2]:
            raise BadNote("the public key does not fit its own number")
        return key


class Checkpoint(NamedTuple):
    """A log's name, how many entries it had, and the root over them, in hex."""

    log: str
    size: int
    root: str

    @property
    def body(self) -> str:
        return f"{self.log}\n{self.size}\n{base64.b64encode(bytes.fromhex(self.root)).decode()}\n"


def key_number(name: str, raw: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + raw).digest()[:4]


def signed(checkpoint: Checkpoint, key: PublicKey, signature: bytes) -> str:
    """The note: the checkpoint's text, an empty line, the signature's."""
    return f"{checkpoint.body}\n— {key.name} {base64.b64encode(key.number + signature).decode()}\n"


def opened(text: str, key: PublicKey) -> Checkpoint:
    """What a note says, once its signature was found good.  Raises BadNote."""
    body, empty, tail = text.partition("\n\n")
    lines = body.split("\n")
    if len(lines) < 3 or not lines[0].strip() or not re.match(r"^(0|[1-9][0-9]*)$", lines[1]):
        raise BadNote("this is not a checkpoint")
    root = decoded(lines[2])
    if len(root) != 32 or len(lines) > 3:
        raise BadNote("this is not a checkpoint")
    checkpoint = Checkpoint(lines[0], int(lines[1]), root.hex())
    for line in tail.splitlines() if empty else []:
        match = _SIGNATURE.match(line)
        if match and match[1] == key.name and decoded(match[2])[:4] == key.number:
            check(key, decoded(match[2])[4:], checkpoint.body.encode())
            return checkpoint
    raise BadNote(f"the checkpoint of {checkpoint.log} is not signed by {key.name}")


def opened_by(text: str, keys: Sequence[PublicKey]) -> Checkpoint:
    """The same by that of the keys which the note names.  Raises BadNote."""
    return opened(text, next((key for key in keys if f"\n— {key.name} " in text), keys[0]))


def public_keys(text: str) -> Sequence[PublicKey]:
    """The keys of a text, one a line; at least one.  Raises BadNote."""
    lines = [line for line in text.splitlines() if line.strip()]
    return tuple(PublicKey.read(line) for line in lines or [text])


def each(text: str) -> Sequence[str]:
    """The notes of a file in which they follow one another."""
    notes, lines = [], text.splitlines(keepends=True)
    start = 0
    for place, line in enumerate(lines):
        if line.startswith("— ") and not (lines[place + 1 : place + 2] or [""])[0].startswith("— "):
            notes.append("".join(lines[start : place + 1]))
            start = place + 1
    if "".join(lines[start:]).strip():
        raise BadNote("the file of checkpoints ends in the middle of one")
    return notes


def whole(text: str) -> str:
    """A file of notes without the last, when that was not written to its end."""
    lines = text.splitlines(keepends=True)
    ends = [place for place, line in enumerate(lines, 1) if line.startswith("— ") and line.endswith("\n")]
    return "".join(lines[: ends[-1] if ends else 0])


def check(key: PublicKey, signature: bytes, message: bytes) -> None:
    """Raises BadNote unless the key has signed the message."""
    if not _is_signed(key.raw, signature, message):
        raise BadNote(f"the signature is not by {key.name}")


def _is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:  # an auditor's machine has a Python and need not have more
        return ed25519.is_signed(key, signature, message)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def decoded(text: str) -> bytes:
    """The bytes of a base64 text; none when it is no such text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # what is no ASCII, no base64, or cut off
        return b""
