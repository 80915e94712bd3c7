"""`GET …/filesets/{fileset}/files`: the files of a connected tree, told to whoever may read the fileset."""

from __future__ import annotations

import os
import shutil

import pytest
from django.test import Client

from accounts import people, tokens
from policies.models import Backend
from policies.sync.backends.files import backend as files
from tests.backends.files_world import PosixSite
from tests.factories import a_metalake, admit, the, under
from tests.sync.test_files import ANA, governed, grant, lake

__all__ = ["governed", "lake"]  # fixtures
CALLS = "/api/metalakes/demo/catalogs/lake/schemas/crm/filesets/calls/files"


@pytest.fixture
def ana(governed: Backend, lake: PosixSite) -> Client:
    """Ana may read the calls, in which a folder, a file and much that is neither lies."""
    grant("READ_FILESET")
    calls = lake.folder("crm", "calls")
    for name in os.listdir(calls):
        shutil.rmtree(calls / name) if (calls / name).is_dir() else (calls / name).unlink()
    (calls / "2026").mkdir()
    (calls / "2026" / "may").write_bytes(b"ring")
    (calls / "part-0").write_bytes(b"ring ring")
    os.utime(calls / "part-0", (1_700_000_000, 1_700_000_000.5))
    (calls / "secrets").symlink_to("/etc")
    (calls / "shadow").symlink_to("/etc/shadow")
    os.mkfifo(calls / "pipe")
    return caller(ANA)


def caller(name: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {tokens.create(people.ensure('user', name))}"})


def names(client: Client, path: str = CALLS) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return [file["name"] for file in answer.json()["files"]]


def refused(client: Client, path: str) -> tuple[int, str]:
    answer = client.get(path)
    assert "files" not in answer.json()
    return answer.status_code, answer.json()["message"]


def test_files_and_folders_are_told_and_links_are_not(ana: Client) -> None:
    folder, file = ana.get(CALLS).json()["files"]
    assert (folder["name"], folder["isDir"], folder["size"]) == ("2026", True, 0)
    assert file == {
        "name": "part-0",
        "isDir": False,
        "size": 9,
        "lastModified": 1_700_000_000_500,
        "path": "/fileset/lake/crm/calls",
    }
    assert names(ana, f"{CALLS}?sub_path=/2026/") == ["may"]
    assert ana.get(f"{CALLS}?sub_path=2026").json()["files"][0]["path"] == "/fileset/lake/crm/calls/2026"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("..", 400),
        ("2026/../../letters", 400),
        ("./2026", 400),
        ("a%00b", 400),
        ("secrets", 404),
        ("part-0", 404),
        ("none", 404),
        ("%2e%2e/letters", 400),
    ],
)
def test_no_path_leads_out_of_the_fileset(ana: Client, path: str, status: int) -> None:
    assert refused(ana, f"{CALLS}?sub_path={path}")[0] == status


def test_who_may_not_read_the_fileset_learns_nothing(ana: Client, governed: Backend) -> None:
    admit(the("metalake"), "bob")
    for who in ("bob", "stranger"):
        assert refused(caller(who), CALLS)[0] == 403
    assert refused(ana, CALLS.replace("calls", "letters"))[0] == 403


def test_a_folder_that_was_made_anew_is_not_the_registered_one(ana: Client, lake: PosixSite) -> None:
    calls = lake.folder("crm", "calls")
    calls.rename(calls.with_name("old"))
    assert refused(ana, CALLS)[0] == 404
    calls.mkdir()
    (calls / "other").write_bytes(b"")
    status, body = refused(ana, CALLS)
    assert status == 404 and "not the one that was registered" in body


def test_a_crowded_folder_is_refused_and_no_part_of_it_told(
    ana: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_LISTED", 2)
    assert len(names(ana)) == 2
    monkeypatch.setattr(files, "MOST_LISTED", 1)
    status, body = refused(ana, CALLS)
    assert status == 405 and "more than 1 files" in body


def test_what_is_not_connected_is_not_said_to_be_empty(db: None) -> None:
    [catalog] = under(a_metalake(), "catalog", "lake")
    [schema] = under(catalog, "schema", "crm")
    under(schema, "fileset", "calls")
    status, body = refused(caller("marek"), CALLS)
    assert status == 405 and "not connected to a tree of files" in body
