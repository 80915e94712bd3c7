"""Rules of separation in the browser's words: made with a look at who has both, excepted, ended, and told."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.models import SeparationException, SeparationRule
from policies.services import grants, roles
from policies.services import separation as rules
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, an_account, the
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def marek(shop: Node, signed_in: Callable[[str], Client]) -> Client:
    """The realm's owner; Ana pays, and may pack; Mia may neither."""
    a_role(shop, "payer", held_by=("ana",))
    wish = GrantRequest(
        the("table", "shop.stock.items"), (people.ensure("user", "ana"),), ("MODIFY_TABLE",), way=False
    )
    grants.add(wish, by=acting("marek"))
    an_account("olivia", display_name="Olivia Owner")
    return signed_in("marek")


def form(**more: str) -> dict[str, str]:
    return {
        "name": "Payments",
        "one_role": str(the("role", "payer").id),
        "other_what": "shop.stock",
        "other_may": "MODIFY_TABLE",
        "nonce": "a" * 24,
        "step": "save",
        **more,
    }


def new(root: Node) -> str:
    return f"/realms/{root.id}/separation/new"


def test_a_rule_is_made_after_a_look_at_who_has_both(marek: Client, shop: Node) -> None:
    page = marek.post(new(shop), form(step="look", other_may="")).content.decode()
    assert "Choose the rights that are kept apart." in page
    assert "Rights on shop.stock" in page
    page = marek.post(new(shop), form(step="look")).content.decode()
    assert "1 person already has both" in page
    assert "Role payer" in page
    assert not SeparationRule.objects.exists()
    assert marek.post(new(shop), form()).status_code == 302
    page = marek.get(f"/realms/{shop.id}/separation").content.decode()
    assert "One rule of separation" in page
    assert "1 conflict" in page
    assert "Write tables on shop.stock" in page
    assert marek.post(new(shop), form()).status_code == 302  # the same form again
    assert SeparationRule.objects.count() == 1


WRONG = {
    "no name": ({"name": " "}, "Give the rule a name"),
    "no such object": ({"other_what": "shop.moon"}, "There is no object called shop.moon here."),
    "nothing": ({"other_what": ""}, "Choose a role, or enter an object."),
    "the same twice": ({"other_role": "same"}, "The two sides are the same."),
    "a role that is none": ({"one_role": "999999999"}, "Each side is a role"),
    "nonsense": ({"one_role": "x" * 300, "other_what": "\0" * 5}, "Choose a role, or enter an object."),
}


@pytest.mark.parametrize(("more", "said"), WRONG.values(), ids=WRONG)
def test_a_rule_that_means_nothing_is_not_made(
    marek: Client, shop: Node, more: dict[str, str], said: str
) -> None:
    if more.get("other_role") == "same":
        more = {"other_role": str(the("role", "payer").id)}
    answer = marek.post(new(shop), form(**more))
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not SeparationRule.objects.exists()


def a_rule(marek: Client, shop: Node) -> SeparationRule:
    marek.post(new(shop), form())
    return SeparationRule.objects.get()


def test_letting_somebody_and_ending_that(marek: Client, shop: Node) -> None:
    rule = a_rule(marek, shop)
    until = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
    good = {
        "who": "user:ana",
        "owner": "olivia",
        "date": until,
        "reason": "Alone at night",
        "step": "save",
        "nonce": "b" * 24,
    }
    for wrong, message in (
        ({"owner": "ana"}, "Nobody can be responsible for their own exception"),
        ({"owner": "nobody"}, "Nobody is called nobody."),
        ({"date": ""}, "Enter a date"),
        ({"date": "2020-01-01T00:00"}, "within a year"),
        ({"reason": "x"}, "Give a reason"),
        ({"who": ""}, "Enter at least one person"),
    ):
        answer = marek.post(f"/separation/{rule.pk}/let", {**good, **wrong})
        assert answer.status_code == 422, wrong
        assert message in answer.content.decode()
    assert marek.post(f"/separation/{rule.pk}/let", good).status_code == 302
    page = marek.get(f"/separation/{rule.pk}").content.decode()
    assert "Olivia Owner is responsible for it" in page
    assert "Extend" in page
    assert marek.post(f"/separation/{rule.pk}/let/end?who=user:ana").status_code == 302
    assert not SeparationException.objects.open().exists()
    assert ">None<" in marek.get(f"/separation/{rule.pk}").content.decode()


def test_ending_a_rule(marek: Client, shop: Node) -> None:
    rule = a_rule(marek, shop)
    assert "End the rule Payments?" in marek.get(f"/separation/{rule.pk}/end").content.decode()
    assert marek.post(f"/separation/{rule.pk}/end", {"reason": "no use"}).status_code == 302
    assert not SeparationRule.objects.open().exists()
    assert "no longer stops anyone" in marek.get(f"/separation/{rule.pk}").content.decode()


