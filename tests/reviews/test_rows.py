"""What rows a review has for each scope, and what is said of them beforehand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.errors import Invalid, Refused
from policies.models import Review, ReviewRow, ReviewSeat, Use
from policies.reviews import advice, completion, consequences, management, population, start
from policies.reviews.advice import RowFacts
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.separation.sides import Side
from policies.services import accounts, grants, members, roles, separation
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, a_role, a_use, acting, admit, the
from tests.kept import kept
from tests.reviews.world import a_review, acts, can_sign_in, person, rows

ORDERS = "shop.sales.orders"


def give(name: str, *privileges: str, **more: Any) -> None:
    wish = GrantRequest(
        the("table", ORDERS), (person(name),), privileges or ("SELECT_TABLE",), way=False, **more
    )
    grants.add(wish, by=acting("olivia"))


def make_given(shop: Node) -> Node:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    etl = people.ensure("service", "etl")
    members.add(shop, etl, by=BY, authority=AUTHORITY)
    give("ana")
    give("service:etl", "SELECT_TABLE", "MODIFY_TABLE")
    return shop


given = kept(make_given, on="shop")


def test_of_people_what_they_hold_and_own(given: Node) -> None:
    review = a_review(the("metalake"), by="marek", people=(person("olivia"), person("ana")))
    assert set(rows(review)) == {f"ana {ORDERS}", "olivia shop.sales"}
    assert rows(review)["olivia shop.sales"].kind == "owner"


def test_of_service_accounts_alone(given: Node) -> None:
    assert set(rows(a_review(services=True))) == {f"service:etl {ORDERS}"}


def test_of_a_role_who_holds_it_and_what_it_says(given: Node) -> None:
    review = a_review(by="marek", roles=(the("role", "sales_read"),))
    assert set(rows(review)) == {"group:analysts sales_read", "role:sales_read shop.sales"}


@pytest.mark.parametrize(
    ("risk", "expected"),
    [
        ("write", {f"service:etl {ORDERS}"}),
        ("ending", {f"mia {ORDERS}"}),
        ("closed", {f"tom {ORDERS}"}),
        ("foreign", set()),
    ],
)
def test_by_risk(given: Node, risk: str, expected: set[str]) -> None:
    admit(given, "tom")
    give("tom")
    give("mia", valid_until=timezone.now() + timedelta(days=5))
    assert set(rows(a_review(risks=(risk,)))) == expected


def test_what_has_ended_by_itself_is_not_asked_about(given: Node) -> None:
    soon = timezone.now() + timedelta(days=5)
    give("mia", valid_until=soon)
    assert f"mia {ORDERS}" in rows(a_review())
    later = a_review(built=False)
    Review.objects.filter(pk=later.pk).update(started=soon + timedelta(days=1))
    later.refresh_from_db()
    population.build(later)
    assert f"mia {ORDERS}" not in rows(later)
    assert f"ana {ORDERS}" in rows(later)


def test_places_in_groups_where_a_service_admin_asks(given: Node, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ["marek"]
    by_key = rows(a_review(the("metalake"), by="marek"))
    assert {"mia in analysts", "carl in analysts", "olivia in staff"} <= set(by_key)
    row = by_key["mia in analysts"]
    assert [item[1:] for item in row.gives] == [["shop.sales", ["SELECT_TABLE", "USE_SCHEMA"], "allow"]]
    effect = consequences.of(row.review, [row])[row.pk]
    assert {(item.person.name, item.object) for item in effect.loses} == {("mia", "shop.sales")}


def test_who_answers_for_a_service_is_asked_about_it(given: Node) -> None:
    etl = person("service:etl")
    accounts.set_keeper(etl, person("carl"), by=BY, authority=AUTHORITY)
    by_key = rows(a_review(stages=(Stage("keeper"),)))
    asked = {
        name: set(ReviewSeat.objects.filter(desk=by_key[name].desk).values_list("reviewer__name", flat=True))
        for name in (f"service:etl {ORDERS}", f"ana {ORDERS}")
    }
    assert asked == {f"service:etl {ORDERS}": {"carl"}, f"ana {ORDERS}": {"olivia"}}


def test_nobody_reviews_what_they_may_not_grant(given: Node) -> None:
    with pytest.raises(Refused, match="only people who may grant"):
        a_review(the("metalake"), by="olivia")
    with pytest.raises(Invalid, match="what to review"):
        start.start(Plan("x", Scope(())), by=acts("marek"))
    assert not Review.objects.exists()


def test_what_changed_since_the_last_review_comes_first(given: Node) -> None:
    first = a_review()
    assert {row.change for row in rows(first).values()} == {""}
    management.end(first, by=acts("olivia"))
    completion.work(first)
    give("mia")
    give("ana", "MODIFY_TABLE")
    by_key = rows(a_review())
    changed = {name: row.change for name, row in by_key.items() if row.change != "same"}
    assert changed == {f"mia {ORDERS}": "new", f"ana {ORDERS}": "more"}
    assert {row.rank for name, row in by_key.items() if name in changed} == {ReviewRow.Rank.CHANGED}


def test_the_last_use_of_it_by_whom_it_reaches(given: Node) -> None:
    a_use("mia", the("table", ORDERS), days=3, by="etl")
    a_use("mia", the("table", ORDERS), days=40, by="etl")
    a_use("ana", the("table", ORDERS), days=200, by="etl")
    by_key = rows(a_review(the("metalake"), by="marek"))
    now = timezone.now()
    ago = {name: row.last_used and (now - row.last_used).days for name, row in by_key.items()}
    assert ago["group:analysts sales_read"] == 3
    assert ago[f"ana {ORDERS}"] == 200
    assert ago[f"service:etl {ORDERS}"] is None
    assert "unused" in by_key[f"service:etl {ORDERS}"].risks
    assert by_key[f"ana {ORDERS}"].advice == "remove"


def test_where_nobody_tells_uses_nothing_is_said_of_them(given: Node) -> None:
    assert not Use.objects.exists()
    row = rows(a_review())[f"ana {ORDERS}"]
    assert (row.uses_told, row.advice, row.ground) == (False, "", "unknown")
    assert "unused" not in row.risks


NOW = timezone.now()


def row_of(**values: Any) -> ReviewRow:
    return ReviewRow(**{"kind": "grant", "effect": "allow", "holder_id": 1, "uses_told": True, **values})


def known(begun: int = 100, wrote: int | None = None, opening: tuple[str, ...] = ()) -> RowFacts:
    def ago(days: int | None) -> Any:
        return None if days is None else NOW - timedelta(days=days)

    return RowFacts(NOW, ago(begun), ago(wrote), opening, reading=True)


def ago(days: int) -> Any:
    return NOW - timedelta(days=days)


ADVICE = [
    ("a denial", row_of(effect="deny"), known(), ("keep", "denial")),
    ("cannot sign in", row_of(risks=["closed"], last_used=ago(1)), known(), ("remove", "closed")),
    ("ends soon", row_of(risks=["ending"]), known(), ("keep", "ends")),
    ("granted outside Lakewarden", row_of(kind="foreign", risks=["foreign"]), known(), ("remove", "outside")),
    ("in conflict", row_of(risks=["conflict"], last_used=ago(1)), known(), ("", "conflict")),
    ("never used", row_of(), known(), ("remove", "never")),
    ("never used, but new", row_of(), known(begun=10), ("", "unclear")),
    ("long idle", row_of(last_used=ago(120)), known(), ("remove", "idle")),
    ("rare, idle", row_of(last_used=ago(40), peers_have=1, peers_of=30), known(), ("remove", "rare")),
    ("rare, but used", row_of(last_used=ago(4), peers_have=1, peers_of=30), known(), ("keep", "used")),
    ("few to compare", row_of(last_used=ago(40), peers_have=0, peers_of=3), known(), ("", "unclear")),
    ("only read", row_of(last_used=ago(2)), known(opening=("MODIFY_TABLE",)), ("reduce", "reads")),
    ("written", row_of(last_used=ago(2)), known(wrote=2, opening=("MODIFY_TABLE",)), ("keep", "used")),
    ("not told", row_of(uses_told=False), known(), ("", "unknown")),
]


@pytest.mark.parametrize(("name", "row", "about", "expected"), ADVICE)
def test_what_is_suggested_on_which_ground(
    name: str, row: ReviewRow, about: RowFacts, expected: tuple[str, str]
) -> None:
    suggestion = advice.of(row, about)
    assert (suggestion.choice, suggestion.ground) == expected
    assert suggestion.ground in advice.GROUNDS


def test_both_sides_of_a_rule_reach_far(given: Node) -> None:
    for name in ("payers", "approvers"):
        a_role(given, name, f"allow SELECT_TABLE on table {ORDERS}")
    roles.assign(the("role", "payers"), person("mia"), by=BY, authority=AUTHORITY)
    a_person("mia", "bosses")
    admit(given, "group:bosses")
    roles.assign(the("role", "approvers"), person("group:bosses"), by=BY, authority=AUTHORITY)
    first, other = (Side(role=the("role", name).id) for name in ("payers", "approvers"))
    separation.make(given, "no own approval", first, other, by=acts("marek"))
    by_key = rows(a_review(the("metalake"), by="marek"))
    conflicting = {name for name, row in by_key.items() if "conflict" in row.risks}
    assert conflicting == {"mia payers", "group:bosses approvers"}
    assert all(by_key[name].far for name in conflicting)
