"""A whole review with a real worker that is killed again and again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest

from policies.models import Event, Grant, Review
from policies.record.verify import verify
from policies.reviews import management
from policies.reviews import start as reviews_start
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import acting, admit, the
from tests.policies.conftest import make_shop
from tests.reviews.world import acts, can_sign_in, decides, person, rows
from tests.sync.test_worker_process import Worker

PATIENCE = 400.0
PEOPLE = 40


@pytest.fixture
def worker(transactional_db: None, redis_url: str) -> Iterator[Worker]:
    process = Worker(redis_url)
    yield process
    if process.process and process.process.poll() is None:
        process.kill()


def until(worker: Worker, true: Callable[[], bool], chance: random.Random) -> None:
    """Let the worker live for half a minute at most at a time until it comes true."""
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < PATIENCE, "it did not come true"
        Review.objects.filter(leased__isnull=False).update(leased="2000-01-01T00:00:00Z")
        worker.start()
        end = time.monotonic() + 15 + chance.random() * 15
        while time.monotonic() < end and not true():
            time.sleep(0.05)
        worker.kill()


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_done_twice(worker: Worker) -> None:
    chance = random.Random(11)
    root = make_shop()
    can_sign_in("marek", "olivia")
    names = [f"p{number}" for number in range(PEOPLE)]
    admit(root, *names)
    holders, orders = tuple(person(name) for name in names), the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, holders, ("SELECT_TABLE",)), by=acting("olivia"))
    plan = Plan("Sales", Scope((the("schema", "shop.sales"),)), (Stage("owner"),), reasons="never", sample=0)
    review = reviews_start.start(plan, by=acts("olivia"))
    until(worker, lambda: Review.objects.get().state == "open", chance)
    for name, row in rows(review).items():
        if name.endswith(".orders"):
            decides("olivia", row, "remove")
    management.end(Review.objects.get(), by=acts("olivia"))
    until(worker, lambda: Review.objects.get().state == "closed", chance)
    carried = list(Event.objects.filter(kind="review.carried").values_list("data__row", flat=True))
    assert len(carried) == len(set(carried)) == PEOPLE
    assert not Grant.objects.open().filter(securable=orders.id).exists()
    assert {row.state for row in rows(review).values()} == {"proved", "kept"}
    assert verify()
