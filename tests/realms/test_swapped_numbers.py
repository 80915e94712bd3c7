"""One number swapped for that of something hidden reads as if it were swapped for that of nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from difflib import ndiff
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import tokens
from accounts.people import ensure, make_account
from policies.analytics.pipelines import control
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.models import Grant
from policies.requests import submission, substitutes
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.separation.sides import Side
from policies.services import duties, separation
from tests.console.site_pages import ADMIN, ROOMS
from tests.factories import AUTHORITY, BY, a_role, acting, admit, the
from tests.kept import kept
from tests.pipelines.test_hints import a_hint
from tests.realms.forms import FORMS, Form, changed, state, taken_back
from tests.realms.test_every_form import entered, make_site, seen, sent
from tests.realms.world import HIDDEN
from tests.reviews.world import a_review

LAKE, NAME = "zebra_lake", "zebra_catalog.zebra_schema.zebra_table"
ABSENT = 987_654
INSTEAD = {
    "root": ("zebra_root",),
    "sales": ("zebra_schema", "zebra_catalog"),
    "orders": ("zebra_table",),
    "refunds": ("zebra_table",),
    "role": ("zebra_role",),
    "payers": ("zebra_role",),
    "ana": ("zebra_clerk", "zebra_owner"),
    "mia": ("zebra_clerk",),
    "carl": ("zebra_clerk",),
    "olivia": ("zebra_owner",),
    "analysts": ("zebra_team",),
    "service": ("zebra_service",),
    **{f"request_{name}": ("zebra_request",) for name in ("ana", "mia", "carl", "done", "asked")},
    "review": ("zebra_review",),
    "review_over": ("zebra_review",),
    "run": ("zebra_run",),
    "hint": ("zebra_hint",),
    "rule": ("zebra_rule",),
    "emergency": ("zebra_emergency",),
    "substitute": ("zebra_substitute",),
}
"""What the second metalake has in the place of what the first has."""
FIELDS = {"on", "role", "realm", "number", "object", "o", "one_role", "other_role"}
"""Fields of forms that hold the number of something, as the address of the form or what is typed has it."""


def make_more() -> dict[str, Any]:
    """The site with a request, review, hint, rule, emergency, run and deputy in what is hidden."""
    site, root, owner = make_site(), the("metalake", "", LAKE), acting("zebra_owner")
    table, schema = the("table", NAME, LAKE), the("schema", "zebra_catalog.zebra_schema", LAKE)
    make_account("zebra_asker")
    admit(root, "zebra_asker")
    asker = ensure("user", "zebra_asker")
    wanted = Asking(
        (WantedAction("table", f"{LAKE}/{NAME}", "read"),), asker, reason="The zebra wants it", lasts="P30D"
    )
    duties.give(the("catalog", "zebra_catalog", LAKE), "break_glass", asker, by=BY, authority=AUTHORITY)
    emergency = EmergencyRequest(table, "write", 2, "The zebra is loose again")
    second = a_role(root, "zebra_second", f"allow SELECT_TABLE on table {NAME}")
    sides = (Side(role=second.id), Side(role=site["zebra_role"]))
    begin, clerk = timezone.now(), ensure("user", "zebra_clerk")
    away = (begin, begin + timedelta(days=9))
    given = Grant.objects.open().filter(securable=table.id).first()
    return {
        **site,
        "zebra_request": submission.ask(wanted, by=acting("zebra_asker")).pk,
        "zebra_review": a_review(schema, by="zebra_owner").pk,
        "zebra_hint": a_hint(root, given).pk,
        "zebra_rule": separation.make(root, "Zebra rule", *sides, by=owner).pk,
        "zebra_emergency": emergency_access.open_for_oneself(emergency, by=acting("zebra_asker")).pk,
        "zebra_run": control.ask("effective_access", root, by=owner).pk,
        "zebra_substitute": substitutes.name(ensure("user", "zebra_owner"), clerk, *away, by=owner).pk,
    }


site = kept(make_more)


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def plain(answer: Any) -> tuple[int, str]:
    status, page = seen(answer, HIDDEN)
    return status, re.sub(r"\d+", "N", page)


def told_apart(client: Client, swapped: Any, number: int) -> list[str]:
    """How an answer about something hidden differs from one about nothing; `swapped` asks by number."""
    (hidden, its), (absent, none) = (swapped(client, key) for key in (number, ABSENT))
    (status, page), (other_status, other) = plain(hidden), plain(absent)
    lines = ndiff(other.splitlines(), page.splitlines())
    different = [line.strip()[:200] for line in lines if line[0] in "+-"]
    answers = [f"{other_status} became {status}"] if status != other_status or status >= 500 else []
    named = ["it is named"] if "NAME_" in page or "zelda" in page.lower() else []
    return [*answers, *named, *(["it was changed"] if its != none else []), *different]


def in_addresses(template: str, site: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Each number of an address swapped: which for which, the address to fill in, and the number."""
    for slot in dict.fromkeys(re.findall(r"{(\w+)}", template)):
        for instead in INSTEAD.get(slot, ()):
            address = template.replace(f"{{{slot}}}", "{swapped}")
            yield f"{slot} for {instead}", address, site[instead]


