"""One second console for all of these tests; each makes a realm of its own in it, under a new name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.entry_worlds import SET_UP
from tests.peers.site import Peer


@pytest.fixture(scope="session")
def peer(django_db_setup: None, django_db_blocker: Any) -> Iterator[Peer]:
    with django_db_blocker.unblock():
        there = Peer()
    yield there
    there.stop()


@pytest.fixture(scope="session")
def keeper(peer: Peer) -> str:
    """The token of who owns the Herd and the CDAP over there."""
    return peer.manage(SET_UP)


@pytest.fixture(autouse=True)
def _near(settings: Any) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
