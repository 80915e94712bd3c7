"""Breaking the glass in the browser's words: opened, said on every page, ended, waiting at Home, reviewed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from accounts.models import User
from catalog.nodes import Node
from policies.emergency import access as emergency_access
from policies.models import Emergency, Use
from policies.services import duties
from tests.factories import AUTHORITY, BY, a_role, an_account, the
from tests.markup import markup

pytestmark = pytest.mark.django_db

GOOD = {
    "what": "shop.sales.orders",
    "action": "read",
    "hours": "2",
    "reason": "The nightly load stopped",
    "nonce": "a" * 24,
}


@pytest.fixture
def ana(shop: Node, signed_in: Callable[[str], Client]) -> Client:
    an_account("olivia", display_name="Olivia Owner")
    client = signed_in("ana")
    person = people.ensure("user", "ana")
    duties.give(the("catalog", "shop"), emergency_access.DUTY, person, by=BY, authority=AUTHORITY)
    return client


def seen(client: Client, address: str) -> str:
    return markup(client.get(address))


def test_opened_said_on_every_page_ended_and_reviewed(
    ana: Client, signed_in: Callable[[str], Client]
) -> None:
    orders = the("table", "shop.sales.orders").id
    assert ana.get(f"/objects/{orders}").status_code == 404
    assert ana.post("/emergency", GOOD).status_code == 302
    row = Emergency.objects.get()
    assert ana.get(f"/objects/{orders}").status_code == 200
    assert "Emergency access is open" in seen(ana, "/help")
    again = ana.post("/emergency", GOOD)  # the same form
    assert (again.status_code, again["Location"]) == (302, f"/emergency/{row.pk}")
    assert Emergency.objects.count() == 1
    olivia = signed_in("olivia")
    assert "opened shop.sales.orders in an emergency" in seen(olivia, "/inbox")
    page = seen(olivia, f"/emergency/{row.pk}")
    assert "It is reviewed after it ends." in page
    assert "End it now for Ana Analyst" in page
    Use.objects.create(
        realm_id=row.realm_id,
        reporter=row.person,
        principal=row.person,
        securable_id=orders,
        run="nightly 17",
        action="read",
        executed=True,
        at=timezone.now(),
    )
    assert ana.post(f"/emergency/{row.pk}", {"do": "end"}).status_code == 302
    assert "Emergency access is open" not in seen(ana, "/help")
    assert ana.get(f"/objects/{orders}").status_code == 404
    assert "opened in an emergency" in seen(olivia, "/")
    page = seen(olivia, f"/emergency/{row.pk}")
    assert "nightly 17" in page
    assert "Close the review" not in seen(ana, f"/emergency/{row.pk}")
    short = olivia.post(f"/emergency/{row.pk}", {"do": "close", "verdict": "ok"})
    assert short.status_code == 422
    assert "Describe what you found" in short.content.decode()
    assert ">\nok</textarea>" in short.content.decode()
    closing = {"do": "close", "verdict": "One read, as was said", "nonce": "b" * 24}
    sent_twice = [olivia.post(f"/emergency/{row.pk}", closing).status_code for _ in range(2)]
    assert sent_twice == [302, 302]
    page = seen(ana, f"/emergency/{row.pk}")
    assert "Olivia Owner" in page
    assert "One read, as was said" in page
    assert "Nothing waits for you" in seen(olivia, "/")


def test_what_can_be_done_about_it_does_not_depend_on_the_language(
    ana: Client, signed_in: Callable[[str], Client]
) -> None:
    ana.post("/emergency", GOOD)
    olivia, address = signed_in("olivia"), f"/emergency/{Emergency.objects.get().pk}"
    User.objects.update(language="de")
    assert "Jetzt für Ana Analyst beenden" in seen(olivia, address)
    Emergency.objects.update(until=timezone.now())
    assert "Überprüfung abschließen" in seen(olivia, address)


@pytest.mark.parametrize(("name", "locked"), [("shop.sales.orders", False), ("shop", True)])
def test_what_waits_for_its_review_is_not_opened_again_and_the_page_says_so(
    ana: Client, name: str, locked: bool
) -> None:
    assert ana.post("/emergency", {**GOOD, "what": name}).status_code == 302
    ana.post(f"/emergency/{Emergency.objects.get().pk}", {"do": "end"})
    for again in (name, "shop"):
        answer = ana.post("/emergency", {**GOOD, "what": again, "nonce": "c" * 24})
        assert answer.status_code == 422
        assert f"Your earlier emergency on {name} waits for its review" in answer.content.decode()
    page = seen(ana, "/emergency")
    assert ('aria-disabled="true" aria-describedby="why-not-open"' in page) == locked
    assert Emergency.objects.count() == 1


WRONG = {
    "an object that is not there": (
        {"what": "shop.moon"},
        "You cannot open an object called shop.moon.",
    ),
    "no name": ({"what": ""}, "You cannot open an object"),
    "no reason": ({"reason": "x"}, "Describe what happened"),
    "too long": ({"hours": "24"}, "1 to 4 hours"),
    "no hours": ({"hours": ""}, "1 to 4 hours"),
    "an unknown action": ({"action": "fly"}, "Choose one of these."),
    "nonsense": ({"hours": "x", "action": "fly", "nonce": "?"}, "1 to 4 hours"),
    "a NUL": ({"what": "\0", "reason": "\0"}, "You cannot open an object"),
}


@pytest.mark.parametrize(("more", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_and_opens_nothing(ana: Client, more: dict[str, str], said: str) -> None:
    answer = ana.post("/emergency", {**GOOD, **more})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Emergency.objects.exists()


def test_the_form_begins_with_what_an_address_names(ana: Client) -> None:
    page = seen(ana, "/emergency?what=demo%2Fshop")
    assert 'name="what" value="demo/shop"' in page
    assert 'value="read" checked' in page
    assert '<option value="1" selected>1 hour</option>' in page
    assert "Not opened." not in page


def test_an_object_beside_the_duty_reads_like_one_that_is_absent(ana: Client, shop: Node) -> None:
    duties.take(
        the("catalog", "shop"),
        emergency_access.DUTY,
        people.ensure("user", "ana"),
        by=BY,
        authority=AUTHORITY,
    )
    duties.give(
        the("schema", "shop.stock"),
        emergency_access.DUTY,
        people.ensure("user", "ana"),
        by=BY,
        authority=AUTHORITY,
    )
    hidden = ana.post("/emergency", GOOD)
    absent = ana.post("/emergency", {**GOOD, "what": "shop.sales.nothing"})
    assert hidden.status_code == absent.status_code == 422
    assert "You cannot open an object called shop.sales.orders." in hidden.content.decode()


def test_without_the_duty_there_is_no_form(shop: Node, signed_in: Callable[[str], Client]) -> None:
    mia = signed_in("mia")
    assert "You have no duty for emergencies." in seen(mia, "/emergency")
    assert mia.post("/emergency", GOOD).status_code == 403
    assert not Emergency.objects.exists()


def test_one_whose_time_is_over_waits_without_any_sweeper(
    ana: Client, signed_in: Callable[[str], Client]
) -> None:
    ana.post("/emergency", GOOD)
    over = timezone.now() - timedelta(seconds=1)
    Emergency.objects.update(until=over)
    row = Emergency.objects.get()
    olivia = signed_in("olivia")
    assert "Waits for its review" in seen(olivia, "/emergency")
    olivia.post(f"/emergency/{row.pk}", {"do": "close", "verdict": "One read, as was said"})
    row.refresh_from_db()
    assert (row.state, row.ended) == ("closed", over)


def test_an_objects_page_leads_there_for_who_has_the_duty(
    ana: Client, signed_in: Callable[[str], Client]
) -> None:
    a_role(the("metalake"), "seeing", "allow USE_CATALOG on catalog shop", held_by=("ana", "mia"))
    address = f"/objects/{the('catalog', 'shop').id}"
    assert "/emergency?what=demo%2Fshop" in seen(ana, address)
    assert "/emergency?what" not in seen(signed_in("mia"), address)
