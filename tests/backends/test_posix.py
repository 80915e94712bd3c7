"""Access lists of files on this machine; whether somebody may is asked of the kernel, as that account."""

from __future__ import annotations

import os
import subprocess

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Foreign, Order, Right
from lakewarden.backends.errors import Gone
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.kit import look, settle
from policies.sync.backends.posix.tree import PosixTree
from tests.backends.files_world import (
    READ,
    WRITE,
    FileRights,
    PosixSite,
    as_person,
    each,
    fileset,
    reads,
    setfacl,
    shown,
    writes,
)
from tests.backends.posix_lake import ANA_READS, ANA_WRITES, NOTHING, assert_settled, done, everything

# giving and taking


def test_who_may_read_reads_all_and_changes_nothing_and_others_stay_out(lake, orders):
    assert not as_person("daemon", reads(orders))
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert not as_person("daemon", writes(orders))
    assert not as_person("daemon", lambda: (orders / "all.csv").write_text("x"))
    assert not as_person("daemon", reads(lake.folder("sales", "costs")))
    assert not as_person("games", reads(orders))
    assert not as_person("daemon", lambda: os.listdir(lake.root)), "the way is to pass, not to look around"


def test_who_may_write_writes_too(lake, orders):
    done(lake, ANA_WRITES)
    assert as_person("daemon", reads(orders))
    assert as_person("daemon", writes(orders / "2026"))
    assert as_person("daemon", lambda: (orders / "all.csv").write_text("x"))


def test_what_is_taken_is_gone_and_the_tree_is_as_it_was(lake, orders):
    setfacl("-m", "u:games:rwx,g:staff:r-x,m::r-x", orders / "2026")
    setfacl("-d", "-m", "u:games:rwx", orders / "2026")
    before = everything(lake.root)
    done(lake, each(daemon=fileset("sales", "orders", *READ), mail=fileset("sales", "orders", *READ)))
    assert as_person("daemon", reads(orders))
    done(lake, NOTHING)
    assert not as_person("daemon", reads(orders))
    assert everything(lake.root) == before


def test_less_than_before_is_less(lake, orders):
    done(lake, ANA_WRITES)
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert not as_person("daemon", writes(orders))
    assert not as_person("daemon", lambda: (orders / "2026" / "may.csv").write_text("x"))


def test_what_is_made_later_is_theirs_to_read_too(lake, orders):
    done(lake, ANA_READS)
    (orders / "2027").mkdir()
    (orders / "2027" / "june.csv").write_text("1")
    assert as_person("daemon", reads(orders))
    assert_settled(lake, ANA_READS)


def test_what_was_moved_in_is_seen_and_repaired(lake, orders):
    done(lake, ANA_READS)
    outside = lake.root / "sales" / "loose.csv"
    outside.write_text("1")
    outside.chmod(0o600)
    outside.rename(orders / "loose.csv")
    assert not as_person("daemon", reads(orders))
    plan = planning.plan(ANA_READS, look(lake))
    assert (plan.missing, plan.extra) == (1, 0)
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))


def test_two_people_with_different_rights_do_not_touch_each_other(lake, orders):
    both = each(daemon=fileset("sales", "orders", *READ), games=fileset("sales", "orders", *WRITE))
    done(lake, both)
    assert not as_person("daemon", writes(orders))
    assert as_person("games", writes(orders))
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert not as_person("games", reads(orders))


def test_people_without_an_account_here_are_left_out(lake):
    name = "nobody has this name"
    lake.people.append(name)
    assert name not in look(lake).people
    before = everything(lake.root)
    errors = [item.error for item in settle(lake, each(**{name: fileset("sales", "orders", *READ)}))]
    assert {type(error) for error in errors if error} == {Gone}
    assert everything(lake.root) == before


# the mask


def test_a_file_closed_by_chmod_is_seen_and_opened_for_ours_alone(lake, orders):
    """`chmod 600` of a file with a list narrows the mask: it shuts out all who are named."""
    setfacl("-R", "-m", "u:games:rwX", orders)
    setfacl("-m", "u:games:x", lake.root, lake.folder("sales"))
    done(lake, ANA_READS)
    (orders / "all.csv").chmod(0o600)
    assert not as_person("daemon", reads(orders))
    assert not as_person("games", lambda: (orders / "all.csv").read_bytes())
    assert planning.plan(ANA_READS, look(lake)).missing == 1
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert not as_person("games", lambda: (orders / "all.csv").read_bytes()), "what chmod took came back"


def test_giving_more_does_not_wake_what_the_mask_held_down(lake, orders):
    setfacl("-m", "u:games:rwx,m::r-x", orders)
    setfacl("-m", "u:games:x", lake.root, lake.folder("sales"))
    assert not as_person("games", writes(orders))
    done(lake, ANA_WRITES)
    assert as_person("daemon", writes(orders))
    assert not as_person("games", writes(orders))


def test_a_private_file_made_by_a_writer_is_opened_to_readers_at_the_next_look(lake, orders):
    both = each(daemon=fileset("sales", "orders", *WRITE), games=fileset("sales", "orders", *READ))
    done(lake, both)
    made = orders / "private.csv"
    assert as_person("daemon", lambda: os.close(os.open(made, os.O_CREAT | os.O_WRONLY, 0o600)))
    assert not as_person("games", made.read_bytes)
    done(lake, both)
    assert as_person("games", made.read_bytes)


