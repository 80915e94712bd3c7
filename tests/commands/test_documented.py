"""Each `manage.py` line of the documents is one that its command takes; none is run here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# how a line goes on in a shell: what follows is not the command's
SHELL = re.compile(r"\s(?:\||>|&&|\|\||;|2>|<\s|#).*$")


def lines() -> Iterator[tuple[str, str]]:
    """Whole lines of blocks, joined at backslashes; those with places to fill in are left out."""
    for path in DOCUMENTS:
        for block in re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", path.read_text(), re.M | re.S):
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                command = re.search(r"(?:^|\s)(?:\S*/)?manage\.py (.+)$", SHELL.sub("", line))
                if command and not re.search(r"…|\[|<\w+>|\b[A-Z]{3,}\b(?!=)(?<!\$)", command[1]):
                    yield str(path.relative_to(ROOT)), command[1].strip()


LINES = list(lines())


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line}" for page, line in LINES])
def test_a_documented_command_is_taken(page: str, line: str) -> None:
    name, *arguments = shlex.split(line)
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_an_unknown_option_is_refused() -> None:
    assert len(LINES) > 40
    connect = load_command_class("authzsite", "connect").create_parser("manage.py", "connect")
    with pytest.raises(SystemExit):
        connect.parse_args(["prod/lake", "ranger-hive", "--policy", "report", "--url", "x"])
