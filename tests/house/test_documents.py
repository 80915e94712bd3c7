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
    headings = re.findall(r"^#+ (.*)$", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text), re.M)
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


LINES, LETTERS = 130, 6000
"""Two screens: what a page has at most without a table of contents."""
BY_PROGRAMS = {
    # pages that a program writes, and what they are
    "cdap-operations.md": "one table",
    "licenses.md": "one table",
    "real.md": "the last run against each server",
    "reliability.md": "the last run of make torture",
    "seeds.md": "one table",
    "settings.md": "tables with a table of contents",
}
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in BY_PROGRAMS)
SHOWS = re.compile(r"^(```|!\[|1\. |\| You\b)", re.M)
"""A command or a piece of code, a picture, steps, or the table of what the reader wants to do."""
EXPLAINS = re.compile(r"^(This (page|document|chapter)\b|Lakewarden\b|There (is|are)\b|In this\b)")


def top(text: str) -> str:
    return "\n".join(text.splitlines()[1:14])


def is_long(text: str) -> bool:
    return len(text) > LETTERS or text.count("\n") > LINES


def is_listed_at_the_top(text: str) -> bool:
    return sum(line.count("](#") for line in text.splitlines()[:25]) >= 3


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_begins_with_what_its_reader_wants_to_do(path: Path) -> None:
    text = path.read_text()
    assert not EXPLAINS.match(top(text).strip()), "say what the reader can do with it"
    assert SHOWS.search(top(text)), "show a command, a picture or `| You want to | Go to |` first"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_two_screens_or_lists_what_is_in_it(path: Path) -> None:
    text = path.read_text()
    assert not is_long(text) or is_listed_at_the_top(text), "name the sections at the top"


def test_the_readme_is_short_and_shows_a_picture_first() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) < 120
    assert any(line.startswith("![") for line in lines[:8])


def test_pages_by_programs_are_there() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.md")} >= set(BY_PROGRAMS)


@pytest.mark.parametrize(
    ("page", "begins", "fits"),
    [
        ("# Sync\n\nConnect a database.\n\n```sh\nmanage.py connect\n```\n", True, True),
        ("# Sync\n\n" + "The sync is a loop that compares.\n\n" * 20, False, True),
        (
            "# Sync\n\n| You want to | Go to |\n|---|---|\n" + "| a | [b](#b) |\n" * 3 + "word " * 1500,
            True,
            True,
        ),
        ("# Sync\n\n```\nmanage.py sync\n```\n" + "word " * 1500, True, False),
        ("# Sync\n\n```\nmanage.py sync\n```\n" + "word\n" * 140, True, False),
    ],
)
def test_a_page_without_a_beginning_and_a_long_one_would_be_seen(page: str, begins: bool, fits: bool) -> None:
    assert bool(SHOWS.search(top(page))) == begins
    assert (not is_long(page) or is_listed_at_the_top(page)) == fits


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_are_read(path: Path) -> None:
    readers = ("environment.py", "runtime/processes.py", "runtime/configuration/single_sign_on.py")
    read = "".join((ROOT / "authzsite" / reader).read_text() for reader in readers)
    read += "".join(path.read_text() for path in (ROOT / "lakewarden").rglob("*.py"))
    read += "".join(path.read_text() for path in (ROOT / "tests" / "real").rglob("*.py"))
    named = set(re.findall(r"`(LAKEWARDEN_[A-Z_]+)`", path.read_text()))
    assert {name for name in named if f'"{name}"' not in read} == set()


def test_what_the_security_checklist_names_as_its_proof_is_there() -> None:
    page = (ROOT / "docs" / "security-checklist.md").read_text()
    paths = re.findall(r"`((?:tests|authzsite|accounts|policies|deploy)/[^`]+)`", page)
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []
    rows = [
        line
        for line in page.partition("## Yours")[0].splitlines()
        if re.search(r"\| (there|setting) \|", line)
    ]
    assert [row for row in rows if "`tests/" not in row and "SECURITY.md" not in row] == []


def test_a_record_of_a_decision_has_its_number_alone_and_stands_in_the_list() -> None:
    records = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    numbers = [path.name[:4] for path in records]
    assert sorted(set(numbers)) == numbers
    listed = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\)", (ROOT / "docs/adr/README.md").read_text(), re.M)
    assert sorted(listed) == [(path.name[:4], path.name) for path in records]
