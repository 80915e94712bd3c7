"""A tree of files is connected in the console: its folder is named, tried and kept, nothing else is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from catalog.nodes import Node
from policies.models import Backend
from policies.secrets import decrypt
from tests.backends.files_world import HdfsSite, PosixSite
from tests.console.settings.test_owners_and_members import posted
from tests.factories import a_metalake
from tests.standins.webhdfs.process import Process

Enter = Callable[[str], Client]


@pytest.fixture
def tree(settings: Any) -> Iterator[PosixSite]:
    site = PosixSite()
    site.schema("crm")
    site.table("crm", "calls")
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback", str(site.root)]
    yield site
    site.close()


@pytest.fixture
def hdfs() -> Iterator[HdfsSite]:
    server = Process()
    yield HdfsSite(server)
    server.stop()


@pytest.fixture
def root(db: None) -> Node:
    return a_metalake()


def test_a_mounted_tree_is_tried_and_kept(root: Node, tree: PosixSite, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/realms/{root.id}/connect?kind=posix"
    shown = marek.get(page).content.decode()
    assert "Where the tree is mounted" in shown
    assert 'name="host"' not in shown
    form = {"kind": "posix", "catalog": "lake", "its-folder": str(tree.root), "its-holds": "filesets"}
    body = posted(marek, page, **form, policy="report", step="try").content.decode()
    assert "may change access lists of everything in it" in body
    assert not Backend.objects.exists()
    posted(marek, page, **form, policy="report", step="connect")
    row = Backend.objects.get()
    assert (decrypt(row.sealed_url), row.place) == (f"posix://{tree.root}", str(tree.root))
    again = marek.get(f"/realms/{root.id}/connect?catalog=lake&kind=posix").content.decode()
    assert str(tree.root) in again


@pytest.mark.parametrize(
    ("folder", "words"),
    [("/etc", "LAKEWARDEN_CONNECT_ALLOW"), ("", "Enter the folder."), ("lake", "must look like")],
)
def test_a_folder_that_may_not_be_connected_is_refused(
    folder: str, words: str, root: Node, tree: PosixSite, signed_in: Enter
) -> None:
    page = f"/realms/{root.id}/connect?kind=posix"
    form = {"kind": "posix", "catalog": "lake", "its-folder": folder, "its-holds": "filesets"}
    answer = posted(signed_in("marek"), page, **form, policy="report", step="connect")
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Backend.objects.exists()


def test_hdfs_is_tried_and_kept(root: Node, hdfs: HdfsSite, settings: Any, signed_in: Enter) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = ["loopback"]
    marek, page = signed_in("marek"), f"/realms/{root.id}/connect?kind=webhdfs"
    form = {
        "kind": "webhdfs",
        "catalog": "warehouse",
        "host": "127.0.0.1",
        "port": str(hdfs.server.port),
        "user": "hdfs",
        "its-path": "/lake",
        "its-tls": "no",
        "its-nameservice": "prod",
        "its-holds": "filesets",
    }
    body = posted(marek, page, **form, policy="report", step="try").content.decode()
    assert "/lake is there, seen as hdfs" in body
    posted(marek, page, **form, policy="report", step="connect")
    expected = f"webhdfs://hdfs@127.0.0.1:{hdfs.server.port}/lake?nameservice=prod"
    assert decrypt(Backend.objects.get().sealed_url) == expected
