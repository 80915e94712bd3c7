"""What a server hands on to what it starts: names that hold no secret, and no others."""

from __future__ import annotations

import json
import os

import pytest

from lakewarden.spark import server_environment


def test_only_names_known_to_hold_no_secret_are_inherited() -> None:
    given = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "LAKEWARDEN_TOKEN": "t",
        "AWS_SECRET_ACCESS_KEY": "k",
        "https_proxy": "http://me:pw@proxy",
        "PGPASSWORD": "p",
    }
    assert server_environment.inherited(given) == {"PATH": "/bin", "LC_ALL": "C"}
    assert server_environment.inherited(given, ["PGPASSWORD"])["PGPASSWORD"] == "p"


def test_the_rest_goes_through_a_pipe_to_the_program_that_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setenv("LAKEWARDEN_TOKEN", "s3cret")
    monkeypatch.setattr(os, "execve", lambda program, words, names: begun.append((words, names)))
    server_environment.begin_again(["connect-server"])
    ((words, names),) = begun
    assert words[1:] == ["-m", "lakewarden", "connect-server"]
    assert "s3cret" not in json.dumps(names)

    monkeypatch.delenv("LAKEWARDEN_TOKEN")
    monkeypatch.setattr(server_environment, "_unreadable", lambda: None)
    monkeypatch.setenv(server_environment.HANDED, names[server_environment.HANDED])
    server_environment.begin_again(["connect-server"])  # it is what it should be already
    assert len(begun) == 1
    with server_environment.handed():
        assert os.environ["LAKEWARDEN_TOKEN"] == "s3cret"
    assert "LAKEWARDEN_TOKEN" not in os.environ
    assert server_environment.HANDED not in os.environ
    with pytest.raises(OSError):
        os.fstat(int(names[server_environment.HANDED]))
