"""What a row of a review says: the words of other pages, also for what a backend calls by its own codes."""

from __future__ import annotations

import pytest

from authzsite.console.reviews.rows import RowWording
from catalog.models import Realm
from policies.models import Review, ReviewRow


def row_in_words(**values: object) -> tuple[str, list[str]]:
    review = Review(realm=Realm(kind="gravitino"))
    row = ReviewRow(review=review, **values)  # type: ignore[misc]
    wording = RowWording(review, [row])
    return wording.can(row), [chip.text for chip in wording.how(row).chips]


@pytest.mark.parametrize(
    "type_, what, codes, text",
    [
        ("table", "shop.sales.orders", ["SELECT"], "Read orders"),
        ("table", "shop.sales.orders", ["INSERT", "SELECT", "UPDATE"], "Read, write orders"),
        ("schema", "shop.sales", ["USAGE"], "Use schema sales"),
        ("schema", "shop.sales", ["SELECT"], "Read in sales"),
    ],
)
def test_what_a_backend_gave_is_said_as_sync_says_it(
    type_: str, what: str, codes: list[str], text: str
) -> None:
    shown = row_in_words(kind="foreign", type=type_, what=what, privileges=codes, outside={"holder": "bi"})
    assert shown == (text, ["Granted outside"])


@pytest.mark.parametrize("effect, text", [("allow", "Granted by role"), ("deny", "Denied by role")])
def test_a_role_that_denies_is_not_said_to_grant(effect: str, text: str) -> None:
    [chip] = row_in_words(kind="rule", type="table", what="shop.sales.orders", effect=effect)[1]
    assert chip == text
