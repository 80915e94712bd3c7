"""The client leaves the house: as a wheel into an empty environment, as a zip under older Pythons."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import missing

from .conftest import TOKEN, Peer, answer
from .test_held import wire

ROOT = Path(__file__).resolve().parents[2]
QUESTION = ("check", "user:ana", "read", "table:demo/shop.sales.orders")
IMPORT_ALL = """
import importlib, pkgutil, sys, lakewarden
names = [one.name for one in pkgutil.walk_packages(lakewarden.__path__, "lakewarden.")]
for name in names:
    # the suite for backends is pytest's to import
    if not name.endswith(("__main__", "testing.contract", "testing.suite")):
        importlib.import_module(name)
loaded = {name.partition(".")[0] for name in sys.modules}
strangers = loaded & {"django", "rest_framework", "pyspark", "pyarrow"}
print(len(names), sorted(strangers))
"""
DECIDE = """
import json, sys
from lakewarden.client.fresh_snapshot import FreshSnapshot
from lakewarden.law.objects import ObjectRef
from lakewarden.client.snapshot import Snapshot
one = FreshSnapshot.fixed(Snapshot.read(json.load(sys.stdin), now=1800000000.0), clock=lambda: 1800000000.0)
ref = ObjectRef.parse("table", "demo/shop.sales.orders")
print([bool(one.current().decide(action, ref, now=1800000000.0)) for action in ("read", "write")])
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "package.py"), str(folder)], check=True)
    return folder


def run(*command: str | Path, stdin: str = "", **variables: str) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", **variables}
    done = subprocess.run(
        [str(item) for item in command],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_wheel_works_where_nothing_else_is_installed(packed: Path, tmp_path: Path, console: Peer) -> None:
    [wheel] = packed.glob("*.whl")
    assert run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")[0] == 0
    python, command = (tmp_path / "venv" / "bin" / name for name in ("python", "lakewarden"))
    install = ("install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
    code, output = run(sys.executable, "-m", "pip", "--python", python, *install)
    assert code == 0, output
    code, output = run(python, "-I", "-c", IMPORT_ALL)
    assert (code, output.split(maxsplit=1)[1]) == (0, "[]\n")
    assert run(python, "-I", "-c", DECIDE, stdin=json.dumps(wire())) == (0, "[True, False]\n")
    console.scripts = [answer({"evaluations": [{"decision": True}]})]
    settings = {"LAKEWARDEN_URL": console.url, "LAKEWARDEN_TOKEN": TOKEN}
    assert run(command, *QUESTION, **settings) == (0, "user:ana may read all 1\n")
    assert run(command, *QUESTION)[0] == 2
    assert "py.typed" in str(list((tmp_path / "venv").rglob("lakewarden/py.typed")))


def older(name: str) -> str:
    places = [shutil.which(name), *Path.home().glob(f".pyenv/versions/*/bin/{name}")]
    for place in filter(None, places):
        if run(place, "--version")[0] == 0:
            return str(place)
    missing(name, name)
    raise AssertionError


@pytest.mark.parametrize("name", ["python3.9", "python3.10", "python3.12", "python3.13"])
def test_the_zip_is_enough_for_each_python(packed: Path, console: Peer, name: str) -> None:
    python = older(name)
    [archive] = packed.glob("*.zip")
    code, output = run(python, "-S", "-c", IMPORT_ALL, PYTHONPATH=str(archive))
    assert (code, output.split(maxsplit=1)[1]) == (0, "[]\n"), output
    assert run(python, "-S", "-c", DECIDE, stdin=json.dumps(wire()), PYTHONPATH=str(archive)) == (
        0,
        "[True, False]\n",
    )
    console.scripts = [answer({"evaluations": [{"decision": False, "context": {"reason_user": "no"}}]})]
    settings = {"LAKEWARDEN_URL": console.url, "LAKEWARDEN_TOKEN": TOKEN, "PYTHONPATH": str(archive)}
    code, output = run(python, "-S", "-m", "lakewarden", *QUESTION, **settings)
    assert code == 1
    assert "1 of 1 refused, nothing was read" in output


def test_the_zip_has_the_packages_at_its_root_and_nothing_else(packed: Path) -> None:
    [archive] = packed.glob("*.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert "lakewarden/client/client.py" in names
    assert {name.partition("/")[0] for name in names} == {"lakewarden", "pyspark_lakewarden"}
    assert not any("__pycache__" in name for name in names)


def test_the_same_code_is_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "package.py"), str(tmp_path)], check=True)
    [first], [second] = packed.glob("*.zip"), tmp_path.glob("*.zip")
    assert first.read_bytes() == second.read_bytes()
