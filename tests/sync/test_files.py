"""A tree of files behind a catalog of filesets: what is decided here is what the kernel lets people do."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts import people
from catalog.models import Detail
from lakewarden.backends.testing.kit import look
from policies.models import Backend, BackendFinding
from policies.services import grants, objects
from policies.services.grants import GrantRequest
from policies.services.objects import NewObject
from policies.sync import reconcile, worker
from policies.sync.actions import foreign_rights
from tests.backends.files_world import PosixSite, as_person, reads, setfacl, shown, writes
from tests.factories import (
    AUTHORITY,
    BY,
    a_metalake,
    a_person,
    a_role,
    acting,
    admit,
    describe,
    owned,
    the,
    under,
)
from tests.policies.superuser import past_triggers

ANA, LEGACY = "daemon", "games"
"""Accounts of this machine that play the people."""


@pytest.fixture
def lake() -> Iterator[PosixSite]:
    """Folder crm with filesets calls and letters; an old program was let in by hand."""
    site = PosixSite()
    site.schema("crm")
    site.table("crm", "calls")
    site.table("crm", "letters")
    yield site
    site.close()


@pytest.fixture
def governed(db: None, lake: PosixSite, settings: Any) -> Backend:
    settings.LAKEWARDEN_CONNECT_ALLOW = [*settings.LAKEWARDEN_CONNECT_ALLOW, str(lake.root)]
    root = a_metalake()
    a_person(ANA)
    admit(root, "olivia", ANA, LEGACY)
    output = StringIO()
    call_command("connect", "demo/lake", "posix", "--url", lake.url, stdout=output)
    assert "ok: it keeps access lists (acl)" in output.getvalue()
    output = StringIO()
    call_command("discover", "demo/lake", stdout=output)
    assert "4 objects, 3 new" in output.getvalue()
    owned(the("schema", "lake.crm"), "olivia")
    a_role(
        root,
        "browse",
        "allow USE_CATALOG on catalog lake",
        "allow USE_SCHEMA on schema lake.crm",
        held_by=(ANA, LEGACY, "olivia"),
    )
    return Backend.objects.get()


def settled(backend: Backend) -> None:
    """What is due is delivered, or else it is looked at as in its turn."""
    report = worker.deliver(backend) or reconcile.reconcile(backend)
    assert (report.error, report.missing, report.extra) == ("", 0, 0)


def grant(privilege: str, person: str = ANA) -> None:
    wish = GrantRequest(the("fileset", "lake.crm.calls"), (people.ensure("user", person),), (privilege,))
    grants.add(wish, by=acting("olivia"))


def revoke(privilege: str, person: str = ANA) -> None:
    grants.remove(
        the("fileset", "lake.crm.calls"), [people.ensure("user", person)], [privilege], by=acting("olivia")
    )


def test_a_grant_lets_the_account_read_and_a_revoke_shuts_it_out(governed: Backend, lake: PosixSite) -> None:
    calls = lake.folder("crm", "calls")
    settled(governed)
    assert not as_person(ANA, reads(calls))
    grant("READ_FILESET")
    settled(governed)
    assert as_person(ANA, reads(calls))
    assert not as_person(ANA, writes(calls))
    assert not as_person(ANA, reads(lake.folder("crm", "letters")))
    grant("WRITE_FILESET")
    settled(governed)
    assert as_person(ANA, writes(calls))
    revoke("WRITE_FILESET")
    revoke("READ_FILESET")
    settled(governed)
    assert not as_person(ANA, reads(calls))
    assert as_person(ANA, lambda: calls.stat()), "the schema may still be used"


def test_a_denial_shuts_one_out_and_not_the_others(governed: Backend, lake: PosixSite) -> None:
    calls = lake.folder("crm", "calls")
    root = the("metalake", "")
    a_role(root, "readers", "allow READ_FILESET on schema lake.crm", held_by=(ANA, LEGACY))
    a_role(root, "no calls", "deny READ_FILESET on fileset lake.crm.calls", held_by=(ANA,))
    settled(governed)
    assert not as_person(ANA, reads(calls))
    assert as_person(ANA, reads(lake.folder("crm", "letters")))
    assert as_person(LEGACY, reads(calls))


def test_a_hand_made_entry_appears_and_is_adopted_without_a_gap(governed: Backend, lake: PosixSite) -> None:
    calls = lake.folder("crm", "calls")
    settled(governed)
    setfacl("-R", "-m", f"u:{LEGACY}:rX", calls)
    settled(governed)
    findings = BackendFinding.objects.filter(kind="foreign", holder=LEGACY).order_by("what")
    assert [(item.what, item.place) for item in findings] == [("ENTER", "crm.calls"), ("READ", "crm.calls")]
    foreign_rights.adopt(findings.get(what="READ").pk, by=acting("olivia"))
    settled(governed)
    assert as_person(LEGACY, reads(calls))
    revoke("READ_FILESET", LEGACY)
    settled(governed)
    assert not as_person(LEGACY, reads(calls))


def test_a_hand_made_entry_is_revoked(governed: Backend, lake: PosixSite) -> None:
    calls = lake.folder("crm", "calls")
    setfacl("-R", "-m", f"u:{LEGACY}:rX", calls)
    settled(governed)
    assert as_person(LEGACY, reads(calls))
    foreign_rights.revoke(BackendFinding.objects.get(kind="foreign", what="READ").pk, by=acting("olivia"))
    settled(governed)
    assert LEGACY not in shown(calls)[str(calls)]
    assert not as_person(LEGACY, reads(calls))


def test_a_folder_that_was_renamed_is_the_same_fileset(governed: Backend, lake: PosixSite) -> None:
    grant("READ_FILESET")
    settled(governed)
    lake.rename("crm", "calls", "talks")
    call_command("discover", "demo/lake", stdout=StringIO())
    assert the("fileset", "lake.crm.talks")
    settled(governed)
    assert as_person(ANA, reads(lake.folder("crm", "talks")))


def test_a_folder_that_was_made_again_passes_nothing_on(governed: Backend, lake: PosixSite) -> None:
    grant("READ_FILESET")
    settled(governed)
    lake.drop("crm", "calls")
    lake.table("crm", "calls")
    call_command("discover", "demo/lake", stdout=StringIO())
    settled(governed)
    assert not as_person(ANA, reads(lake.folder("crm", "calls")))


def test_a_fileset_with_a_location_of_its_own_is_kept_there(governed: Backend, lake: PosixSite) -> None:
    far = lake.folder("data", "deep", "down")
    lake.fill(far)
    for above in (lake.folder("data"), lake.folder("data", "deep")):
        above.chmod(0o750)
    row = Detail.objects.get(securable=the("fileset", "lake.crm.calls").id)
    row.content = {"storageLocations": {"unknown": f"file:{far}"}}
    describe(row.pk, row.content)
    grant("READ_FILESET")
    settled(governed)
    assert as_person(ANA, reads(far))
    assert not as_person(ANA, reads(lake.folder("crm", "calls")))


def a_squatter(lake: PosixSite, location: str) -> None:
    """Ana registered a fileset of their own before the catalog was connected, and named a folder for it."""
    root = a_metalake()
    a_person(ANA)
    admit(root, "olivia", ANA)
    [catalog] = under(root, "catalog", "lake")
    [schema] = under(catalog, "schema", "scratch")
    owned(schema, ANA)
    new = NewObject("fileset", "mine", content={"storageLocations": {"unknown": location}})
    objects.register(schema, [new], owner=people.ensure("user", ANA), by=BY, authority=AUTHORITY)


@pytest.mark.parametrize("where", ["crm/letters", "crm/letters/inside", "crm/scratch/mine", "scratch/other"])
def test_who_registered_a_fileset_before_is_not_given_the_folder_that_they_named(
    db: None, lake: PosixSite, settings: Any, where: str
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = [*settings.LAKEWARDEN_CONNECT_ALLOW, str(lake.root)]
    a_squatter(lake, f"file://{lake.root}/{where}")
    output = StringIO()
    connect = ("connect", "demo/lake", "posix", "--url", lake.url, "--registered", "keep")
    with pytest.raises(SystemExit):
        call_command(*connect, stdout=output, stderr=output)
    assert f"scratch.mine (file://{lake.root}/{where})" in output.getvalue()
    assert not Backend.objects.exists()
    output = StringIO()
    call_command(*connect, "--keep-places", stdout=output)
    assert f"check: scratch.mine lies in file://{lake.root}/{where}" in output.getvalue()
    call_command(*connect, "--mode", "report", stdout=output)


def test_a_fileset_in_its_own_folder_is_connected_with_the_rest(
    db: None, lake: PosixSite, settings: Any
) -> None:
    settings.LAKEWARDEN_CONNECT_ALLOW = [*settings.LAKEWARDEN_CONNECT_ALLOW, str(lake.root)]
    a_squatter(lake, f"file://{lake.root}/scratch/mine/")
    connect = ("connect", "demo/lake", "posix", "--url", lake.url, "--registered", "keep")
    call_command(*connect, stdout=StringIO())
    assert Backend.objects.exists()


def test_a_folder_that_somebody_named_past_the_console_is_not_opened(
    governed: Backend, lake: PosixSite
) -> None:
    grant("READ_FILESET")
    settled(governed)
    content = f'{{"storageLocations": {{"unknown": "file:{lake.folder("crm", "letters")}"}}}}'
    calls = the("fileset", "lake.crm.calls").id
    past_triggers(f"UPDATE catalog_detail SET content = '{content}' WHERE securable_id = {calls}")
    grant("WRITE_FILESET")
    worker.deliver(governed)
    governed.refresh_from_db()
    assert governed.state == "failed" and "outside the console" in governed.error
    assert not as_person(ANA, reads(lake.folder("crm", "letters")))


def test_the_operator_names_the_folders_that_may_be_connected(db: None, lake: PosixSite) -> None:
    a_metalake()
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command("connect", "demo/lake", "posix", "--url", lake.url, stdout=output, stderr=output)
    assert "is not below a folder in LAKEWARDEN_CONNECT_ALLOW" in output.getvalue()
    assert not Backend.objects.exists()


PROGRAM = """
import os, sys
from pyarrow import csv, fs  # before: the account may not see where packages are
account, folder = int(sys.argv[1]), sys.argv[2]
os.setgroups([]); os.setresgid(account, account, account); os.setresuid(account, account, account)
rows = sum(csv.read_csv(f"{folder}/{one.base_name}").num_rows
           for one in fs.LocalFileSystem().get_file_info(fs.FileSelector(folder)) if one.is_file)
