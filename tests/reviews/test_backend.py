"""With a database behind: a removal is proved when the database was read again without it, and not before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from policies.models import Backend, Review
from policies.reviews import completion, management
from policies.services import grants
from policies.services.grants import GrantRequest
from policies.sync import worker
from tests.factories import acting, rewritten, the
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows
from tests.sync.conftest import Source, make_governed
from tests.sync.conftest import source as source  # a fixture

ORDERS = "shop.sales.orders"


@pytest.fixture
def governed(db: None, source: Source) -> Backend:
    return make_governed(source)


@pytest.fixture
def decided(governed: Backend) -> Review:
    """Ana's direct access goes, and what legacy was given outside."""
    can_sign_in("marek", "olivia")
    grants.add(GrantRequest(the("table", ORDERS), (person("ana"),), ("SELECT_TABLE",)), by=acting("olivia"))
    rewritten(Backend.objects.all(), share=100)
    worker.deliver(governed)
    review = a_review()
    by_key = rows(review)
    outside = [row for row in by_key.values() if row.kind == "foreign"]
    assert {(row.outside["holder"], row.what) for row in outside} == {
        ("legacy", "shop.sales"),
        ("legacy", ORDERS),
    }
    for row in outside:
        decides("olivia", row, "remove")
    decides("olivia", by_key[f"ana {ORDERS}"], "remove")
    management.end(review, by=acts("olivia"))
    return review


def state(review: Review) -> str:
    review.refresh_from_db()
    return review.state


def test_it_is_proved_when_the_database_was_read_without_it(
    decided: Review,
    governed: Backend,
    source: Source,
) -> None:
    completion.work(decided)
    row = rows(decided)[f"ana {ORDERS}"]
    assert (state(decided), row.state) == ("proving", "carried")
    assert source.reads("ana")
    worker.deliver(governed)
    completion.work(decided)
    assert state(decided) == "closed"
    assert not source.reads("ana")
    assert not source.reads("legacy")
    row.refresh_from_db()
    governed.refresh_from_db()
    assert row.proof["revision"] >= row.carried_revision
    assert row.proved_at == governed.proved_at
    assert {item.state for item in rows(decided).values() if item.choice == "remove"} == {"proved"}


def test_what_cannot_be_read_is_listed_with_its_reason(decided: Review, governed: Backend) -> None:
    Backend.objects.update(state=Backend.State.PAUSED)
    completion.work(decided)
    Review.objects.update(ended=timezone.now() - completion.PATIENCE - timedelta(hours=1))
    decided.refresh_from_db()
    completion.work(decided)
    assert state(decided) == "closed"
    left = {item.row.what: item.why for item in completion.listed(decided) if item.row.state == "carried"}
    assert "is paused" in left[ORDERS]
