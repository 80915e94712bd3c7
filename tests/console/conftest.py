"""A small shop, and people who look at it with a browser or without one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories import an_account
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.sync.conftest import demo_members, governed, source  # noqa: F401 -- fixtures

BACKEND = "django.contrib.auth.backends.ModelBackend"
PASSWORD = "a-lake-is-deep-4711"


shop = kept(make_shop)


@pytest.fixture
def signed_in(db: None) -> Callable[[str], Client]:
    """`signed_in("olivia")`: a client signed in as olivia."""

    def enter(name: str) -> Client:
        client = Client()
        client.force_login(an_account(name, display_name=NAMES.get(name, "")), backend=BACKEND)
        return client

    return enter


def shown(client: Client, address: str) -> str:
    """A page that is really there: an error's would lack whatever a test misses on it."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


NAMES = {
    "olivia": "Olivia Owner",
    "ana": "Ana Analyst",
    "mia": "Mia Meyer",
    "carl": "Carl Conrad",
    "marek": "Marek Malik",
}
