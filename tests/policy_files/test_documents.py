"""What the page about policy files has people type works, over a real socket and at the console's machine."""

from __future__ import annotations

import os
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


@pytest.mark.django_db(transaction=True)
def test_a_folder_is_planned_and_applied_like_a_file(shell: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "demo", "--tree", "access"]) == 0
    assert "files are written to access" in capsys.readouterr().out
    folder = Path("access")
    named = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml"))
    assert named == ["objects/shop.yaml", "realm.yaml", "roles/readers.yaml"]
    assert main(["plan", "access"]) == 0
    (folder / "roles" / "readers.yaml").unlink()
    capsys.readouterr()
    assert main(["plan", "access"]) == 4
    out = capsys.readouterr().out
    assert "REMOVE role readers is there" in out
    assert main(["apply", "access", "--plan", out.splitlines()[-1].removeprefix("plan ")]) == 0
    (folder / "roles" / "old.yaml").write_text("format: 1\nrealm: demo\nroles: {old: {}}\n")
    capsys.readouterr()
    assert main(["export", "demo", "--tree", "access"]) == 0
    assert "delete it: roles/old.yaml" in capsys.readouterr().out
    assert main(["plan", "access"]) == 3
    Path("empty").mkdir()
    assert main(["plan", "empty"]) == 2


@pytest.mark.django_db
def test_an_operator_has_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_shop()
    file = tmp_path / "access.yaml"
    call_command("policies", "export", "demo", tree=tmp_path / "access")
    assert "3 files are written" in capsys.readouterr().out
    with pytest.raises(SystemExit) as none:
        call_command("policies", "plan", str(tmp_path / "access"))
    assert none.value.code == 0
    capsys.readouterr()
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


@pytest.mark.django_db(transaction=True)
def test_a_metalake_is_read_over_rest_and_planned_to_nothing(
    shell: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server of this test is another Lakewarden, which speaks as Gravitino does."""
    metalake = f"{os.environ['LAKEWARDEN_URL']}/api/metalakes/demo"
    monkeypatch.setenv("GRAVITINO_TOKEN", os.environ["LAKEWARDEN_TOKEN"])
    command = ["import", "gravitino", metalake, "--realm", "demo", "--out", "access.yaml"]
    assert main(command) == 0, capsys.readouterr().err
    text = Path("access.yaml").read_text()
    assert "readers:" in text and "owner: user:olivia" in text
    capsys.readouterr()
    assert main(["plan", "access.yaml"]) == 0, capsys.readouterr().out
    monkeypatch.setenv("GRAVITINO_TOKEN", "lw_wrong")
    Path("access.yaml").unlink()
    assert main(command) == 2
    assert not Path("access.yaml").exists()
    assert main([*command[:2], f"{metalake}/nothing", *command[3:]]) == 2
