"""A disk that is really full: the last good result stays, the run says why, and goes on with room."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.nodes import Node
from policies.analytics.pipelines import control, driver, folders, overview, running
from policies.authority import OPERATOR
from policies.models import PipelineRun
from policies.services.grants import GrantRequest, add
from tests.factories import a_person, acting, the
from tests.policies.conftest import make_shop

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(600)]
NAME = "effective_access"
SIZE = "8m"


@pytest.fixture
def disk(tmp_path: Path, var: Path, settings: Any) -> Iterator[Path]:
    """A disk of its own for what the site writes, so small that it can be filled."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "lakewarden", str(place)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root mounts a small disk")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, var=place)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def shop(transactional_db: None) -> Node:
    return make_shop()


def fill(place: Path) -> Path:
    """Take all the room there is."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for block in (1 << 16, 1):
            try:
                while True:
                    file.write(b"x" * block)
            except OSError as full:
                assert full.errno == errno.ENOSPC
    return ballast


def run(root: Node) -> PipelineRun:
    row = control.ask(NAME, root, by=OPERATOR, master="local[1]")
    running.run(row)
    return row


def all_told(folder: Path) -> set[str]:
    return {os.fspath(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("when", ["while the facts are read", "while Spark writes what it found"])
def test_the_last_good_result_stays_and_the_run_goes_on_when_there_is_room(
    when: str, disk: Path, shop: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = run(shop)
    assert (good.state, good.trouble) == ("done", "")
    place, ana = folders.published(good), a_person("ana")
    files, before = all_told(place), overview.overview(shop, acting("marek"))
    add(GrantRequest(the("table", "shop.sales.orders"), (ana,), ("SELECT_TABLE",)), by=acting("marek"))

    if when == "while the facts are read":
        ballast = fill(disk)
        failed = run(shop)
    else:
        drive = driver.drive
        monkeypatch.setattr(driver, "drive", _on_a_full(disk, drive))
        failed = run(shop)
        monkeypatch.setattr(driver, "drive", drive)
        ballast = disk / "ballast"
        assert (folders.input_of(failed) / "manifest.json").exists()
    assert failed.state == "failed"
    assert "the disk is full" in failed.trouble
    assert all_told(place) == files
    assert control.latest(NAME, shop.realm_id) == good
    assert overview.overview(shop, acting("marek")) == before

    ballast.unlink()
    again = run(shop)
    assert (again.pk, again.state, again.trouble, again.attempts) == (failed.pk, "done", "", 2)
    assert control.latest(NAME, shop.realm_id) == again
    now = overview.overview(shop, acting("marek"))
    assert before and now and now.pairs["table"]["read"] > before.pairs["table"]["read"]


def _on_a_full(disk: Path, drive: Callable[..., None]) -> Callable[..., None]:
    def full(*asked: Any) -> None:
        fill(disk)
        drive(*asked)

    return full
