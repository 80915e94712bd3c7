"""What the documents say exists: make targets, files, variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TARGETS = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.M))

if not DOCUMENTS:
    pytest.skip("no documents yet", allow_module_level=True)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_exist(path: Path) -> None:
    pattern = r"`(?:[A-Z_]+=\S+ )?make ([a-z0-9-]+)[^`]*`|^make ([a-z0-9-]+)"
    named = set(re.findall(pattern, path.read_text(), re.M))
    assert {first or other for first, other in named} <= TARGETS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text())
    dead = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert dead == []


def anchors(path: Path) -> set[str]:
    """What a link can lead to within a document: its headings, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_headings(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", path.read_text())
    local = [(target, heading) for target, heading in links if "://" not in target]
    dead = [
        f"{target}#{heading}"
        for target, heading in local
        if heading not in anchors(path.parent / target if target else path)
    ]
    assert dead == []


TWO_SCREENS = 130
"""Lines that a page has without a table of contents."""
TABLES = {"docs/cdap-operations.md", "docs/seeds.md", "docs/development/words.md"}
"""One table each, made by a program."""


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_a_long_page_begins_with_what_is_in_it(path: Path) -> None:
    lines = path.read_text().splitlines()
    if len(lines) > TWO_SCREENS and str(path.relative_to(ROOT)) not in TABLES:
        assert sum("](#" in line for line in lines[:25]) >= 3, "name the sections at the top"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_are_read(path: Path) -> None:
    readers = ("environment.py", "runtime/processes.py", "runtime/configuration/single_sign_on.py")
    read = "".join((ROOT / "authzsite" / reader).read_text() for reader in readers)
    read += "".join(path.read_text() for path in (ROOT / "lakewarden").rglob("*.py"))
    read += "".join(path.read_text() for path in (ROOT / "tests" / "real").rglob("*.py"))
    named = set(re.findall(r"`(LAKEWARDEN_[A-Z_]+)`", path.read_text()))
    assert {name for name in named if f'"{name}"' not in read} == set()
