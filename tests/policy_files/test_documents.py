"""What the page about policy files has people type works, over a real socket and at the console's machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from accounts import tokens
from authzsite.api.v1.simulated_changes import KINDS
from lakewarden.__main__ import main
from policies.policy_files import document
from tests.api.world import make_shop, user
from tests.client.site import Site

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "policies-as-code.md").read_text()


@pytest.fixture
def shell(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    make_shop()
    site = Site()
    site.start()
    monkeypatch.setenv("LAKEWARDEN_URL", site.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(user("marek")))
    monkeypatch.chdir(tmp_path)
    yield site
    site.stop()


@pytest.mark.django_db(transaction=True)
def test_the_commands_and_the_program_of_the_page(shell: Site, capsys: pytest.CaptureFixture[str]) -> None:
    simulate, export, plan, apply, drifted, taken = (
        shlex.split(line) for line in re.findall(r"^\$ lakewarden (.*)$", PAGE, re.M)
    )
    assert main(simulate) == 0, capsys.readouterr().err
    assert main(export) == 0
    file = Path("access.yaml")
    assert main(plan) == 0
    file.write_text(file.read_text().replace("  - user:ada\n", ""))
    capsys.readouterr()
    assert main(plan) == 4
    out = capsys.readouterr().out
    assert "  REMOVE user:ada is a member" in out and "1 to REMOVE" in out
    digest = out.splitlines()[-1].removeprefix("plan ")
    assert main([digest if word == "DIGEST" else word for word in apply]) == 0
    assert main([digest if word == "DIGEST" else word for word in apply]) == 2
    assert main(drifted) == 0
    file.write_text(file.read_text().replace("members:\n", "members:\n  - user:eva\n"))
    assert main([*plan, "--json"]) == 3
    file.write_text("format: 1\nrealm: none\n")
    assert main(plan) == 2
    Path("policies.json").write_text('{"policies": [{"serviceType": "kafka", "name": "k"}]}')
    capsys.readouterr()
    assert main(taken) == 0
    assert "LEFT OUT policy k: Policies of kafka are not read" in capsys.readouterr().out
    assert document.read(file.read_text()).statements == frozenset()
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    capsys.readouterr()
    exec(program, {})  # noqa: S102 - the page's own words
    assert capsys.readouterr().out == "1 0\n"


@pytest.mark.django_db
def test_an_operator_has_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_shop()
    file = tmp_path / "access.yaml"
    call_command("policies", "export", "demo", out=file)
    file.write_text(file.read_text().replace("  - user:ada\n", ""))
    with pytest.raises(SystemExit) as end:
        call_command("policies", "plan", str(file), replay=30)
    assert end.value.code == 4
    out = capsys.readouterr().out
    assert "REMOVE user:ada is a member" in out and "the reports of 30 days cover 0 of" in out
    digest = re.findall(r"^plan (\w+)$", out, re.M)[0]
    call_command("policies", "apply", str(file), plan=digest, reason="merge 1")
    assert "1 steps applied to demo" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        call_command("policies", "plan", str(file))
    assert end.value.code == 0


def test_the_file_and_the_changes_of_the_page_are_those_of_the_code() -> None:
    [file] = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    assert document.read(file).realm == "demo"
    [table] = re.findall(r"\| `change` \| needs \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.S)
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == set(KINDS)
