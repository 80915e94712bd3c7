"""What the directory said of groups, altered or put back by who owns the tables."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import DirectoryMember
from policies import tasks
from policies.models import UnsealedFact
from policies.record.verify import verify
from tests.policies.superuser import former, past_triggers
from tests.scim.test_groups import inside
from tests.scim.world import Directory, a_directory, person

ABSENT = {"op": "replace", "path": "active", "value": False}
BACK = {"op": "replace", "path": "active", "value": True}
MOVED = "UPDATE accounts_directorymember SET member_id = {eve}"


@pytest.fixture
def directory(db: None, settings: Any) -> Directory:
    return a_directory(settings)


def differing() -> list[str]:
    """What the record contradicts, but for the token of the directory, which the test made without it."""
    verdict = verify()
    assert verdict.broken is None
    return [line for line in verdict.differing if not line.startswith("token")]


def taken_out(directory: Directory, group: dict[str, Any], who: dict[str, Any]) -> None:
    """Out of a group, by the directory, with a copy of the row put back behind it."""
    put_back = former(DirectoryMember, member__name=who["userName"])
    gone = {"op": "remove", "path": f'members[value eq "{who["id"]}"]'}
    assert directory.patch(group, gone).status_code == 204
    assert not differing()
    put_back()


def away_and_back(directory: Directory, who: dict[str, Any]) -> None:
    for what in (ABSENT, BACK):
        assert directory.patch(who, what).status_code == 204


def adds(directory: Directory, group: dict[str, Any], who: dict[str, Any]) -> None:
    asked = {"op": "add", "path": "members", "value": [{"value": who["id"]}]}
    assert directory.patch(group, asked).status_code == 204


def test_who_was_taken_out_of_a_group_does_not_come_back_into_it_by_a_row_of_before(
    directory: Directory,
) -> None:
    ana, bob, eve = (directory.person(name) for name in ("ana", "bob", "eve"))
    group = directory.group("analysts", ana, bob)
    taken_out(directory, group, ana)
    assert any("an earlier state" in line for line in differing())
    away_and_back(directory, ana)
    assert inside("analysts") == ["bob"]
    adds(directory, group, eve)
    assert inside("analysts") == ["bob", "eve"] and not differing()


def test_a_row_that_was_altered_puts_nobody_in(directory: Directory) -> None:
    ana, bob, eve = (directory.person(name) for name in ("ana", "bob", "eve"))
    group = directory.group("analysts", ana)
    past_triggers(MOVED.format(eve=person("eve").pk))
    assert any("directorymember" in line for line in differing())
    away_and_back(directory, eve)
    adds(directory, group, bob)
    assert "eve" not in inside("analysts") and "bob" in inside("analysts")
    away_and_back(directory, eve)
    assert "eve" not in inside("analysts")


@pytest.mark.parametrize("altered", [False, True], ids=["put back", "altered"])
def test_it_is_told_within_a_minute_and_set_right(directory: Directory, altered: bool) -> None:
    ana, _ = directory.person("ana"), directory.person("eve")
    group = directory.group("analysts", ana)
    tasks.hold_ended_facts()
    if altered:
        past_triggers(MOVED.format(eve=person("eve").pk))
    else:
        taken_out(directory, group, ana)
    assert not UnsealedFact.objects.exists()
    tasks.hold_ended_facts()
    assert [row.model for row in UnsealedFact.objects.all()] == ["directorymember"]
    assert bytes(DirectoryMember.objects.get().seal) == b""
    call_command("facts", "--set-right")
    assert not DirectoryMember.objects.exists() and not UnsealedFact.objects.exists() and not differing()


def test_nothing_is_told_of_what_the_directory_itself_did(directory: Directory) -> None:
    ana, bob = directory.person("ana"), directory.person("bob")
    group = directory.group("analysts", ana, bob)
    away_and_back(directory, ana)
    for who in (ana, bob):
        directory.patch(group, {"op": "replace", "path": "members", "value": [{"value": who["id"]}]})
    tasks.hold_facts()
    assert not UnsealedFact.objects.exists() and inside("analysts") == ["bob"] and not differing()
