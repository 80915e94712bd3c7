"""Texts to translate: the catalogues are as the code has them, and each translation fits its text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
FILLED_IN = re.compile(r"%\(\w+\)s|%%")
MARKS = re.compile(r"</?\w+[^>]*>")


def translated(path: Path) -> list[tuple[str, str]]:
    """Each text with its translation, of plurals both forms."""
    found = []
    for entry in polib.pofile(str(path)).translated_entries():
        if entry.msgid_plural:
            pairs = zip((entry.msgid, entry.msgid_plural), entry.msgstr_plural.values(), strict=True)
            found += list(pairs)
        else:
            found.append((entry.msgid, entry.msgstr))
    return found


def test_catalogues_and_what_is_compiled_of_them_are_current() -> None:
    checked = subprocess.run([sys.executable, ROOT / "scripts" / "messages.py", "--check"], check=False)
    assert CATALOGUES
    assert checked.returncode == 0, "run: make messages"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parents[1].name)
def test_a_translation_fills_in_what_its_text_does_and_has_its_marks(path: Path) -> None:
    wrong = []
    for text, said in translated(path):
        same = [sorted(found(text)) == sorted(found(said)) for found in (FILLED_IN.findall, MARKS.findall)]
        if not all(same) or '"' in said:
            wrong.append((text, said))
    assert not wrong
