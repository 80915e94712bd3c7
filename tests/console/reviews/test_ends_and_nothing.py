"""A review of what has no row cannot be started, and one that is over says when it really ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from accounts.people import make_account
from authzsite.console.kit.display import words
from catalog.nodes import Node
from policies.models import Review
from policies.reviews import completion, management
from policies.reviews.campaign_plans import Stage
from tests.console.settings.test_owners_and_members import posted
from tests.factories import a_role, the
from tests.markup import markup
from tests.reviews.world import a_review, acts, decides, rows

Enter = Callable[[str], Client]


def text(client: Client, address: str) -> str:
    return " ".join(unescape(markup(client.get(address))).split())


def plain(body: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def offers_a_start(body: str) -> bool:
    return 'name="step" value="save"' in body


def test_access_from_above_is_reviewed_above(shop: Node, signed_in: Enter) -> None:
    orders, olivia = the("table", "shop.sales.orders"), signed_in("olivia")
    body = text(olivia, f"/reviews/new?on={orders.id}")
    assert "is granted on orders itself, so there is no row to decide" in body
    assert "with access from above: shop.sales. It is reviewed there." in body
    above = f"/reviews/new?on={the('schema', 'shop.sales').id}"
    assert f'href="{above}"' in body
    assert not offers_a_start(body)
    assert offers_a_start(text(olivia, above))


def test_what_nobody_has_is_said_to_be_nobodys(shop: Node, signed_in: Enter) -> None:
    body = text(signed_in("marek"), f"/reviews/new?on={the('table', 'shop.stock.items').id}")
    assert "nobody but its owners has access to items" in body
    assert not offers_a_start(body)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("on={sales}&services=on", "no service account has access there that could be reviewed"),
        ("on={role}", "nobody holds the chosen roles"),
    ],
)
def test_what_leaves_no_row_is_named(address: str, reason: str, shop: Node, signed_in: Enter) -> None:
    role = a_role(shop, "unheld")
    numbers = {"sales": the("schema", "shop.sales").id, "role": role.id}
    body = text(signed_in("marek"), f"/reviews/new?{address.format(**numbers)}")
    assert reason in body
    assert not offers_a_start(body)


def test_nothing_is_started_where_nothing_would_be_reviewed(shop: Node, signed_in: Enter) -> None:
    plan = {"title": "Nothing", "on": the("table", "shop.sales.orders").id, "by": "owner", "days": "10"}
    more = {"silence": "keep", "reasons": "changes", "every": "0", "step": "save"}
    answer = posted(signed_in("olivia"), "/reviews/new", **plan, **more)
    assert answer.status_code == 422
    assert "There is nothing to review: no row matches." in unescape(answer.content.decode())
    assert not Review.objects.exists()


def test_a_review_that_was_ended_early_shows_no_date_to_come(shop: Node, signed_in: Enter) -> None:
    make_account("marek")
    review = a_review(shop, by="marek", stages=(Stage("owner", days=14), Stage("starter", days=7)))
    management.end(review, by=acts("marek"))
    completion.work(review)
    marek, due, today = signed_in("marek"), review.due, words.day(timezone.now())
    progress = text(marek, f"/reviews/{review.pk}/progress")
    assert "not held: the review ended before" in progress
    assert "closed since today" in progress
    # and what nobody decided is not called decided
    many = len(rows(review))
    assert f"Decided 0 of {many}" in plain(progress)
    assert f"{many} without a decision" in plain(progress)
    for address in (f"/reviews/{review.pk}/progress", f"/reviews/{review.pk}", "/reviews"):
        body = text(marek, address)
        assert words.day(due) not in body, address
        assert "Ended" in body, address
    assert today.lower() in progress.lower()


def test_what_silence_decided_is_no_reviewers_work(shop: Node, signed_in: Enter) -> None:
    make_account("olivia")
    review = a_review()
    decides("olivia", next(iter(rows(review).values())), "keep", reason="")
    management.end(review, by=acts("olivia"))
    completion.work(review)
    many, progress = len(rows(review)), plain(text(signed_in("olivia"), f"/reviews/{review.pk}/progress"))
    assert many > 1
    assert f"1 of {many}" in progress
    assert f"{many} of {many}" not in progress
