"""A plan that gives access takes a reason as long as the rule of what it gives asks for."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from policies.errors import Invalid
from policies.models import RequestRule
from tests.factories import admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.policy_files.world import READER, applied, holders

world = kept(make_shop)
ROLE_ALONE = READER.replace("    holders: [user:bo]\n", "")
OWNER = """
format: 1
realm: demo
owns: [object:schema:shop.sales]
objects:
  schema:shop.sales:
    owner: user:ana
"""
GIVES = {
    "a role and what it allows": READER,
    "what a role allows": ROLE_ALONE,
    "an owner": OWNER,
}


@pytest.fixture
def strict(world: Node) -> Node:
    admit(world, "bo")
    RequestRule.objects.create(securable_id=the("schema", "shop.sales").id, min_reason=15)
    return world


@pytest.mark.parametrize("text", GIVES.values(), ids=GIVES)
@pytest.mark.parametrize("reason", ["", "short", "aaaaaaaaaaaaaaaaaaaaaa"])
def test_a_plan_that_gives_needs_a_reason_where_one_is_required(strict: Node, text: str, reason: str) -> None:
    with pytest.raises(Invalid, match="Give a reason of at least 15 characters") as refused:
        applied(strict, text, reason=reason)
    assert refused.value.field == "reason"
    applied(strict, text, reason="merge 17 by marek, DATA-12")


def test_nothing_is_required_to_take_away_nor_where_no_rule_says_so(strict: Node) -> None:
    applied(strict, READER, reason="merge 17 by marek, DATA-12")
    applied(strict, READER.replace("user:bo", "").replace("      schema:shop.sales: [USE_SCHEMA]\n", ""))
    RequestRule.objects.all().delete()
    applied(strict, READER)
    assert holders() == {"bo"}
