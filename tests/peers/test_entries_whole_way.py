"""A Herd and a CDAP here, and those of another console: what somebody holds here they hold there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from lakewarden.backends.base import Right
from lakewarden.backends.console import Fact
from policies.models import Backend, BackendFinding, ForeignOrder, Written
from policies.services import members, roles
from policies.sync import worker
from policies.sync.actions import foreign_rights
from policies.sync.connections import registration
from policies.sync.connections.record import WrittenRecord
from tests.cdap import world as cdap_world
from tests.factories import AUTHORITY, BY, acting
from tests.herd import world as herd_world
from tests.peers.entry_worlds import Cdap, Herd

pytestmark = pytest.mark.django_db


def settled(row: Backend) -> bool:
    report = worker.now(row)
    assert report.error == "", report.error
    return report.settled


class TestHerd:
    @pytest.fixture
    def there(self, peer, keeper) -> Herd:
        site = Herd(peer, keeper)
        site.table("sales", "orders")
        return site

    @pytest.fixture
    def row(self, there: Herd) -> Backend:
        herd = herd_world.a_herd()
        # the same namespace, written in another case here
        herd_world.namespaces(herd, there.code.lower())
        url = there.url
        return registration.connect(herd, "", "herd", url, policy="repair", by=BY, authority=AUTHORITY)

    def held(self, there: Herd, who: str) -> set[str]:
        return {item.right for item in there.held(who) if item.path == (there.code,)}

    def test_permissions_come_and_go_and_granting_stays_here(self, row: Backend, there: Herd) -> None:
        code = there.code.lower()
        herd_world.give("ana", code, "READ", "WRITE", "GRANT")
        herd_world.give("*@corp", code, "READ")
        assert settled(row)
        assert self.held(there, "ana") == {"READ", "WRITE"}
        assert self.held(there, "*@corp") == {"READ"}
        assert self.held(there, "bo@corp") == set()
        herd_world.give("ana", code, "READ")
        assert settled(row)
        assert self.held(there, "ana") == {"READ"}
        herd_world.take("ana", code)
        herd_world.take("*@corp", code)
        assert settled(row)
        assert self.held(there, "ana") == self.held(there, "*@corp") == set()
        assert not Written.objects.exists()

    def test_what_was_there_by_hand_is_adopted_and_then_goes_with_ours(
        self, row: Backend, there: Herd
    ) -> None:
        there.give_by_hand(Right("namespace", ("sales", "orders"), "READ"), "carl")
        assert settled(row)
        [finding] = BackendFinding.objects.filter(kind="foreign", holder="carl")
        assert finding.what == "READ"
        herd_world.give("carl", there.code.lower(), "READ")
        assert settled(row)
        assert BackendFinding.objects.filter(kind="foreign", holder="carl").exists(), "carl has it twice"
        herd_world.take("carl", there.code.lower())
        assert settled(row)
        assert self.held(there, "carl") == {"READ"}, "what others gave stays"
        finding = BackendFinding.objects.get(kind="foreign", holder="carl")
        foreign_rights.revoke(finding.pk, by=acting("admin"))
        worker.deliver(row)
        assert self.held(there, "carl") == set()
        assert ForeignOrder.objects.get().done is not None


class TestCdap:
    ORDERS = Right("dataset", ("ns1", "orders"), "READ")

    @pytest.fixture
    def there(self, peer, keeper) -> Cdap:
        return Cdap(peer, keeper)

    @pytest.fixture
    def row(self, there: Cdap) -> Backend:
        root = cdap_world.a_cdap()
        return registration.connect(root, "", "cdap", there.url, policy="repair", by=BY, authority=AUTHORITY)

    @pytest.fixture
    def root(self, row: Backend) -> Any:
        from catalog.nodes import last

        return last(row.catalog_id)

    def test_what_is_granted_here_is_enforced_there(self, row: Backend, root: Any, there: Cdap) -> None:
        cdap_world.give(root, "dataset:ns1.*", "dora", "READ")
        role = cdap_world.a_role(root, "writers", "dora")
        cdap_world.give(root, "dataset:ns1.orders", "role:writers", "WRITE")
        assert settled(row)
        assert there.may("dora", "SELECT", "ns1", "anything")
        assert there.may("dora", "INSERT", "ns1", "orders")
        assert not there.may("dora", "INSERT", "ns1", "anything")
        dora = people.ensure("user", "dora")
        roles.unassign(role, dora, by=BY, authority=AUTHORITY)
        assert settled(row)
        assert there.may("dora", "SELECT", "ns1", "orders")
        assert not there.may("dora", "INSERT", "ns1", "orders")

    def test_a_group_is_its_people_over_there(self, row: Backend, root: Any, there: Cdap) -> None:
        staff, emil = people.ensure("group", "staff"), people.ensure("user", "emil")
        members.join_group(staff, emil, by=BY, authority=AUTHORITY)
        cdap_world.give(root, "dataset:ns1.orders", "group:staff", "READ")
        assert settled(row)
        assert there.may("emil", "SELECT", "ns1", "orders")
        members.leave_group(staff, emil, by=BY, authority=AUTHORITY)
        assert settled(row)
        assert not there.may("emil", "SELECT", "ns1", "orders")


class TestRecord:
    """What decides whose a right is, step by step."""

    FACT = Right("namespace", ("NS",), "READ")

    @pytest.fixture
    def record(self):
        return WrittenRecord("backend-1"), Fact("ana", self.FACT)

    def states(self) -> list[str]:
        return list(Written.objects.values_list("state", flat=True))

    def test_what_we_set_out_to_give_is_ours_as_soon_as_it_is_there(self, record) -> None:
        ours, fact = record
        ours.give([fact], present=[])
        assert self.states() == ["giving"]
        assert ours.seen([]) == {}, "the call may still be under way"
        assert self.states() == ["giving"]
        assert ours.seen([fact]) == {fact: False}
        assert self.states() == ["there"]

    def test_what_never_came_is_struck_out_in_the_end(self, record) -> None:
        ours, fact = record
        ours.give([fact], present=[])
        Written.objects.update(at=timezone.now() - timedelta(minutes=11))
        assert ours.seen([], complete=False) == {}
        assert self.states() == ["giving"], "an incomplete look strikes out nothing"
        ours.seen([])
        assert self.states() == []

    def test_what_was_there_before_us_is_left_there(self, record) -> None:
        ours, fact = record
        ours.give([fact], present=[fact])
        assert ours.seen([fact]) == {fact: True}
        assert ours.take([fact]) == []
        assert self.states() == []

    def test_what_we_take_is_ours_until_it_is_gone(self, record) -> None:
        ours, fact = record
        ours.give([fact], present=[])
        ours.given([fact])
        assert ours.take([fact]) == [fact]
        assert ours.seen([fact]) == {fact: False}, "the call was not done: it is still ours to take"
        assert ours.take([fact]) == [fact]
        ours.taken([fact])
        assert ours.seen([fact]) == {}, "given by somebody else since"

    def test_what_somebody_took_by_hand_is_no_longer_ours(self, record) -> None:
        ours, fact = record
        ours.give([fact], present=[])
        ours.given([fact])
        ours.seen([])
        assert ours.seen([fact]) == {}
