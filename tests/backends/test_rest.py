"""Calls to other systems over real sockets: what is bounded, what is never sent twice, what stays secret."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from lakewarden import request_ids
from lakewarden.backends.errors import BackendError, Misconfigured, NotAnswering, Transient
from policies.sync.backends.shared import rest
from policies.sync.backends.shared.peering import source_at
from policies.sync.backends.shared.rest import Address, Refused, Rest, by_password
from policies.sync.connections.destinations import network

SECRET = "hunter2-hunter2"
Script = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.lines += 1

    def _follow(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.heard.append((self.command, self.path, body.decode()))
        scripts = self.server.scripts
        (scripts.pop(0) if scripts else says(b"{}"))(self)

    do_GET = do_POST = do_PUT = _follow

    def log_message(self, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard: list[tuple[str, str, str]] = []
        self.scripts: list[Script] = []
        self.lines = 0

    def handle_error(self, *args: Any) -> None:
        pass  # who gave up is what some tests are about

    def rest(self, *, user: str = "sam", secret: str = SECRET) -> Rest:
        at = Address(False, "127.0.0.1", self.server_port, (), user, secret)
        return Rest(
            at,
            by_password(at),
            network=network(),
            explain=lambda body, plain: str(body.get("message", "")) or plain,
        )


def says(content: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Script:
    def send(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return send


def hangs_up(handler: Handler) -> None:
    """No answer, and the line is closed."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def ends_early(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"a": ')
    handler.close_connection = True


def never_ends(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" " * 100)
        time.sleep(0.02)


@pytest.fixture
def server() -> Iterator[Server]:
    there = Server()
    Thread(target=there.serve_forever, args=(0.05,), daemon=True).start()
    yield there
    there.shutdown()
    there.server_close()


def test_the_other_side_hears_which_request_it_is_called_for(server: Server) -> None:
    heard = []

    def answers(handler: Handler) -> None:
        heard.append(handler.headers["X-Request-ID"])
        says(b"{}")(handler)

    server.scripts = [answers, answers]
    line = server.rest()
    with request_ids.working_for("run-7"):
        line.get("a")
    line.get("a")
    assert heard == ["run-7", None]


def test_one_line_carries_many_calls_and_names_stay_as_they_are(server: Server) -> None:
    line = server.rest()
    server.scripts = [says(b'{"n": 1}'), says(b""), says(b"[]")]
    assert line.get("a b", "..", "a/b?c#d", "%2e", q="x&y") == {"n": 1}
    assert line.call("PUT", "Größe", body={"x": "é"}) is None
    assert line.form("token", fields={"a": "b c"}) == []
    line.close()
    assert server.heard == [
        ("GET", "/a%20b/../a%2Fb%3Fc%23d/%252e?q=x%26y", ""),
        ("PUT", "/Gr%C3%B6%C3%9Fe", '{"x": "\\u00e9"}'),
        ("POST", "/token", "a=b+c"),
    ]
    assert server.lines == 1


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        (says(b"", 302, Location="http://127.0.0.1:9/elsewhere"), Misconfigured, "redirects"),
        (says(b'{"message": "who are you"}', 401), Misconfigured, "who are you"),
        (says(b'{"message": "not you, hunter2-hunter2"}', 403), Refused, r"not you, \*\*\*\*\*\*"),
        (says(b'{"message": "later"}', 503), Transient, "later"),
        (says(b"<html>no such page", 404, "text/html; charset=x"), Misconfigured, "leads elsewhere"),
        (says(b"<html>sign in here", 200, "text/html"), Misconfigured, "no JSON"),
        (says(b"[" * 100_000), Misconfigured, "no JSON"),
        (ends_early, Transient, "does not answer"),
        (says(b" " * 5000), Transient, "more than can be read"),
        (never_ends, Transient, "more than can be read"),
        (lambda handler: time.sleep(1), NotAnswering, "timed out"),
    ],
    ids=["redirect", "401", "403", "503", "page", "login-page", "deep", "torn", "large", "endless", "silent"],
)
def test_what_goes_wrong_says_what_to_do_next(
    server: Server, monkeypatch: pytest.MonkeyPatch, script: Script, error: type[BackendError], words: str
) -> None:
    monkeypatch.setattr(rest, "TIMEOUT", 0.3 if error is NotAnswering else 20)
    monkeypatch.setattr(rest, "MAX_BYTES", 200_000 if words == "no JSON" else 4000)
    server.scripts = [script, script]
    with pytest.raises(error, match=words) as caught:
        server.rest().get("x")
    assert type(caught.value) is error
    assert SECRET not in str(caught.value)


def test_a_line_that_was_closed_is_opened_again_but_nothing_that_changes_is_sent_twice(
    server: Server,
) -> None:
    line = server.rest()
    server.scripts = [hangs_up, says(b'{"n": 1}'), hangs_up]
    assert line.get("x") == {"n": 1}
    with pytest.raises(Transient, match="does not answer"):
        line.call("POST", "x", body={})
    assert [method for method, *_ in server.heard] == ["GET", "GET", "POST"]
    assert line.get("x") == {}


def test_what_another_kind_of_server_may_not_know_is_asked_on_a_line_of_its_own(server: Server) -> None:
    """CDAP's router never answers an unknown path on a line that carried a known one before."""
    client = server.rest()
    client.get("known")
    server.scripts.append(says(b"Not Found", 404, "text/plain"))
    assert source_at(client, "cdap").key.startswith("cdap at ")
    assert server.heard[-1][1] == "/configs"
    assert server.lines == 2


def test_nobody_there_is_said_in_plain_words(server: Server) -> None:
    server.server_close()
    with pytest.raises(Transient, match=r"^127\.0\.0\.1:\d+ does not answer: .*Connection refused$"):
        server.rest().get("x")
    server.socket = socket.socket()


@pytest.mark.parametrize("token", ["two\r\nlines-of-it", "漢字漢字漢字"])
def test_a_token_that_no_header_can_carry_is_an_error_that_does_not_tell_it(
    server: Server, token: str
) -> None:
    with pytest.raises(Misconfigured, match="letters that HTTP cannot carry") as caught:
        server.rest(user="", secret=token).get("x")
    assert token[:5] not in str(caught.value)


def test_the_environment_sends_nothing_elsewhere_and_adds_no_password(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login eve password evil\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    headers: list[str | None] = []
    server.scripts = [
        lambda handler: headers.append(handler.headers["Authorization"]) or says(b"{}")(handler)
    ]
    assert server.rest(user="", secret="").get("x") == {}
    assert headers == [None]


def test_what_is_written_to_the_log_holds_no_query(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """A token may stand in a query."""
    with caplog.at_level(logging.INFO):
        server.scripts = [hangs_up]
        server.rest().get("x", delegation=SECRET)
    assert SECRET not in caplog.text
