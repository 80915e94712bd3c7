"""One destination has one verdict however it is spelled; a connection goes to the address that was judged."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from pytest_django import Settings

from lakewarden.backends import kinds
from lakewarden.backends.errors import BackendError, Misconfigured, Transient
from policies.sync.backends.postgresql.client import Connection, Session
from policies.sync.backends.shared.rest import Address, Rest
from policies.sync.connections import reachability
from policies.sync.connections.destinations import network
from policies.sync.connections.opening import check_allowed

Resolver = Callable[[str, list[str]], None]
NOWHERE = "0.0.0.0"  # noqa: S104 -- connected to, never bound
METADATA = "169.254.169.254"
LOOPBACKS = (
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "127.000.000.001",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "LocalHost.",
    "::1",
    "0:0:0:0:0:0:0:1",
    "0::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "0:0:0:0:0:ffff:127.0.0.1",
    "near.example",
)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """A name server that answers what a test says, once each; numbers and localhost are the system's."""
    real, known = socket.getaddrinfo, dict[str, list[list[str]]]()

    def answer(host: Any, port: Any, *more: Any, **asked: Any) -> Any:
        answers = known.get(str(host).lower())
        if answers is None:
            if ".example" in str(host):
                raise socket.gaierror("no such name")
            return real(host, port, *more, **asked)
        now = answers.pop(0) if len(answers) > 1 else answers[0]
        return [row for address in now for row in real(address, port, *more, **asked)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return lambda name, addresses: known.setdefault(name, []).append(addresses)


def verdict(host: str) -> bool:
    try:
        network().addresses(host)
    except Misconfigured:
        return False
    return True


@pytest.mark.parametrize("spelled", LOOPBACKS)
def test_one_machine_spelled_in_twenty_ways(names: Resolver, settings: Settings, spelled: str) -> None:
    for name in ("near.example", "localhost."):  # no system knows the one, and not each the other
        names(name, ["127.0.0.1"])
    for allowed, expected in (
        (["loopback"], True),
        (["127.0.0.0/8", "::1"], True),
        (["10.0.0.0/8"], False),
        (["db.example", "/srv"], False),
    ):
        settings.LAKEWARDEN_CONNECT_ALLOW = allowed
        assert verdict(spelled) is expected, allowed


@pytest.mark.parametrize(
    "spelled",
    [METADATA, "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "::ffff:169.254.169.254", "meta.example",
     NOWHERE, "0", "::", "224.0.0.1", "ff02::1", "fe80::1%lo", "10.0.0.1", "both.example", "\0", "", "a b"],
)  # fmt: skip
def test_what_is_not_near_is_not_near_in_any_spelling(
    names: Resolver, settings: Settings, spelled: str
) -> None:
    names("meta.example", [METADATA])
    names("both.example", ["127.0.0.1", METADATA])
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    assert not verdict(spelled)


@pytest.mark.parametrize("near", ["127.0.0.1", METADATA, "::1", "fe80::1", NOWHERE])
def test_a_name_in_the_list_opens_nothing_near(names: Resolver, settings: Settings, near: str) -> None:
    names("db.example", [near])
    settings.LAKEWARDEN_CONNECT_ALLOW = ["db.example"]
    assert not verdict("db.example")


def test_a_name_in_the_list_that_cannot_be_looked_up_is_tried_again(
    names: Resolver, settings: Settings
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["db.example"]
    with pytest.raises(Transient):
        network().addresses("db.example")
    with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
        network().addresses("other.example")


# sockets


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in ("open", "open/inner", "closed"):
        (tmp_path / name).mkdir()
    (tmp_path / "open" / "link").symlink_to(tmp_path / "closed")
    (tmp_path / "way").symlink_to(tmp_path / "open")
    (tmp_path / "open" / ".s.PGSQL.7000").symlink_to(tmp_path / "closed" / ".s.PGSQL.5432")
    return tmp_path


def test_a_socket_is_judged_by_the_folder_that_it_really_lies_in(lake: Path, settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback", str(lake / "open")]
    settings.LAKEWARDEN_CONNECT_SOCKETS = ()
    kind = kinds.get("postgresql")
    inside = ["open", "open/", "open//", "open/.", "closed/../open", "way", "open/inner", "open/inner/.."]
    outside = ["closed", "closed/", "open/../closed", "open/link", "way/link", "open/inner/../../closed", "."]
    for folder, allowed in [*((item, True) for item in inside), *((item, False) for item in outside)]:
        path = f"{lake}/{folder}"
        for url in (
            f"postgresql://u@{quote(path, safe='')}/db",
            f"postgresql://u@/db?host={quote(path, safe='')}",
            f"postgresql:///db?host={path}&user=u",
            f"postgresql://u@127.0.0.1,{quote(path, safe='')}/db",
        ):
            if allowed:
                check_allowed(kind, url)
                continue
            with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
                check_allowed(kind, url)
    with pytest.raises(Misconfigured):  # the socket itself is a link that leads out
        check_allowed(kind, f"postgresql://u@:7000/db?host={lake}/open")


@pytest.mark.parametrize(
    "path", ["relative/x.sock", "@abstract", "\0abstract", "/etc/../tmp/x.sock", "x.sock"]
)
def test_sockets_in_no_allowed_folder_are_refused(settings: Settings, path: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    settings.LAKEWARDEN_CONNECT_SOCKETS = ()
    with pytest.raises(Misconfigured):
        network().socket_file(path)
    with pytest.raises(Misconfigured):
        check_allowed(kinds.get("mariadb"), f"mariadb://u@localhost/?unix_socket={quote(path)}")


# a second answer of a name server leads nowhere


def test_libpq_gets_the_address_that_was_judged(names: Resolver, settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["10.0.0.0/8", "loopback"]
    names("db.example", ["10.0.0.7", "10.0.0.8"])
    names("db.example", [METADATA])
    parameters = network().libpq({"host": "db.example,127.0.0.1", "port": "5433,5434"})
    assert parameters == {
        "host": "db.example,db.example,127.0.0.1",
        "hostaddr": "10.0.0.7,10.0.0.8,127.0.0.1",
        "port": "5433,5433,5434",
    }


def test_what_a_session_opens_was_judged_then(
    names: Resolver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["10.0.0.0/8"]
    names("db.example", ["10.0.0.7"])
    names("db.example", ["10.0.0.7"])
    names("db.example", [METADATA])
    opened: list[str] = []

    def connect(url: str, **more: Any) -> Any:
        opened.append(more["hostaddr"])
        raise psycopg.OperationalError("away")

    monkeypatch.setattr(Connection, "connect", connect)
    url = "postgresql://u@db.example/db?sslmode=verify-full"
    check_allowed(kinds.get("postgresql"), url)
    with pytest.raises(Transient):
        Session(url, None, network()).connect()  # type: ignore[arg-type]
    with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
        Session(url, None, network()).connect()  # type: ignore[arg-type]
    assert opened == ["10.0.0.7"]


@pytest.fixture
def listener() -> Iterator[tuple[int, list[str]]]:
    """A server of plain HTTP that notes what it is called."""
    heard: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    heard.append(line.recv(4096).decode())
                    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

        Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)


def test_http_goes_to_the_judged_address_under_its_name(
    names: Resolver, settings: Settings, listener: tuple[int, list[str]]
) -> None:
    port, heard = listener
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    names("near.example", ["127.0.0.1"])
    names("near.example", [METADATA])
    rest = Rest(
        Address(False, "near.example", port, ()),
        lambda: "",
        network=network(),
        explain=lambda body, plain: plain,
    )
    assert rest.get("x") == {}
    assert f"Host: near.example:{port}" in heard[0]
    rest.close()
    with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
        rest.get("x")
    assert len(heard) == 1


def test_a_test_of_an_address_is_judged_alike(names: Resolver, settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    names("meta.example", [METADATA])
    with pytest.raises(reachability.Unreachable, match="LAKEWARDEN_CONNECT_ALLOW"):
        reachability.check("http://meta.example/latest")


@pytest.mark.parametrize("code", ["gravitino", "herd", "cdap", "webhdfs", "ranger-hive", "mariadb", "mysql"])
def test_every_kind_is_judged_by_what_its_host_is(names: Resolver, settings: Settings, code: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    names("meta.example", [METADATA])
    kind = kinds.get(code)
    values = {"user": "u", "password": "p", "database": "x", "service": "x", "path": "/x", "port": "99"}
    for host in ("meta.example", METADATA, "::ffff:169.254.169.254", "2852039166"):
        with pytest.raises(BackendError, match="LAKEWARDEN_CONNECT_ALLOW"):
            check_allowed(kind, kind.address({**values, "host": f"[{host}]" if ":" in host else host}))


# folders, by links and by `..`


def test_a_tree_is_judged_by_the_folder_that_is_really_there(lake: Path, settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = [str(lake / "open")]
    kind = kinds.get("posix")
    for folder in ("open", "open/inner", "way", "way/inner", "closed/../open", "open/inner/%2e%2e", "open//"):
        check_allowed(kind, f"posix://{lake}/{folder}")
    for folder in (
        "closed",
        "open/link",
        "way/link",
        "open/../closed",
        "open/%2e%2e/closed",
        "..",
        "open/..",
    ):
        with pytest.raises(Misconfigured, match="LAKEWARDEN_CONNECT_ALLOW"):
            check_allowed(kind, f"posix://{lake}/{folder}")


@pytest.mark.parametrize("path", ["a/../../etc", "%2e%2e/etc", "a/%2E%2E/b", "./a", "%2e"])
def test_a_path_of_hdfs_names_folders_alone(settings: Settings, path: str) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    with pytest.raises(Misconfigured, match="must look like"):
        check_allowed(kinds.get("webhdfs"), f"webhdfs://hdfs@127.0.0.1:9870/{path}")


def test_a_redirect_leads_nowhere(settings: Settings) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    called: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as inside, socket.create_server(("127.0.0.1", 0)) as server:
        inside.settimeout(1)
        there = inside.getsockname()[1]
        answer = f"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:{there}/\r\nContent-Length: 0\r\n\r\n"

        def serve() -> None:
            line, _ = server.accept()
            with line:
                called.append(line.recv(4096))
                line.sendall(answer.encode())

        Thread(target=serve, daemon=True).start()
        tree = kinds.get("webhdfs").open(
            f"webhdfs://hdfs@127.0.0.1:{server.getsockname()[1]}/x", realm="r", mark="m", network=network()
        )
        with pytest.raises(Misconfigured, match="redirects"):
            tree.observe()
        tree.close()
        with pytest.raises(TimeoutError):
            inside.accept()
    assert called
