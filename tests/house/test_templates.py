"""Templates: each that is named is there, each that is there is named, and their lines can be read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
NAMED = re.compile(r'"((?:[a-z_]+/)*[a-z_]+\.html)"')
FRAMES = {"base.html", "bare.html"}
"""Those at the top; every other name has a folder, and what has none is the name of a file to take away."""


def named() -> set[str]:
    python = [path for floor in ("authzsite", "policies") for path in (ROOT / floor).rglob("*.py")]
    texts = (path.read_text() for path in (*python, *TEMPLATES.rglob("*.html")))
    names = {name for text in texts for name in NAMED.findall(text)}
    return {name for name in names if "/" in name or name in FRAMES}


def there() -> set[str]:
    return {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html")}


def test_every_template_that_is_named_is_there() -> None:
    assert there()
    assert sorted(named() - there()) == []


def test_no_template_is_left_over() -> None:
    assert sorted(there() - named()) == []


def test_lines_of_templates_can_be_read() -> None:
    lines = [(path, line) for path in TEMPLATES.rglob("*.html") for line in path.read_text().splitlines()]
    assert [f"{path.name}: {line[:60]}…" for path, line in lines if len(line) > 160] == []
