"""The same in the other realms: in a Herd per namespace, in a CDAP by name."""

from __future__ import annotations

import pytest

from policies.decisions import ask
from policies.decisions.lookups import entries
from policies.models import Grant, Review
from policies.reviews import completion, consequences, management
from tests.cdap_law import world as cdap
from tests.factories import the
from tests.herd import world as herd
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows


def finish(review: Review, by: str) -> None:
    management.end(review, by=acts(by))
    completion.work(review)
    review.refresh_from_db()
    assert review.state == "closed"


@pytest.fixture
def a_herd(db: None) -> None:
    """Namespace SALES, in which data owner Olga may grant; Ana reads and writes there."""
    root = herd.a_herd()
    can_sign_in("admin", "olga", "ana")
    herd.namespaces(root, "SALES", "STOCK")
    herd.role("olga")
    herd.give("olga", "SALES", "READ", "GRANT")
    herd.give("ana", "SALES", "READ", "WRITE")
    herd.give("ana", "STOCK", "READ")


def may(name: str, permission: str, code: str) -> bool:
    return bool(ask.ask(person(name), permission, herd.the_namespace(code)))


def test_a_data_owner_reviews_their_namespace(a_herd: None) -> None:
    review = a_review(herd.the_namespace("SALES"), by="olga")
    by_key = rows(review)
    assert set(by_key) == {"ana SALES", "olga SALES"}
    # olga's own entry is not olga's to decide
    assert decides("olga", by_key["ana SALES"], "reduce", takes=("WRITE",)).decided
    assert decides("admin", by_key["olga SALES"], "keep").decided
    finish(review, "olga")
    held = {entry.name: entry.privileges for entry in entries.entries(herd.the_herd())}
    assert may("ana", "READ", "SALES")
    assert not may("ana", "WRITE", "SALES")
    assert held["olga"] == {"READ", "GRANT"}


def test_in_a_herd_the_effect_is_told_beforehand(a_herd: None) -> None:
    review = a_review(herd.the_namespace("SALES"), by="olga")
    row = rows(review)["ana SALES"]
    consequence = consequences.of(review, [row])[row.pk]
    assert {action for item in consequence.loses for action in item.actions} >= {"read", "write"}


def test_the_administrator_reviews_roles_and_all_namespaces(a_herd: None) -> None:
    review = a_review(herd.the_herd(), by="admin")
    by_key = rows(review)
    assert {"ana SALES", "ana STOCK", "olga SALES", "olga DATA_OWNER"} <= set(by_key)
    decides("admin", by_key["olga DATA_OWNER"], "remove")
    decides("admin", by_key["ana STOCK"], "remove")
    finish(review, "admin")
    assert not may("ana", "READ", "STOCK")
    assert not may("olga", "grant", "SALES")


@pytest.mark.parametrize("policy", ["3.5", "4.3"])
def test_in_a_cdap_what_is_given_on_names_is_taken_by_name(db: None, policy: str) -> None:
    root = cdap.a_cdap(policy=policy)
    can_sign_in("admin")
    cdap.make(root, "namespace:ns1", "dataset:ns1.orders")
    cdap.give(root, "ana", "READ,WRITE on dataset:ns1.orders", "READ on namespace:ns1")
    review = a_review(root, by="admin")
    by_key = rows(review)
    assert set(by_key) == {"ana dataset:ns1.orders", "ana namespace:ns1"}
    decides("admin", by_key["ana dataset:ns1.orders"], "reduce", takes=("WRITE",))
    decides("admin", by_key["ana namespace:ns1"], "remove")
    finish(review, "admin")
    assert cdap.held_by(root, "ana") == {("READ", "dataset:ns1.orders")}
    assert {row.state for row in rows(review).values()} == {"proved"}


def test_of_a_cdap_one_namespace_is_reviewed_by_its_names(db: None) -> None:
    root = cdap.a_cdap()
    can_sign_in("admin")
    cdap.make(root, "namespace:ns1", "namespace:ns2")
    cdap.give(root, "ana", "READ on dataset:ns1.*", "READ on dataset:ns2.*", "READ on namespace:ns1")
    review = a_review(the("namespace", "ns1", realm="c43"), by="admin")
    assert set(rows(review)) == {"ana dataset:ns1.*", "ana namespace:ns1"}
    assert Grant.objects.open().count() == 3
