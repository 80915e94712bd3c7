"""What Home lists beside requests and reviews: what ends is told as what it is, not as a loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from catalog.nodes import Node
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, acting, the


def test_a_grant_that_ends_is_no_loss_to_people_who_have_the_same_by_a_role(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    """Mia reads orders as an analyst, and for three days directly, too."""
    until = timezone.now() + timedelta(days=3)
    wish = GrantRequest(the("table", "shop.sales.orders"), (a_person("mia"),), ("SELECT_TABLE",), None, until)
    grants.add(wish, by=acting("olivia"))
    html = signed_in("olivia").get("/").content.decode()
    page = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "mia has a grant that ends: read on sales.orders" in page
    assert "loses read" not in page
