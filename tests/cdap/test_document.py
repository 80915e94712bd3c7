"""What docs/cdap.md says to type is typed, in its order, and does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class

from accounts import people, tokens
from lakewarden.__main__ import main
from lakewarden.cdap.commands import COMMANDS
from lakewarden.law.dialects.cdap.authorizable import PROGRAM_TYPES, TYPES
from tests.cdap.world import Caller
from tests.commands.test_commands import Shell, shell

__all__ = ["shell"]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cdap.md").read_text()
LINES = [
    line
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.S | re.M)
    if not language
    for line in block.strip().splitlines()
]


def curl(line: str) -> str:
    """What a line of curl answers, as Ana sends it."""
    words = shlex.split(line)
    verb = words[words.index("-X") + 1] if "-X" in words else "GET"
    [url] = [word for word in words if word.startswith("$URL")]
    body = words[words.index("-d") + 1].encode() if "-d" in words else None
    answer = Caller("ana").send(verb, url.removeprefix("$URL"), body)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


@pytest.mark.seed("S1-120", "S2-178")
@pytest.mark.django_db(transaction=True)
def test_the_commands_of_the_page_run_as_they_stand(
    live_server: Any,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = {}
    for line in LINES:
        if line.startswith("python manage.py "):
            code, outputs[line], _ = shell(line.removeprefix("python manage.py "))
            assert code == 0, line
        elif line.startswith("export "):
            monkeypatch.setenv("LAKEWARDEN_URL", live_server.url)
            monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(people.ensure("user", "marek")))
        elif line.startswith("curl "):
            outputs[line] = curl(line)
        else:
            words = shlex.split(line.removeprefix("python -m lakewarden "))
            assert main(words) == 0, capsys.readouterr().err
            outputs[line] = capsys.readouterr().out
    assert len(outputs) == 18
    last = outputs['python -m lakewarden cdap "list privileges for role ns1_administrator"']
    assert "| namespace:ns1 | ADMIN  |" in last
    assert "| dataset:ns1.* | READ   |" in last
    assert "WRITE" not in last
    keeper = Caller("kim")
    assert keeper.get("/v3/security/authorization/roles").status_code == 403


@pytest.mark.seed("S1-022")
def test_the_page_names_every_setting_of_a_realm() -> None:
    command = load_command_class("authzsite", "createrealm")
    parser = command.create_parser("manage.py", "createrealm")
    ours = [
        action for group in parser._action_groups for action in group._group_actions if action.option_strings
    ]
    common = {"-h", "--comment", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"}
    common |= {"-v", "--no-color", "--force-color", "--skip-checks"}
    common |= {"--switching"}  # of metalakes alone
    settings = [item.option_strings[0] for item in ours if not common & set(item.option_strings)]
    assert "--policy" in settings
    assert [setting for setting in settings if f"| `{setting}` |" not in PAGE] == []


def test_the_page_names_every_command_and_type() -> None:
    for command in COMMANDS:
        assert f"`{command.pattern}`" in PAGE
    for type in (*TYPES, *PROGRAM_TYPES):
        assert f"`{type}`" in PAGE
