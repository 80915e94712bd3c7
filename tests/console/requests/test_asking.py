"""The rooms of requests: asked, decided by those who may, followed; walked without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.decisions import ask
from policies.errors import Conflict
from policies.models import AccessRequest, RequestRule, RequestStep, Substitute
from policies.requests import decisions, rules, submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from tests.console.conftest import NAMES
from tests.factories import a_role, acting, admit, an_account, owned, the
from tests.kept import kept
from tests.markup import markup

ORDERS = "demo/shop.sales.orders"
WHY = "Returns report for the board"
SignedIn = Callable[[str], Client]


def make_staff(shop: Node) -> Node:
    """Ana is a member and has nothing; Olivia owns schema sales, Marek the realm; all can sign in."""
    for name in ("ana", "olivia", "marek", "mia"):
        an_account(name, display_name=NAMES[name])
    return shop


staff = kept(make_staff, on="shop")


def text(response) -> str:
    page = re.sub(r"<(script|style).*?</\1>", " ", response.content.decode(), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", page).replace("&#x27;", "'").split())


def filled(**more: object) -> dict[str, object]:
    fields: dict[str, object] = {
        "nonce": "n" * 20,
        "on": [f"table {ORDERS}"],
        "do": ["0 read"],
        "reason": WHY,
    }
    return {**fields, "lasts": "P30D", "step": "send", **more}


def can_read(name: str = "ana") -> bool:
    return bool(ask.ask(people.ensure("user", name), "read", the("table", "shop.sales.orders")))


def a_request(name: str = "ana", *, action: str = "read", lasts: str = "P30D", reason: str = WHY) -> int:
    person = people.ensure("user", name)
    asking = Asking((WantedAction("table", ORDERS, action),), person, reason=reason, lasts=lasts)
    return submission.ask(asking, by=acting(name)).pk


def test_a_link_fills_the_form_and_tells_who_is_asked(staff: Node, signed_in: SignedIn) -> None:
    asked = {"resource": ORDERS, "type": "table", "action": "read"}
    shown = text(signed_in("ana").get(f"/requests/new?{urlencode(asked)}"))
    assert "Request access to shop.sales.orders" in shown
    assert "Two decisions, requested at the same time" in shown
    assert "Read on orders Decided by an approver" in shown  # Ana may not know that there is one
    assert "it ends on" in shown


def test_who_may_know_of_the_object_is_told_who_decides(staff: Node, signed_in: SignedIn) -> None:
    asked = {"resource": ORDERS, "type": "table", "action": "write"}
    shown = text(signed_in("mia").get(f"/requests/new?{urlencode(asked)}"))
    assert "Write on orders Decided by Olivia Owner Olivia Owner owns shop.sales" in shown


def test_asking_deciding_and_using(staff: Node, signed_in: SignedIn) -> None:
    ana, olivia = signed_in("ana"), signed_in("olivia")
    sent = ana.post("/requests/new", filled())
    [row] = AccessRequest.objects.all()
    assert sent.status_code == 302
    assert sent["Location"] == f"/requests/{row.pk}"
    page = text(ana.get(sent["Location"]))
    assert "You ask to read sales.orders" in page
    assert "Waiting for a decision" in page
    assert "An approver" in page  # Ana may not know that there is such a table
    assert "1 request waits" not in text(ana.get("/requests"))
    assert "One request waits for you" in text(olivia.get("/requests"))
    assert "One request waits for you" in text(olivia.get("/"))
    decide = text(olivia.get(f"/requests/{row.pk}/decide"))
    for phrase in ("Yours to decide", "What an approval adds", "has no access to sales.orders", WHY):
        assert phrase in decide
    done = olivia.post(
        f"/requests/{row.pk}/decide", {"form": 1, "part": ["0", "1"], "step": "approve", **all_of(row)}
    )
    assert done.status_code == 302
    assert can_read()
    assert "Approved" in text(ana.get(f"/requests/{row.pk}"))
    assert "No request waits for you" in text(olivia.get("/requests"))


def all_of(row: AccessRequest) -> dict[str, list[str]]:
    return {"give": [f"{part.number} {code}" for part in row.parts.all() for code in part.privileges]}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"on": [], "do": []}, "Enter at least one object."),
        ({"do": []}, "Choose the access you need on each of these."),
        ({"reason": "."}, "Give a reason of at least 10 characters."),
        ({"lasts": "date", "date": "2001-01-01T00:00"}, "Enter a date and a time in the future."),
        ({"from": "date", "begin": ""}, "Enter a date and a time in the future."),
        ({"do": ["0 fly"]}, "The action fly does not exist on a table."),
    ],
)
def test_what_cannot_be_sent_is_said_at_its_place_and_kept(
    staff: Node, signed_in: SignedIn, changed: dict, told: str
) -> None:
    answer = signed_in("ana").post("/requests/new", filled(**changed))
    assert answer.status_code == 422
    assert told in text(answer)
    assert not AccessRequest.objects.exists()


def test_a_hidden_object_is_asked_for_like_an_absent_one(staff: Node, signed_in: SignedIn) -> None:
    ana = signed_in("ana")
    pages = []
    for name in ("shop.sales.orders", "shop.sales.nothing"):
        page = text(ana.get(f"/requests/new?resource=demo/{name}&type=table&action=read"))
        pages.append(page.replace(name, "X").replace(name.rpartition(".")[2], "Y"))
    assert pages[0] == pages[1]
    assert "Request by full name" in text(ana.get("/search?q=orders"))


def test_a_ticket_is_asked_for_where_a_rule_says_so(staff: Node, signed_in: SignedIn) -> None:
    rules.set_rule(staff, by=acting("marek"), ticket="SALES-#")
    ana = signed_in("ana")
    answer = ana.post("/requests/new", filled(ticket="none"))
    assert "Enter a ticket of the form SALES-#." in text(answer)
    assert ana.post("/requests/new", filled(ticket="SALES-12")).status_code == 302


@pytest.mark.parametrize(
    ("typed", "kept", "told"),
    [
        ({"min_reason": "40", "ticket": "SALES-#"}, (40, "SALES-#"), ""),
        ({"min_reason": "", "ticket": ""}, None, ""),
        ({"min_reason": "", "no_ticket": "yes"}, (None, ""), ""),
        ({"min_reason": "many"}, None, "Enter a whole number, or leave it empty."),
        ({"min_reason": "99999"}, None, "must be from 0 to"),
    ],
)
def test_an_owner_says_what_requests_must_say(
    staff: Node, signed_in: SignedIn, typed: dict, kept: tuple | None, told: str
) -> None:
    sales = the("schema", "shop.sales")
    answer = signed_in("olivia").post(f"/objects/{sales.id}/asking", typed)
    row = RequestRule.objects.filter(securable=sales.id).first()
    assert answer.status_code == (422 if told else 302)
    assert told in text(answer)
    assert ((row.min_reason, row.ticket) if row else None) == kept


def test_what_is_said_here_stands_before_what_is_said_above(staff: Node, signed_in: SignedIn) -> None:
    sales, olivia = the("schema", "shop.sales"), signed_in("olivia")
    address = f"/objects/{sales.id}/asking"
    assert "No ticket is needed here" not in text(olivia.get(address))
    rules.set_rule(staff, by=acting("marek"), ticket="SALES-#")
    rules.set_rule(sales, by=acting("olivia"), min_reason=40, ticket="")
    page = markup(olivia.get(address))
    assert 'name="min_reason" value="40"' in page
    assert "From above: 336 hours." in page
    assert "From above: SALES-#." in page
    assert 'name="no_ticket" value="yes" checked' in page
    typed = {"min_reason": "41", "no_ticket": "yes", "nonce": "r" * 20}
    assert [olivia.post(address, typed).status_code for _ in range(2)] == [302, 302]
    assert "are set" in text(olivia.get("/help"))
    assert "Nothing changed for sales" in text(
        olivia.post(address, {**typed, "nonce": "t" * 20}, follow=True)
    )
    rule = rules.own(sales)
    assert rule is not None
    assert (rule.min_reason, rule.ticket, rule.lapse_hours) == (41, "", None)


def test_the_next_level_only_sees_what_is_put_to_it(staff: Node, signed_in: SignedIn) -> None:
    a_request()
    assert "One request waits" not in text(signed_in("marek").get("/requests"))
    assert "read sales.orders" in text(signed_in("marek").get("/requests?tab=all"))
    assert "read sales.orders" not in text(signed_in("mia").get("/requests?tab=all"))


def test_who_asks_does_not_decide_and_a_stranger_sees_nothing(staff: Node, signed_in: SignedIn) -> None:
    number = a_request()
    assert signed_in("ana").get(f"/requests/{number}/decide").status_code == 403
    assert signed_in("ana").post(f"/requests/{number}/decide", {"form": 1}).status_code == 403
    assert signed_in("mia").get(f"/requests/{number}").status_code == 404
    assert signed_in("mia").get("/requests/987654").status_code == 404
    assert signed_in("mia").post(f"/requests/{number}/withdraw").status_code == 404


def test_refusing_needs_a_reason_which_who_asked_reads(staff: Node, signed_in: SignedIn) -> None:
    number, olivia = a_request(), signed_in("olivia")
    row = AccessRequest.objects.get(pk=number)
    fields = {"form": 1, "part": ["0", "1"], "step": "refuse", **all_of(row)}
    assert "Give a reason for the refusal." in text(olivia.post(f"/requests/{number}/decide", fields))
    assert (
        olivia.post(f"/requests/{number}/decide", {**fields, "text": "Use the view instead"}).status_code
        == 302
    )
    page = text(signed_in("ana").get(f"/requests/{number}"))
    assert "Refused" in page
    assert "Use the view instead" in page
    assert not can_read()


def test_a_question_is_answered_and_then_decided(staff: Node, signed_in: SignedIn) -> None:
    number, olivia, ana = a_request(), signed_in("olivia"), signed_in("ana")
    row = AccessRequest.objects.get(pk=number)
    fields = {"form": 1, "part": ["0", "1"], **all_of(row)}
    olivia.post(f"/requests/{number}/decide", {**fields, "step": "ask", "text": "For which quarter?"})
    assert "For which quarter?" in text(ana.get(f"/requests/{number}"))
    assert "an approver has a question" in text(ana.get("/"))
    assert ana.post(f"/requests/{number}/answer", {"answer": "The fourth"}).status_code == 302
    assert "The fourth" in text(olivia.get(f"/requests/{number}"))
    olivia.post(f"/requests/{number}/decide", {**fields, "step": "approve"})
    assert can_read()


def test_a_shorter_yes_is_a_yes_to_less(staff: Node, signed_in: SignedIn) -> None:
    number = a_request()
    row = AccessRequest.objects.get(pk=number)
    fields = {"form": 1, "part": ["0", "1"], "lasts": "P7D", "step": "approve", **all_of(row)}
    assert signed_in("olivia").post(f"/requests/{number}/decide", fields).status_code == 302
    page = text(signed_in("ana").get(f"/requests/{number}"))
    assert "Approved in part" in page
    assert "For 7 days" in page
    end = AccessRequest.objects.get(pk=number).wants.get().valid_until
    assert timedelta(days=6) < end - timezone.now() <= timedelta(days=7, hours=1)


def test_a_role_that_gives_exactly_that_is_offered_and_given(staff: Node, signed_in: SignedIn) -> None:
    rights = ("allow SELECT_TABLE on table shop.sales.orders", "allow USE_SCHEMA on schema shop.sales")
    role = a_role(staff, "orders_read", *rights)
    number = a_request()
    row = AccessRequest.objects.get(pk=number)
    marek = signed_in("marek")
    page = text(marek.get(f"/requests/{number}/decide"))
    assert "Role orders_read" in page
    fields = {"form": 1, "part": ["0", "1"], "role": str(role.id), "step": "approve", **all_of(row)}
    assert marek.post(f"/requests/{number}/decide", fields).status_code == 302
    assert can_read()


def test_of_two_who_decide_at_once_one_is_told_of_the_other(staff: Node, signed_in: SignedIn) -> None:
    number, olivia = a_request(), signed_in("olivia")
    row = AccessRequest.objects.get(pk=number)
    olivia.get(f"/requests/{number}/decide")
    decisions.refuse(number, "Not this quarter", by=acting("marek"), parts=(0, 1))
    late = olivia.post(
        f"/requests/{number}/decide", {"form": 1, "part": ["0", "1"], "step": "approve", **all_of(row)}
    )
    assert late.status_code in (403, 409)
    assert not can_read()


def test_taking_a_request_back(staff: Node, signed_in: SignedIn) -> None:
    number, ana = a_request(), signed_in("ana")
    assert ana.post(f"/requests/{number}/withdraw", {"reason": "Not needed"}).status_code == 302
    assert "Withdrawn" in text(ana.get(f"/requests/{number}"))
    again = ana.post(f"/requests/{number}/withdraw")
    assert again.status_code == 409
    assert "Not revoked." in text(again)
    assert f"Request {number}" in text(ana.get("/requests?tab=ended"))


def test_small_requests_are_approved_together_and_others_left_out(staff: Node, signed_in: SignedIn) -> None:
    small, long = a_request("ana"), a_request("ana", lasts="", reason="For the nightly board")
    olivia = signed_in("olivia")
    plan = text(olivia.get(f"/requests/together?on={small}&on={long}"))
    assert "Approve 1 request?" in plan
    assert f"Request {long}: it is for longer than a month." in plan
    assert olivia.post("/requests/together", {"on": [small, long]}).status_code == 302
    assert AccessRequest.objects.get(pk=small).state == "approved"
    assert AccessRequest.objects.get(pk=long).state == "asked"


def test_several_approved_twice_are_decided_once(staff: Node, signed_in: SignedIn) -> None:
    small, olivia = a_request("ana"), signed_in("olivia")
    form = {"on": [small], "nonce": "t" * 20, "text": "All right"}
    for _ in range(2):
        assert olivia.post("/requests/together", form)["Location"] == "/requests"
    assert RequestStep.objects.filter(request=small, move="approved", text="All right").count() == 2  # parts
    assert "Nothing to decide together" in text(olivia.post("/requests/together", form | {"nonce": "u" * 20}))


def test_those_of_several_that_failed_can_be_sent_again(
    staff: Node, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit(staff, "kim")
    first, second, approve = a_request("ana"), a_request("kim"), decisions.approve

    def failing(number: int, **more: Any) -> AccessRequest:
        if number == second:
            raise Conflict("Somebody decided it meanwhile.")
        return approve(number, **more)

    olivia = signed_in("olivia")
    form = {"on": [first, second], "nonce": "t" * 20, "text": "Fine"}
    monkeypatch.setattr(decisions, "approve", failing)
    answer = olivia.post("/requests/together", form)
    assert answer.status_code == 409 and "1 of 2 requests not decided." in text(answer)
    page = answer.content.decode()
    assert 'value="Fine"' in page and f'name="on" value="{first}"' not in page
    monkeypatch.undo()
    [nonce] = re.findall(r'name="nonce" value="(\w+)"', page)
    assert olivia.post("/requests/together", form | {"nonce": nonce}).status_code == 302
    assert RequestStep.objects.filter(request=second, move="approved", text="Fine").exists()


def test_an_answer_that_is_refused_is_kept(staff: Node, signed_in: SignedIn) -> None:
    number, olivia, ana = a_request(), signed_in("olivia"), signed_in("ana")
    decisions.ask_back(number, "For which quarter?", by=acting("olivia"))
    page = ana.post(f"/requests/{number}/answer", {"answer": "x" * 4001})
    assert page.status_code == 422 and "x" * 4001 in text(page)
    form = {"answer": "The fourth", "nonce": "t" * 20}
    for _ in range(2):
        assert ana.post(f"/requests/{number}/answer", form).status_code == 302
    assert text(olivia.get(f"/requests/{number}")).count("The fourth") == 1


def test_while_one_is_away_another_decides(staff: Node, signed_in: SignedIn) -> None:
    olivia, end = signed_in("olivia"), (timezone.now() + timedelta(days=9)).strftime("%Y-%m-%dT%H:%M")
    fields = {"nonce": "s" * 20, "who": "user:mia", "from": "now", "date": end, "step": "save"}
    assert olivia.post("/profile/away", fields).status_code == 302
    assert "decides for you" in text(olivia.get("/profile/away"))
    number, mia = a_request(), signed_in("mia")
    assert "One request waits for you" in text(mia.get("/requests"))
    row = AccessRequest.objects.get(pk=number)
    fields = {"form": 1, "part": ["0", "1"], "step": "approve", **all_of(row)}
    assert mia.post(f"/requests/{number}/decide", fields).status_code == 302
    assert "for Olivia Owner" in text(signed_in("ana").get(f"/requests/{number}"))
    [substitute] = Substitute.objects.all()
    assert mia.post("/profile/away/end", {"number": substitute.pk}).status_code == 302
    assert signed_in("ana").post("/profile/away/end", {"number": substitute.pk}).status_code == 404


WRONG_AWAY = {
    "nobody": ({"who": ""}, "Enter at least one person or group."),
    "oneself": ({"who": "user:olivia"}, "Enter at least one person or group."),
    "half a name": ({"find": "zzz"}, "No person with that name is visible to you."),
    "no end": ({"date": ""}, "Enter a date and a time in the future."),
    "an end before": ({"date": "2020-01-01T10:00"}, "Enter a date and a time in the future."),
    "for ever": ({"until": "never", "date": ""}, "Enter a date and a time in the future."),
    "too long": ({"date": "2090-01-01T10:00"}, "within a year of it."),
}


@pytest.mark.parametrize(("more", "says"), WRONG_AWAY.values(), ids=WRONG_AWAY)
def test_a_substitute_is_a_known_person_with_an_end(
    staff: Node, signed_in: SignedIn, more: dict[str, str], says: str
) -> None:
    end = (timezone.now() + timedelta(days=9)).strftime("%Y-%m-%dT%H:%M")
    typed = {"nonce": "s" * 20, "who": "user:mia", "date": end, "step": "save", **more}
    answer = signed_in("olivia").post("/profile/away", typed)
    assert answer.status_code == 422
    assert says in text(answer)
    assert not Substitute.objects.exists()


def test_a_substitute_is_named_once_by_a_form_that_comes_twice(staff: Node, signed_in: SignedIn) -> None:
    olivia, end = signed_in("olivia"), (timezone.now() + timedelta(days=9)).strftime("%Y-%m-%dT%H:%M")
    typed = {"nonce": "s" * 20, "who": "user:mia", "date": end, "step": "save"}
    looked = olivia.post("/profile/away", {**typed, "step": "look"})
    assert looked.status_code == 200
    assert not Substitute.objects.exists()
    assert [olivia.post("/profile/away", typed).status_code for _ in range(2)] == [302, 302]
    assert Substitute.objects.count() == 1


@pytest.mark.parametrize(
    ("query", "shown"),
    [("sales.orders", True), ("board", True), ("ana", True), ("payroll", False), ("\0", True)],
)
def test_the_list_is_filtered_by_what_the_address_says(
    staff: Node, signed_in: SignedIn, query: str, shown: bool
) -> None:
    a_request()
    page = text(signed_in("olivia").get(f"/requests?{urlencode({'q': query})}"))
    assert ("asks to read sales.orders" in page) is shown


def test_the_list_goes_on_by_number(staff: Node, signed_in: SignedIn) -> None:
    numbers = [a_request(reason=f"{WHY} {at}") for at in range(27)]
    olivia = signed_in("olivia")
    first = olivia.get("/requests").content.decode()
    assert f'href="/requests/{numbers[24]}/decide"' in first
    assert f'href="/requests/{numbers[25]}/decide"' not in first
    second = olivia.get(f"/requests?tab=decide&after={numbers[24]}").content.decode()
    assert f'href="/requests/{numbers[26]}/decide"' in second


def test_the_number_that_waits_comes_with_the_page(staff: Node, signed_in: SignedIn) -> None:
    a_request()
    olivia = signed_in("olivia")
    assert '<span class="n due">1<span class="sr"> waiting</span></span>' in markup(olivia.get("/"))
    assert text(olivia.get("/requests/count")) == "1 waiting"
    assert text(signed_in("mia").get("/requests/count")) == ""


def test_ownership_is_not_asked_for(staff: Node, signed_in: SignedIn) -> None:
    owned(the("table", "shop.sales.orders"), "olivia")
    answer = signed_in("ana").post("/requests/new", filled(do=["0 set_owner"]))
    assert "Ownership is transferred, not requested" in text(answer)


def test_a_role_that_gives_exactly_that_is_proposed_to_who_may_know_of_it(
    staff: Node, signed_in: SignedIn
) -> None:
    a_role(staff, "exact", "allow MODIFY_TABLE on table shop.sales.orders")
    a_role(staff, "browsing", "allow USE_CATALOG on catalog shop", "allow USE_SCHEMA on schema shop.sales",
           "allow SELECT_TABLE on table shop.sales.orders", held_by=("ana", "mia"))  # fmt: skip
    page = "/requests/new?resource=demo/shop.sales.orders&type=table&action=write"
    assert "Request role exact instead" not in text(signed_in("ana").get(page))
    owned(the("role", "exact"), "mia")
    answer = signed_in("mia").get(page)
    assert "Request role exact instead" in text(answer)
    assert "resource=demo%2Fexact&amp;type=role&amp;action=hold" in answer.content.decode()
