"""A browser of somebody who signs in here by a provider: away to it, and back with what it said."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from accounts.models import Membership


def begin(browser: Client, provider: str) -> str:
    """Where the site sends the browser to."""
    answer = browser.post(f"/sign-in/with/{provider}", {"next": "/profile"})
    assert answer.status_code == 200, answer.content[:2000]
    return str(answer.headers["Refresh"]).partition("url=")[2]


def come_back(browser: Client, address: str) -> Any:
    """What the site answers to a browser that the provider sent back."""
    back = urlsplit(address)
    return browser.get(f"{back.path}?{back.query}")


def groups_of(name: str) -> set[str]:
    """The groups that a provider told of somebody."""
    held = Membership.objects.open().filter(origin="directory", member__name=name)
    return set(held.values_list("group__name", flat=True))
