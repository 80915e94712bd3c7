"""What was changed by hand since a file was applied: thing by thing, who, when and why, and the ways out."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from policies.authority import OPERATOR
from policies.errors import PolicyError
from policies.models import AppliedFile, Change
from policies.policy_files import document, drift
from policies.policy_files.drift import FileDrift
from policies.policy_files.plan import Plan
from policies.record.change import change
from policies.services import erasure, grants, members, objects, owners, realm_of, roles, seals
from policies.services.grants import GrantRequest
from policies.simulation import changes as proposals
from policies.simulation.carrying_out import carry_out
from policies.simulation.changes import Target
from tests.factories import AUTHORITY, BY, a_role, a_shop, acting, admit, owned, the
from tests.kept import kept
from tests.simulation.databases import contents
from tests.simulation.worlds import WORLDS

from .world import READER, applied, exported

SALES = """
format: 1
realm: demo
owns: [schema:shop.sales]
objects:
  schema:shop.sales:
    owner: user:bo
  table:shop.sales.orders:
    grants: {user:ana: [SELECT_TABLE]}
"""
MEMBERS = """
format: 1
realm: demo
owns: [members]
members: [user:admin, user:ana, user:bo, user:marek, group:analysts]
"""


def a_world() -> Node:
    """marek owns shop; role reader is there, and two files were applied to it."""
    root = a_shop()
    admit(root, "ana", "bo", "group:analysts")
    a_role(root, "reader", "allow USE_CATALOG on catalog shop")
    owned(the("schema", "shop.stock"), "bo")
    applied(root, READER)
    applied(root, SALES)
    return root


world = kept(a_world)


def sql(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


def of(root: Node, *owns: str) -> FileDrift:
    [file_drift] = [each for each in drift.of_root(root) if each.kept.owns == owns]
    return file_drift


def told(found: FileDrift) -> list[str]:
    return [f"{line.action} {line}" for line in found.lines]


def test_right_after_a_file_nothing_differs(world: Node) -> None:
    assert [(one.kept.owns, one.lines) for one in drift.of_root(world)] == [
        (("schema:shop.sales",), ()),
        (("role:reader",), ()),
    ]


def by_hand(root: Node, *some: Any, by: Any = "marek", reason: str = "") -> int:
    """Changes made beside the files, as one change of the record."""
    who = acting(by) if isinstance(by, str) else by
    with change("grant.added", realm=realm_of(root), by=who, reason=reason) as current:
        carry_out(some, root, by=who)
    return current.revision


def user(name: str) -> Principal:
    return people.ensure("user", name)


def test_what_was_changed_by_hand_is_told_with_who_when_and_why(world: Node) -> None:
    reader, until = the("role", "reader"), datetime.fromisoformat("2100-01-01T00:00+00:00")
    given = by_hand(world, proposals.AssignRole(reader, user("ana")), reason="on call")
    bounded = by_hand(
        world,
        proposals.UnassignRole(reader, user("bo")),
        proposals.AssignRole(reader, user("bo"), (None, until)),
    )
    target = Target(the("schema", "shop.sales"))
    taken = by_hand(world, proposals.RemoveFromRole(reader, target, ("USE_SCHEMA",)))
    found = of(world, "role:reader")
    assert told(found) == [
        "removed role reader allows USE_SCHEMA on schema:shop.sales",
        "changed user:bo holds role reader until 2100-01-01T00:00:00+00:00; "
        "the file says user:bo holds role reader",
        "added user:ana holds role reader",
    ]
    assert [line.change and line.change.revision for line in found.lines] == [taken, bounded, given]
    added = found.lines[2].change
    assert added is not None
    assert (added.reason, added.actor) == ("on call", acting("marek").pseudonym)
    assert of(world, "schema:shop.sales").lines == ()


def test_several_files_of_a_realm_stand_side_by_side(world: Node) -> None:
    bo = people.ensure("user", "bo")
    wish = GrantRequest(the("table", "shop.sales.orders"), (bo,), ("MODIFY_TABLE",), way=False)
    grants.add(wish, by=BY, authority=AUTHORITY)
    roles.unassign(the("role", "reader"), bo, by=BY, authority=AUTHORITY)
    elsewhere = GrantRequest(the("table", "shop.stock.items"), (bo,), ("SELECT_TABLE",), way=False)
    grants.add(elsewhere, by=BY, authority=AUTHORITY)
    assert told(of(world, "role:reader")) == ["removed user:bo holds role reader"]
    assert told(of(world, "schema:shop.sales")) == [
        "added user:bo has MODIFY_TABLE on table:shop.sales.orders"
    ]


def test_what_two_files_own_counts_for_the_one_applied_last(world: Node) -> None:
    wider = READER.replace("[role:reader]", "[roles]").replace("[user:bo]", "[user:ana]")
    applied(world, wider)
    assert told(of(world, "role:reader")) == told(of(world, "roles")) == []
    roles.unassign(the("role", "reader"), people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    assert told(of(world, "role:reader")) == []
    assert told(of(world, "roles")) == ["removed user:ana holds role reader"]


def test_the_file_applied_again_takes_it_back_and_taking_it_in_leaves_nothing(world: Node) -> None:
    roles.assign(the("role", "reader"), people.ensure("user", "ana"), by=BY, authority=AUTHORITY)
    found = of(world, "role:reader")
    assert document.read(found.text).statements == document.read(READER).statements
    assert "holders:\n      - user:ana\n      - user:bo\n" in found.sections
    assert "format" not in found.sections
    applied(world, found.text_with_drift)
    assert told(of(world, "role:reader")) == []
    applied(world, READER)
    assert told(of(world, "role:reader")) == []
    assert exported(world).count("user:ana") == 2


def test_of_a_part_that_is_long_only_what_differs_is_shown_to_paste(world: Node) -> None:
    names = [f"user:p{number:02}" for number in range(30)]
    admit(world, *names)
    applied(world, READER.replace("[user:bo]", f"[{', '.join(names)}]"))
    reader = the("role", "reader")
    roles.assign(reader, user("ana"), by=BY, authority=AUTHORITY)
    roles.unassign(reader, user("p07"), by=BY, authority=AUTHORITY)
    found = of(world, "role:reader")
    everything = found.parts(100)
    assert (everything.whole, everything.long) == (found.sections, ())
    assert everything.put_in == everything.take_out == "" and everything.more == 0
    parts = found.parts(10)
    assert parts.whole == "" and parts.long == (("role:reader", 33),)
    assert parts.put_in == "roles:\n  reader:\n    holders:\n      - user:ana\n"
    assert parts.take_out == "roles:\n  reader:\n    holders:\n      - user:p07\n"
    assert (found.parts(0).put_in, found.parts(0).more) == ("", 2)


def test_a_file_that_finds_all_as_it_says_is_kept_too_and_once(world: Node) -> None:
    text = MEMBERS.replace("[user:admin, user:ana, user:bo, user:marek, group:analysts]", "MEMBERS")
    there = exported(world).split("members:\n")[1].split("roles:")[0]
    text = text.replace("members: MEMBERS", f"members:\n{there}")
    before = Change.objects.count()
    assert applied(world, text, reason="adopted").steps == []
    assert Change.objects.count() == before + 1
    assert applied(world, text).steps == []
    assert Change.objects.count() == before + 1
    members.add(world, people.ensure("user", "cy"), by=BY, authority=AUTHORITY)
    assert told(of(world, "members")) == ["added user:cy is a member"]


def test_a_file_that_owns_nothing_is_held_against_nothing(world: Node) -> None:
    applied(world, READER.replace("[role:reader]", "[]").replace("[user:bo]", "[user:ana]"))
    assert [one.kept.owns for one in drift.of_root(world)] == [("schema:shop.sales",), ("role:reader",)]


def test_a_role_that_was_deleted_and_an_object_that_was_renamed_tell_by_which_change(world: Node) -> None:
    roles.delete(the("role", "reader"), by=BY, authority=AUTHORITY)
    deleted = Change.objects.latest("revision").revision
    found = of(world, "role:reader")
    assert {line.action for line in found.lines} == {"removed"}
    assert {line.change and line.change.revision for line in found.lines} == {deleted}
    assert found.gone == ["reader"] and found.sections == ""
    objects.rename(the("schema", "shop.sales"), "trade", by=BY, authority=AUTHORITY)
    renamed = Change.objects.latest("revision").revision
    lines = of(world, "schema:shop.sales").lines
    assert {line.change and line.change.revision for line in lines} == {renamed}
    assert [str(line) for line in lines] == [
        "user:ana has SELECT_TABLE on table:shop.sales.orders",
        "user:bo owns schema:shop.sales",
    ]


def test_an_owner_set_by_hand_is_told(world: Node) -> None:
    ana = people.ensure("user", "ana")
    owners.set_owner(the("schema", "shop.sales"), ana, by=BY, authority=AUTHORITY)
    assert told(of(world, "schema:shop.sales")) == [
        "changed user:ana owns schema:shop.sales; the file says user:bo owns schema:shop.sales"
    ]


def test_what_ran_out_by_itself_is_no_drift(world: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    window = f"[{{principal: user:bo, until: '{(now + timedelta(hours=1)).isoformat()}'}}, user:ana]"
    applied(world, READER.replace("[user:bo]", window))
    assert told(of(world, "role:reader")) == []
    reader, end = the("role", "reader"), now + timedelta(hours=2)
    shortened = by_hand(
        world,
        proposals.UnassignRole(reader, user("ana")),
        proposals.AssignRole(reader, user("ana"), (None, end)),
    )
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=3))
    found = of(world, "role:reader")
    assert told(found) == ["removed user:ana holds role reader"]
    assert found.lines[0].change is not None and found.lines[0].change.revision == shortened


def test_looking_writes_nothing_and_takes_a_fixed_number_of_queries(
    world: Node, django_assert_max_num_queries: Any
) -> None:
    by_hand(world, proposals.AssignRole(the("role", "reader"), user("ana")))
    before = contents()
    with django_assert_max_num_queries(40) as few:
        drift.of_root(world)
    for name in ("cy", "di", "ed"):
        admit(world, name)
        by_hand(world, proposals.AssignRole(the("role", "reader"), user(name)))
    many = before and contents()
    with django_assert_max_num_queries(len(few)):
        assert len(of(world, "role:reader").lines) == 4
    assert contents() == many


FORGERIES = {
    "says something else": "UPDATE policies_appliedfile SET statements = '[]'",
    "owns something else": "UPDATE policies_appliedfile SET owns = '{members}'",
    "is of another change": "UPDATE policies_appliedfile SET revision = revision - 1",
    "is not sealed": "UPDATE policies_appliedfile SET seal = NULL",
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_what_the_console_did_not_keep_is_held_against_nothing_and_said(world: Node, forgery: str) -> None:
    sql(forgery)
    assert [one.kept.file for one in drift.of_root(world)] == [None, None]
    applied(world, READER)
    kept = {one.kept.owns: one.kept.file is not None for one in drift.of_root(world)}
    assert kept[("role:reader",)]


def test_a_row_that_was_deleted_is_told_by_the_record(world: Node) -> None:
    sql("DELETE FROM policies_appliedfile")
    assert [(one.kept.owns, one.kept.file) for one in drift.of_root(world)] == [
        (("schema:shop.sales",), None),
        (("role:reader",), None),
    ]


def test_an_earlier_state_put_back_is_held_against_nothing(world: Node) -> None:
    before = AppliedFile.objects.filter(owns=["role:reader"]).values().get()
    applied(world, READER.replace("[user:bo]", "[user:ana]"))
    sql("DELETE FROM policies_appliedfile WHERE owns = '{role:reader}'")
    AppliedFile._base_manager.bulk_create([AppliedFile(**before)])
    assert AppliedFile.objects.get(pk=before["id"]).is_sealed
    assert of(world, "role:reader").kept.file is None
    applied(world, READER.replace("[user:bo]", "[user:ana]"))
    assert of(world, "role:reader").kept.file is not None


def test_keys_are_renewed_with_the_other_seals(world: Node) -> None:
    sql("UPDATE policies_appliedfile SET seal = NULL WHERE owns = '{role:reader}'")
    assert any("appliedfile" in wrong for wrong in seals.seal_what_is_told().wrong)


def test_no_name_of_a_person_is_kept_and_an_erased_one_is_not_given_back(world: Node) -> None:
    admit(world, "carla.erased")
    applied(world, READER.replace("[user:bo]", "[user:bo, user:carla.erased]"))
    assert "carla" not in str(AppliedFile.objects.values_list("statements"))
    carla = user("carla.erased")
    by_hand(world, proposals.UnassignRole(the("role", "reader"), carla))
    assert told(of(world, "role:reader")) == ["removed user:carla.erased holds role reader"]
    members.remove(world, carla, by=BY, authority=AUTHORITY)
    erasure.erase(carla, by=BY, authority=AUTHORITY)
    found = of(world, "role:reader")
    assert told(found) == []
    assert "carla" not in found.text and "erased" not in found.text


@pytest.mark.parametrize("law", WORLDS)
def test_drift_is_what_was_changed_in_worlds_of_each_law(db: None, law: str) -> None:
    chance = random.Random(f"drift {law}")
    world = WORLDS[law](chance)
    applied(world.root, exported(world.root))
    assert [one.lines for one in drift.of_root(world.root)] == [()]
    told_of, made = 0, 0
    for _ in range(12):
        was, last = exported(world.root), Change.objects.latest("revision").revision
        try:
            by_hand(world.root, world.propose(chance, world), by=OPERATOR)
        except PolicyError:
            continue
        [found] = drift.of_root(world.root)
        if exported(world.root) != was and found.lines:
            told_of += any(line.change and line.change.revision > last for line in found.lines)
            made += 1
        assert all(line.change is not None for line in found.lines)
        again = document.read(found.text_with_drift)
        assert Plan(world.root, again).steps == []
    assert made > 2 and told_of > 0
