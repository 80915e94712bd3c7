"""A seal is looked at once for each state of a row: any other state, or another key, is looked at again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.fernet import Fernet

from accounts.seals import seal
from policies.decisions.seals import sealed_rows
from policies.decisions.seals.sealed_rows import SealedRow, content_of_row, judged

END = datetime(2031, 5, 1, tzinfo=UTC)
ROWS = {
    "member": SealedRow("member", 5, None, None, None, None, END, 3, 11, None, None, None, "hand", None, 2),
    "group": SealedRow("group", 5, 7, "staff", None, None, END, 3, 11, None, None, None, "hand", None, None),
    "role": SealedRow("role", 5, 7, "readers", None, None, END, 3, 11, None, None, None, "hand", None, None),
    "principal": SealedRow(
        "principal", 5, 0, "ana", "user", None, None, 3, 5, "p", None, None, "", None, None
    ),
}
CHANGED: dict[str, dict[str, Any]] = {
    "member": {"one": 6, "realm": 3, "end": None, "start": END, "opened": 4, "pk": 12, "seal": None},
    "group": {"one": 6, "other": 8, "end": None, "start": END, "origin": "directory", "seal": b"x" * 36},
    "role": {"one": 6, "other": 8, "end": None, "start": END, "opened": 4, "pk": 12, "closed": 9},
    "principal": {"other": 1, "text": "eve", "effect": "group", "pattern": "q", "opened": 4},
}
"""By kind, what somebody might write into a row while its seal stays."""
CASES = [(kind, column) for kind, columns in CHANGED.items() for column in columns]


def sealed(row: SealedRow) -> SealedRow:
    return row._replace(seal=seal(content_of_row(row)))


def is_good(row: SealedRow) -> bool:
    return all(good for _, good in judged([tuple(row)]))


@pytest.mark.parametrize(("kind", "column"), CASES)
def test_a_row_found_good_is_not_good_with_another_value(kind: str, column: str) -> None:
    row = sealed(ROWS[kind])
    assert is_good(row) and is_good(row)
    assert not is_good(row._replace(**{column: CHANGED[kind][column]}))
    assert is_good(row)


@pytest.mark.parametrize("kind", ROWS)
def test_a_row_found_good_is_not_good_without_the_key_of_its_seal(kind: str, settings: Any) -> None:
    row = sealed(ROWS[kind])
    assert is_good(row)
    settings.LAKEWARDEN_SECRET_KEYS = [Fernet.generate_key().decode()]
    assert not is_good(row)


def test_only_so_many_rows_are_held(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.LAKEWARDEN_SECRET_KEYS = [Fernet.generate_key().decode()]
    monkeypatch.setattr(sealed_rows, "KEPT", 5)
    rows = [sealed(ROWS["role"]._replace(pk=number)) for number in range(20)]
    assert all(good for _, good in judged(map(tuple, rows)))
    assert len(sealed_rows._good) == 5
    assert all(map(is_good, rows))
