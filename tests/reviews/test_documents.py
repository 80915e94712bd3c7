"""The page about reviews draws their states from the code, and its commands work."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from catalog.nodes import Node
from lakewarden.record.__main__ import main
from policies import signing
from policies.models import review_states
from tests.reviews.world import a_review, can_sign_in

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reviews.md"


@pytest.mark.parametrize("table", [review_states.REVIEW, review_states.ROW], ids=lambda table: table.name)
def test_the_states_on_the_page_are_those_of_the_code(table: review_states.States) -> None:
    assert table.drawn() in PAGE.read_text() + "\n"


def test_the_commands_of_the_page(
    shop: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    can_sign_in("olivia")
    number = a_review().pk
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("$ ")]
    for line in lines:
        arguments = line.partition("manage.py ")[2].split()
        call_command(*(str(number) if argument == "1" else argument for argument in arguments))
    out = capsys.readouterr().out
    assert f"{number}  open  due" in out
    assert "review.zip: 2 rows" in out
    assert main([str(tmp_path / "review.zip"), "--key", str(signing.public_key())]) == 0


def test_a_review_that_is_not_there(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("review", "evidence", "99")
    assert left.value.code == 1
