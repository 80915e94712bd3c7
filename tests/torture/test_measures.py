"""What the torture holds answers against: who may read by what was acknowledged, and what is then wrong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.torture import report
from tests.torture.prober import Prober
from tests.torture.run import Figures
from tests.torture.world import PAIRS, Caller, Fact, Ledger, Matrix, Tokens

ANA_READS, READING_GIVES = Fact("holds", "reading", "ana"), Fact("gives", "reading", "orders")
BARRED = Fact("holds", "barred", "ana")
PAIR = ("ana", "orders")


@pytest.mark.parametrize(
    ("holds", "gives", "barred", "surely", "perhaps"),
    [
        (True, True, False, True, True),
        (True, False, False, False, False),
        (None, True, False, False, True),
        (True, None, False, False, True),
        (True, True, True, False, False),
        (True, True, None, False, True),
        (None, True, True, False, False),
    ],
)
def test_what_nobody_answered_for_counts_for_neither(
    holds: bool | None, gives: bool | None, barred: bool | None, surely: bool, perhaps: bool
) -> None:
    ledger = Ledger()
    for fact, value in ((ANA_READS, holds), (READING_GIVES, gives), (BARRED, barred)):
        ledger.put(fact, value)
    _, must, may = ledger.bounds()
    assert (must[PAIR], may[PAIR]) == (surely, perhaps)
    assert not any(may[pair] for pair in PAIRS if pair != PAIR)


def everybody(reads: bool) -> Matrix:
    return dict.fromkeys(PAIRS, reads)


class Answering(Caller):
    """A web server that answers the same for every pair."""

    def __init__(self, reads: bool) -> None:
        super().__init__(0, Tokens("", ""))
        self.reads = reads

    def decisions(self, timeout: float = 0) -> Matrix:
        return everybody(self.reads)


def wrong(ledger: Ledger, reads: bool) -> list[str]:
    prober = Prober(ledger, (Answering(reads),), "")
    prober._asking(prober.callers[0])()
    return prober.wrong


def test_a_yes_after_a_revocation_and_a_no_after_a_grant_are_wrong() -> None:
    ledger = Ledger()
    assert len(wrong(ledger, reads=True)) == len(PAIRS)
    assert wrong(ledger, reads=False) == []
    for fact in (ANA_READS, READING_GIVES):
        ledger.put(fact, True)
    assert wrong(ledger, reads=False) == [f"port 0 refused {PAIR} after its grant was acknowledged"]


def test_a_right_that_comes_back_to_the_database_is_wrong_unless_it_was_asked_for_again() -> None:
    prober = Prober(Ledger(), (), "")
    prober.follow(everybody(False))
    prober.compare(everybody(True))
    assert prober.wrong == []  # the revocation is still on its way
    prober.closed |= {PAIR}
    prober.compare(everybody(False))
    assert prober.wrong == []
    prober.compare(everybody(True))
    assert prober.wrong == [f"the database let {PAIR} in again after it had followed the revocation"]
    prober.follow(everybody(True))
    assert not prober.closed


def test_a_page_tells_of_all_runs_and_of_what_was_wrong_in_any(tmp_path: Path) -> None:
    page = tmp_path / "reliability.md"
    for seed, lost in ((7, []), (8, ["a fact"])):
        figures = Figures(rounds=100, acknowledged=40, unanswered=5, lost=lost, settled=[1.0])
        prober = SimpleNamespace(asked={"decisions": 1, "catalog": 1}, wrong=[])
        site = SimpleNamespace(has_disk=True)
        report.write(page, SimpleNamespace(figures=figures, prober=prober, site=site), 60.0, seed)
    runs = report.runs_in(page.read_text())
    assert [run[1:] for run in runs] == [
        ["7", "100", "40", "5", "0", "0", "0", "0"],
        ["8", "100", "40", "5", "1", "0", "0", "0"],
    ]
    assert "200 rounds in all; wrong in any of them: 1." in page.read_text()
