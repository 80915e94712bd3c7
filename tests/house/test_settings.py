"""docs/settings.md has every variable that is read, as the code has it."""

from __future__ import annotations

import ast

import pytest

from authzsite.runtime.configuration.setting_descriptions import CONSOLE, PROGRAMS, Description
from scripts import settings_reference


def test_the_page_is_as_the_code_has_it() -> None:
    assert settings_reference.document() == settings_reference.DOCUMENT.read_text(), "run `make settings`"


def test_defaults_are_those_of_the_code() -> None:
    variables = settings_reference.read_by_console()
    assert variables["LAKEWARDEN_STEP_UP"] == "15"
    assert variables["LAKEWARDEN_AUTHENTICATORS"] == "session,token"
    assert variables["LAKEWARDEN_PROXY_USER_HEADER"] == "X-Forwarded-User"
    assert "LAKEWARDEN_OIDC_<NAME>_JOINS" in variables
    assert "LAKEWARDEN_SPOOL" in settings_reference.read_by_programs()


@pytest.mark.parametrize("change", ["one more", "one less", "twice"])
def test_what_is_read_and_what_is_described_agree(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    title, group = next(iter(CONSOLE.items()))
    more = Description("LAKEWARDEN_NEWS", "nothing", "", "none")
    changed = {"one more": (*group, more), "one less": group[1:], "twice": (*group, group[0])}[change]
    monkeypatch.setitem(CONSOLE, title, changed)
    with pytest.raises(ValueError, match=r"described|DATABASE_URL"):
        settings_reference.document()


def test_a_variable_read_in_a_new_call_is_found() -> None:
    tree = ast.parse('limit = _calls(env, "LAKEWARDEN_NEWS_A_DAY", 5)')
    assert list(settings_reference._calls(tree)) == [("LAKEWARDEN_NEWS_A_DAY", "5")]


@pytest.mark.parametrize(
    "name", ["LAKEWARDEN_INSECURE", "LAKEWARDEN_SECRET_KEYS", "LAKEWARDEN_CONNECT_ALLOW"]
)
def test_dangers_are_said(name: str) -> None:
    described = [description for group in CONSOLE.values() for description in group] + list(PROGRAMS)
    assert all(description.danger for description in described if description.name == name)
