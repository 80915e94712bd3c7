"""Raising a realm to a later generation: what the plan says is what then is."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import root as root_of
from policies.decisions import facts
from policies.errors import Conflict, Invalid
from policies.models import Change, Event, Grant
from policies.record.verify import verify
from policies.services import patterns
from policies.simulation.generations import Raise, carry_out
from tests.cdap_law.world import BY, Caller, a_cdap, give, held_by, make, text

pytestmark = pytest.mark.django_db
REALM = "c"


@pytest.fixture
def root() -> Node:
    """A realm of 3.5 in which what comes down and what ALL stands for both matter."""
    root: Node = a_cdap(REALM, "3.5")
    make(root, "namespace:ns1", "dataset:ns1.orders", "stream:ns1.clicks")
    give(root, "ana", "READ on namespace:ns1")
    give(root, "bea", "ALL on dataset:ns1.orders")
    give(root, "cleo", "ADMIN on instance:c")
    return root


def command(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("raisepolicy", *arguments, stdout=out)
    return out.getvalue().splitlines()


def there(root: Node) -> Node:
    """The realm as it is by now."""
    raised: Node = root_of(Realm.objects.get(pk=root.realm_id))
    return raised


def raised(root: Node, policy: str) -> Node:
    carry_out(root, policy, seen=Raise(root, policy).digest, by=BY["by"], authority=lambda: BY["authority"])
    return there(root)


@pytest.mark.seed("S1-217")
def test_the_plan_lists_each_policy_and_who_gains_and_loses(root: Node) -> None:
    lines = command(REALM, "4.3")
    assert "READ on namespace:ns1 of user:ana: stays" in lines
    assert "ALL on dataset:ns1.orders of user:bea: becomes READ, WRITE, EXECUTE, ADMIN" in lines
    assert "ADMIN on instance:c of user:cleo: ends" in lines
    lost = [line for line in lines if line.startswith("user:ana loses")]
    assert any(line.endswith("on dataset c/ns1.orders") and "read" in line for line in lost)
    assert any(line.startswith("user:cleo loses") for line in lines)
    assert [line for line in lines if line.startswith("user:bea loses")] == [
        "user:bea loses grant on dataset c/ns1.orders"
    ]
    assert root_of(Realm.objects.get(pk=root.realm_id)).kind == "cdap35", "a plan changes nothing"


@pytest.mark.seed("S1-217")
def test_what_was_planned_is_what_then_is_decided_and_recorded(root: Node) -> None:
    caller = Caller()
    assert caller.may("ana", "read", REALM, "dataset:ns1.orders")
    digest = command(REALM, "4.3")[-1].removeprefix("plan ")
    output = command(REALM, "4.3", "--plan", digest, "--reason", "CDAP was upgraded")
    assert output == ["c now has the rules of CDAP 4.3; before, 3.5"]
    assert not caller.may("ana", "read", REALM, "dataset:ns1.orders")
    assert caller.may("ana", "read", REALM, "namespace:ns1")
    assert caller.may("bea", "write", REALM, "dataset:ns1.orders")
    after = root_of(Realm.objects.get(pk=root.realm_id))
    assert held_by(after, "bea") == {
        (code, "dataset:ns1.orders") for code in ("READ", "WRITE", "EXECUTE", "ADMIN")
    }
    assert not Grant.objects.open().filter(pattern="instance:c").exists()
    made = Change.objects.latest("revision")
    assert (made.kind, made.reason) == ("realm.set", "CDAP was upgraded")
    events = Event.objects.filter(change_id=made.revision, kind="realm.set")
    assert ("policy", "4.3") in {(event.data["setting"], event.data["value"]) for event in events}


def test_the_record_is_whole_afterwards(root: Node) -> None:
    raised(root, "4.3")
    assert verify()


def test_the_past_is_not_decided_by_rules_that_were_not_there(root: Node) -> None:
    before = Change.objects.latest("revision").revision
    raised(root, "4.3")
    now, ana = Change.objects.latest("revision").revision, people.ensure("user", "ana")
    realm = Realm.objects.get(pk=root.realm_id)

    def had(as_of: int) -> int:
        return len(facts.load(realm, REALM, [ana.pk], as_of=as_of).slice_of(ana).rules)

    assert [had(before) > 0, had(now) > 0] == [False, True]


def test_each_generation_follows_the_other(root: Node) -> None:
    with pytest.raises(Invalid):
        Raise(root, "3.4")
    with pytest.raises(Invalid):
        Raise(raised(root, "4.3"), "4.3")


def test_from_3_4_what_is_above_begins_to_count() -> None:
    root = a_cdap(REALM, "3.4")
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "ana", "READ on namespace:ns1")
    lines = command(REALM, "3.5")
    assert any(line.startswith("user:ana gains") and "dataset c/ns1.orders" in line for line in lines)


def test_a_plan_that_is_no_longer_so_is_not_carried_out(root: Node) -> None:
    seen = Raise(root, "4.3").digest
    patterns.revoke(root, text("dataset:ns1.orders"), by=BY["by"])
    with pytest.raises(Conflict):
        carry_out(root, "4.3", seen=seen, by=BY["by"], authority=lambda: BY["authority"])