# what others gave


def test_a_hand_made_entry_is_foreign_and_stays(lake, orders):
    setfacl("-R", "-m", "u:games:rX,g:staff:rwX", orders)
    seen = look(lake)
    on_orders = [Right("fileset", ("sales", "orders"), word) for word in ("READ", "WRITE", "ENTER")]
    assert set(seen.foreign) == {
        Foreign(on_orders[0], "games"),
        Foreign(on_orders[2], "games"),
        *(Foreign(right, "group:staff") for right in on_orders),
    }
    assert "group:staff" in seen.groups
    before = everything(orders)
    done(lake, NOTHING)
    assert everything(orders) == before


@pytest.mark.parametrize("theirs", ["r-x", "rwx", "-wx", "---"])
def test_what_others_gave_the_same_person_outlives_ours(lake, orders, theirs):
    setfacl("-R", "-m", f"u:daemon:{theirs}", orders)
    setfacl("-m", "u:daemon:r", orders / "2026" / "may.csv")
    before = everything(lake.root)
    foreign = look(lake).foreign
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert look(lake).foreign == foreign
    done(lake, NOTHING)
    assert everything(lake.root) == before


@pytest.mark.parametrize("inside", [False, True])
def test_what_is_taken_by_hand_of_others_gifts_does_not_come_back_with_ours(lake, orders, inside):
    changed = orders / "2026" if inside else orders
    setfacl("-m", "u:daemon:rwx", changed)
    done(lake, ANA_READS)
    assert as_person("daemon", writes(changed))
    setfacl("-x", "u:daemon", changed)
    done(lake, ANA_READS)
    assert as_person("daemon", reads(orders))
    assert not as_person("daemon", writes(changed))
    done(lake, NOTHING)
    assert "user:1:" not in str(shown(lake.root))


def test_what_was_changed_by_hand_while_a_gift_is_written_stays(lake, orders, monkeypatch):
    below = PosixTree.below

    def slow(self, node, skip, troubles):
        yield from below(self, node, skip, troubles)
        setfacl("-m", "u:games:r-x", orders)

    monkeypatch.setattr(PosixTree, "below", slow)
    assert [item.error for item in settle(lake, ANA_READS) if item.error] == []
    assert "user:5:r-x" in shown(orders)[str(orders)]


def test_what_others_gave_is_taken_by_an_order_and_ours_stays(lake, orders):
    setfacl("-R", "-m", "u:daemon:rwX,u:games:rX", orders)
    done(lake, ANA_READS)
    theirs = [item for item in look(lake).foreign if item.holder == "daemon"]
    assert {item.right.right for item in theirs} == {"READ", "WRITE", "ENTER"}
    done(lake, ANA_READS, orders=[Order(item) for item in theirs])
    assert {item.holder for item in look(lake).foreign} == {"games"}
    assert as_person("daemon", reads(orders))
    assert not as_person("daemon", writes(orders))
    done(lake, NOTHING)
    assert not as_person("daemon", reads(orders))


def test_a_group_is_taken_by_an_order(lake, orders):
    setfacl("-R", "-m", "g:staff:rX", orders)
    setfacl("-R", "-d", "-m", "g:staff:rX", orders)
    done(lake, NOTHING, orders=[Order(item) for item in look(lake).foreign])
    assert look(lake).foreign == ()


def test_more_given_by_hand_to_somebody_of_ours_is_taken_back(lake, orders):
    done(lake, ANA_READS)
    setfacl("-m", "u:daemon:rwx", orders)
    plan = planning.plan(ANA_READS, look(lake))
    assert (plan.missing, plan.extra) == (0, 1)
    done(lake, ANA_READS)
    assert not as_person("daemon", writes(orders))


def test_a_copied_folder_brings_nobody_in(lake, orders):
    done(lake, ANA_READS)
    subprocess.run(["cp", "-a", orders, lake.folder("sales", "copy")], check=True)
    assert as_person("daemon", reads(lake.folder("sales", "copy")))
    done(lake, ANA_READS)
    assert not as_person("daemon", reads(lake.folder("sales", "copy")))
    assert as_person("daemon", reads(orders))


def test_an_account_that_is_somebody_elses_by_now_loses_what_was_given(lake, orders, monkeypatch):
    done(lake, ANA_READS)
    number = PosixTree.user
    monkeypatch.setattr(
        PosixTree, "user", lambda self, name: "4711" if name == "daemon" else number(self, name)
    )
    seen = look(lake)
    assert set(seen.roles) == {"account:1"}
    settle(lake, ANA_READS)
    assert set(look(lake).roles) == {"person:daemon"}
    assert "user:4711:r-x" in shown(orders)[str(orders)]
    assert "user:1:" not in str(shown(orders))


class TestPosix(FileRights, Contract):
    """What every backend does; whether somebody may is asked of the kernel.

    Workers are killed for good in test_posix_crash.
    """

    seeds = range(5)

    @pytest.fixture
    def site(self):
        site = PosixSite()
        yield site
        site.close()
