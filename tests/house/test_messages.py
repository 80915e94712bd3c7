"""Texts to translate: the catalogues are as the code has them, and each translation fits its text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = sorted((ROOT / "authzsite" / "locale").glob("*/LC_MESSAGES/django.po"))
FILLED_IN = re.compile(r"%\(\w+\)s|%%|\{\w*\}")
MARKS = re.compile(r"</?\w+[^>]*>")


def translated(path: Path) -> list[tuple[str, str]]:
    """Each text with its translation, of plurals both forms."""
    texts = []
    for entry in polib.pofile(str(path)).translated_entries():
        if entry.msgid_plural:
            pairs = zip((entry.msgid, entry.msgid_plural), entry.msgstr_plural.values(), strict=True)
            texts += list(pairs)
        else:
            texts.append((entry.msgid, entry.msgstr))
    return texts


def test_catalogues_and_what_is_compiled_of_them_are_current() -> None:
    checked = subprocess.run([sys.executable, ROOT / "scripts" / "messages.py", "--check"], check=False)
    assert CATALOGUES
    assert checked.returncode == 0, "run: make messages"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parents[1].name)
def test_a_translation_fills_in_what_its_text_does_and_has_its_marks(path: Path) -> None:
    wrong = []
    for text, translation in translated(path):
        same = [
            sorted(read(text)) == sorted(read(translation)) for read in (FILLED_IN.findall, MARKS.findall)
        ]
        if not all(same) or '"' in MARKS.sub("", translation):
            wrong.append((text, translation))
    assert not wrong


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parents[1].name)
def test_a_language_that_is_offered_is_whole(path: Path) -> None:
    """A few new texts may wait for their words; until then they are read in English."""
    catalogue = polib.pofile(str(path))
    waiting = [entry.msgid for entry in catalogue.untranslated_entries()]
    guessed = [entry.msgid for entry in catalogue.fuzzy_entries()]
    assert len(waiting) <= 10, waiting
    assert not guessed, "nobody is shown what was guessed; look at each and take its mark `fuzzy` away"


SAID = {
    # a word in English: how a German text that has it may say it
    "access": ("zugriff", "zugreifen", "zugäng"),
    "approver": ("genehmig",),
    "denial": ("verbot",),
    "duty": ("zuständigkeit",),
    "grants": ("berechtigung", "gewähr"),
    "inbox": ("posteingang",),
    "member": ("mitglied",),
    "objects": ("objekt",),
    "owner": ("eigentüm", "eigentum", "datenverantwortlich"),
    "realm": ("bereich",),
    "request": ("antrag", "anträg", "beantrag", "anfrage"),  # a call by HTTP is an Anfrage
    "requests": ("antrag", "anträg", "beantrag"),
    "review": ("überprüf", "prüf"),
    "revoke": ("entzieh", "entzogen", "widerruf"),
    "revoked": ("entzieh", "entzogen", "widerruf"),
    "role": ("rolle",),
    "roles": ("rolle",),
    "rule": ("regel",),
    "service account": ("dienstkont",),
    "token": ("token",),
}


def test_german_has_the_words_of_the_glossary() -> None:
    """As the column German of docs/development/words.md has them; and no text says du."""
    wrong = []
    for text, translation in translated(ROOT / "authzsite/locale/de/LC_MESSAGES/django.po"):
        plain = FILLED_IN.sub(" ", MARKS.sub(" ", text)).lower()
        german = translation.lower().replace("\u00ad", "")
        for word, ways in SAID.items():
            if re.search(rf"\b{word}\b", plain) and not any(way in german for way in ways):
                wrong.append((word, text, translation))
        if re.search(r"\b(du|dein|deine|dir|dich)\b", german):
            wrong.append(("Sie", text, translation))
    assert not wrong
