"""Forms without scripts: choosing, looking before saving, saving once, undoing, sessions that end midway."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.models import Change, Grant
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import PASSWORD
from tests.factories import a_person, acting, admit, an_account, the
from tests.markup import markup

ANA = {
    "who": "user:ana",
    "may": "SELECT_TABLE",
    "until": "never",
    "step": "save",
    "reason": "Report, SALES-1",
}


@pytest.fixture
def orders(shop: Node) -> Node:
    return the("table", "shop.sales.orders")


def form(node: Node) -> str:
    return f"/objects/{node.id}/grant"


def hidden(body: bytes, name: str) -> str:
    """The value of a hidden field of a page."""
    match = re.search(rf'name="{name}"\s+value="([^"]*)"', body.decode())
    assert match is not None, name
    return html.unescape(match[1])


def can_read(name: str, node: Node) -> bool:
    return bool(ask.ask(a_person(name), "read", node))


def filled(client: Client, node: Node, **changed: str) -> dict[str, str]:
    """What a browser would send: the form's own hidden fields and what was typed."""
    page = client.get(form(node)).content
    return {"nonce": hidden(page, "nonce"), "seen": hidden(page, "seen"), **ANA, **changed}


def test_a_name_and_enter_choose_a_person(orders: Node, signed_in: Callable[[str], Client]) -> None:
    body = (
        signed_in("olivia").post(form(orders), {"find": "ana", "step": "look", "may": "SELECT_TABLE"}).content
    )
    assert b'name="who" value="user:ana"' in body
    assert b"may read orders" in body
    assert Grant.objects.filter(origin="hand").count() == 0


def test_several_matches_are_offered_as_buttons(orders: Node, signed_in: Callable[[str], Client]) -> None:
    an_account("ana", display_name="Ana Analyst")
    body = signed_in("olivia").post(form(orders), {"find": "analyst", "step": "look"}).content.decode()
    assert 'name="add" value="user:ana"' in body
    assert 'name="add" value="group:analysts"' in body


def test_a_stranger_cannot_be_chosen(orders: Node, signed_in: Callable[[str], Client]) -> None:
    a_person("zoe")
    body = signed_in("olivia").post(form(orders), {"find": "zoe", "step": "look"}).content
    assert b"No person in demo has that name" in body


def test_the_preview_tells_gain_unchanged_and_denied(
    orders: Node, signed_in: Callable[[str], Client]
) -> None:
    body = markup(signed_in("olivia").get(f"{form(orders)}?who=user:ana&who=group:analysts&may=SELECT_TABLE"))
    assert "Also gets Use schema sales, needed to reach it." in body
    assert re.search(r"mia of analysts</strong>.*?already", body, re.S)
    assert re.search(r"carl of analysts</strong> still cannot read", body)
    assert "Role no_contractors denies it on schema sales" in body


