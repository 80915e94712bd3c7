"""Programs of others as processes that end with this one, whatever becomes of it."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from tests.real.artifacts import Untrue, pinned

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
OPENED = ("java.lang", "java.lang.reflect", "java.io", "java.math", "java.net", "java.nio", "java.text")
MORE_OPENED = ("java.time", "java.util", "java.util.concurrent", "sun.nio.ch", "sun.nio.cs")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def classpath(server: str) -> str:
    """The jars of a server; its tests are skipped, with the reason, where one is missing."""
    return os.pathsep.join(map(str, cached(server)))


def cached(server: str) -> list[Path]:
    """What a server is made of; its tests are skipped, with the reason, where something is missing."""
    try:
        return [_cached(artifact) for artifact in pinned(server)]
    except (FileNotFoundError, Untrue) as error:
        pytest.skip(f"{error}; `make real ONLY={server.partition('-')[0]}` fetches it")


def _cached(artifact: object) -> Path:
    path: Path = artifact.kept  # type: ignore[attr-defined]
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not in the cache")
    fetched: Path = artifact.fetch()  # type: ignore[attr-defined]
    return fetched


def java_of(at_least: int) -> str | None:
    """A Java of this release or a newer one: the machine's, or one below /usr/lib/jvm or /opt."""
    programs = [
        shutil.which("java"),
        *Path("/usr/lib/jvm").glob("*/bin/java"),
        *Path("/opt").glob("*/bin/java"),
    ]
    releases = {str(program): _release(str(program)) for program in programs if program}
    fitting = [program for program, release in releases.items() if release >= at_least]
    return min(fitting, key=lambda program: releases[program], default=None)


def _release(program: str) -> int:
    output = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', output)
    return int(match[1]) if match else 0


def java(
    main: str, *arguments: str, path: str, heap: int = 512, classes: int = 256, settings: Iterable[str] = ()
) -> list[str]:
    """The command line of a Java program that takes at most so many megabytes for objects and for classes."""
    program = java_of(17)
    if program is None:
        pytest.skip("Java 17 is missing; on Debian: apt-get install default-jre-headless")
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (*OPENED, *MORE_OPENED)]
    bounds = [
        f"-Xmx{heap}m",
        f"-XX:MaxMetaspaceSize={classes}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
    ]
    return [program, *bounds, *opened, *settings, "-cp", path, main, *arguments]


def _in_a_group_that_dies_with_us() -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


class Server:
    """One program in a folder of its own, which goes when it stops."""

    def __init__(self, name: str) -> None:
        self.home = Path(tempfile.mkdtemp(prefix=f"real-{name}-"))
        self.running: list[subprocess.Popen[bytes]] = []

    @property
    def log(self) -> Path:
        return self.home / "out.log"

    def run(self, command: list[str], *, talks: bool = False, **environment: str) -> subprocess.Popen[bytes]:
        """Begin it; what it says is in the log, or in its pipe when one `talks` with it."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.home,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else log,
                stderr=log,
                env=_clean(environment),
                preexec_fn=_in_a_group_that_dies_with_us,
            )
        self.running.append(process)
        return process

    def once(self, command: list[str], **environment: str) -> None:
        """Run something to its end that must succeed."""
        with self.log.open("ab") as log:
            subprocess.run(
                command,
                cwd=self.home,
                stdout=log,
                stderr=log,
                env=_clean(environment),
                check=True,
                timeout=180,
            )

    def wait(self, answers: Callable[[], bool], seconds: float = 120) -> None:
        """Until it answers; what it said last is in the error when it does not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and all(process.poll() is None for process in self.running):
            with suppress(OSError):
                if answers():
                    return
            time.sleep(0.3)
        tail = self.log.read_text(errors="replace")[-3000:]
        self.stop()
        raise RuntimeError(f"did not start: {tail}")

    def stop(self) -> None:
        """End each program in its own way, or else by force, and its children with it."""
        for process in self.running:
            _signal(process, signal.SIGTERM)
        for process in self.running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            _signal(process, signal.SIGKILL)
            process.wait(20)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        shutil.rmtree(self.home, ignore_errors=True)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _clean(more: Mapping[str, str]) -> dict[str, str]:
    """The environment without the console's own secrets and without proxies."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ}
    return {**kept, **more}
