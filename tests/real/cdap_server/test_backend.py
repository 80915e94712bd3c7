"""The contract of the backend `cdap` on a CDAP 4.3.0, with an extension that takes grants to users."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

import pytest

from lakewarden.backends.testing.kit import WRITES
from tests.peers import entry_worlds
from tests.peers.site import Said
from tests.peers.test_entries import TestCdap as OnASecondConsole
from tests.real.cdap_server.server import Cdap
from tests.real.cdap_server.worlds import ADMIN

pytestmark = pytest.mark.django_db


class There:
    """The CDAP, asked over a line of its own."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, method: str, path: str, body: Any = None, *, token: str) -> Said:
        line = HTTPConnection("127.0.0.1", self.port, timeout=120)
        content = None if body is None else json.dumps(body)
        line.request(method, path, content, {"Authorization": f"Bearer {token}"})
        answer = line.getresponse()
        read = answer.read()
        line.close()
        return Said(answer.status, json.loads(read) if read.startswith((b"{", b"[")) else read)


class Instance(entry_worlds.Cdap):
    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        """What it lists as theirs; asking about others is for its own containers, at another address."""
        action = "WRITE" if deed == WRITES else "READ"
        return any((right.path, right.right) == ((schema, table), action) for right in self.held(person))


class TestCdap(OnASecondConsole):
    seeds = range(50)

    @pytest.fixture(autouse=True)
    def _near(self, settings: Any) -> None:
        settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]

    @pytest.fixture
    def site(self, cdap: Cdap) -> Instance:
        return Instance(There(cdap.port), cdap.token(ADMIN))  # type: ignore[arg-type]


del OnASecondConsole  # its own tests are not run here
