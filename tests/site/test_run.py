"""`make run` for real: it starts everything, survives the death of a part, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from authzsite import embedded
from tests.ports import free_port
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "authzsite.runtime.processes"]
pytestmark = pytest.mark.timeout(1200)
READY = "Ctrl-C stops everything"


def status(port: int) -> int:
    """The HTTP status of the sign-in page; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        return answer.code
    except OSError:
        return 0


def living(var: Path) -> list[str]:
    """Command lines of all processes that belong to the run in `var`; the dead and unburied do not count."""
    processes = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("LAKEWARDEN_VAR") == str(
                var
            ):
                processes.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return processes


class Console:
    """One run in a folder of its own, with everything it said."""

    def __init__(self, var: Path, port: int) -> None:
        self.var, self.port = var, port
        self.said: list[str] = []

    def start(self) -> None:
        self.process = subprocess.Popen(
            COMMAND,
            cwd=ROOT,
            env=environment(self.var, self.port),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        until(lambda: READY in self.text or self.process.poll() is not None, lambda: self.text)
        assert self.process.poll() is None, self.text

    def read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            self.said.extend(lines)

    @property
    def text(self) -> str:
        return "".join(self.said)

    def part(self, word: str) -> int:
        """The process number of the part whose command says `word`; 0 while there is none."""
        for child in psutil.Process(self.process.pid).children():
            try:
                if word in " ".join(child.cmdline()):
                    return int(child.pid)
            except psutil.NoSuchProcess:
                continue
        return 0

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return self.process.returncode


def environment(var: Path, port: int) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "MAKELEVEL")
    }
    return kept | {
        "LAKEWARDEN_VAR": str(var),
        "PORT": str(port),
        "DJANGO_SETTINGS_MODULE": "authzsite.settings",
    }


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "var"


@pytest.fixture
def console(var: Path) -> Iterator[Console]:
    console = Console(var, free_port())
    console.start()
    yield console
    if console.process.poll() is None:
        console.end(signal.SIGTERM)
    until(lambda: living(var) == [], lambda: living(var))


def test_it_greets_refuses_a_second_run_and_stops_on_ctrl_c(console: Console) -> None:
    assert f"Lakewarden runs: http://127.0.0.1:{console.port}" in console.text
    assert "Olivia Owner" in console.text
    assert status(console.port) in (200, 302, 404)
    second = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env=environment(console.var, console.port),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == f"lakewarden: `make run` already runs here at http://127.0.0.1:{console.port}\n"
    assert console.end(signal.SIGINT) == 0
    assert console.text.endswith("Stopped.\n")
    assert living(console.var) == []


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            COMMAND, cwd=ROOT, env=environment(tmp_path, port), capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"lakewarden: port {port} on 127.0.0.1 cannot be used")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("port", ["eight", "0", "70000"])
def test_a_wrong_port_is_one_line(tmp_path: Path, port: str) -> None:
    given = environment(tmp_path, 0) | {"PORT": port}
    done = subprocess.run(COMMAND, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"lakewarden: PORT='{port}' is not a port (1 to 65535)\n")


@pytest.mark.slow
def test_the_second_start_keeps_the_data(tmp_path: Path) -> None:
    first, second = Console(tmp_path, free_port()), Console(tmp_path, free_port())
    for console in (first, second):
        console.start()
        assert console.end(signal.SIGTERM) == 0
    greeting = slice(first.text.index("olivia"), first.text.index(READY))
    assert first.text[greeting] in second.text


@pytest.mark.slow
@pytest.mark.parametrize("word", ["gunicorn", "worker", "beat"])
def test_a_killed_part_comes_back(console: Console, word: str) -> None:
    killed = console.part(word)
    os.kill(killed, signal.SIGKILL)
    until(lambda: "ended (killed by SIGKILL); starting it again" in console.text)
    until(lambda: console.part(word) not in (0, killed))
    until(lambda: status(console.port) > 0)


@pytest.mark.slow
def test_a_server_whose_keeper_was_killed_comes_back(console: Console) -> None:
    kept = int((console.var / "redis" / "keeper.lock").read_text())
    os.kill(kept, signal.SIGKILL)
    until(lambda: "broker ended with its keeper; starting it again" in console.text)
    until(embedded.redis(console.var).answers)


@pytest.mark.slow
def test_killed_itself_it_takes_everything_along(console: Console) -> None:
    console.process.kill()
    console.process.wait()
    until(lambda: living(console.var) == [], lambda: living(console.var))


@pytest.mark.slow
def test_an_unreachable_database_is_one_line(tmp_path: Path) -> None:
    given = environment(tmp_path, free_port()) | {"DATABASE_URL": "postgresql://u:geheim@127.0.0.1:1/db"}
    done = subprocess.run(COMMAND, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("lakewarden: DATABASE_URL: ")
    assert "geheim" not in done.stderr
    assert done.stderr.count("\n") == 1
