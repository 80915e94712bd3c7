"""What `make real` stands on: only what was pinned is taken, and what was started ends."""

from __future__ import annotations

import re
import subprocess
import sys

import psutil
import pytest

from tests.real import artifacts, page, run
from tests.real.servers import Server
from tests.waiting import PATIENCE

RELEASED = r"/\d[^/]*/[^/]+\.(jar|zip|tar\.gz)$|^(debian|ubuntu)/pool/.+_\d[^/_]*_amd64\.deb$"
PINNED = sorted(path.stem for path in artifacts.PINS.glob("*.tsv"))
SKIPPED = subprocess.CompletedProcess([], 5)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A file in the cache, and its artifact."""
    monkeypatch.setenv("LAKEWARDEN_CACHE", str(tmp_path))
    kept = tmp_path / "maven" / "org" / "some.jar"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"as it was")
    return artifacts.Artifact("org/some.jar", artifacts.digest(kept))


def test_the_file_that_was_pinned_is_taken_from_the_cache(cached):
    assert cached.fetch().read_bytes() == b"as it was"


def test_another_file_is_refused_and_removed(cached):
    cached.kept.write_bytes(b"as somebody made it")
    with pytest.raises(artifacts.Untrue):
        cached.fetch()
    assert not cached.kept.exists()


@pytest.mark.parametrize("path", ["org/2/some.jar", "debian/pool/some_2_amd64.deb"])
def test_what_its_registry_does_not_keep_any_more_is_told_with_where_it_was_sought(
    tmp_path, monkeypatch, path
):
    monkeypatch.setenv("LAKEWARDEN_CACHE", str(tmp_path / "cache"))
    for variable in ("LAKEWARDEN_MAVEN", "LAKEWARDEN_DEBIAN"):
        monkeypatch.setenv(variable, f"file://{tmp_path}/{variable}")
    artifact = artifacts.Artifact(path, "")
    with pytest.raises(artifacts.Absent, match=f"file://{tmp_path}/LAKEWARDEN_.*/{path}: "):
        artifact.fetch()
    assert not artifact.kept.exists()


def test_a_release_that_cannot_be_had_is_told_of_and_keeps_no_other_from_its_tests(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("LAKEWARDEN_CACHE", str(tmp_path))
    for variable in ("LAKEWARDEN_DEBIAN", "LAKEWARDEN_UBUNTU"):
        monkeypatch.setenv(variable, f"file://{tmp_path}")
    tested = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: tested.append(command) or SKIPPED)
    assert run._run("mysql") == SKIPPED.returncode
    output = capsys.readouterr().out
    for release in ("mysql-8.0", "mysql-9.7"):
        assert f"{release} cannot be had, its tests are skipped: file://{tmp_path}/" in output
    assert len(tested) == 1


@pytest.mark.parametrize("server", PINNED)
def test_every_file_is_pinned_by_release_and_checksum(server):
    assert artifacts.version(server)
    for artifact in artifacts.pinned(server):
        assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256), artifact.path
        assert re.search(RELEASED, artifact.path), artifact.path


def test_every_server_has_its_folder_of_tests():
    folders = {path.parent.name for path in (artifacts.PINS.parent).glob("*/test_*.py")}
    assert folders == {*page.SERVERS}


CHILD = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"


def test_what_was_started_ends_with_its_children():
    server = Server("test")
    program = f"import subprocess, sys, time; {CHILD}; print('up', flush=True); time.sleep(600)"
    server.run([sys.executable, "-c", program])
    server.wait(lambda: "up" in server.log.read_text())
    children = [
        child for process in server.running for child in psutil.Process(process.pid).children(recursive=True)
    ]
    assert children
    server.stop()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert {child.status() for child in alive} <= {psutil.STATUS_ZOMBIE}
    assert not server.home.exists()
