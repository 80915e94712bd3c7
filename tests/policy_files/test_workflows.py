"""The workflow files for GitHub and GitLab are YAML, and what they run plans, comments and applies."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.policy_files.document import SCHEMA

FILES = Path(__file__).resolve().parents[2] / "docs" / "workflows"
COMMAND = """#!/bin/sh
echo "lakewarden $*" >> calls
[ "$1" = plan ] && echo "  REMOVE user:ana is a member" && echo "plan d1ge57" && exit $LEAVES
exit 0
"""
OTHER = """#!/bin/sh
echo "$(basename $0) $*" >> calls
case "$*" in
  *PATCH*|*PUT*|*POST*) cat comment.md >> calls ;;
  */user*) echo '{"id": 7}' ;;
  *per_page*) printf '%s' "$NOTES" ;;
  *paginate*) [ -z "$MINE" ] || printf '%s\\n18\\n' "$MINE" ;;
esac
"""
MARK = "<!-- lakewarden access.yaml -->"
OTHERS = [
    {"id": 1, "author": {"id": 7}, "body": "of another pipeline"},
    {"id": 2, "author": {"id": 8}, "body": MARK},
]


def scripts(name: str, job: str) -> list[str]:
    """What a job runs, without the installing of the command."""
    value: dict[str, Any] = yaml.safe_load((FILES / name).read_text())
    if "jobs" in value:
        return [step["run"] for step in value["jobs"][job]["steps"] if "\n" in step.get("run", "")]
    return list(value[job]["script"])


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Path]:
    for name in ("lakewarden", "gh", "curl"):
        path = tmp_path / name
        path.write_text(COMMAND if name == "lakewarden" else OTHER)
        path.chmod(0o755)
    yield tmp_path


def run(folder: Path, name: str, job: str, leaves: int, **more: str) -> tuple[int, str]:
    known = {"PATH": f"{folder}:{os.environ['PATH']}", "LEAVES": str(leaves), "REASON": "commit 17 by ana"}
    mine = [{"id": int(more["MINE"]), "author": {"id": 7}, "body": f"{MARK}\nold"}] if "MINE" in more else []
    known |= {"NOTES": json.dumps([*OTHERS, *mine]), **more}
    script = "\n".join(scripts(name, job))
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=known, capture_output=True, check=False
    )
    calls = folder / "calls"
    return done.returncode, calls.read_text() if calls.exists() else ""


NAMES = ("policies-github.yaml", "policies-gitlab.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_commented_with_its_removals(runner: Path, name: str) -> None:
    code, calls = run(runner, name, "plan", 4)
    assert code == 0
    assert "lakewarden plan access.yaml --replay 90" in calls
    assert "REMOVE user:ana" in calls and "POST" in calls


@pytest.mark.parametrize("name", NAMES)
def test_the_comment_is_brought_up_to_date_and_not_repeated(runner: Path, name: str) -> None:
    code, calls = run(runner, name, "plan", 4, MINE="17")
    assert code == 0
    assert "POST" not in calls and calls.count(MARK + "\n###") == 1
    assert "comments/17" in calls or "/17" in calls
    assert "REMOVE user:ana" in calls


def test_each_job_of_github_has_the_rights_that_it_needs_and_runs_what_is_pinned() -> None:
    value: dict[str, Any] = yaml.safe_load((FILES / NAMES[0]).read_text())
    assert value["permissions"] == {}
    rights = {name: job["permissions"] for name, job in value["jobs"].items()}
    assert rights["apply"] == {"contents": "read"}
    assert rights["plan"] == {"contents": "read", "pull-requests": "write"}
    used = [step["uses"] for job in value["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in used)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("leaves", [1, 2])
@pytest.mark.parametrize("job", ["plan", "apply"])
def test_a_refusal_stops_the_pipeline(runner: Path, name: str, leaves: int, job: str) -> None:
    code, calls = run(runner, name, job, leaves)
    assert code == leaves and "comment" not in calls and "apply" not in calls


@pytest.mark.parametrize("name", NAMES)
def test_after_the_merge_the_very_plan_is_applied(runner: Path, name: str) -> None:
    code, calls = run(runner, name, "apply", 3)
    assert code == 0
    assert "lakewarden apply access.yaml --plan d1ge57 --reason commit 17 by ana" in calls
    assert run(runner, name, "apply", 0)[0] == 0


def test_the_schema_for_editors_is_the_one_that_files_are_held_against() -> None:
    assert json.loads((FILES / "policy-file.schema.json").read_text()) == SCHEMA
