"""What the log tells of sign-ins, and what it keeps to itself."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from accounts import people

PASSWORD = "correct horse battery"


def test_each_sign_in_and_refusal_is_a_line_and_no_password_is(
    db: None, client: Client, caplog: pytest.LogCaptureFixture, redis_url: str
) -> None:
    people.make_account("ana", password=PASSWORD)
    caplog.set_level(logging.INFO, "lakewarden.security")
    for name, password in (("ana", "a wrong one"), (PASSWORD, "ana"), ("ana", PASSWORD)):
        client.post("/sign-in", {"username": name, "password": password})
    client.post("/sign-out")
    lines = [item.getMessage() for item in caplog.records if item.name == "lakewarden.security"]
    assert lines == [
        "sign-in refused: ana from 127.0.0.1",
        "sign-in refused: an unknown name from 127.0.0.1",
        "signed in: ana from 127.0.0.1",
        "signed out: ana from 127.0.0.1",
    ]
