"""The 150 most seen texts that were rewritten: none comes back, and what replaced it is on a page.

`wordings.tsv` has the earlier text and the present one, those on most pages first.  A text that is rewritten
again takes its line along; one that is gone for good leaves its line to another that was rewritten.
"""

from __future__ import annotations

import csv

import polib

from tests.house.checks import ROOT


def test_no_text_reads_as_it_did_before_it_was_rewritten() -> None:
    catalogue = polib.pofile(str(ROOT / "authzsite/locale/de/LC_MESSAGES/django.po"))
    texts = {text for entry in catalogue if not entry.obsolete for text in (entry.msgid, entry.msgid_plural)}
    lines = (ROOT / "tests/house/wordings.tsv").read_text().splitlines()
    wordings = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(wordings) == len({line["now"] for line in wordings}) == 150
    assert not [line["before"] for line in wordings if line["before"] in texts]
    assert not [line["now"] for line in wordings if line["now"] not in texts]