def test_who_gives_access_sees_rules_but_nobody_in_conflict(
    marek: Client, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    rule = a_rule(marek, shop)
    olivia = signed_in("olivia")
    for address in (f"/realms/{shop.id}/separation", f"/separation/{rule.pk}"):
        page = olivia.get(address).content.decode()
        assert "Payments" in page
        assert "conflict" not in page
        assert ">ana<" not in page


def test_a_grant_that_a_rule_forbids_is_foretold_and_refused_in_its_words(marek: Client, shop: Node) -> None:
    a_rule(marek, shop)
    roles.assign(the("role", "payer"), people.ensure("user", "mia"), by=BY, authority=AUTHORITY)
    table = the("table", "shop.stock.items").id
    asked = {"who": "user:mia", "may": "MODIFY_TABLE", "until": "never", "nonce": "c" * 24}
    page = marek.get(f"/objects/{table}/grant", asked).content.decode()
    assert "mia would have both sides of the rule “Payments”" in page
    answer = marek.post(f"/objects/{table}/grant", {**asked, "step": "save"})
    assert "Not saved" in answer.content.decode()
    assert "mia would have both sides of the rule “Payments”" in answer.content.decode()
    assert "somebody changed" not in answer.content.decode()


def test_giving_a_role_that_a_rule_forbids_is_foretold_and_refused(marek: Client, shop: Node) -> None:
    a_rule(marek, shop)
    wish = GrantRequest(
        the("table", "shop.stock.items"), (people.ensure("user", "mia"),), ("MODIFY_TABLE",), way=False
    )
    grants.add(wish, by=acting("marek"))
    role = the("role", "payer").id
    asked = {"who": "user:mia", "until": "never", "nonce": "d" * 24}
    page = marek.get(f"/roles/{role}/assign", asked).content.decode()
    assert "mia would have both sides of the rule “Payments”" in page
    answer = marek.post(f"/roles/{role}/assign", {**asked, "step": "save"})
    assert answer.status_code == 422
    assert "mia would have both sides of the rule “Payments”" in answer.content.decode()


def test_a_hundred_in_conflict_ask_the_database_no_more_than_one(marek: Client, shop: Node) -> None:
    rule = a_rule(marek, shop)
    addresses = (f"/realms/{shop.id}/separation", f"/separation/{rule.pk}")
    for address in addresses:
        marek.get(address)
    few = [count(marek, address) for address in addresses]
    rules.end(rule, shop, by=acting("marek"))
    everybody = [a_person(f"n{number:03}", "packers") for number in range(60)]
    admit(shop, "group:packers", *(item.name for item in everybody))
    group = people.ensure("group", "packers")
    roles.assign(the("role", "payer"), group, by=BY, authority=AUTHORITY)
    wish = GrantRequest(the("table", "shop.stock.items"), (group,), ("MODIFY_TABLE",), way=False)
    grants.add(wish, by=acting("marek"))
    again = marek.post(new(shop), form(nonce="e" * 24))
    assert again.status_code == 302
    rule = SeparationRule.objects.open().get()
    marek.get(addresses[0])  # what was changed is read anew once
    many = [count(marek, address) for address in (addresses[0], f"/separation/{rule.pk}")]
    assert many == few
    assert "61 conflicts" in marek.get(addresses[0]).content.decode()


def count(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return len(asked)


def undo(client: Client) -> str:
    """Press Undo in the toast of the last change."""
    match = re.search(r'action="(/undo/\d+)"', client.get("/help").content.decode())
    assert match, "no toast with Undo"
    client.post(match[1])
    return client.get("/help").content.decode()


def test_what_was_done_to_rules_is_undone(marek: Client, shop: Node) -> None:
    a_rule(marek, shop)
    undo(marek)
    assert not SeparationRule.objects.open().exists()
    rule = a_new_rule(marek, shop, "c" * 24)
    until = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
    good = {"who": "user:ana", "owner": "olivia", "date": until, "reason": "Alone at night", "step": "save"}
    marek.post(f"/separation/{rule.pk}/let", {**good, "nonce": "d" * 24})
    undo(marek)
    assert not SeparationException.objects.open().exists()
    marek.post(f"/separation/{rule.pk}/let", {**good, "nonce": "e" * 24})
    marek.post(f"/separation/{rule.pk}/let/end?who=user:ana", {"nonce": "f" * 24})
    undo(marek)
    assert SeparationException.objects.open().get().person.name == "ana"
    marek.post(f"/separation/{rule.pk}/end", {"nonce": "0" * 24})
    assert not SeparationException.objects.open().exists()
    undo(marek)
    again = SeparationRule.objects.open().get()
    assert (again.name, again.one_role_id, again.owners) == (rule.name, rule.one_role_id, rule.owners)
    assert SeparationException.objects.open().get().rule == again


def a_new_rule(marek: Client, shop: Node, nonce: str) -> SeparationRule:
    marek.post(new(shop), form(nonce=nonce, owners="on"))
    return SeparationRule.objects.open().get()


def test_the_form_says_whether_owners_count(marek: Client, shop: Node) -> None:
    assert 'name="owners" value="on" aria-describedby="owners-help" checked' in markup(marek.get(new(shop)))
    rule = a_rule(marek, shop)  # sent without the tick
    assert not rule.owners
    assert "not here" in marek.get(f"/separation/{rule.pk}").content.decode()
