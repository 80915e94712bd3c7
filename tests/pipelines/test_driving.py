"""The process that drives Spark: it is heard, its end is told, and nothing of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalog.nodes import Node
from policies.authority import OPERATOR
from policies.exports import parquet
from policies.models import Figure, PipelineRun
from policies.pipelines import asking, driving, folders, known, running
from policies.pipelines.known import Pipeline
from tests.policies.conftest import make_shop

SAYING = "import json,sys,os,time,signal\ndef say(**told): print(json.dumps(told), flush=True)\n"


@pytest.fixture
def shop(transactional_db: None) -> Node:
    return make_shop()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A pipeline whose program is a script, in the place of Spark."""
    code = {"": ""}

    def command(pipeline: Pipeline, work: Any) -> list[str]:
        return [sys.executable, "-c", f"{SAYING}out = {str(work.output)!r}\n{code['']}"]

    def write(text: str) -> str:
        code[""] = text
        return "scripted"

    made = Pipeline(
        "scripted", "Scripted", "For a test.", program="x", load=lambda work, folder: read(folder)
    )
    monkeypatch.setitem(known._PIPELINES, "scripted", made)
    monkeypatch.setattr(driving, "_command", command)
    return write


def read(folder: Path) -> dict[str, Any]:
    return {"files": sorted(one.name for one in folder.iterdir())}


def run(name: str, root: Node) -> PipelineRun:
    row = asking.ask(name, root, by=OPERATOR, master="local[1]")
    running.run(row)
    return row


def test_what_it_wrote_is_published_whole(shop: Node, script: Callable[[str], str], var: Path) -> None:
    name = script("say(done=1, total=4, step='half')\nopen(out + '/a', 'w').close()")
    row = run(name, shop)
    assert (row.state, row.result, row.trouble) == ("done", {"files": ["a"]}, "")
    assert row.folder == f"{shop.realm_id}/{row.revision}/scripted"
    assert (var / "pipelines" / row.folder / "a").exists()
    assert not folders.aside(row).exists()
    assert parquet.check(folders.input_of(row)).revision == row.revision


@pytest.mark.parametrize(
    ("case", "code", "told"),
    [
        ("it says why", "say(trouble='no such master')\nsys.exit(1)", "no such master"),
        ("it is killed", "os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
        ("it breaks", "raise ValueError('boom')", "ValueError: boom"),
        ("it says nothing", "sys.exit(3)", "ended with exit code 3"),
        ("Java writes among the lines", "print('WARN x')\nsay(trouble='why')\nsys.exit(1)", "why"),
    ],
)
def test_its_end_is_told(shop: Node, script: Callable[[str], str], case: str, code: str, told: str) -> None:
    row = run(script(code), shop)
    assert row.state == "failed", case
    assert told in row.trouble


def test_what_was_finished_is_not_done_again(shop: Node, script: Callable[[str], str]) -> None:
    first = run(script("open(out + '/a', 'w').write('1')\nsys.exit(1)"), shop)
    assert first.state == "failed"
    again = run(script("assert open(out + '/a').read() == '1'\nopen(out + '/b', 'w').close()"), shop)
    assert (again.pk, again.state, again.result) == (first.pk, "done", {"files": ["a", "b"]})


def test_the_last_good_files_stay_when_publishing_fails(
    shop: Node, script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = script("open(out + '/good', 'w').close()")
    row = run(name, shop)
    place = folders.published(row)
    PipelineRun.objects.update(ended=None)
    PipelineRun.objects.update(state="failed")
    renamed: list[Any] = []
    rename = os.rename

    def full(old: Any, new: Any) -> None:
        renamed.append(old)
        if len(renamed) == 2:  # the old files are out of the way, the new ones not yet in
            raise OSError(28, "No space left on device", str(new))
        rename(old, new)

    monkeypatch.setattr(os, "rename", full)
    script("open(out + '/new', 'w').close()")
    again = run(name, shop)
    assert again.state == "failed"
    assert "the disk is full" in again.trouble
    assert read(place) == {"files": ["good"]}


def test_nothing_can_be_written(shop: Node, script: Callable[[str], str]) -> None:
    (folders.top()).write_text("a file where the folder should be")
    row = run(script(""), shop)
    assert row.state == "failed"
    assert str(folders.top()) in row.trouble


def test_a_stopped_run_ends_its_process(shop: Node, script: Callable[[str], str], var: Path) -> None:
    """Somebody stops it while it works: the process is ended, whatever it does."""
    pid = var / "pid"
    name = script(
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True:\n    say(done=1, total=2, step='on and on'); time.sleep(0.05)\n"
    )
    row = asking.ask(name, shop, by=OPERATOR, master="local[1]")
    tell = running._teller

    def stopping(run: PipelineRun) -> Callable[[int, int, str], None]:
        telling = tell(run)

        def told(done: int, total: int, step: str) -> None:
            if step == "on and on":
                asking.stop(run.pk, by=OPERATOR)
            telling(done, total, step)

        return told

    running._teller = stopping  # type: ignore[assignment]
    try:
        running.run(row)
    finally:
        running._teller = tell  # type: ignore[assignment]
    row.refresh_from_db()
    assert row.state == "stopped"
    assert gone(int(pid.read_text()))


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_driver_ends_with_whoever_started_it() -> None:
    """The end of its standard input is the end of the driver, so a killed worker leaves none behind."""
    code = (
        "import time\nfrom lakewarden.spark.pipelines.telling import end_with_parent\n"
        "end_with_parent()\nprint('up', flush=True)\ntime.sleep(60)"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(driving.PACKAGES)},
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    with driver, driver.stdout:
        assert driver.stdout.readline() == b"up\n"
        assert driver.poll() is None
        driver.stdin.close()
        started = time.monotonic()
        assert driver.wait(30) == 1
        assert time.monotonic() - started < 30
    assert -driver.returncode != signal.SIGKILL


def test_a_driver_that_is_done_ends_by_itself() -> None:
    """While its standard input is still open, as whoever started it holds it."""
    code = "from lakewarden.spark.pipelines.telling import end_with_parent\nend_with_parent()"
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(driving.PACKAGES)},
    )
    with driver:
        assert driver.wait(30) == 0


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_on_spark_from_start_to_end(shop: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """The command starts the driver, Spark works, the files are published and the figures are the law's."""
    from django.core.management import call_command

    call_command("pipeline", "effective_access", realm="demo", master="local[2]")
    line = json.loads(capsys.readouterr().out)
    assert (line["state"], line["master"]) == ("done", "local[2]")
    assert line["result"]["sampled"] > 5_000
    assert line["result"]["pairs"]["table"]["read"] == 10
    weights = Figure.objects.filter(kind="object").order_by("place").values_list("weight", flat=True)
    assert list(weights) == [3, 3, 3, 2, 1]
    assert (folders.top() / line["folder"] / "levels" / "_SUCCESS").exists()
