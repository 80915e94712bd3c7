"""People: whom the viewer may look up, what people reach as far as the viewer may know, own settings."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import Token, User
from accounts.people import ensure
from accounts.tokens import recognise
from catalog.nodes import Node
from policies.decisions import ask
from policies.models import AccessRecord, Event
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import a_person, a_role, acting, admit, the

Enter = Callable[[str], Client]


def page_of(name: str, tab: str = "", kind: str = "user") -> str:
    return f"/people/{ensure(kind, name).pk}{tab}"


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_who_gives_access_knows_all_members_others_themselves_and_their_groups(
    shop: Node, signed_in: Enter
) -> None:
    a_person("zoe")
    olivia, ana = text_of(signed_in("olivia"), "/people"), text_of(signed_in("ana"), "/people")
    assert "<b>carl</b>" in olivia
    assert "<b>analysts</b>" in olivia
    assert "<b>zoe</b>" not in olivia
    assert "<b>ana</b>" in ana or "<b>Ana Analyst</b>" in ana
    assert "<b>staff</b>" in ana
    assert "<b>carl</b>" not in ana
    assert "<b>analysts</b>" not in ana


@pytest.mark.parametrize("tab", ["", "/groups", "/history", "/grant", "/reach.csv"])
def test_whom_one_may_not_know_is_not_there(tab: str, shop: Node, signed_in: Enter) -> None:
    ana = signed_in("ana")
    assert ana.get(page_of("carl", tab)).status_code == 404
    assert ana.get(f"/people/987654321{tab}").status_code == 404
    assert signed_in("olivia").get(page_of("carl", tab)).status_code == 200


def test_a_person_s_page_tells_what_is_reached_and_how(shop: Node, signed_in: Enter) -> None:
    body = text_of(signed_in("olivia"), page_of("carl"))
    assert "Where carl has rights" in body or "Where Carl Conrad has rights" in body
    assert "Role no_contractors" in body
    assert "Read tables denied" in body
    assert "Group analysts" in body
    assert '<path class="bad"' in body
    assert "the path that decides" in body
    assert AccessRecord.objects.filter(kind="looked").exists()


def test_only_what_the_viewer_may_know_of_is_shown(shop: Node, signed_in: Enter) -> None:
    a_role(shop, "stock_read", "allow SELECT_TABLE on table shop.stock.items", held_by=("mia",))
    assert "stock_read" not in text_of(signed_in("olivia"), page_of("mia"))  # Olivia owns sales alone
    assert "stock_read" in text_of(signed_in("marek"), page_of("mia"))
    own = text_of(signed_in("mia"), page_of("mia"))
    assert "stock_read" in own
    assert "Not usable yet" in own  # nobody gave Mia the use of schema stock
    assert b"stock.items" not in b"".join(signed_in("olivia").get(page_of("mia", "/reach.csv")))
    assert b"stock.items" in b"".join(signed_in("mia").get(page_of("mia", "/reach.csv")))


def test_the_table_is_filtered_by_name_and_by_kind(shop: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (a_person("carl"),), ("SELECT_TABLE",)), by=acting("olivia"))
    assert f'href="/objects/{orders.id}"' in text_of(olivia, page_of("carl", "?q=orders"))
    assert f'href="/objects/{orders.id}"' not in text_of(olivia, page_of("carl", "?q=refunds"))
    denied = text_of(olivia, page_of("carl", "?how=denied"))
    assert "Read tables denied" in denied
    picked = text_of(olivia, page_of("carl", f"?pick={orders.id}"))
    assert "to shop.sales.orders</title>" in picked


def test_the_deciding_path_is_lit(shop: Node, signed_in: Enter) -> None:
    body = text_of(signed_in("mia"), page_of("mia"))
    assert '<path class="on"' in body
    assert re.search(r"through group analysts and role sales_read, deciding", body)


def test_a_group_shows_its_people_and_its_roles(shop: Node, signed_in: Enter) -> None:
    body = text_of(signed_in("marek"), page_of("analysts", "/groups", "group"))
    assert "sales_read" in body
    assert "mia" in body
    around = text_of(signed_in("mia"), page_of("mia", "/groups"))
    assert "As analysts" in around
    assert "sales_read" in around


def test_granting_to_somebody_begins_with_what(shop: Node, signed_in: Enter) -> None:
    orders = the("table", "shop.sales.orders")
    body = text_of(signed_in("olivia"), page_of("ana", "/grant?q=orders"))
    assert f'href="/objects/{orders.id}/grant?who=user%3Aana"' in body
    assert "You cannot grant access to" in text_of(signed_in("olivia"), page_of("ana", "/grant?q=items"))


def test_a_token_is_shown_once_and_opens_what_it_may(shop: Node, signed_in: Enter) -> None:
    ana = signed_in("ana")
    body = ana.post("/profile", {"do": "token", "days": "7", "scope": ["check", "audit"]}).content.decode()
    match = re.search(r">(lw_[\w-]+)</code>", body)
    assert match is not None
    bearer = recognise(match[1])
    assert bearer is not None
    assert (bearer.principal.name, bearer.scopes) == ("ana", frozenset({"check", "audit"}))
    assert match[1] not in text_of(ana, "/profile")
    assert Event.objects.filter(kind="token.created").count() == 1

    ana.post("/profile", {"do": "revoke", "token": bearer.token})
    assert recognise(match[1]) is None
    assert Event.objects.filter(kind="token.revoked").count() == 1


def test_a_token_of_another_is_not_there_to_revoke(shop: Node, signed_in: Enter) -> None:
    signed_in("ana").post("/profile", {"do": "token", "days": "7", "scope": "check"})
    signed_in("mia").post("/profile", {"do": "revoke", "token": Token.objects.get().pk})
    assert Token.objects.get().revoked is None


@pytest.mark.parametrize(
    "form", [{"days": "9999", "scope": "check"}, {"days": "7"}, {"days": "7", "scope": "all"}]
)
def test_a_token_needs_an_end_and_a_known_scope(form: dict[str, str], shop: Node, signed_in: Enter) -> None:
    assert signed_in("ana").post("/profile", {"do": "token", **form}).status_code == 422
    assert not Token.objects.exists()


def test_the_time_zone_is_kept(shop: Node, signed_in: Enter) -> None:
    signed_in("ana").post("/profile", {"do": "zone", "zone": "Europe/Berlin"})
    signed_in("ana").post("/profile", {"do": "zone", "zone": "Middle/Earth"})
    assert User.objects.get(username="ana").time_zone == "Europe/Berlin"


def test_strangers_find_nobody(shop: Node, signed_in: Enter) -> None:
    a_person("zoe")
    admit(shop, "user:noah")
    assert "<b>noah</b>" not in text_of(signed_in("zoe"), "/people")


def test_as_many_may_use_a_metalake_as_belong_to_it(shop: Node, signed_in: Enter) -> None:
    """Whoever is a member themselves counts, and to each of them the law says yes."""
    a_person("noah", "staff")  # in an admitted group, and no member
    a_person("zoe")
    admit(shop, "service:loader")
    people = [a_person(name) for name in ("marek", "olivia", "ana", "mia", "carl", "noah", "zoe")]
    able = [person.name for person in people if ask.ask(person, "use", shop)]
    page = text_of(signed_in("marek"), f"/objects/{shop.id}")
    match = re.search(r"Can use it.*?(\d+) people, (\d+) service", page, re.S)
    assert match is not None
    assert (int(match[1]), int(match[2])) == (len(able), 1)
    assert "zoe" not in able
