"""Who goes, and who comes: all that a leaver has, dealt with in one plan; the same access as a colleague."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.models import Membership, Principal, Token, User
from accounts.people import ensure, make_account
from accounts.tokens import create
from catalog.nodes import Node
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import AccessRecord, Assignment, Change, Ownership, RealmMember, UserDuty
from policies.requests import submission
from policies.requests.submission import WantedAction
from policies.reviews import worklist
from policies.reviews.campaign_plans import Stage
from policies.services import accounts, duties, grants
from policies.services.grants import GrantRequest
from tests.console.settings.test_owners_and_members import posted
from tests.console.test_forms import can_read
from tests.factories import (
    AUTHORITY,
    BY,
    a_metalake,
    a_person,
    a_role,
    acting,
    admit,
    an_account,
    owned,
    the,
    under,
)
from tests.reviews.world import a_review

Enter = Callable[[str], Client]
READ = ("SELECT_TABLE",)


def page_of(name: str, tail: str = "leaving") -> str:
    return f"/people/{a_person(name).pk}/{tail}"


def orders() -> Node:
    return the("table", "shop.sales.orders")


@pytest.fixture
def ben(shop: Node, settings: Any) -> Principal:
    """Ben has one of everything: a table, a grant, a role, two groups, a service, a token, a duty."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    a_person("sam")
    person = a_person("ben", "staff", "analysts")
    an_account("ben", display_name="Ben Bauer")
    admit(shop, "ben", "sam")
    owned(the("table", "shop.sales.refunds"), "ben")
    grants.add(GrantRequest(orders(), (person,), READ), by=acting("olivia"))
    a_role(shop, "clerks", "allow SELECT_TABLE on table shop.stock.items", held_by=("ben",))
    accounts.make_service("etl", person, by=BY, authority=AUTHORITY)
    create(person, days=30)
    duties.give(the("schema", "shop.sales"), "view_history", person, by=BY, authority=AUTHORITY)
    return Principal.objects.get(pk=person.pk)


def titles(body: str) -> list[str]:
    return re.findall(r'<h2 id="s-(\w+)"', body)


def mine(body: str) -> set[str]:
    return set(re.findall(r'name="do-([\w-]+)"', body))


def test_everything_of_a_leaver_stands_on_one_page(ben: Principal, signed_in: Enter) -> None:
    body = signed_in("sam").get(page_of("ben")).content.decode()
    assert {"group", "keep", "token", "account"} <= set(titles(body))
    body = signed_in("marek").get(page_of("ben")).content.decode()
    assert titles(body) == ["own", "give", "role", "duty", "member"]


def test_what_is_not_one_s_own_says_whom_to_ask(ben: Principal, signed_in: Enter) -> None:
    body = signed_in("olivia").get(page_of("ben")).content.decode()  # owns sales, not the realm
    assert mine(body) == {f"own-{the('table', 'shop.sales.refunds').id}", f"give-{orders().id}"}
    assert "Ask the realm's owner." in unescape(body)  # for the duty on the schema
    assert "clerks" not in body  # a role that Olivia may not see is not named


def test_it_is_foretold_with_what_stays_by_another_path(ben: Principal, signed_in: Enter) -> None:
    marek = signed_in("marek")
    before = Change.objects.count()
    form = {"who": "user:olivia", "step": "look", f"do-member-{orders().realm_id}": "leave"}
    body = marek.post(page_of("ben"), form).content.decode()
    assert "no longer owns 1 object" in body
    assert "becomes the owner of 1 object" in body
    assert "keeps some of it on 2 objects, by another path" in body  # noah is an analyst, too
    assert Change.objects.count() == before


def test_one_plan_hands_over_and_takes_away(ben: Principal, signed_in: Enter) -> None:
    marek = signed_in("marek")
    answer = posted(marek, page_of("ben"), who="user:olivia", step="save", reason="Ben left on Friday")
    assert answer.status_code == 302
    assert owner_of(the("table", "shop.sales.refunds")) == a_person("olivia")
    assert not Assignment.objects.open().filter(holder=ben).exists()
    assert not RealmMember.objects.open().filter(principal=ben).exists()
    assert not UserDuty.objects.filter(user__principal=ben).exists()
    assert set(Change.objects.filter(reason="Ben left on Friday").values_list("kind", flat=True)) == {
        "owner.set",
        "grant.removed",
        "role.unassigned",
        "duty.taken",
        "member.removed",
    }
    body = marek.get(answer["Location"]).content.decode()
    assert "Handed over ownership" in body
    assert len(re.findall(r'action="/undo/\d+"', body)) == 5


def test_the_site_s_part_is_the_service_admin_s(ben: Principal, signed_in: Enter) -> None:
    form = {"who": "user:olivia", "step": "save"}
    answer = posted(signed_in("sam"), page_of("ben"), **form)
    assert answer.status_code == 302
    assert not Membership.objects.open().filter(member=ben).exists()
    assert not Token.objects.filter(principal=ben, revoked__isnull=True).exists()
    assert not User.objects.get(principal=ben).is_active
    assert ensure("service", "etl").keepings_of.get(closed__isnull=True).keeper == a_person("olivia")
    assert owner_of(the("table", "shop.sales.refunds")) == ben  # a site admin has no say in a realm


