"""The backend that the page writes: taken from the page, installed beside the console, proved, connected."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accounts.models import Principal
from lakewarden.backends import kinds
from policies.models import Backend, BackendFinding
from tests.factories import a_metalake, a_person, a_role, admit, the

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "backends.md").read_text()
ABOUT = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE, re.S)[0])
US = "lakewarden demo backend-"


def installed(folder: Path) -> Path:
    """The page's package as pip leaves it: its modules, and a folder that names its entry points."""
    for name, code in re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.S):
        (folder / name).write_text(code)
    project = ABOUT["project"]
    about = folder / f"lakewarden_shelf-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        f"[{group}]\n" + "\n".join(f"{name} = {where}" for name, where in named.items())
        for group, named in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points))
    return folder


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a shelf with two tables, beside a console that has the package."""
    monkeypatch.syspath_prepend(installed(tmp_path))
    kinds.forget()
    path = tmp_path / "shelf.json"
    objects = [
        {"id": "1", "kind": "schema", "path": ["sales"], "grants": []},
        {
            "id": "2",
            "kind": "table",
            "path": ["sales", "orders"],
            "grants": [{"to": "mo", "right": "READ", "by": "an administrator"}],
        },
    ]
    path.write_text(json.dumps({"version": 1, "users": ["ana", "mo"], "objects": objects}))
    yield path
    kinds.forget()
    sys.modules.pop("shelf", None)


def test_the_page_writes_a_backend_in_about_a_hundred_lines(tmp_path: Path) -> None:
    code = (installed(tmp_path) / "shelf.py").read_text().splitlines()
    assert len([line for line in code if line.strip()]) < 120


@pytest.mark.seed("S4-015")
def test_the_page_names_every_kind_that_is_built_in_and_what_it_is_connected_to() -> None:
    rows = re.findall(r"^\| (`.*?`) \|[^|]*\| ([^|]*) \|", PAGE, re.M)
    stated = {code: where for cell, where in rows for code in re.findall(r"`([^`]+)`", cell)}
    built = kinds.built()
    assert built.keys() == stated.keys()
    for code, kind in built.items():
        # a row of several kinds names those that differ
        where = next(
            (part for part in stated[code].split(";") if f"`{code}`" in part), stated[code].split(";")[0]
        )
        assert ("whole realm" in where) is kind.whole_realm, code


@pytest.mark.seed("S4-015", "S1-023")
def test_the_backend_of_the_page_passes_the_contract(tmp_path: Path) -> None:
    folder = installed(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:django", "test_shelf.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 40
    assert "skipped" not in done.stdout


def ran(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


def test_the_backend_of_the_page_is_connected_and_kept_equal(
    db: None, shelf: Path, settings: Settings
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback", str(shelf.parent)]
    root = a_metalake()
    a_person("ana", "staff")
    admit(root, "ana")
    url = f"shelf://{shelf}"
    assert f"connected demo/shelf to Shelf {shelf}" in ran("connect", "demo/shelf", "shelf", "--url", url)
    assert "2 objects, 2 new" in ran("discover", "demo/shelf")
    rules = ("USE_CATALOG on catalog shelf", "USE_SCHEMA on catalog shelf", "SELECT_TABLE on catalog shelf")
    a_role(root, "reading", *(f"allow {rule}" for rule in rules), held_by=("ana",))
    assert json.loads(ran("sync", "demo/shelf"))["missing"] == 0
    row = Backend.objects.get()
    sales, orders = json.loads(shelf.read_text())["objects"]
    assert sales["grants"] == [{"to": "ana", "right": "OPEN", "by": f"{US}{row.pk}"}]
    assert orders["grants"] == [
        {"to": "mo", "right": "READ", "by": "an administrator"},
        {"to": "ana", "right": "READ", "by": f"{US}{row.pk}"},
    ]
    assert BackendFinding.objects.get(kind="foreign").securable_id == the("table", "shelf.sales.orders").id
    assert Principal.objects.filter(name="ana").exists()


def test_without_its_folder_allowed_nothing_is_connected(
    db: None, shelf: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    a_metalake()
    with pytest.raises(SystemExit) as ended:
        call_command("connect", "demo/shelf", "shelf", "--url", f"shelf://{shelf}")
    assert ended.value.code == 2
    assert not Backend.objects.exists()
