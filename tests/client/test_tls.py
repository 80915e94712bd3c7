"""Own authorities are trusted when named, and nobody else's."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from lakewarden.client import Client, Unavailable
from tests.certificates import own_authority, serving

from .conftest import TOKEN, Peer, answer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def address(console: Peer, certificate: Path) -> str:
    console.socket = serving(certificate).wrap_socket(console.socket, server_side=True)
    console.scripts = [answer({"decision": True})]
    return console.url.replace("http:", "https:")


def test_an_unknown_authority_is_refused_before_the_token_is_sent(console: Peer, address: str) -> None:
    with pytest.raises(Unavailable, match="is not trusted"):
        Client(address, TOKEN).check("user:ana", "read", "table:demo/a")
    assert console.asked == []


def test_an_authority_named_in_the_environment_is_trusted(
    address: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEWARDEN_CA", str(certificate))
    assert Client(address, TOKEN).check("user:ana", "read", "table:demo/a")


@pytest.mark.parametrize(("scheme", "reads"), [("http", 0), ("https", 1)])
def test_only_who_calls_over_tls_reads_the_machines_authorities(
    monkeypatch: pytest.MonkeyPatch, scheme: str, reads: int
) -> None:
    read, real = [], ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **given: read.append(given) or real(**given))
    Client(f"{scheme}://127.0.0.1:9", TOKEN)
    assert len(read) == reads
