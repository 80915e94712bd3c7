"""What is written into the tables of a review past the console ends nobody's access, and is told."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from policies.errors import Refused
from policies.models import Grant, ReviewRow
from policies.record.verify import verify
from policies.reviews import completion, management
from tests.policies.superuser import past_triggers
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows

DENIAL = "role:no_contractors shop.sales"
GIVEN = "role:sales_read shop.sales"
ORDERED = "UPDATE policies_reviewrow SET choice = 'remove', state = 'decided', decided_by_id = {by} "
FORGED = {
    "a decision": (ORDERED + "WHERE effect = 'deny'", False),
    "a decision of nobody's": (
        "UPDATE policies_reviewrow SET choice = 'remove', state = 'waiting', \"default\" = true"
        " WHERE effect = 'deny'",
        False,
    ),
    "what silence means": (
        "UPDATE policies_review SET silence = 'remove';"
        "UPDATE policies_reviewrow SET effect = 'allow' WHERE effect = 'deny'",
        False,
    ),
    "another right in a decided row": (
        "UPDATE policies_reviewrow r SET facts = d.facts, privileges = d.privileges, role_id = d.role_id,"
        " securable_id = d.securable_id, effect = d.effect, kind = d.kind, holder_id = d.holder_id"
        " FROM policies_reviewrow d WHERE d.effect = 'deny' AND r.choice = 'remove'",
        True,
    ),
    "who started it": (
        ORDERED + "WHERE effect = 'deny';UPDATE policies_review SET starter_id = {marek}",
        False,
    ),
    "a row of another": (
        "UPDATE policies_reviewrow r SET choice = o.choice, state = o.state, decided_by_id = o.decided_by_id,"
        " seal = o.seal FROM policies_reviewrow o WHERE o.choice = 'remove' AND r.effect = 'deny'",
        True,
    ),
}


@pytest.mark.parametrize("deed", FORGED)
def test_a_decision_that_nobody_made_lifts_no_denial(shop: Node, deed: str) -> None:
    can_sign_in("olivia", "marek", "carl")
    statement, decided = FORGED[deed]
    review = a_review()
    if decided:
        decides("olivia", rows(review)[GIVEN], "remove")
    people = {"by": person("olivia").pk, "marek": person("marek").pk}
    for one in statement.split(";"):
        past_triggers(one.format(**people))
    assert any("another row, or none" in line for line in verify().differing)
    management.end(review, by=acts("olivia"))
    completion.work(review)
    assert Grant.objects.open().filter(effect="deny").exists()
    assert ReviewRow.objects.filter(state="failed", outcome__contains="not written by this console").exists()


def test_what_is_not_ours_is_not_made_ours_by_deciding(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    past_triggers("UPDATE policies_reviewrow SET facts = '{grant:1}' WHERE effect = 'deny'")
    with pytest.raises(Refused, match="not written by this console"):
        decides("olivia", rows(review)[DENIAL], "remove")
    assert Grant.objects.open().filter(effect="deny").exists()


def test_reviews_as_they_were_made_are_whole(shop: Node) -> None:
    can_sign_in("olivia", "marek", "carl")
    review = a_review()
    decides("olivia", rows(review)[GIVEN], "remove")
    decides("olivia", rows(review)[DENIAL], "keep")
    found = verify()
    assert found, found.differing
