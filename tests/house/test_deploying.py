"""What runs the site elsewhere: complete, unprivileged, and with the commands that `make run` uses."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from authzsite import embedded
from authzsite.runtime import processes

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "lakewarden"
PARTS = ("web", "urgent", "worker", "beat")


def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"])


def unit(name: str) -> configparser.SectionProxy:
    read = configparser.RawConfigParser(strict=True, delimiters=("=",))
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string((DEPLOY / "systemd" / f"lakewarden-{name}.service").read_text())
    return read["Service"]


def chart_command(name: str) -> list[str]:
    """What the chart has a process run; none where the image does by itself."""
    runs: list[str] = yaml.safe_load((CHART / "processes.yaml").read_text())[name].get("command", [])
    return runs


def told(command: list[str]) -> set[str]:
    """The options that say what a process is for."""
    wanted = ("--queues", "--concurrency", "--pool", "--worker-class", "--threads")
    return {item for item in command if item.startswith(wanted)} | set(command) & {"worker", "beat"}


@pytest.mark.parametrize("part", PARTS)
def test_everybody_runs_the_same_processes(part: str) -> None:
    ours = told(processes._commands(8000)[part])
    started = shlex.split(unit(part)["ExecStart"])
    image = re.search(r"^CMD (\[.*?\])$", (DEPLOY / "Containerfile").read_text(), re.M | re.S)
    assert image is not None
    command = services()[part].get("command") or re.findall(r'"([^"]+)"', image[1])
    assert told(started) == ours == told(command) == told(chart_command(part) or command)
    assert Path(started[0]).name == command[0]


def test_containers_have_no_rights() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert re.findall(r"^USER (.*)$", text, re.M) == ["10001"]
    assert "HEALTHCHECK" in text
    for part in (*PARTS, "migrate"):
        service = services()[part]
        assert service["read_only"] and service["cap_drop"] == ["ALL"], part
        assert service["security_opt"] == ["no-new-privileges:true"], part
    assert services()["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert "noeviction" in services()["redis"]["command"]


def test_the_site_enters_its_database_as_its_owner_and_no_more(
    postgres_server: Callable[[int], embedded.PostgreSQL],
) -> None:
    """What the container of PostgreSQL runs when its volume is empty, and the URL that the site is given."""
    server = postgres_server(16)
    with psycopg.connect(server.url(), autocommit=True) as superuser:
        try:
            subprocess.run(
                ["sh", DEPLOY / "postgresql" / "10-lakewarden.sh"],
                check=True,
                env=os.environ
                | {"PATH": f"{server.programs}:{os.environ['PATH']}", "PGHOST": str(server.socket_dir)}
                | {"PGPASSWORD": server.kept_password.read_text().strip(), "DATABASE_PASSWORD": "it's so"},
            )
            with psycopg.connect(server.url("lakewarden", "lakewarden", "it's so")) as site:
                site.execute("CREATE TABLE of_the_site ()")
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    site.execute("CREATE ROLE another")
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(server.url("lakewarden", "lakewarden", "its so"))
        finally:
            superuser.execute("DROP DATABASE IF EXISTS lakewarden")
            superuser.execute("DROP ROLE IF EXISTS lakewarden")
    url = services()["web"]["environment"]["DATABASE_URL"]
    assert url == "postgresql://lakewarden:${DATABASE_PASSWORD:?}@db/lakewarden"


@pytest.mark.parametrize("part", PARTS)
def test_units_have_no_rights(part: str) -> None:
    service = unit(part)
    assert service["User"] == "lakewarden"
    assert (service["NoNewPrivileges"], service["ProtectSystem"]) == ("yes", "strict")
    assert service["CapabilityBoundingSet"] == ""


def test_no_secret_stands_in_the_files() -> None:
    for part in (*PARTS, "migrate", "db"):
        for name, value in services()[part]["environment"].items():
            if re.search("KEY|PASSWORD", name):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?\}", value), name


def test_the_image_takes_along_what_the_site_reads() -> None:
    left_out = (ROOT / ".containerignore").read_text().split()
    assert left_out == (ROOT / ".dockerignore").read_text().split()
    assert not {"static", "templates", "manage.py", "authzsite"} & set(left_out)
    assert {".git", "var", ".venv*"} <= set(left_out)


PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z]+\])?==([^\s\\]+)", re.M)


def pins(name: str) -> dict[str, str]:
    """The packages of a file of requirements, by the name that the index knows."""
    text = (ROOT / name).read_text()
    return {re.sub("[-_.]+", "-", package).lower(): version for package, version in PIN.findall(text)}


def test_the_image_takes_the_very_files_that_were_pinned() -> None:
    assert pins("requirements.lock") == pins("requirements.txt")
    entries = re.split(r"^(?=[A-Za-z0-9])", (ROOT / "requirements.lock").read_text(), flags=re.M)[1:]
    assert [item.split()[0] for item in entries if "--hash=sha256:" not in item] == []
    image = (DEPLOY / "Containerfile").read_text()
    assert "--require-hashes --requirement /requirements.lock" in image


def test_the_chart_bears_the_version_of_the_project() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert about["version"] == about["appVersion"] == project


def test_the_chart_starts_each_process_more_than_once() -> None:
    given = yaml.safe_load((CHART / "values.yaml").read_text())["processes"]
    assert {name: given[name]["replicas"] > 1 for name in given} == dict.fromkeys(PARTS, True)
    assert set(yaml.safe_load((CHART / "processes.yaml").read_text())) == set(PARTS)


def test_the_operators_command_hands_on_the_settings_of_the_units(tmp_path: Path) -> None:
    """As systemd reads them: a line is a name and all that follows its first `=`."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    command = tmp_path / "deploy" / "manage"
    command.write_text((DEPLOY / "manage").read_text())
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$KEY" "$WORDS" "$LAKEWARDEN_VAR" "$@"\n')
    for program in (command, python):
        program.chmod(0o755)
    (tmp_path / "settings").write_text("# ours\n\nKEY=a=b==\nWORDS=two 'words' $HOME\n")
    environment = {
        **os.environ,
        "LAKEWARDEN_ENVIRONMENT": str(tmp_path / "settings"),
        "LAKEWARDEN_VAR": str(tmp_path),
    }
    done = subprocess.run(
        [command, "doctor", "--quiet"], env=environment, capture_output=True, text=True, check=True
    )
    (tmp_path / "owner").write_text("KEY=of the owner\n")
    again = subprocess.run([command], env=environment, capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[0] == "of the owner"
    environment["LAKEWARDEN_ENVIRONMENT"] = str(tmp_path / "nowhere" / "settings")
    assert subprocess.run([command], env=environment, capture_output=True, check=False).returncode
    words = ["a=b==", "two 'words' $HOME", str(tmp_path), f"{tmp_path}/manage.py", "doctor", "--quiet"]
    assert done.stdout.splitlines() == words


def test_the_page_of_systemd_installs_what_the_units_run() -> None:
    page = (ROOT / "docs" / "deploying.md").read_text()
    section = page[page.index("## systemd") : page.index("## Kubernetes")]
    for part in PARTS:
        assert unit(part)["WorkingDirectory"] == "/opt/lakewarden"
        assert f"lakewarden-{part}" in section
        assert unit(part)["EnvironmentFile"] in section
    proxy = (DEPLOY / "nginx" / "lakewarden.conf").read_text()
    assert (
        "--bind=127.0.0.1:8000" in unit("web")["ExecStart"] and "proxy_pass http://127.0.0.1:8000;" in proxy
    )


def test_the_proxy_takes_requests_and_answers_whole() -> None:
    """A web process has eight threads: sixty clients that sent a byte now and then stopped every answer."""
    proxy = (DEPLOY / "nginx" / "lakewarden.conf").read_text()
    assert "proxy_request_buffering on;" in proxy and "proxy_buffering on;" in proxy
