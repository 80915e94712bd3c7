"""What a security review looks at first: what browsers are told, and what a password must be."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from accounts import people

HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/profile"])
def test_browsers_are_told_to_run_nothing_else_and_to_keep_nothing(db: None, path: str) -> None:
    browser = Client()
    browser.force_login(people.make_account("ana"), backend="django.contrib.auth.backends.ModelBackend")
    answer = browser.get(path)
    assert HEADERS.items() <= dict(answer.headers).items()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    assert "no-store" in answer.headers["Cache-Control"]
    assert "camera=()" in answer.headers["Permissions-Policy"]


@pytest.mark.parametrize(
    ("password", "good"),
    [
        ("elevenchars", False),
        ("password12345", False),
        ("olivia-owner", False),
        ("correct horse battery", True),
        ("пароль из слов", True),
    ],
)
def test_a_password_is_long_and_nobody_elses(password: str, good: bool, db: None, settings: Any) -> None:
    account = people.make_account("olivia-owner")
    if good:
        validate_password(password, account)
        return
    with pytest.raises(ValidationError):
        validate_password(password, account)