def test_lines_may_go_to_different_people_or_stay(ben: Principal, signed_in: Enter) -> None:
    refunds, clerks = the("table", "shop.sales.refunds"), the("role", "clerks")
    form = {
        "who": ["user:olivia", "user:ana"],
        f"do-own-{refunds.id}": "hand:user:ana",
        f"do-role-{clerks.id}": "hand:user:olivia",
        f"do-give-{orders().id}": "leave",
        "do-member-" + str(refunds.realm_id): "leave",
    }
    posted(signed_in("marek"), page_of("ben"), step="save", **form)
    assert owner_of(refunds) == a_person("ana")
    holders = Assignment.objects.open().filter(role=clerks.id).values_list("holder__name", flat=True)
    assert set(holders) == {"olivia"}
    assert grants.direct(orders(), ben).exists()
    assert RealmMember.objects.open().filter(principal=ben).exists()


def test_to_whom_must_be_said(ben: Principal, signed_in: Enter) -> None:
    answer = posted(signed_in("marek"), page_of("ben"), step="save")
    assert answer.status_code == 422
    assert "Enter the new holder" in answer.content.decode()
    assert owner_of(the("table", "shop.sales.refunds")) == ben


def test_what_failed_is_said_and_the_rest_goes_on(ben: Principal, signed_in: Enter) -> None:
    """Zoe is in no realm, so nothing can be handed to Zoe there; an owner stays a member."""
    a_person("zoe")
    sam = signed_in("sam")
    owned(the("metalake"), "sam")
    form = {"who": "user:zoe", "step": "save"}
    answer = posted(sam, page_of("ben"), **form)
    body = answer.content.decode()
    assert answer.status_code == 422
    assert "2 lines not" in body
    assert "User zoe is not a member of demo." in body
    assert "Ben Bauer still owns something in demo; hand it over first." in body
    assert titles(body) == ["own", "member"]  # the rest is done
    assert mine(body) == {
        f"own-{the('table', 'shop.sales.refunds').id}",
        f"member-{the('metalake').realm_id}",
    }
    again = posted(sam, page_of("ben"), who="user:olivia", step="save")
    assert again.status_code == 302
    assert not Ownership.objects.open().filter(owner=ben).exists()
    assert not RealmMember.objects.open().filter(principal=ben).exists()


def test_a_form_sent_twice_does_it_once(ben: Principal, signed_in: Enter) -> None:
    marek, form = signed_in("marek"), {"who": "user:olivia", "step": "save", "nonce": "b" * 20}
    marek.post(page_of("ben"), form)
    before = Change.objects.count()
    marek.post(page_of("ben"), form)
    assert Change.objects.count() == before


def test_many_things_are_chosen_at_once(ben: Principal, shop: Node, signed_in: Enter) -> None:
    for node in under(the("schema", "shop.stock"), "table", *(f"t{at:02}" for at in range(30))):
        owned(node, "ben")
    body = signed_in("marek").get(page_of("ben")).content.decode()
    assert 'name="rest-own"' in body
    assert "6 more" in body
    assert len(body) < 100_000
    form = {"who": "user:olivia", "rest-own": "leave", f"do-member-{shop.realm_id}": "leave"}
    posted(signed_in("marek"), page_of("ben"), step="save", **form)
    assert Ownership.objects.open().filter(owner=ben).count() == 6


@pytest.mark.parametrize("name", ["ana", "mia"])
def test_who_gives_no_access_finds_nobody(name: str, ben: Principal, signed_in: Enter) -> None:
    for tail in ("leaving", "same"):
        assert signed_in(name).get(page_of("ben", tail)).status_code == 404


def test_looking_is_on_the_record(ben: Principal, signed_in: Enter) -> None:
    signed_in("marek").get(page_of("ben"))
    assert AccessRecord.objects.filter(kind="looked", operation__contains=ben.pseudonym).exists()


@pytest.mark.parametrize("tail", ["leaving", "same"])
def test_names_to_choose_from_are_no_look_at_what_they_have(
    tail: str, ben: Principal, signed_in: Enter
) -> None:
    client, chosen = signed_in("marek"), "&as=user:ana" if tail == "same" else ""
    before = AccessRecord.objects.count()
    for typed in ("o", "ol", "oli"):
        assert (
            "olivia"
            in client.get(f"{page_of('ben', tail)}?choices=who&find={typed}{chosen}").content.decode()
        )
    assert AccessRecord.objects.count() == before
    client.post(page_of("ben", tail), {"step": "look", "who": "user:olivia"})
    looked = AccessRecord.objects.filter(kind="looked").values_list("operation", flat=True)
    about = {ben.pseudonym, a_person("olivia").pseudonym} if tail == "same" else {ben.pseudonym}
    assert {text.removeprefix("access of ") for text in looked} == about


