"""The page about requests draws their states from the code, and what it has people type works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts import tokens
from lakewarden.__main__ import main
from policies.models import AccessRequest
from policies.models.requests import FOLLOW, PART, REQUEST
from policies.models.states import States
from tests.client.site import Site
from tests.requests.conftest import make_shop
from tests.requests.world import who

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "requests.md").read_text()


@pytest.mark.parametrize("table", [REQUEST, PART, FOLLOW], ids=lambda table: table.name)
def test_the_states_on_the_page_are_those_of_the_code(table: States) -> None:
    assert table.drawn() in PAGE


@pytest.mark.parametrize("table", [REQUEST, PART])
def test_every_end_can_be_reached_and_only_what_was_approved_is_opened_again(table: States) -> None:
    reached, before = {table.initial}, set()
    while reached != before:
        before = set(reached)
        reached |= {move.target for move in table.moves if set(move.sources) & reached}
    assert reached == set(table.words)
    assert [move.sources for move in table.moves if move.name == "reopen"] == [("approved", "approved_less")]


@pytest.fixture
def shell(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    make_shop()
    site = Site()
    site.start()
    monkeypatch.setenv("LAKEWARDEN_URL", site.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(who("ana")))
    yield site
    site.stop()


def test_the_commands_of_the_page(shell: Site, capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.findall(r"^\$ python -m lakewarden (.*)$", PAGE, re.M)
    assert len(lines) == 3
    for line in lines:
        number = AccessRequest.objects.values_list("pk", flat=True).first()
        words = [str(number) if word == "1" else word for word in shlex.split(line)]
        assert main(words) == 0, capsys.readouterr().err
    assert AccessRequest.objects.get().state == "withdrawn"


def test_the_program_of_the_page(shell: Site, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    for _ in range(2):
        exec(program, {})  # noqa: S102 - the page's own words
    output = capsys.readouterr().out
    assert output.count("for user:ana is waiting for a decision") == 2
    assert AccessRequest.objects.count() == 1
