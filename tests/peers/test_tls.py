"""A metalake behind TLS whose clients come with tokens of an OAuth server, over real sockets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote

import pytest

from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.testing.kit import settle, wanted
from policies.sync.backends.gravitino import kind as gravitino
from policies.sync.connections.needs import needed
from tests.certificates import own_authority, serving
from tests.peers.site import ADMIN, Peer
from tests.peers.test_gravitino import on
from tests.peers.worlds import Lake
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db
SECRET = "of-the-client"


class Gate(ThreadingHTTPServer):
    """Stands before the second console with TLS, gives tokens for a secret and lets in who has the last."""

    daemon_threads = True

    def __init__(self, peer: Peer, certificate: Path, lasts: int) -> None:
        super().__init__(("127.0.0.1", 0), Door)
        self.socket = serving(certificate).wrap_socket(self.socket, server_side=True)
        self.peer, self.lasts = peer, lasts
        self.asked: list[dict[str, list[str]]] = []
        self.calls = 0

    @property
    def token(self) -> str:
        return f"token-{len(self.asked)}"

    def handle_error(self, *args: Any) -> None:
        pass  # who does not trust it hangs up


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Gate

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/oauth/token":
            self._give_token(parse_qs(body.decode()))
            return
        self.server.calls += 1
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            self._answer(401, b'{"code": 1011, "message": "no such token"}')
            return
        inner = HTTPConnection("127.0.0.1", self.server.peer.port, timeout=PATIENCE)
        basic = base64.b64encode(f"{ADMIN}:dummy".encode()).decode()
        headers = {name: self.headers[name] for name in ("Accept", "Content-Type")}
        inner.request(self.command, self.path, body or None, {**headers, "Authorization": f"Basic {basic}"})
        response = inner.getresponse()
        self._answer(response.status, response.read())
        inner.close()

    do_GET = do_POST = do_PUT = do_DELETE = _pass

    def _give_token(self, fields: dict[str, list[str]]) -> None:
        self.server.asked.append(fields)
        if fields.get("client_secret") != [SECRET]:
            self._answer(401, b'{"error": "invalid_client"}')
            return
        given = {
            "access_token": self.server.token,
            "token_type": "Bearer",
            "expires_in": self.server.lasts,
        }
        self._answer(200, json.dumps(given).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def gate(peer: Peer, certificate: Path, request: pytest.FixtureRequest) -> Iterator[Gate]:
    there = Gate(peer, certificate, getattr(request, "param", 3600))
    Thread(target=there.serve_forever, args=(0.05,), daemon=True).start()
    yield there
    there.shutdown()
    there.server_close()


def url(gate: Gate, lake: str, *, ca: Path | None, secret: str = SECRET) -> str:
    at = f"127.0.0.1:{gate.server_port}"
    trusted = f"&ca={quote(str(ca))}" if ca else ""
    oauth = quote(f"https://{at}/oauth/token", safe="")
    return f"gravitino+https://lw:{secret}@{at}/{lake}?oauth={oauth}&scope=lake&user={ADMIN}{trusted}"


class Guarded(Lake):
    """The same metalake, reached through the gate."""

    way = ""

    @property
    def url(self) -> str:
        return self.way


def test_what_is_decided_arrives_by_a_token_over_tls(gate: Gate, certificate: Path) -> None:
    lake = Guarded(gate.peer)
    lake.way = url(gate, lake.name, ca=certificate)
    lake.schema("sales")
    lake.table("sales", "orders")
    ana, reads = lake.person("ana"), on("sales", "orders", "SELECT")
    assert not [item.text for item in lake.backend().check() if item.blocks]
    assert [item.error for item in settle(lake, wanted({"r": reads}, r={ana})) if item.error] == []
    assert lake.may(ana, "SELECT", "sales", "orders")
    assert gate.asked[0] == {
        "grant_type": ["client_credentials"],
        "client_id": ["lw"],
        "client_secret": [SECRET],
        "scope": ["lake"],
    }
    assert len(gate.asked) < gate.calls / 4  # a token serves many calls


@pytest.mark.parametrize("gate", [30], indirect=True, ids=["half a minute"])
def test_a_token_is_fetched_anew_before_it_ends(gate: Gate, certificate: Path) -> None:
    lake = Lake(gate.peer)
    there = gravitino.open(
        url(gate, lake.name, ca=certificate),
        realm="here",
        mark=lake.mark,
        **needed(gravitino.KIND, None, lake.mark),
    )
    assert there.observe().complete
    there.close()
    assert len(gate.asked) == gate.calls


@pytest.mark.parametrize(
    ("trusts", "secret", "words"),
    [
        (False, SECRET, "is not trusted"),
        (True, "guessed-wrongly", "answers 401: invalid_client"),
    ],
    ids=["unknown authority", "wrong secret"],
)
def test_who_is_not_trusted_gets_no_secret_and_whose_secret_is_wrong_gets_no_token(
    gate: Gate, certificate: Path, trusts: bool, secret: str, words: str
) -> None:
    way = url(gate, "lake", ca=certificate if trusts else None, secret=secret)
    there = gravitino.open(way, realm="here", mark="tls", **needed(gravitino.KIND, None, "tls"))
    with pytest.raises(Misconfigured, match=words) as caught:
        there.observe()
    assert secret not in str(caught.value)
    assert bool(gate.asked) is trusts
    assert gate.calls == 0
