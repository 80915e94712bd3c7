"""What was changed beside policy files, on a page: line by line with who and why, and the ways out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import translation

from accounts.people import ensure
from catalog.nodes import Node
from policies.models import AppliedFile, Change, Event
from policies.record.change import change
from policies.services import realm_of
from policies.simulation import changes as proposals
from policies.simulation.carrying_out import carry_out
from tests.console.test_forms import hidden
from tests.factories import acting, the
from tests.policy_files.world import applied

Enter = Callable[[str], Client]
READ = """
format: 1
realm: demo
owns: [role:sales_read]
roles:
  sales_read:
    owner: user:marek
    holders: [group:analysts]
    allows:
      catalog:shop: [USE_CATALOG]
"""


def address(root: Node) -> str:
    return f"/overview/{root.id}/files"


def give_by_hand(root: Node, reason: str = "on call this week") -> None:
    by = acting("marek")
    with change("role.assigned", realm=realm_of(root), by=by, reason=reason):
        carry_out([proposals.AssignRole(the("role", "sales_read"), ensure("user", "ana"))], root, by=by)


def shown(client: Client, root: Node) -> str:
    answer = client.get(address(root))
    assert answer.status_code == 200
    return answer.content.decode()


def test_each_line_says_who_when_why_and_leads_to_its_change(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert "No policy file decides" in shown(marek, shop)
    applied(shop, READ)
    assert "Nothing differs" in shown(marek, shop)
    give_by_hand(shop)
    revision = Change.objects.latest("revision").revision
    body = shown(marek, shop)
    assert "user:ana holds role sales_read" in body and "on call this week" in body
    assert f"/history?revision={revision}" in body and "1 line differs" in body
    assert "See what differs" in marek.get(f"/overview/{shop.id}").content.decode()
    assert "See what differs" in marek.get(f"/realms/{shop.id}/policies").content.decode()


def test_both_ways_out_lead_to_nothing_that_differs(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    applied(shop, READ)
    give_by_hand(shop)
    scope = AppliedFile.objects.get().scope
    text = marek.get(f"{address(shop)}/{scope}.yaml").content.decode()
    assert "- user:ana" in text and "- user:ana" in shown(marek, shop)
    page = marek.get(f"/realms/{shop.id}/policies?applied={scope}")
    assert "user:ana holds role sales_read" in page.content.decode()
    sent = {name: hidden(page.content, name) for name in ("nonce", "seen", "plan")}
    kept = page.context["form"].data["file"]
    assert (
        marek.post(f"/realms/{shop.id}/policies", {**sent, "file": kept, "step": "save"}).status_code == 302
    )
    assert "Nothing differs" in shown(marek, shop)
    give_by_hand(shop)
    applied(shop, text)
    assert "Nothing differs" in shown(marek, shop)


def test_of_a_role_that_very_many_hold_the_page_shows_what_differs(
    shop: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authzsite.console.insights.drift.PASTED", 2)
    applied(shop, READ)
    give_by_hand(shop)
    body = shown(signed_in("marek"), shop)
    assert "Too long to be shown whole: role:sales_read (5 lines)" in body
    assert "- user:ana" in body and "- group:analysts" not in body
    assert "Download the whole file" in body


def test_a_file_that_nobody_applies_any_more_is_let_go(shop: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    applied(shop, READ)
    place = f"{address(shop)}/{AppliedFile.objects.get().scope}/let-go"
    page = marek.get(place)
    assert "role:sales_read" in page.content.decode()
    sent = {"nonce": hidden(page.content, "nonce"), "seen": hidden(page.content, "seen"), "reason": "split"}
    assert marek.post(place, sent).status_code == 302
    assert "No policy file decides" in shown(marek, shop)
    assert Event.objects.latest("change").kind == "policy.let_go"
    assert marek.get(place).status_code == 404


def test_what_was_kept_wrongly_says_that_nothing_can_be_compared(shop: Node, signed_in: Enter) -> None:
    applied(shop, READ)
    AppliedFile._base_manager.update(statements=[])
    marek = signed_in("marek")
    assert "Cannot be compared" in shown(marek, shop)
    assert marek.get(f"{address(shop)}/{AppliedFile.objects.get().scope}.yaml").status_code == 404


def test_only_who_may_see_all_access_sees_what_differs(shop: Node, signed_in: Enter) -> None:
    applied(shop, READ)
    scope = AppliedFile.objects.get().scope
    olivia = signed_in("olivia")
    assert olivia.get(address(shop)).status_code == 403
    assert olivia.get(f"{address(shop)}/{scope}.yaml").status_code == 404
    assert olivia.post(f"{address(shop)}/{scope}/let-go", {"reason": "x"}).status_code == 403
    assert AppliedFile.objects.exists()


def test_the_lines_are_read_in_german(shop: Node, signed_in: Enter) -> None:
    applied(shop, READ)
    give_by_hand(shop)
    with translation.override("de"):
        body = signed_in("marek").get(address(shop), headers={"accept-language": "de"}).content.decode()
    assert "user:ana hat die Rolle sales_read" in body and "Hinzugefügt" in body
