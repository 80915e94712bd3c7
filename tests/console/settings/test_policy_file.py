"""A policy file on a page: its plan is looked at with removals and replay, and that very plan is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.people import ensure
from authzsite.console.settings.policy_file import by_hand
from authzsite.console.settings.realm import RealmAccess
from catalog.nodes import Node
from policies.calculations import working
from policies.models import Assignment, Calculation
from policies.policy_files import document, effects
from policies.policy_files.statements import of_realm
from policies.services import roles
from tests.console.test_forms import hidden
from tests.factories import AUTHORITY, BY, a_use, the

Enter = Callable[[str], Client]


def address(root: Node) -> str:
    return f"/realms/{root.id}/policies"


def without(root: Node, *lines: str) -> str:
    text = document.write(root, of_realm(root))
    for line in lines:
        assert line in text
        text = text.replace(line, "", 1)
    return text


def looked(client: Client, root: Node, **sent: Any) -> str:
    answer = client.post(address(root), {"step": "look", **sent})
    assert answer.status_code == 200
    return answer.content.decode()


def held(role: str) -> set[str]:
    rows = Assignment.objects.open().filter(role=the("role", role).id).select_related("holder")
    return {str(row.holder) for row in rows}


def test_an_uploaded_file_shows_its_removals_and_is_applied_as_seen(shop: Node, signed_in: Enter) -> None:
    a_use("mia", the("table", "shop.sales.orders"))
    text, marek = without(shop, "    holders:\n      - group:analysts\n"), signed_in("marek")
    body = looked(marek, shop, upload=SimpleUploadedFile("access.yaml", text.encode()))
    assert "group:analysts holds role sales_read" in body and "could no longer read" in body
    assert held("sales_read") == {"group:analysts"}
    sent = {name: hidden(body.encode(), name) for name in ("nonce", "seen", "plan")}
    answer = marek.post(address(shop), {**sent, "file": text, "reason": "tidy", "step": "save"})
    assert answer.status_code == 302
    assert held("sales_read") == set()


def test_a_plan_that_is_another_by_now_is_not_applied(shop: Node, signed_in: Enter) -> None:
    text, marek = without(shop, "    holders:\n      - group:analysts\n"), signed_in("marek")
    answer = marek.post(address(shop), {"nonce": "n" * 20, "plan": "0" * 64, "file": text, "step": "save"})
    assert answer.status_code == 422 and "not the plan you reviewed" in answer.content.decode()
    assert held("sales_read") == {"group:analysts"}


def test_what_makes_no_sense_is_said_beside_the_text(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert "This is not valid YAML" in looked(marek, shop, file="a: [")
    assert "is about realm other" in looked(marek, shop, file="format: 1\nrealm: other\n")
    body = looked(marek, shop, upload=SimpleUploadedFile("access.yaml", b"\xff\xfe"))
    assert "not UTF-8 text" in body
    assert "Nothing to do" in looked(marek, shop, file=without(shop))


def test_a_large_effect_is_followed_on_the_page_until_it_is_worked_out(
    shop: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "MOST", 0)
    a_use("mia", the("table", "shop.sales.orders"))
    text, marek = without(shop, "    holders:\n      - group:analysts\n"), signed_in("marek")
    body = looked(marek, shop, file=text)
    assert "calculated in the background" in body and "No worker has reported" in body
    assert "could no longer read" not in body
    address = f"/effects/{Calculation.objects.get().pk}"
    assert f'hx-get="{address}"' in body
    working.run_waiting()
    done = marek.get(address).content.decode()
    assert "hx-get" not in done and "could no longer read" in done and "lose rights" in done
    assert "could no longer read" in looked(marek, shop, file=text)
    assert signed_in("olivia").get(address).status_code == 404
    roles.unassign(the("role", "sales_read"), ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    assert "Preview again" in marek.get(address).content.decode()


def test_only_who_may_see_all_access_plans_and_downloads(shop: Node, signed_in: Enter) -> None:
    olivia, marek = signed_in("olivia"), signed_in("marek")
    assert olivia.get(address(shop)).status_code == 403
    assert olivia.get(f"{address(shop)}.yaml").status_code == 404
    answer = marek.get(f"{address(shop)}.yaml")
    assert document.read(answer.content.decode()).realm == "demo"
    assert "Policy file" in marek.get(f"/realms/{shop.id}").content.decode()


def test_changes_by_hand_since_the_last_file_are_counted(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert "by hand" not in marek.get(address(shop)).content.decode()
    text = without(shop, "    holders:\n      - group:analysts\n")
    body = looked(marek, shop, file=text)
    sent = {name: hidden(body.encode(), name) for name in ("nonce", "seen", "plan")}
    marek.post(address(shop), {**sent, "file": text, "step": "save"})
    assert "Nothing was changed by hand" in marek.get(address(shop)).content.decode()
    role = the("role", "sales_read")
    page = marek.get(f"/roles/{role.id}/assign").content
    given = {"nonce": hidden(page, "nonce"), "who": str(ensure("user", "ana")), "step": "save"}
    assert marek.post(f"/roles/{role.id}/assign", given).status_code == 302
    assert "1 change made by hand" in marek.get(address(shop)).content.decode()
    assert [note.kind for note in by_hand(RealmAccess(ensure("user", "marek"), shop))] == ["warn"]