def test_saving_grants_and_offers_undo(orders: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    answer = olivia.post(form(orders), filled(olivia, orders))
    assert answer.status_code == 302
    assert can_read("ana", orders)
    page = olivia.get(answer["Location"]).content.decode()
    undo = re.search(r'action="(/undo/\d+)"', page)
    assert undo is not None
    olivia.post(undo[1])
    assert not can_read("ana", orders)


def test_undoing_a_revocation_restores_its_end(orders: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    olivia.post(form(orders), filled(olivia, orders, until="month"))
    end = Grant.objects.open().get(securable=orders.id).valid_until
    olivia.post(f"/objects/{orders.id}/revoke?who=user:ana&may=SELECT_TABLE", {"nonce": "a" * 20})
    assert not can_read("ana", orders)
    olivia.post(f"/undo/{Change.objects.latest('revision').revision}")
    assert Grant.objects.open().get(securable=orders.id).valid_until == end


def test_a_double_click_saves_once(orders: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    sent = filled(olivia, orders)
    first, second = olivia.post(form(orders), sent), olivia.post(form(orders), sent)
    assert first.status_code == second.status_code == 302
    assert Change.objects.filter(request_id=sent["nonce"]).count() == 1


def test_somebody_changed_it_meanwhile(orders: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    sent = filled(olivia, orders)
    wish = GrantRequest(orders, (a_person("ana"),), ("MODIFY_TABLE",))
    grants.add(wish, by=acting("marek"))
    answer = olivia.post(form(orders), sent)
    body = answer.content.decode()
    assert "Not saved: marek changed these grants" in body
    assert "Report, SALES-1" in body  # the form is kept
    assert not Grant.objects.open().filter(securable=orders.id, privilege="SELECT_TABLE").exists()
    again = {**sent, "seen": hidden(answer.content, "seen"), "nonce": hidden(answer.content, "nonce")}
    assert olivia.post(form(orders), again).status_code == 302
    assert Grant.objects.open().filter(securable=orders.id, privilege="SELECT_TABLE").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"who": ""}, "Enter at least one person or group."),
        ({"may": ""}, "Choose at least one right."),
        ({"may": "DROP_EVERYTHING"}, "Choose at least one right."),
        ({"until": "date", "date": ""}, "Enter a date and a time in the future."),
        ({"until": "date", "date": "2020-01-01T10:00"}, "Enter a date and a time in the future."),
        ({"until": "date", "date": "31 June"}, "Enter a date and a time in the future."),
        ({"until": "date", "date": "0001-01-01T00:00"}, "Enter a date and a time in the future."),
        ({"until": "date", "date": "9999-12-31T23:59"}, "Enter a date and a time in the future."),
        ({"find": "somebody"}, "No person in demo has that name."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_saved(
    changed: dict[str, str], words: str, orders: Node, signed_in: Callable[[str], Client]
) -> None:
    olivia = signed_in("olivia")
    before = Change.objects.count()
    answer = olivia.post(form(orders), filled(olivia, orders, **changed))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Change.objects.count() == before


NASTY = [
    "\0",
    "'; DROP TABLE x; --",
    "<script>alert(1)</script>",
    "🦆" * 80,
    "ـص" * 100,
    '"a.b"',
    "%",
    "a/b\\c",
    " ",
]


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_do_no_harm(text: str, orders: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    asked = [
        ("/search", {"q": text}),
        ("/why", {"who": text, "what": text, "action": text, "type": text}),
        ("/history", {"person": text, "actor": text, "kind": text, "before": text, "object": text}),
        (f"/catalog/{the('schema', 'shop.sales').id}", {"q": text, "type": text, "after": f"1:{text}"}),
        (f"/objects/{orders.id}", {"q": text, "how": text, "group": text, "after": text}),
        (form(orders), {"who": text, "may": text, "until": text, "find": text, "date": text}),
    ]
    for address, values in asked:
        answer = olivia.get(address, values)
        assert answer.status_code == 200, address
        assert b"<script>alert" not in answer.content, address
    posted = olivia.post(form(orders), filled(olivia, orders, reason=text, find="", nonce=text, seen=text))
    assert posted.status_code in (200, 302, 422)


@pytest.mark.parametrize("seen", ["9" * 30, "-1", "1.5"])
def test_a_revision_that_never_was_is_no_error(
    seen: str, shop: Node, orders: Node, signed_in: Callable[[str], Client]
) -> None:
    olivia, address = signed_in("olivia"), f"/objects/{orders.id}/revoke?who=user:ana&may=SELECT_TABLE"
    olivia.post(form(orders), filled(olivia, orders))
    fields = {"who": "user:ana", "may": "SELECT_TABLE", "nonce": "b" * 20, "seen": seen}
    assert olivia.post(address, fields).status_code in (302, 422)


def test_a_hostile_name_is_shown_as_text(
    shop: Node, orders: Node, signed_in: Callable[[str], Client]
) -> None:
    admit(shop, "user:<img src=x onerror=alert(1)>")
    body = signed_in("olivia").get("/search?q=img").content.decode()
    assert "&lt;img src=x onerror=alert(1)&gt;" in body
    assert "<img" not in body


# Sessions that end in the middle of a form


def test_a_form_outlives_its_session(orders: Node, signed_in: Callable[[str], Client]) -> None:
    make_account("olivia", password=PASSWORD)
    client = Client()
    door = client.post(form(orders), {**ANA, "reason": "Kept <b>for</b> later"})
    assert door.status_code == 401
    assert b"Your input is kept" in door.content
    entered = client.post(
        "/sign-in",
        {
            "username": "olivia",
            "password": PASSWORD,
            "next": form(orders),
            "kept": hidden(door.content, "kept"),
        },
    )
    assert entered["Location"] == form(orders)
    page = markup(client.get(form(orders)))
    assert "Your form is kept, and nothing was saved." in page
    assert "Kept &lt;b&gt;for&lt;/b&gt; later" in page
    assert 'name="who" value="user:ana"' in page
    assert not can_read("ana", orders)
    assert "Your form is kept" not in client.get(form(orders)).content.decode()  # once


def test_a_wrong_password_keeps_the_form(orders: Node) -> None:
    make_account("olivia", password=PASSWORD)
    client = Client()
    door = client.post(form(orders), ANA)
    again = client.post(
        "/sign-in", {"username": "olivia", "password": "wrong", "kept": hidden(door.content, "kept")}
    )
    assert b"Name and password do not match" in again.content
    assert hidden(again.content, "kept")


def test_a_form_older_than_the_sign_in_is_kept_too(orders: Node) -> None:
    account = make_account("olivia", password=PASSWORD)
    client = Client(enforce_csrf_checks=True)
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(form(orders), ANA)
    assert answer.status_code == 403
    assert b"Not saved: the form expired" in answer.content
    token = hidden(answer.content, "csrfmiddlewaretoken")
    back = client.post("/resume", {"kept": hidden(answer.content, "kept"), "csrfmiddlewaretoken": token})
    assert back["Location"] == form(orders)
    assert b"Report, SALES-1" in client.get(form(orders)).content
    assert not can_read("ana", orders)


@pytest.mark.parametrize("kept", ["", "forged", "eyJ0byI6Imh0dHBzOi8vZXZpbC5leGFtcGxlIn0:1:x"])
def test_a_forged_form_is_dropped(kept: str, orders: Node) -> None:
    make_account("olivia", password=PASSWORD)
    answer = Client().post(
        "/sign-in", {"username": "olivia", "password": PASSWORD, "kept": kept, "next": "/why"}
    )
    assert answer["Location"] == "/why"


@pytest.mark.parametrize(
    "next_", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/sign-in", ""]
)
def test_signing_in_never_leads_away(next_: str, shop: Node) -> None:
    make_account("olivia", password=PASSWORD)
    answer = Client().post("/sign-in", {"username": "olivia", "password": PASSWORD, "next": next_})
    assert answer["Location"] == "/"


def test_too_many_wrong_passwords_close_the_door_for_a_while(shop: Node) -> None:
    make_account("olivia", password=PASSWORD)
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT):
        last = client.post("/sign-in", {"username": "olivia", "password": "wrong"})
    assert last.status_code == 429
    assert b"Too many wrong passwords" in last.content
    right = client.post("/sign-in", {"username": "olivia", "password": PASSWORD})
    assert right.status_code == 429


def test_signing_out_ends_it(shop: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    assert olivia.post("/sign-out")["Location"] == "/sign-in?out=1"
    assert olivia.get("/").status_code == 302


def test_a_wrong_verb_gets_a_page_that_says_so(shop: Node, signed_in: Callable[[str], Client]) -> None:
    answer = signed_in("olivia").get("/sign-out")
    assert answer.status_code == 405
    assert answer["Allow"] == "POST"
    assert b"This page does not accept this request" in answer.content


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_error_pages_stand_even_without_a_session(status: int, rf: Any) -> None:
    from authzsite.console.kit import error_pages

    names = {
        400: error_pages.bad_request,
        403: error_pages.forbidden,
        404: error_pages.not_found,
        500: error_pages.server_error,
    }
    answer = names[status](rf.get("/nowhere"))
    assert answer.status_code == status
    assert b"Nothing was changed" in answer.content or status == 500


# What a page answers about itself


def test_the_pages_forbid_inline_code_and_foreign_frames(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    answer = signed_in("olivia").get("/")
    policy = answer["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer["Cache-Control"] == "private, no-store"


def test_theme_and_keys_are_kept(shop: Node, signed_in: Callable[[str], Client]) -> None:
    olivia = signed_in("olivia")
    assert olivia.post("/preferences", {"theme": "dark", "next": "/why"})["Location"] == "/why"
    olivia.post("/preferences", {"keys": "off", "next": "https://evil.example"})
    body = olivia.get("/").content.decode()
    assert 'data-theme="dark"' in body
    assert 'data-keys="off"' in body


def test_csv_files_hold_no_formulas(shop: Node, orders: Node, signed_in: Callable[[str], Client]) -> None:
    admit(shop, "user:=cmd|' /C calc'!A0")
    olivia = signed_in("olivia")
    sent = filled(olivia, orders, who="user:=cmd|' /C calc'!A0")
    olivia.post(form(orders), sent)
    lines = b"".join(olivia.get(f"/objects/{orders.id}/access.csv").streaming_content).decode()
    assert "'=cmd|" in lines
    assert ",=cmd" not in lines


def test_a_banner_says_that_the_law_is_not_enforced(db: None, signed_in: Callable[[str], Client]) -> None:
    from tests.factories import a_metalake

    root = a_metalake("calm", mode="pass-through")
    assert root.ref == ObjectRef("metalake", "calm")
    assert (
        "Authorization is pass-through in calm"
        in signed_in("marek").get(f"/objects/{root.id}").content.decode()
    )


def test_why_tells_what_is_lacking_of_what_one_may_not_see_and_of_what_is_absent_alike(
    shop: Node, client: Client
) -> None:
    client.force_login(make_account("ana"), backend="django.contrib.auth.backends.ModelBackend")
    pages = []
    for name in ("orders", "nothing"):
        asked = {"who": "ana", "action": "read", "what": f"demo/shop.sales.{name}", "type": "table"}
        page = client.get("/why", asked).content.decode()
        assert f"ana cannot read shop.sales.{name}" in page
        assert "Use schema on schema shop.sales" in page
        assert f"Read on table shop.sales.{name}" in page
        pages.append(re.sub("orders|nothing", "NAME", page[page.index("<main") :]))
    assert pages[0] == pages[1]
    assert "Membership of metalake nowhere" in client.get("/why", {"what": "nowhere/x.y.z"}).content.decode()
    assert "No object with that name" in client.get("/why", {"what": "a..b"}).content.decode()


def test_a_wrong_password_is_no_form_to_keep(orders: Node) -> None:
    make_account("olivia", password=PASSWORD)
    client = Client()
    wrong = client.post("/sign-in", {"username": "olivia", "password": "wrong", "next": "/why"})
    assert b"Name and password do not match" in wrong.content
    assert b"Your session had ended" not in wrong.content
    assert b'name="kept"' not in wrong.content
    right = client.post("/sign-in", {"username": "olivia", "password": PASSWORD, "next": "/why"})
    assert right["Location"] == "/why"
