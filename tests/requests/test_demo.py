"""What the demo asks, so that the rooms of requests and reviews are alive for a newcomer."""

from __future__ import annotations

from authzsite.demo import world
from catalog.nodes import Node
from policies.models import AccessRequest, Review
from policies.requests import visibility
from policies.reviews import population, worklist
from tests.factories import under
from tests.requests.world import approve, can, who


def test_the_demo_has_one_open_request_and_one_open_review(db: None) -> None:
    place = a_demo()
    for _ in range(2):  # the command can be given again
        world.questions(place)
    [request], [review] = AccessRequest.objects.all(), Review.objects.all()
    population.build(review)
    review.refresh_from_db()
    assert list(visibility.waiting_for(who("olivia"))) == [request]
    assert review.state == "open"
    assert 0 < worklist.owing(who("olivia"))[0].open < 20
    assert approve(request, "olivia").state == "approved"
    assert can("dora", table="shop.sales.customers")


def a_demo() -> Node:
    world.accounts({})
    place = world.realm()
    [shop] = under(place, "catalog", "shop")
    sales, _ = under(shop, "schema", "sales", "billing")
    under(sales, "table", "customers", "orders", "channels")
    world.access(place)
    return place
