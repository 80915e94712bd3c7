"""Traps of trees, folders that lie elsewhere, and what is said of a connection to files."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Right
from lakewarden.backends.errors import Misconfigured, Transient
from lakewarden.backends.testing.kit import look, settle
from policies.sync.backends.posix import kind as posix
from policies.sync.backends.posix import tree as posix_tree
from policies.sync.backends.posix.tree import PosixTree
from tests.backends.files_world import (
    READ,
    as_person,
    each,
    fileset,
    reads,
    setfacl,
    shown,
)
from tests.backends.posix_lake import ANA_READS, ANA_WRITES, NOTHING, assert_settled, done, everything, rights

# traps of trees


def test_no_link_is_followed(lake, orders):
    outside = lake.root.parent / f"{lake.root.name}-outside"
    outside.mkdir(mode=0o750)
    (outside / "secret.csv").write_text("1")
    before = everything(outside)
    (orders / "link").symlink_to(outside)
    (orders / "file").symlink_to(outside / "secret.csv")
    lake.folder("sales", "linked").symlink_to(outside)
    lake.folder("hr").symlink_to(outside)
    try:
        done(lake, ANA_READS)
        assert everything(outside) == before
        assert {item.path for item in look(lake).objects} == {
            (),
            ("sales",),
            ("sales", "orders"),
            ("sales", "costs"),
        }
        desired = each(daemon=fileset("sales", "linked", *READ))
        assert any(item.error for item in settle(lake, desired))
        assert everything(outside) == before
    finally:
        subprocess.run(["rm", "-r", outside], check=True)


def test_nothing_is_given_on_a_file_that_lies_elsewhere_too(lake, orders):
    secret = lake.root.parent / f"{lake.root.name}-secret"
    secret.write_text("1")
    secret.chmod(0o600)
    try:
        os.link(secret, orders / "mine.csv")
        done(lake, ANA_READS)
        assert not as_person("daemon", (orders / "mine.csv").read_bytes)
        assert shown(secret)[str(secret)] == "user::rw-\ngroup::---\nother::---"
        assert any("hard links" in text for text in look(lake).unknown)
        setfacl("-m", "u:daemon:r", secret)
        done(lake, NOTHING)
    finally:
        secret.unlink()


def test_any_name_is_just_a_name(lake, orders):
    odd = os.fsencode(orders) + b"/new\nline \xff\xfe"
    os.mkdir(odd, 0o700)
    with open(odd + b"/\xf0\nx", "w") as file:
        file.write("1")
    os.chmod(odd + b"/\xf0\nx", 0o600)
    os.mkdir(os.fsencode(lake.folder("sales")) + b"/no \xff text")
    lake.table("sales", "Größe 表;--$(x)")
    both = each(daemon=fileset("sales", "orders", *READ) | fileset("sales", "Größe 表;--$(x)", *READ))
    done(lake, both)
    assert as_person("daemon", reads(orders))
    assert as_person("daemon", reads(lake.folder("sales", "Größe 表;--$(x)")))
    assert any("its name cannot be an object's" in text for text in look(lake).unknown)


def test_a_file_system_mounted_inside_is_left_alone(lake, orders):
    (orders / "mounted").mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", orders / "mounted"], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        (orders / "mounted" / "a.csv").write_text("1")
        before = everything(orders / "mounted")
        done(lake, ANA_READS)
        assert everything(orders / "mounted") == before
        assert any("mounted" in text for text in look(lake).unknown)
        assert look(lake).complete
    finally:
        subprocess.run(["umount", orders / "mounted"], check=True)


def test_what_vanishes_while_it_is_walked_does_no_harm(lake, orders):
    stop = threading.Event()

    def churn():
        number = 0
        while not stop.is_set():
            number += 1
            (orders / f"d{number}").mkdir()
            (orders / f"d{number}" / "f").write_text("1")
            (orders / f"d{number}" / "f").unlink()
            (orders / f"d{number}").rmdir()

    busy = threading.Thread(target=churn)
    busy.start()
    try:
        for desired in [ANA_READS, NOTHING] * 10:
            assert [item.error for item in settle(lake, desired) if item.error] == []
            assert look(lake).complete
    finally:
        stop.set()
        busy.join()
    done(lake, NOTHING)


def test_a_folder_made_again_has_another_id_and_no_rights(lake, orders):
    done(lake, ANA_READS)
    old = {item.path: item.id for item in look(lake).objects}
    lake.drop("sales", "orders")
    lake.table("sales", "orders")
    seen = look(lake)
    new = {item.path: item.id for item in seen.objects}
    assert new["sales", "orders"] != old["sales", "orders"]
    assert new["sales", "costs"] == old["sales", "costs"]
    assert rights(seen, "daemon") == set()
    assert not as_person("daemon", reads(orders))


def test_a_renamed_folder_keeps_its_id_and_its_rights(lake):
    done(lake, ANA_READS)
    old = {item.path: item.id for item in look(lake).objects}
    lake.rename("sales", "orders", "sold")
    assert {item.path: item.id for item in look(lake).objects}["sales", "sold"] == old["sales", "orders"]
    assert_settled(lake, each(daemon=fileset("sales", "sold", *READ)))


def test_a_look_that_was_refused_somewhere_removes_nothing(lake, orders):
    subprocess.run(["chown", "-R", "games", lake.root], check=True)
    assert as_person("games", lambda: done(lake, ANA_READS))
    for path in (orders / "2026", orders / "2026" / "may.csv"):
        os.chown(path, 0, 0)
        path.chmod(0o700)

    def deed():
        seen = look(lake)
        assert not seen.complete
        assert any("2026" in text for text in seen.unknown)
        assert rights(seen, "daemon") == {"READ", "ENTER"}
        assert planning.plan(NOTHING, seen).steps == ()
        assert [item for item in lake.backend().check() if item.blocks] == []
        assert any("can be forged" in item.text for item in lake.backend().check())

    assert as_person("games", deed)


def test_who_may_write_cannot_forge_what_is_remembered(lake, orders):
    """They would pass their right for one that others gave, to keep it."""
    done(lake, ANA_WRITES)
    name = trusted_mark(orders)
    forged = b'{"v":1,"theirs":{"1":[7,7]}}'
    mine = name.replace("trusted.", "user.")
    assert not as_person("daemon", lambda: os.setxattr(orders, name, forged))
    assert as_person("daemon", lambda: os.setxattr(orders, mine, forged))
    assert not as_person("daemon", lambda: os.setxattr(lake.root, mine, forged))
    done(lake, NOTHING)
    assert not as_person("daemon", reads(orders))
    assert look(lake).foreign == ()


def trusted_mark(folder: Path) -> str:
    """The name of our mark; containers often take from root what it takes to hide one."""
    [name] = [name for name in os.listxattr(folder) if ".lakewarden." in name]
    if not name.startswith("trusted."):
        pytest.skip("root has no CAP_SYS_ADMIN here")
    return name


def test_who_cannot_see_the_marks_does_not_take_them_for_absent(lake, orders):
    done(lake, ANA_READS)
    trusted_mark(orders)
    subprocess.run(["chown", "-R", "games", lake.root], check=True)

    def deed():
        with pytest.raises(Misconfigured, match="only root"):
            look(lake)

    assert as_person("games", deed)


def test_a_mark_that_cannot_be_read_stops_all_change_there(lake, orders):
    done(lake, ANA_READS)
    [name] = [name for name in os.listxattr(orders) if ".lakewarden." in name]
    os.setxattr(orders, name, b"something else")
    before = everything(lake.root)
    seen = look(lake)
    assert not seen.complete
    assert any("cannot be read" in text for text in seen.unknown)
    assert all(item.error for item in settle(lake, ANA_READS) if item.step.kind == "give")
    assert everything(lake.root) == before


# folders elsewhere


def test_a_fileset_lies_where_its_location_says(lake):
    lake.fill(lake.folder("data", "deep", "down"))
    for above in (lake.folder("data"), lake.folder("data", "deep")):
        above.chmod(0o750)
    lake.places[("sales", "far")] = f"file:{lake.root}/data/deep/down"
    before = everything(lake.root)
    far = each(daemon=fileset("sales", "far", *READ))
    done(lake, far)
    assert as_person("daemon", reads(lake.folder("data", "deep", "down")))
    assert not as_person("daemon", lambda: os.listdir(lake.folder("data", "deep")))
    assert ("sales", "far") in {item.path for item in look(lake).objects}
    done(lake, NOTHING)
    after = everything(lake.root)
    root = f"marks of {lake.root}"
    assert "elsewhere" in after.pop(root)
    assert after == {path: text for path, text in before.items() if path != root}


def test_when_the_location_changes_the_old_folder_is_shut(lake):
    for name in ("old", "new"):
        lake.fill(lake.folder("data", "deep", name))
    lake.places[("sales", "far")] = f"file://{lake.root}/data/deep/old"
    far = each(daemon=fileset("sales", "far", *READ))
    done(lake, far)
    lake.places[("sales", "far")] = f"file://{lake.root}/data/deep/new"
    plan = planning.plan(far, look(lake))
    taken = {(right.kind, right.path) for step in plan.steps if step.kind == "take" for right in step.rights}
    assert ("folder", ("data", "deep", "old")) in taken
    settle(lake, far)
    done(lake, far)
    assert as_person("daemon", reads(lake.folder("data", "deep", "new")))
    assert not as_person("daemon", reads(lake.folder("data", "deep", "old")))


def test_a_way_closed_by_hand_is_seen(lake):
    lake.fill(lake.folder("data", "deep", "down"))
    lake.places[("sales", "far")] = f"{lake.root}/data/deep/down"
    far = each(daemon=fileset("sales", "far", *READ))
    done(lake, far)
    setfacl("-b", lake.folder("data", "deep"))
    lake.folder("data", "deep").chmod(0o750)
    assert not as_person("daemon", reads(lake.folder("data", "deep", "down")))
    done(lake, far)
    assert as_person("daemon", reads(lake.folder("data", "deep", "down")))


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("file:///etc", "outside of the connected tree"),
        ("s3://bucket/orders", "outside of the connected tree"),
        ("file://{root}/../x", "outside of the connected tree"),
        ("file://{root}/sales", "the folder of a schema"),
        ("file://{root}", "the folder of a schema"),
    ],
)
def test_a_location_that_cannot_be_kept_is_told(lake, location, why):
    lake.places[("sales", "orders")] = location.format(root=lake.root)
    seen = look(lake)
    assert any(why in text for text in seen.unknown)
    assert ("sales", "orders") not in {item.path for item in seen.objects}
    before = everything(lake.root)
    assert any(
        item.error for item in settle(lake, each(daemon=[Right("fileset", ("sales", "orders"), "READ")]))
    )
    assert everything(lake.root) == before


def test_one_fileset_inside_of_another_keeps_its_own_rights(lake, orders):
    lake.fill(orders / "inner")
    lake.places[("sales", "inner")] = f"file://{orders}/inner"
    done(lake, ANA_READS)
    assert as_person("daemon", (orders / "all.csv").read_bytes)
    assert not as_person("daemon", reads(orders / "inner"))
    done(lake, each(games=fileset("sales", "inner", *READ)))
    assert as_person("games", reads(orders / "inner"))
    assert not as_person("games", (orders / "all.csv").read_bytes)


# what is said


def test_who_needs_no_entry_is_told(lake, orders):
    os.chown(orders / "all.csv", 5, 60)
    lake.folder("sales", "costs").chmod(0o755)
    bypasses = {(bypass.path, bypass.holder, bypass.what) for bypass in look(lake).bypasses}
    assert (("sales", "orders"), "games", "owns files or folders in it") in bypasses
    assert (("sales", "costs"), "everybody", "READ, ENTER by the bits for others") in bypasses
    assert not any(path == ("sales", "orders") and holder == "everybody" for path, holder, _ in bypasses)


def test_a_second_worker_waits_and_gives_up_in_time(lake, monkeypatch):
    monkeypatch.setattr(posix_tree, "_PATIENCE", 0.1)
    tree = PosixTree(str(lake.root), "other")
    with tree.alone(), pytest.raises(Transient):
        look(lake)
    assert look(lake).complete


def test_checks_say_what_is_wrong(lake):
    problems = [item.text for item in lake.backend().check() if not item.ok]
    assert [text for text in problems if "lacks CAP_SYS_ADMIN" not in text] == []
    lake.root.chmod(0o755)
    assert any("keeps nobody out" in item.text for item in lake.backend().check())

    def as_stranger():
        assert any(item.blocks and "neither owns" in item.text for item in lake.backend().check())

    assert as_person("games", as_stranger)
    for url, why in (("posix:///nowhere/at/all", "cannot be read"), ("posix:///proc/sys", "mounted without")):
        backend = posix.open(url, realm="acme", mark="shop")
        assert any(item.blocks and why in item.text for item in backend.check())


@pytest.mark.parametrize(
    "url",
    ["posix://host/srv", "posix:srv", "file:///srv", "posix:///srv?x=1", "posix:///srv?holds=x", "posix://"],
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(Misconfigured):
        posix.open(url, realm="acme", mark="shop")


@pytest.mark.parametrize("holds", ["filesets", "tables"])
def test_what_a_form_says_is_in_the_url_and_comes_back(holds):
    parts = {"folder": "/srv/große see", "holds": holds}
    assert posix.KIND.parts(posix.KIND.address(parts)) == parts


def test_folders_may_be_tables(lake, orders):
    lake.holds = "tables"
    seen = look(lake)
    assert ("table", ("sales", "orders")) in {(item.kind, item.path) for item in seen.objects}
    reading = {Right("table", ("sales", "orders"), word) for word in READ} | {
        Right("catalog", (), "ENTER"),
        Right("schema", ("sales",), "ENTER"),
    }
    done(lake, each(daemon=reading))
    assert as_person("daemon", reads(orders))