def test_what_they_asked_for_and_what_waits_for_them_is_on_the_page(
    ben: Principal, shop: Node, signed_in: Enter
) -> None:
    a_person("marek"), make_account("marek"), make_account("olivia")
    wanted = (WantedAction("table", "demo/shop.sales.customers", "write"),)
    asked = submission.ask(
        submission.Asking(wanted, ben, reason="To mend the returns", lasts="P30D"), by=acting("ben")
    )
    review = a_review(shop, by="marek", stages=(Stage("people", (ben,)),))
    marek = signed_in("marek")
    body = unescape(marek.get(page_of("ben")).content.decode())
    assert f"Request {asked.pk} for shop.sales.customers" in body
    assert f'name="do-seat-{review.pk}"' in body
    assert posted(marek, page_of("ben"), who="user:olivia", step="save").status_code == 302
    asked.refresh_from_db()
    assert asked.state == "refused"
    assert worklist.owing(a_person("olivia"))
    assert not worklist.owing(ben)


# The same as a colleague


@pytest.fixture
def newcomer(ben: Principal, shop: Node) -> Principal:
    """Noah is admitted and has nothing yet."""
    person = a_person("noah")
    admit(shop, "noah")
    return person


def ticked(body: str) -> set[str]:
    return set(re.findall(r'name="pick"\s+value="([\w-]+)"\s+checked', body))


def test_what_a_colleague_has_and_they_lack_is_compared(newcomer: Principal, signed_in: Enter) -> None:
    body = signed_in("marek").get(page_of("noah", "same") + "?as=user:ben").content.decode()
    assert ticked(body) == {f"give-{orders().id}", f"role-{the('role', 'clerks').id}"}
    assert "stays so" in body  # what Ben owns
    assert "Grant 2 lines to noah" in body


def test_the_same_is_given_and_taken_back_as_one_change(newcomer: Principal, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), page_of("noah", "same")
    codes = [f"give-{orders().id}", f"role-{the('role', 'clerks').id}"]
    before = Change.objects.count()
    answer = posted(marek, address + "?as=user:ben", who="user:ben", pick=codes, step="save")
    assert answer.status_code == 302
    assert Change.objects.count() == before + 1
    assert grants.direct(orders(), newcomer).exists()
    assert Assignment.objects.open().filter(holder=newcomer, role=the("role", "clerks").id).exists()
    [undo] = re.findall(
        r'action="(/undo/\d+)"', marek.get(answer["Location"]).content.decode().split("<main")[1]
    )
    marek.post(undo)
    assert not grants.direct(orders(), newcomer).exists()
    assert not Assignment.objects.open().filter(holder=newcomer).exclude(origin="system").exists()


def test_what_is_not_one_s_own_is_not_given(newcomer: Principal, signed_in: Enter) -> None:
    codes = [
        f"give-{orders().id}",
        f"role-{the('role', 'clerks').id}",
        f"group-{ensure('group', 'staff').pk}",
    ]
    posted(signed_in("olivia"), page_of("noah", "same"), who="user:ben", pick=codes, step="save")
    assert grants.direct(orders(), newcomer).exists()
    assert not Assignment.objects.open().filter(holder=newcomer, role=the("role", "clerks").id).exists()
    assert not Membership.objects.open().filter(member=newcomer).exists()


def test_it_says_what_it_lets_them_do(newcomer: Principal, signed_in: Enter) -> None:
    form = {"who": "user:ben", "pick": [f"give-{orders().id}"], "step": "look"}
    body = signed_in("marek").post(page_of("noah", "same"), form).content.decode()
    assert "cannot use it yet" in body  # the schema is not open to them
    assert "Use schema sales" in body
    assert not can_read("noah", orders())


def test_who_is_no_member_is_admitted_along(ben: Principal, signed_in: Enter, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset(
        {"sam", "marek"}
    )  # marek knows people outside the own realms
    person, marek = a_person("nora"), signed_in("marek")
    body = marek.get(page_of("nora", "same") + "?as=user:ben").content.decode()
    assert "Included: nothing can be granted without it" in body
    codes = [f"role-{the('role', 'clerks').id}"]
    answer = posted(marek, page_of("nora", "same"), who="user:ben", pick=codes, step="save")
    assert answer.status_code == 302
    assert RealmMember.objects.open().filter(principal=person).exists()
    assert Assignment.objects.open().filter(holder=person).count() == 1


def test_each_realm_is_given_whole_or_not_at_all(newcomer: Principal, signed_in: Enter) -> None:
    """In the second realm Noah is not admitted, and Marek, who owns one catalog there, may not admit."""
    second = a_metalake("second", owner="tomas")
    [lake] = under(second, "catalog", "lake")
    admit(second, "ben", "marek")
    owned(lake, "marek")
    grants.add(GrantRequest(lake, (a_person("ben"),), ("USE_CATALOG",)), by=acting("marek"))
    body = signed_in("marek").get(page_of("noah", "same") + "?as=user:ben").content.decode()
    assert "noah is not a member there yet. Ask the realm's owner." in unescape(body)
    codes = [f"give-{lake.id}", f"give-{orders().id}"]
    posted(signed_in("marek"), page_of("noah", "same"), who="user:ben", pick=codes, step="save")
    assert grants.direct(orders(), newcomer).exists()
    assert not grants.direct(lake, newcomer).exists()
