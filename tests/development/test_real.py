"""What `make real` stands on: only what was pinned is taken, and what was started ends."""

from __future__ import annotations

import re
import sys

import psutil
import pytest

from tests.real import artifacts, page
from tests.real.servers import Server
from tests.waiting import PATIENCE

PINNED = sorted(path.stem for path in artifacts.PINS.glob("*.tsv"))


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


@pytest.mark.parametrize("server", PINNED)
def test_every_file_is_pinned_by_release_and_checksum(server):
    assert artifacts.version(server)
    for artifact in artifacts.pinned(server):
        assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256), artifact.path
        assert re.search(r"/\d[^/]*/[^/]+\.(jar|zip|tar\.gz)$", artifact.path), artifact.path


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
