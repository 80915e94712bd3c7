"""Helm reads and renders the chart: complete, unprivileged, and with nothing secret in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.test_deploying import CHART, services

GIVEN = {"host": "lake.example.org", "existingSecret": "lakewarden"}
PROCESSES = {"web", "urgent", "worker", "beat"}

Render = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def helm() -> str:
    program = os.environ.get("LAKEWARDEN_HELM") or shutil.which("helm")
    if not program:
        pytest.skip("helm is missing; go install helm.sh/helm/v3/cmd/helm@v3.22.0")
    return program


def run(helm: str, *command: str, **values: str) -> subprocess.CompletedProcess[str]:
    sets = [f"--set={name.replace('__', '.')}={value}" for name, value in values.items()]
    return subprocess.run(
        [helm, *command, str(CHART), *sets],
        env={"HOME": str(Path.home()), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def render(helm: str) -> Render:
    """A function from values to the objects that the chart makes."""

    def rendered(**values: str) -> list[dict[str, Any]]:
        done = run(helm, "template", "lake", "--kube-version=1.31", **{**GIVEN, **values})
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return rendered


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each process and the migration run, by its component."""
    made = [item["spec"]["template"] for item in objects if item["kind"] in ("Deployment", "Job")]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod["spec"] for pod in made}


@pytest.mark.real
def test_it_is_taken_without_a_warning(helm: str) -> None:
    done = run(helm, "lint", "--strict", "--kube-version=1.31", **GIVEN)
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout


@pytest.mark.real
def test_it_runs_what_the_containers_of_one_machine_run(render: Render) -> None:
    made = pods(render())
    assert set(made) == {*PROCESSES, "migrate"}
    for name, pod in made.items():
        [container] = pod["containers"]
        assert container.get("command") == services()[name].get("command"), name


@pytest.mark.real
def test_no_pod_has_rights(render: Render) -> None:
    for name, pod in pods(render()).items():
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["automountServiceAccountToken"] is False, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name


@pytest.mark.real
def test_probes_come_by_the_name_of_the_site(render: Render) -> None:
    [web] = pods(render())["web"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = web[probe]["httpGet"]
        assert asked["path"] == "/health/live"
        assert asked["httpHeaders"] == [{"name": "Host", "value": GIVEN["host"]}]


@pytest.mark.real
def test_the_tables_come_before_the_processes(render: Render) -> None:
    [job] = [item for item in render() if item["kind"] == "Job"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


@pytest.mark.real
def test_an_ingress_is_made_where_it_is_asked_for(render: Render) -> None:
    assert "Ingress" not in {item["kind"] for item in render()}
    [made] = [item for item in render(ingress__enabled="true") if item["kind"] == "Ingress"]
    assert made["spec"]["rules"][0]["host"] == GIVEN["host"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"host": ""}, "/host"),
        ({"existingSecret": ""}, "/existingSecret"),
        ({"settings__SECRET_KEY": "x"}, "SECRET_KEY"),
        ({"processes__web__replicas": "0"}, "/processes/web/replicas"),
        ({"processes__wep__replicas": "1"}, "wep"),
    ],
    ids=str,
)
def test_what_is_missing_or_secret_is_refused(helm: str, values: dict[str, str], told: str) -> None:
    done = run(helm, "template", "lake", "--kube-version=1.31", **{**GIVEN, **values})
    assert done.returncode != 0
    assert told in done.stderr
