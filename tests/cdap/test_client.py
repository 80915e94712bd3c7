"""`lakewarden cdap` over REST: the words and answers of the operator's shell, with a token's rights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts import people, tokens
from lakewarden.__main__ import main
from policies.models import Change
from tests.cdap.test_commands import CHANGES, MISUSED
from tests.cdap.world import a_cdap, a_role, give

pytestmark = pytest.mark.django_db(transaction=True)
Said = tuple[int, str, str]
Type = Callable[..., Said]


@pytest.fixture
def typed(
    live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Type]:
    """A function from a name to a shell with that user's token, before a CDAP of admin's."""
    a_cdap()

    def shell_of(name: str) -> Type:
        token = tokens.create(people.ensure("user", name)) if name else "lw_nobodys"

        def shell(*words: str) -> Said:
            monkeypatch.setenv("LAKEWARDEN_URL", live_server.url)
            monkeypatch.setenv("LAKEWARDEN_TOKEN", token)
            try:
                code = main(["cdap", *words])
            except SystemExit as end:
                code = int(end.code or 0)
            out, err = capsys.readouterr()
            return code, out.strip(), err.strip()

        return shell

    return shell_of


def test_every_change_answers_as_the_original(typed: Callable[[str], Type]) -> None:
    admin = typed("admin")
    for line, answer in CHANGES:
        before = Change.objects.count()
        assert admin(line) == (0, answer, "")
        assert Change.objects.count() == before + 1, line


def test_lists_are_drawn_as_the_original_draws_them(typed: Callable[[str], Type]) -> None:
    admin = typed("admin")
    admin("create", "role", "two words/x")
    admin("grant actions READ on entity program:ns1.app.service.Upload to role 'two words/x'")
    admin("add role 'two words/x' to user alice")
    assert typed("alice")("list", "privileges", "for", "user", "alice")[1].splitlines()[3] == (
        "| program:ns1.app.service.Upload | READ   |"
    )
    assert "| two words/x |" in admin("list roles")[1]
    assert "| two words/x |" in admin("list roles for user alice")[1]


@pytest.mark.parametrize(("line", "told"), MISUSED[1:], ids=[line for line, _ in MISUSED[1:]])
def test_misuse_is_told_before_anything_is_sent(typed: Callable[[str], Type], line: str, told: str) -> None:
    code, out, err = typed("")(line)
    assert (code, out) == (2, "")
    assert told in err


REFUSED = [
    ("create role taken", "Principal{name='taken', type=ROLE, kerberosPrincipal=null} already exists."),
    ("drop role ghost", "Principal{name='ghost', type=ROLE, kerberosPrincipal=null} not found."),
    ("grant actions ALL on entity dataset:ns.a to user bob", "`ALL` is no action here"),
]


@pytest.mark.parametrize(("line", "told"), REFUSED, ids=[line for line, _ in REFUSED])
def test_what_the_console_says_no_to_is_told_in_its_words(
    typed: Callable[[str], Type], line: str, told: str
) -> None:
    typed("admin")("create role taken")
    code, out, err = typed("admin")(line)
    assert (code, out) == (1, "")
    assert told in err


def test_a_stranger_and_a_wrong_token_change_nothing(typed: Callable[[str], Type]) -> None:
    bob, nobody = typed("bob"), typed("")
    before = Change.objects.count()
    for line, _ in CHANGES:
        assert bob(line)[0] == 1
        assert "is not authorized to perform action 'ADMIN'" in bob(line)[2]
        assert nobody(line)[0] == 2
        assert "does not accept the token" in nobody(line)[2]
    assert Change.objects.count() == before


def test_a_console_that_is_away_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LAKEWARDEN_TOKEN", "lw_nobodys")
    assert main(["cdap", "list roles"]) == 2
    assert "http://127.0.0.1:9 gave no answer" in capsys.readouterr().err
    monkeypatch.delenv("LAKEWARDEN_URL")
    assert main(["cdap", "list roles"]) == 2
    assert "set LAKEWARDEN_URL" in capsys.readouterr().err


def test_older_generations_are_read_too(
    live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = a_cdap("3.5")
    a_role(root, "r", "alice")
    give(root, "instance:cdap", "role:r", "ALL")
    monkeypatch.setenv("LAKEWARDEN_URL", live_server.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(people.ensure("user", "alice")))
    assert main(["cdap", "list privileges for user alice"]) == 0
    assert "| instance:cdap | ALL    |" in capsys.readouterr().out
