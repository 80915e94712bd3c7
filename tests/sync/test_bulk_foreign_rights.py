"""Several rights that others gave in the backend, decided about as one change: all that can be, or none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from policies.errors import Conflict
from policies.models import Backend, BackendFinding, Change, ForeignOrder, Grant
from policies.separation.sides import Side
from policies.services import separation
from policies.sync import worker
from policies.sync.actions import bulk_foreign_rights
from policies.sync.actions.bulk_foreign_rights import BulkDecision
from tests.factories import acting, the
from tests.sync.conftest import Source

OUTSIDE = (
    "GRANT USAGE ON SCHEMA sales TO ana; GRANT SELECT ON sales.orders, sales.customers TO ana;"
    "GRANT SELECT ON sales.customers TO carl; GRANT INSERT ON sales.customers TO mia"
)


@pytest.fixture
def looked(governed: Backend, source: Source) -> Backend:
    """Beside legacy's grants: two tables and their schema for Ana, one for Carl, half of writing for Mia."""
    source.run(OUTSIDE)
    worker.deliver(governed)
    return governed


def planned(code: str, by: str = "olivia") -> BulkDecision:
    rows = BackendFinding.objects.filter(kind="foreign", securable__isnull=False)
    some = bulk_foreign_rights.chosen(set(rows.values_list("pk", flat=True)))
    return BulkDecision.of(some, code, acting(by))


def named(decision: BulkDecision) -> list[str]:
    return [f"{about.first.holder} {about.first.place}" for about in decision.grants]


def left(decision: BulkDecision) -> dict[str, str]:
    return {f"{about.first.holder} {about.first.place}": why for about, why in decision.left_out}


def test_what_cannot_be_adopted_is_left_out_with_its_reason(looked: Backend) -> None:
    decision = planned("adopt")
    assert named(decision) == ["ana sales", "ana sales.customers", "ana sales.orders"]
    why = left(decision)
    assert "Here carl is denied this." in why["carl sales.customers"]
    assert "legacy is not a member of demo" in why["legacy sales.orders"]
    assert "No right here means exactly this." in why["mia sales.customers"]
    # who may admit members adopts the stranger's too
    assert "legacy sales.orders" in named(planned("adopt", "marek"))


def test_several_are_adopted_as_one_change_and_read_back(looked: Backend, source: Source) -> None:
    before = Change.objects.count()
    decision = planned("adopt")
    bulk_foreign_rights.decide(decision.grants, "adopt", by=acting("olivia"), reason="known")
    assert Change.objects.count() == before + 1
    assert {grant.securable_id for grant in Grant.objects.open().filter(origin="adopted")} == {
        the("schema", "shop.sales").id,
        the("table", "shop.sales.orders").id,
        the("table", "shop.sales.customers").id,
    }
    worker.deliver(looked)
    worker.deliver(looked)
    assert not ForeignOrder.objects.filter(done__isnull=True).exists()
    assert source.reads("ana")
    assert source.reads("ana", "sales.customers")


def test_what_an_adoption_gives_besides_is_told_once_and_never_what_is_adopted_too(
    looked: Backend,
) -> None:
    decision = planned("adopt")
    assert decision.gifts(acting("olivia")) == []
    tables = BulkDecision(
        tuple(about for about in decision.grants if about.first.place != "sales"), decision.left_out
    )
    ((gift, needed_for),) = tables.gifts(acting("olivia"))
    assert (gift.privilege, gift.node.name) == ("USE_SCHEMA", "sales")
    assert [about.first.place for about in needed_for] == ["sales.customers", "sales.orders"]


def test_what_would_break_a_rule_of_separation_together_is_left_out_though_each_is_harmless(
    looked: Backend,
) -> None:
    sides = [
        Side(privileges=("SELECT_TABLE",), object=the("table", f"shop.sales.{name}").id)
        for name in ("customers", "orders")
    ]
    separation.make(the("metalake"), "Apart", *sides, by=acting("marek"))
    decision = planned("adopt")
    assert named(decision) == ["ana sales", "ana sales.customers"]
    assert "ana would have both sides of the rule “Apart”" in left(decision)["ana sales.orders"]
    bulk_foreign_rights.decide(decision.grants, "adopt", by=acting("olivia"))
    # alone it would break the rule now, and says so before it is tried
    assert "“Apart”" in left(planned("adopt"))["ana sales.orders"]


def test_one_that_changed_meanwhile_keeps_all_as_they_are(looked: Backend, source: Source) -> None:
    decision = planned("revoke")
    source.run("GRANT INSERT ON sales.orders TO ana")
    worker.look(looked)
    with pytest.raises(Conflict, match=r"ana, sales\.orders: It changed in the backend meanwhile"):
        bulk_foreign_rights.decide(decision.grants, "revoke", by=acting("olivia"))
    assert not ForeignOrder.objects.exists()


def test_all_are_revoked_and_what_is_decided_is_no_more_offered(looked: Backend, source: Source) -> None:
    decision = planned("revoke")
    assert "legacy sales.orders" in named(decision)
    bulk_foreign_rights.decide(decision.grants, "revoke", by=acting("olivia"))
    assert planned("revoke").grants == ()
    worker.deliver(looked)
    assert not source.reads("ana")
    assert not source.reads("legacy")


def test_all_are_accepted_until_the_same_moment(looked: Backend) -> None:
    until = timezone.now() + timedelta(days=3)
    decision = planned("accept")
    bulk_foreign_rights.decide(decision.grants, "accept", by=acting("olivia"), reason="moves", until=until)
    accepted = BackendFinding.objects.filter(accepted_until=until)
    assert accepted.count() == sum(len(about.rows) for about in decision.grants)
    assert planned("accept").grants == ()