"""


def test_a_program_that_opens_files_by_path_is_held_by_the_same_lists(
    governed: Backend, lake: PosixSite
) -> None:
    """No guard of ours is in it: what keeps it out is what the worker wrote."""

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, "1", str(lake.folder("crm", "calls"))]
        return subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)

    settled(governed)
    refused = run()
    assert "Permission denied" in refused.stderr
    grant("READ_FILESET")
    settled(governed)
    assert run().returncode == 0
    assert look(lake).complete


def test_the_commands_of_the_page_do_what_it_says(db: None, lake: PosixSite, settings: Any) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "files.md").read_text()
    block = re.search(r"```sh\n(export .*?)```", page, re.S)
    assert block
    lines = block[1].replace("prod/", "demo/").replace("/srv/lake", str(lake.root)).splitlines()
    assert lines[0].startswith("export LAKEWARDEN_CONNECT_ALLOW=")
    settings.LAKEWARDEN_CONNECT_ALLOW = lines[0].partition("=")[2].split(",")
    a_metalake()
    for line in lines[1:]:
        python, manage, *words = shlex.split(line)
        assert (python, manage) == ("python", "manage.py")
        call_command(*words, stdout=StringIO())
    assert the("fileset", "lake.crm.calls")
    assert Backend.objects.get().state == Backend.State.IN_SYNC
