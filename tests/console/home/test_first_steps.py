"""An empty site lets its first site admin in by a link, then leads to a realm, an owner, a connection."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from authzsite.console.help.glossary import WORDS
from catalog.nodes import Node
from policies.models import Change
from tests.console.conftest import PASSWORD
from tests.factories import a_metalake
from tests.herd.world import a_herd

Enter = Callable[[str], Client]


def invite(name: str) -> str:
    out = StringIO()
    call_command("invite", name, url="http://testserver", stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def told(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address).content.decode())
    return re.sub(r"\s+", " ", html.unescape(text))


def test_an_empty_site_says_how_the_first_comes_in(db: None) -> None:
    assert "Nobody can sign in here yet." in told(Client(), "/sign-in")


def test_the_first_service_admin_comes_in_by_a_link_once(db: None, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    link = invite("sam")
    client = Client()
    done = client.post(link, {"password": PASSWORD, "again": PASSWORD})
    assert done.status_code == 302
    assert User.objects.get(username="sam").check_password(PASSWORD)
    assert "Nobody can sign in here yet." not in told(Client(), "/sign-in")
    assert Client().get(link).status_code == 404
    assert "This site is new" in told(client, "/")
    assert Change.objects.filter(kind="account.made", actor="operator").exists()


def test_who_lost_their_password_is_let_in_again(db: None, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    first = invite("sam")
    Client().post(first, {"password": PASSWORD, "again": PASSWORD})
    second = invite("sam")
    assert not User.objects.get(username="sam").check_password(PASSWORD)
    assert Client().get(first).status_code == 404
    assert Client().get(second).status_code == 200


def test_the_steps_follow_what_is_there(db: None, settings: Any, signed_in: Enter) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    sam = signed_in("sam")
    assert "/realms/new" in sam.get("/first").content.decode()
    a_metalake(owner="marek")
    seen = told(sam, "/first")
    assert "marek owns demo and cannot sign in yet." in seen
    signed_in("marek")
    seen = told(sam, "/first")
    assert "Marek Malik can sign in." in seen
    assert "This is for Marek Malik, who owns demo." in seen
    assert "3 steps left" not in told(sam, "/")
    assert "1 step left" in told(sam, "/")


def test_a_site_of_herds_needs_no_connection(db: None, settings: Any, signed_in: Enter) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    a_herd(owner="admin")
    signed_in("admin")
    sam = signed_in("sam")
    assert "Setup is complete." in told(sam, "/first")
    assert "This site is new" not in told(sam, "/")


@pytest.mark.parametrize("address", ["/overview", "/pipelines", "/realms"])
def test_the_headings_of_an_empty_site_skip_no_level(
    db: None, settings: Any, signed_in: Enter, address: str
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    page = signed_in("sam").get(address).content.decode().split("<main")[1].split("</main>")[0]
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert all(below - above <= 1 for above, below in pairwise(levels)), levels


def test_others_have_no_steps(shop: Node, signed_in: Enter) -> None:
    assert signed_in("marek").get("/first").status_code == 403
    assert "This site is new" not in told(signed_in("marek"), "/")


def test_every_question_mark_leads_to_a_word(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    body = marek.get("/help").content.decode()
    for code in WORDS:
        assert f'id="{code}"' in body
    hints = re.findall(
        r'class="hint" href="/help#([a-z-]+)"', marek.get(f"/realms/{shop.id}").content.decode()
    )
    assert hints
    assert set(hints) <= WORDS.keys()


@pytest.mark.parametrize(("asked", "found"), [("foreign", True), ("zzz", False)])
def test_words_are_found(asked: str, found: bool, shop: Node, signed_in: Enter) -> None:
    seen = told(signed_in("mia"), f"/help?q={asked}")
    assert ("It stays until an owner decides." in seen) == found
    assert ("No word matches" in seen) != found
