"""Signatures checked without any package: as RFC 8032 says, and as the package does."""

from __future__ import annotations

import random
import sys

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from lakewarden.record import ed25519, notes
from tests.record.test_notes import CHECKPOINT, KEY, OTHER, note

VECTORS = (  # RFC 8032, 7.1: key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
)


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard(key: str, message: str, signature: str) -> None:
    assert ed25519.is_signed(*map(bytes.fromhex, (key, signature, message)))


def by_package(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def test_it_takes_what_the_package_takes_and_refuses_what_it_refuses() -> None:
    """Some signatures, and each with one bit changed somewhere: in the key, the signature or the message."""
    chance, refused = random.Random(8032), 0
    for size in range(12):
        private = Ed25519PrivateKey.from_private_bytes(chance.randbytes(32))
        message = chance.randbytes(size * 7 + 1)
        parts = [private.public_key().public_bytes_raw(), private.sign(message), message]
        assert ed25519.is_signed(*parts)
        for place in range(3):
            changed = bytearray(parts[place])
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            forged = [*parts[:place], bytes(changed), *parts[place + 1 :]]
            assert ed25519.is_signed(*forged) is by_package(*forged) is False
            refused += 1
    assert refused == 36


@pytest.mark.parametrize(
    ("key", "signature"),
    [
        (b"", bytes(64)),
        (bytes(32), b""),
        (bytes(31), bytes(64)),
        (b"\xff" * 32, bytes(64)),  # no point is written so
        (bytes.fromhex("01" + "00" * 30 + "80"), bytes(64)),  # nor minus nothing
    ],
)
def test_what_is_no_key_or_no_signature_is_refused(key: bytes, signature: bytes) -> None:
    assert not ed25519.is_signed(key, signature, b"")


def test_a_signature_is_not_written_in_a_second_way() -> None:
    """Its number is below the order of the group: that number and the order together would do as well."""
    key, message, signature = (bytes.fromhex(part) for part in VECTORS[1])
    number = int.from_bytes(signature[32:], "little") + ed25519.ORDER
    second = signature[:32] + number.to_bytes(32, "little")
    assert not ed25519.is_signed(key, second, message)
    assert not by_package(key, second, message)


def test_notes_are_read_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [module for module in sys.modules if module.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert notes.opened(note(), KEY) == CHECKPOINT
    with pytest.raises(notes.BadNote, match=r"is not signed by|signature is not by"):
        notes.opened(note(), OTHER)
    with pytest.raises(notes.BadNote, match="the signature is not by"):
        notes.opened(note().replace("\n42\n", "\n41\n"), KEY)
