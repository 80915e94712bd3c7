"""Each `manage.py` line of the documents is one that its command takes; none is run here."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A block with its language: choosing by language here would take a closing fence for an opening one."""

SHELLS = ("", "sh", "bash", "console")
COMMAND = re.compile(r"(?:^|\s)(?:\S*/)?manage\.py (.+)$")
# how a line goes on in a shell: what follows is not the command's
SHELL = re.compile(r"\s(?:\||>|&&|\|\||;|2>|<\s|#).*$")


def lines() -> Iterator[tuple[str, str]]:
    """Whole lines of blocks, joined at backslashes."""
    for path in DOCUMENTS:
        shown = [block for language, block in FENCED.findall(path.read_text()) if language in SHELLS]
        for block in shown:
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                if command := COMMAND.search(SHELL.sub("", line)):
                    yield str(path.relative_to(ROOT)), command[1].strip()


LINES = list(lines())


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line}" for page, line in LINES])
def test_a_documented_command_is_taken(page: str, line: str) -> None:
    name, *arguments = shlex.split(line)
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_an_unknown_option_is_refused() -> None:
    connect = load_command_class("authzsite", "connect").create_parser("manage.py", "connect")
    with pytest.raises(SystemExit):
        connect.parse_args(["prod/lake", "ranger-hive", "--policy", "report", "--url", "x"])


def test_every_page_with_commands_is_read() -> None:
    """A line that begins with the command stands in a block, however the block was found."""
    begins = re.compile(r"^(?:\$ )?(?:\S+=\S+ )*(?:\S*python3? )?(?:\S*/)?manage\.py [^`\n]+$", re.MULTILINE)
    counted = {str(path.relative_to(ROOT)): len(begins.findall(path.read_text())) for path in DOCUMENTS}
    assert counted["docs/cdap.md"] > 10
    read = Counter(page for page, _ in LINES)
    assert {page: count for page, count in counted.items() if count > read[page]} == {}
