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
    assert {one or other for one, other in named} <= TARGETS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text())
    dead = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert dead == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_are_read(path: Path) -> None:
    readers = ("environment.py", "runtime/processes.py", "runtime/single_sign_on.py")
    read = "".join((ROOT / "authzsite" / reader).read_text() for reader in readers)
    named = set(re.findall(r"`(LAKEWARDEN_[A-Z_]+)`", path.read_text()))
    assert {name for name in named if f'"{name}"' not in read} == set()
