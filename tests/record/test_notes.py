"""Signed checkpoints: what is signed is read back, and nothing else is."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lakewarden.record.notes import BadNote, Checkpoint, PublicKey, each, opened, signed

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = PublicKey("lakewarden/abc", PRIVATE.public_key().public_bytes_raw())
OTHER = PublicKey("lakewarden/abc", Ed25519PrivateKey.generate().public_key().public_bytes_raw())
CHECKPOINT = Checkpoint("lakewarden/0123", 42, "ab" * 32)


def note(checkpoint: Checkpoint = CHECKPOINT) -> str:
    return signed(checkpoint, KEY, PRIVATE.sign(checkpoint.body.encode()))


def test_a_note_is_read_back_with_its_key() -> None:
    assert opened(note(), KEY) == CHECKPOINT
    assert PublicKey.read(str(KEY)) == KEY


def test_the_form_is_that_of_signed_notes() -> None:
    origin, size, root, empty, signature = note().splitlines()
    assert (origin, size, empty) == ("lakewarden/0123", "42", "")
    assert len(root) == 44
    assert signature.startswith("— lakewarden/abc ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n42\n", "\n41\n"),
        ("lakewarden/0123\n", "lakewarden/0124\n"),
        ("— lakewarden/abc", "— lakewarden/abd"),
        ("\n\n—", "\nmore\n\n—"),
        ("\n\n—", "\n—"),
        ("q6ur", "q6us"),
    ],
)
def test_an_edited_note_is_refused(before: str, after: str) -> None:
    edited = note().replace(before, after, 1)
    assert edited != note()
    with pytest.raises(BadNote):
        opened(edited, KEY)


def test_a_note_by_another_key_of_the_same_name_is_refused() -> None:
    with pytest.raises(BadNote):
        opened(note(), OTHER)


@pytest.mark.parametrize(
    "text", ["", "name", "name+00000000+AQ==", str(KEY).replace("+", "-"), str(KEY)[:-6]]
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        PublicKey.read(text)


def test_notes_follow_one_another_in_a_file() -> None:
    second = note(Checkpoint("lakewarden/0123", 43, "cd" * 32))
    assert list(each(note() + second)) == [note(), second]
    with pytest.raises(BadNote):
        each(note() + second[:20])
