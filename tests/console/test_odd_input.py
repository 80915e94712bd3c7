"""Whatever somebody sends into the rooms of requests, reviews, rules and emergencies: never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.models import AccessRequest, Emergency, Grant, SeparationRule
from policies.reviews.campaign_plans import Stage
from policies.separation.sides import Side
from policies.services import duties, separation
from tests.console.conftest import NAMES
from tests.console.requests.test_asking import a_request
from tests.factories import AUTHORITY, BY, a_role, acting, an_account, the
from tests.reviews.world import a_review, rows

pytestmark = pytest.mark.django_db
ODD = (
    "\0",
    "a\0b",
    "-1",
    "0",
    "9" * 30,
    "٣٤",
    "x" * 20_000,
    "<script>'\"&\r\nBcc: x",
    "𝒳\u202e\u0301" * 20,
    "9999-12-31T23:59",
    "0001-01-01T00:00",
    "2026-02-30T25:61",
    "P99999999D",
    "user:\0",
    "~role",
    "table demo/\0",
)
FORMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "asking": ("ana", "/requests/new", ("resource", "type", "action", "on", "do", "more", "more_type", "for",
        "lasts", "date", "begin", "from", "until", "reason", "ticket", "nonce", "drop", "step")),
    "foreseeing": ("ana", "/requests/new/foresee", ("on", "do", "for", "lasts", "date", "reason", "step")),
    "deciding": ("olivia", "/requests/{request}/decide", ("verdict", "do", "part", "give", "role", "lasts",
        "date", "until", "text", "note", "nonce", "step")),
    "deciding together": ("olivia", "/requests/together", ("on", "text", "nonce")),
    "answering": ("ana", "/requests/{request}/answer", ("text", "nonce")),
    "what requests must say": ("olivia", "/objects/{orders}/asking", ("min_reason", "ticket", "no_ticket",
        "escalate_hours", "lapse_hours", "longest_days", "nonce")),
    "being away": ("ana", "/profile/away", ("who", "add", "find", "from", "until", "begin", "date", "step")),
    "coming back": ("ana", "/profile/away/end", ("number",)),
    "starting a review": ("marek", "/reviews/new", ("what", "on", "add_on", "off", "by", "second", "people",
        "person", "role", "risk", "services", "days", "days2", "title", "purpose", "bulk", "pace", "sample",
        "every", "silence", "reasons", "fallback", "nonce", "step")),
    "deciding rows": ("marek", "/reviews/{review}", ("d-{row}", "v-{row}", "e-{row}", "r-{row}", "t-{row}",
        "go", "reason", "nonce", "step", "tick", "all")),
    "a row by itself": ("marek", "/reviews/{review}/rows/1", ("choice", "version", "until", "date", "takes",
        "reason", "step")),
    "passing on": ("marek", "/reviews/{review}/pass", ("who", "add", "find", "row", "rows", "reason",
        "step")),
    "extending": ("marek", "/reviews/{review}/do/extend", ("days", "reason", "nonce")),
    "repeating": ("marek", "/reviews/{review}/do/repeat", ("every", "reason", "nonce")),
    "a deed that is none": ("marek", "/reviews/{review}/do/burn", ("reason", "nonce")),
    "making a rule": ("marek", "/realms/{realm}/separation/new", ("name", "one_role", "one_what", "one_may",
        "other_role", "other_what", "other_may", "reason", "step", "nonce")),
    "letting somebody": ("marek", "/separation/{rule}/let", ("who", "add", "find", "owner", "date", "reason",
        "step", "nonce")),
    "an emergency": ("ana", "/emergency", ("what", "action", "hours", "reason", "nonce")),
    "its review": ("marek", "/emergency/{emergency}", ("verdict", "do")),
    "leaving": ("marek", "/people/{mia}/leaving", ("who", "add", "pick", "do-grant", "rest-grant", "step",
        "reason", "nonce")),
    "the same access": ("marek", "/people/{mia}/same", ("as", "pick", "who", "reason", "step", "nonce")),
    "the inbox": ("ana", "/inbox", ("do",)),
}  # fmt: skip
LISTS = (
    "/requests", "/reviews", "/reviews/{review}", "/reviews/{review}/result", "/reviews/{review}/progress",
    "/objects/{orders}/requests", "/emergency", "/inbox", "/people/{mia}/leaving", "/requests/together",
    "/realms/{realm}/separation",
)  # fmt: skip
ASKED = ("tab", "q", "before", "after", "on", "view", "only", "who", "show", "what", "state", "pick", "as")


@pytest.fixture
def world(shop: Node) -> dict[str, int]:
    """One of each thing: a request and a review, a rule, an emergency that waits for its review."""
    for name in ("ana", "olivia", "marek", "mia"):
        an_account(name, display_name=NAMES[name])
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    a_role(shop, "payer", held_by=("mia",))
    side = Side(object=the("schema", "shop.stock").id, privileges=("MODIFY_TABLE",))
    rule = separation.make(shop, "Payments", Side(role=the("role", "payer").id), side, by=acting("marek"))
    duties.give(the("catalog", "shop"), emergency_access.DUTY, ana, by=BY, authority=AUTHORITY)
    review = a_review(the("schema", "shop.sales"), by="marek", stages=(Stage("owner", days=7),))
    wanted = EmergencyRequest(the("table", "shop.stock.items"), "read", 1, "The nightly load stopped")
    opened = emergency_access.open_for_oneself(wanted, by=acting(ana))
    emergency_access.end(opened.pk, by=acting(ana))
    return {
        "request": a_request(),
        "orders": orders.id,
        "review": review.pk,
        "row": next(iter(rows(review).values())).pk,
        "realm": shop.id,
        "rule": rule.pk,
        "emergency": opened.pk,
        "mia": people.ensure("user", "mia").pk,
    }


def kept() -> tuple[Any, ...]:
    """What nobody gains, makes or ends by nonsense."""
    counted = (model.objects.count() for model in (Grant, SeparationRule, AccessRequest))
    states = (
        list(model.objects.order_by("pk").values_list("state", flat=True))
        for model in (AccessRequest, Emergency)
    )
    return (*counted, *states)


def sent(names: list[str], odd: str) -> list[dict[str, str]]:
    """A form with that in every field, once as if it were to be kept; and once in each field alone."""
    usual = {"step": "save"} if "step" in names else {}
    return [dict.fromkeys(names, odd) | usual, *({name: odd} | usual for name in names if name != "step")]


def failing(client: Client, address: str, forms: list[dict[str, str]]) -> list[str]:
    client.raise_request_exception = False
    answers = ((client.post(address, form).status_code, form) for form in forms)
    return [f"{address}: {status} for {str(form)[:200]}" for status, form in answers if status >= 500]


@pytest.mark.slow
@pytest.mark.parametrize(("who", "address", "fields"), FORMS.values(), ids=FORMS)
def test_no_form_breaks(
    who: str, address: str, fields: tuple[str, ...], world: dict[str, int], signed_in: Callable[[str], Client]
) -> None:
    names, before = [name.format(**world) for name in fields], kept()
    forms = [form for odd in ODD for form in sent(names, odd)]
    assert not failing(signed_in(who), address.format(**world), forms)
    assert kept() == before


def test_no_form_breaks_by_one_thing(world: dict[str, int], signed_in: Callable[[str], Client]) -> None:
    """Each form with two of the odd things in all its fields; the slow test tries each in each."""
    before, clients = kept(), {who: signed_in(who) for who, _, _ in FORMS.values()}
    for at, (who, address, fields) in enumerate(FORMS.values()):
        names = [name.format(**world) for name in fields]
        forms = [sent(names, ODD[(at + more) % len(ODD)])[0] for more in (0, 5)]
        assert not failing(clients[who], address.format(**world), forms)
    assert kept() == before


def test_no_list_breaks(world: dict[str, int], signed_in: Callable[[str], Client]) -> None:
    client = signed_in("marek")
    client.raise_request_exception = False
    for address in LISTS:
        for odd in ("\0", "9" * 30, "-1", "<script>'\"&\r\nBcc: x", "user:\0"):
            answer = client.get(address.format(**world), dict.fromkeys(ASKED, odd))
            assert answer.status_code < 500, (address, odd)
