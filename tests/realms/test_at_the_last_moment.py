"""Who loses every right while their change waits for the writers' lock: judged is what is true then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from accounts import tokens
from accounts.models import Principal, Token, User
from accounts.people import ensure
from catalog.nodes import node
from policies.events import DIRECTORY_LEFT
from policies.models import Change, Ownership
from policies.record import change as changes
from policies.services import accounts, leaving, owners
from tests.console.site_pages import ADMIN
from tests.factories import AUTHORITY, BY, a_person, a_role, the
from tests.kept import kept
from tests.realms.forms import FORMS, Form, taken_back
from tests.realms.test_every_form import QUICK, entered, make_site, prepared

THEIR_OWN = {
    *("Inbox", "Inbox, settings", "Settings", "Request, new", "Requests, while away"),
    *("Request", "Requests, while away /profile/away/end", "Herd, new namespace"),
    *("Request /requests/{request_asked}/answer", "Request /requests/{request_asked}/withdraw"),
    *("Review", "Review, one row", "Review, pass on"),
    "Review, one row /reviews/{review}/rows/{row}/back",
    *("Overview of a realm /pipelines/start", "Overview of a realm /pipelines/runs/{new_run}/stop"),
}
"""What takes no right that can be lost: their own things, seats of a review, figures, new namespaces; and
what another for whom one stands in may still do."""
STANDING_IN = {"request.refused"}
RIGHTLY = [form for form in FORMS if form.who != ADMIN and str(form) not in THEIR_OWN]

site = kept(make_site)


@pytest.fixture(autouse=True)
def _an_admin(settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})


def strip(person: Principal) -> None:
    """Take everything from somebody, also what they own."""
    heir = a_person("marek" if person.name == "olivia" else "olivia")
    with changes.change(DIRECTORY_LEFT, realm=None, by=BY) as current:
        leaving.end_access(current, person, by=AUTHORITY)
        for row in list(Ownership.objects.open().filter(owner=person)):
            place = node(row.securable_id)
            if place is not None:
                owners.set_owner(place, heir, by=BY, authority=AUTHORITY)


@contextmanager
def at_the_lock(act: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Another's change, done just before the next one gets the lock; answers its revision."""
    real, done = changes.locked, list[int]()

    def locked(number: int) -> None:
        real(number)
        if number == changes.WRITERS_LOCK and not done:
            done.append(0)
            act()
            done[0] = Change.objects.latest("revision").revision

    with monkeypatch.context() as patched:
        patched.setattr(changes, "locked", locked)
        patched.setattr(changes, "transaction", SimpleNamespace(atomic=lambda **_: transaction.atomic()))
        yield done


def changed_after(revision: int, person: Principal) -> set[str]:
    rows = Change.objects.filter(revision__gt=revision, actor=person.pseudonym)
    return set(rows.values_list("kind", flat=True)) - STANDING_IN


@pytest.mark.parametrize(
    "form",
    [form if form.room in QUICK else pytest.param(form, marks=pytest.mark.slow) for form in RIGHTLY],
    ids=str,
)
def test_who_loses_their_rights_before_the_lock_saves_nothing(
    form: Form, site: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    person = a_person(form.who)
    with prepared(form, site) as numbers:
        client, address = entered(form.who), form.goes_to(numbers)
        body = form.body(client, numbers)
        with taken_back(), at_the_lock(lambda: strip(person), monkeypatch) as done:
            answer = client.post(address, body, follow=True)
            assert answer.status_code < 500
            assert done and not changed_after(done[0], person)


DEMO, ORDERS = "/api/metalakes/demo", "shop.sales.orders"
PICKED = {"privileges": [{"name": "SELECT_TABLE", "condition": "ALLOW"}]}
ENTRY = {
    "userNamespaceAuthorizationKey": {"userId": "newcomer", "namespace": "SALES"},
    "namespacePermissions": ["READ"],
}
OPENED = {"resource": {"type": "table", "id": f"demo/{ORDERS}"}, "action": "read", "hours": 1}
BY_PROGRAM: dict[str, tuple[str, str, str, Any]] = {
    "user in": ("marek", "POST", f"{DEMO}/users", {"name": "newcomer"}),
    "user out": ("marek", "DELETE", f"{DEMO}/users/erik", None),
    "role": ("marek", "POST", f"{DEMO}/roles", {"name": "r2", "properties": {}, "securableObjects": []}),
    "role given": ("marek", "PUT", f"{DEMO}/permissions/users/erik/grant", {"roleNames": ["late"]}),
    "right": ("marek", "PUT", f"{DEMO}/permissions/roles/late/table/{ORDERS}/grant", PICKED),
    "owner": ("marek", "PUT", f"{DEMO}/owners/table/{ORDERS}", {"name": "erik", "type": "USER"}),
    "schema": ("marek", "POST", f"{DEMO}/catalogs/shop/schemas", {"name": "s9", "properties": {}}),
    "drop": ("marek", "DELETE", f"{DEMO}/catalogs/shop/schemas/stock?cascade=true", None),
    "tag": ("marek", "POST", f"{DEMO}/tags", {"name": "t1", "comment": "", "properties": {}}),
    "entry": ("hedda", "POST", "/herd-app/rest/userNamespaceAuthorizations", ENTRY),
    "emergency": ("sven", "POST", "/authz/v1/emergencies", {**OPENED, "reason": "The nightly load stopped"}),
}


@pytest.mark.parametrize("call", BY_PROGRAM)
def test_nor_does_a_program_of_theirs(
    call: str, site: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    who, method, path, body = BY_PROGRAM[call]
    a_role(the("metalake"), "late")
    person = a_person(who)
    client = Client(headers={"Authorization": f"Bearer {tokens.create(ensure('user', who))}"})
    told = "" if body is None else json.dumps(body)

    def send() -> Any:
        return client.generic(method, path, told, content_type="application/json")

    before = Change.objects.latest("revision").revision
    with taken_back():
        assert send().status_code < 300
        assert changed_after(before, person)
    with taken_back(), at_the_lock(lambda: strip(person), monkeypatch) as done:
        assert 400 <= send().status_code < 500
        assert done and not changed_after(done[0], person)


def test_who_is_disabled_before_the_lock_makes_no_token_that_lives_again(
    site: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, account = entered("mia"), User.objects.get(username="mia")
    client.raise_request_exception = False  # the session that is written at the end is gone by then

    def disable() -> None:
        accounts.close(account, by=BY, authority=AUTHORITY)

    with at_the_lock(disable, monkeypatch):
        client.post("/profile", {"do": "token", "scope": ["check"], "days": "30"})
    assert not Token.objects.filter(principal=account.principal).exists()
