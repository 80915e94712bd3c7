"""The process that drives Spark: it is heard, its end is told, and nothing of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catalog.nodes import Node
from lakewarden.spark.pipelines import messages as telling
from policies.analytics.pipelines import control, folders, known, running
from policies.analytics.pipelines import driver as pipelines_driver
from policies.analytics.pipelines.definition import Pipeline
from policies.authority import OPERATOR
from policies.models import Figure, PipelineRun
from policies.record.exports import parquet
from tests.policies.conftest import make_shop
from tests.waiting import PATIENCE

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
    monkeypatch.setattr(pipelines_driver, "_command", command)
    return write


def read(folder: Path) -> dict[str, Any]:
    return {"files": sorted(item.name for item in folder.iterdir())}


def run(name: str, root: Node) -> PipelineRun:
    row = control.ask(name, root, by=OPERATOR, master="local[1]")
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
    row = control.ask(name, shop, by=OPERATOR, master="local[1]")
    tell = running._teller

    def stopping(run: PipelineRun) -> Callable[[int, int, str], None]:
        telling = tell(run)

        def told(done: int, total: int, step: str) -> None:
            if step == "on and on":
                control.stop(run.pk, by=OPERATOR)
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
        "import time\nfrom lakewarden.spark.pipelines.messages import end_with_parent\n"
        "end_with_parent()\nprint('up', flush=True)\ntime.sleep(3600)"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(pipelines_driver.PACKAGES)},
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    with driver, driver.stdout:
        assert driver.stdout.readline() == b"up\n"
        assert driver.poll() is None
        driver.stdin.close()
        assert driver.wait(PATIENCE) == 1
    assert -driver.returncode != signal.SIGKILL


def test_a_driver_that_is_done_ends_by_itself() -> None:
    """While its standard input is still open, as its parent process holds it."""
    code = "from lakewarden.spark.pipelines.messages import end_with_parent\nend_with_parent()"
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(pipelines_driver.PACKAGES)},
    )
    with driver:
        assert driver.wait(PATIENCE) == 0


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


def test_a_driver_gets_none_of_the_consoles_secrets(
    shop: Node, script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "LAKEWARDEN_SECRET_KEYS", "EMAIL_URL", "PGPASSWORD")
    for name in secrets:
        monkeypatch.setenv(name, "a-secret-of-ours")
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    row = run(script("for name in os.environ: open(os.path.join(out, name), 'w').close()"), shop)
    given = set(row.result["files"])
    assert {"PATH", "SPARK_CONF_DIR", "PYTHONPATH"} <= given
    assert given.isdisjoint(secrets)


@pytest.mark.parametrize(
    ("java", "master", "said"),
    [
        (False, "local[1]", "there is no Java: install a JRE 17 or newer, or set JAVA_HOME"),
        (True, "spark://127.0.0.1:1", "no Spark master answers: 127.0.0.1:1: "),
        (True, "spark://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:2: "),
        (True, "spark://127.0.0.1", "no Spark master answers"),
    ],
)
def test_what_spark_would_say_too_late_is_said_at_once(
    tmp_path: Path, java: bool, master: str, said: str
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    if java:
        (tools / "java").write_text("#!/bin/sh\nexit 1\n")
        (tools / "java").chmod(0o755)
    words = ["drift", "--input", "x", "--output", "x", "--acls", "x", "--master", master, "--alone"]
    environment = {"PATH": str(tools), "PYTHONPATH": str(pipelines_driver.PACKAGES)}
    done = subprocess.run(
        [sys.executable, "-m", "lakewarden.spark.pipelines", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert said in json.loads(done.stdout)["trouble"]


class Waiting:
    """A Spark on a cluster whose tasks wait; `executors` are how many there are at each look."""

    def __init__(self, executors: list[int], master: str = "spark://there:7077") -> None:
        self.executors, self.master = executors, master

    def __getattr__(self, name: str) -> Any:
        return self  # sparkContext, _jsc

    def sc(self) -> Waiting:
        return self

    statusTracker = getExecutorMemoryStatus = sc

    def getActiveStageIds(self) -> list[int]:
        return [1]

    def size(self) -> int:
        return 1 + self.executors.pop(0)


def test_tasks_without_an_executor_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(telling.time, "monotonic", lambda: next(clock))
    cluster, looks = Waiting([0, 0, 1, 0]), [None]
    for _ in range(4):
        looks.append(telling._alone_since(cluster, looks[-1]))
    assert looks[1:] == [0, 0, None, 1]
    assert telling._alone_since(Waiting([0], "local[2]"), None) is None


@pytest.mark.slow
@pytest.mark.spark
def test_executors_that_fit_nowhere_end_the_run_with_a_message(shop: Node, tmp_path: Path, java: str) -> None:
    """A worker of 600 MB, and executors that want the usual 1 GB."""
    cluster = Path(__file__).resolve().parents[2] / "scripts" / "cluster.py"
    command = [sys.executable, str(cluster), "--workers", "1", "--memory", "600m", "--port", "17099"]
    process = subprocess.Popen([*command, "--folder", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        master = process.stdout.readline().strip().removeprefix("SPARK_MASTER=")
        row = control.ask("effective_access", shop, by=OPERATOR, master=master)
        running.run(row)
        assert row.state == "failed"
        assert "gave no executor within 60 s: each asks for 1g" in row.trouble
    finally:
        process.terminate()
        process.stdout.close()
        process.wait(PATIENCE)
