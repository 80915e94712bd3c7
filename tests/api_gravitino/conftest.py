"""One server over real HTTP for all of these tests; each takes a metalake of its own, under a new name."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from policies.decisions import slices
from tests.api_gravitino.world import ADMIN, Lake, Site, service_admin

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import gravitino  # noqa: F401 - the client warns when it is first imported

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "api_gravitino" in str(item.path):
            item.add_marker(pytest.mark.django_db)
            # the client leaves its sockets to the collector
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="package")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """The running server.  What its calls leave behind is removed at the end."""
    on = override_settings(
        LAKEWARDEN_AUTHENTICATORS=frozenset({"session", "token", "simple"}), LAKEWARDEN_SERVICE_ADMINS={ADMIN}
    )
    with django_db_blocker.unblock(), on:
        slices.forget_all()
        assert connection.settings_dict["NAME"].startswith("test_")
        server = LiveServer("127.0.0.1")
        site = Site(server.url)
        yield site
        site.close()
        server.stop()
        call_command("flush", interactive=False, verbosity=0)
        slices.forget_all()


@pytest.fixture
def lake(site: Site, request: pytest.FixtureRequest) -> Lake:
    """A metalake of its own, made by the site admin over HTTP; its manager owns it."""
    number = next(_numbers)
    made = service_admin(site).create_metalake(f"lake{number}", "", {})
    return Lake(site, made.name())