def in_bodies(
    form: Form, body: dict[str, list[str]], site: dict[str, Any]
) -> Iterator[tuple[str, str, int, int]]:
    """Each number in a body: which for which, the field, where in it, and the number instead."""
    slots = {"root", *re.findall(r"{(\w+)}", " ".join((form.address, form.to, *form.typed.values())))}
    for field in FIELDS & body.keys():
        for place, value in enumerate(body[field]):
            for slot in sorted(name for name in slots & INSTEAD.keys() if str(site[name]) == value):
                for instead in INSTEAD[slot]:
                    yield f"{field}: {slot} for {instead}", field, place, site[instead]


def of_form(form: Form, site: dict[str, Any]) -> dict[str, list[str]]:
    """What sending a form with a number of something hidden tells."""
    client, answers = entered(form.who), {}
    body = form.body(client, site)
    for what, address, number in in_addresses(form.to or form.address, site):

        def to(client: Client, key: int, address: str = address) -> Any:
            return sent(client, address.format(**{**site, "swapped": key}), body)

        answers[what] = told_apart(client, to, number)
    for what, field, place, number in in_bodies(form, body, site):

        def filled(client: Client, key: int, field: str = field, place: int = place) -> Any:
            values = [*body[field][:place], str(key), *body[field][place + 1 :]]
            return sent(client, form.goes_to(site), {**body, field: values})

        answers[what] = told_apart(client, filled, number)
    return {what: lines for what, lines in answers.items() if lines}


QUICK = ("Many, grant", "Many, revoke", "Requests, together")


@pytest.mark.parametrize(
    "form",
    [
        form if form.room in QUICK else pytest.param(form, marks=pytest.mark.slow)
        for form in FORMS
        if form.after is None and form.who != ADMIN
    ],
    ids=str,
)
def test_no_form_tells_by_a_number(form: Form, site: dict[str, Any]) -> None:
    answers = of_form(form, site)
    assert answers == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_page_tells_by_a_number(site: dict[str, Any]) -> None:
    answers = {}
    for room, who, template in ROOMS:
        if who in (ADMIN, ""):
            continue
        client = entered(who)
        for what, address, number in in_addresses(template, site):

            def got(client: Client, key: int, address: str = address) -> Any:
                with taken_back():
                    return client.get(address.format(**{**site, "swapped": key}), follow=True), []

            if lines := told_apart(client, got, number):
                answers[room, what] = lines
    assert answers == {}


CALLS = {
    "zebra_request": (
        ("GET", "/authz/v1/requests/{}", None),
        ("GET", "/authz/v1/requests/{}/consideration", None),
        ("GET", "/authz/v1/requests/{}/plan", None),
        ("POST", "/authz/v1/requests/{}/approve", {}),
        ("POST", "/authz/v1/requests/{}/refuse", {"reason": "It is not needed any more"}),
        ("POST", "/authz/v1/requests/{}/ask_back", {"question": "What is it for?"}),
        ("POST", "/authz/v1/requests/{}/answer", {"text": "For the zoo"}),
        ("POST", "/authz/v1/requests/{}/withdraw", {"reason": "Never mind"}),
        ("GET", "/access/v1/requests/{}", None),
        ("POST", "/access/v1/requests/{}/cancel", {}),
    ),
    "zebra_review": (
        ("GET", "/authz/v1/reviews/{}", None),
        ("GET", "/authz/v1/reviews/{}/rows?all=true", None),
        ("GET", "/authz/v1/reviews/{}/rows/1/effect", None),
        ("GET", "/authz/v1/reviews/{}/exceptions", None),
        ("GET", "/authz/v1/reviews/{}/pace", None),
        ("GET", "/authz/v1/reviews/{}/evidence", None),
        ("POST", "/authz/v1/reviews/{}/decisions", {"decisions": [{"row": 1, "choice": "keep"}]}),
        ("POST", "/authz/v1/reviews/{}/close", {}),
        ("POST", "/authz/v1/reviews/{}/extend", {"days": 3}),
        ("POST", "/authz/v1/reviews/{}/cancel", {}),
        ("POST", "/authz/v1/reviews/{}/repeat", {"every": 3}),
        ("POST", "/authz/v1/reviews/{}/pass", {"to": "user:marek", "reason": "I am away"}),
    ),
    "zebra_emergency": (
        ("GET", "/authz/v1/emergencies/{}", None),
        ("POST", "/authz/v1/emergencies/{}/end", {}),
        ("POST", "/authz/v1/emergencies/{}/close", {"verdict": "It was all right"}),
    ),
    "zebra_substitute": (("DELETE", "/authz/v1/substitutes/{}", None),),
}
"""Calls by number, with bodies that the owner of what is hidden could send."""
CALLERS = ("user:olivia", "user:marek", "user:dora", "user:erik", "user:hank", "service:nightly-load")


@pytest.mark.parametrize(
    "name", [name if name == "user:marek" else pytest.param(name, marks=pytest.mark.slow) for name in CALLERS]
)
def test_no_call_tells_by_a_number(name: str, site: dict[str, Any]) -> None:
    kind, _, who = name.partition(":")
    client = Client(headers={"Authorization": f"Bearer {tokens.create(ensure(kind, who))}"})
    client.get("/authz/v1/substitutes")  # from now on nothing is noted of the token
    answers = {}
    for what, calls in CALLS.items():
        for method, address, body in calls:

            def called(
                client: Client, key: int, method: str = method, address: str = address, body: Any = body
            ) -> Any:
                before = state()
                with taken_back():
                    answer = client.generic(
                        method, address.format(key), json.dumps(body), content_type="application/json"
                    )
                    return answer, changed(before, state())

            if lines := told_apart(client, called, site[what]):
                answers[method, address] = lines
    assert answers == {}
