"""A plan that waits for another person, on pages: asked for, looked at with its replay, decided, applied."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRequest, RequestRule
from policies.services import roles
from tests.console.conftest import shown
from tests.console.test_forms import hidden
from tests.factories import AUTHORITY, BY, a_use, the
from tests.kept import kept
from tests.policy_files.world import GATED, WHY, a_gated_world, holders

world = kept(a_gated_world)
Enter = Callable[[str], Client]


def asked(root: Node, client: Client) -> AccessRequest:
    """The request that the page of the policy file makes of GATED."""
    address = f"/realms/{root.id}/policies"
    body = client.post(address, {"step": "look", "file": GATED}).content
    assert b"Request approval of 2 steps" in body
    sent = {name: hidden(body, name) for name in ("nonce", "seen", "plan")}
    answer = client.post(address, {**sent, "file": GATED, "reason": WHY, "step": "save"})
    request = AccessRequest.objects.latest("pk")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/requests/{request.pk}")
    return request


def decide(client: Client, request: AccessRequest, step: str, text: str = "") -> int:
    page = client.get(f"/requests/{request.pk}/decide")
    sent = {"nonce": hidden(page.content, "nonce"), "form": "1", "part": "0", "step": step, "text": text}
    return client.post(f"/requests/{request.pk}/decide", sent).status_code


def test_it_is_asked_for_looked_at_approved_and_applied(world: Node, signed_in: Enter) -> None:
    a_use("ana", the("catalog", "shop"), action="use")
    marek, gil = signed_in("marek"), signed_in("gil")
    request = asked(world, marek)
    page = shown(marek, f"/requests/{request.pk}")
    assert "Apply the plan" not in page and "user:ana holds role reader" in page
    assert f"/requests/{request.pk}/decide" in shown(gil, "/requests")
    page = shown(gil, f"/requests/{request.pk}/decide")
    assert "asks to apply a policy file to demo" in page
    assert page.index("user:ana holds role reader") < page.index("user:bo holds role reader")
    assert "could no longer use shop" in page
    assert "If approved, for how long" not in page and 'value="approve"' in page
    assert decide(gil, request, "approve") == 302
    assert holders() == {"ana"}
    page = shown(marek, f"/requests/{request.pk}")
    assert "Apply the plan" in page
    sent = {"nonce": hidden(page.encode(), "nonce")}
    assert marek.post(f"/requests/{request.pk}/apply", sent).status_code == 302
    assert holders() == {"bo"}
    page = shown(marek, f"/requests/{request.pk}")
    assert "Apply the plan" not in page and "Applied." in page


def test_it_is_refused_with_a_reason(world: Node, signed_in: Enter) -> None:
    request = asked(world, signed_in("marek"))
    assert decide(signed_in("gil"), request, "refuse", "ana still needs it") == 302
    assert "ana still needs it" in shown(signed_in("marek"), f"/requests/{request.pk}")
    assert signed_in("marek").post(f"/requests/{request.pk}/apply").status_code in (409, 422)
    assert holders() == {"ana"}


def test_nobody_is_offered_to_approve_what_can_no_longer_be_applied(world: Node, signed_in: Enter) -> None:
    request = asked(world, signed_in("marek"))
    roles.assign(the("role", "granting"), people.ensure("user", "hana"), by=BY, authority=AUTHORITY)
    page = shown(signed_in("gil"), f"/requests/{request.pk}/decide")
    assert "This plan can no longer be applied." in page
    assert 'value="approve"' not in page and 'value="refuse"' in page
    assert decide(signed_in("gil"), request, "approve") == 409


def test_others_neither_see_nor_decide_nor_apply(world: Node, signed_in: Enter) -> None:
    request = asked(world, signed_in("marek"))
    assert signed_in("ana").get(f"/requests/{request.pk}").status_code == 404
    assert signed_in("ana").post(f"/requests/{request.pk}/apply").status_code == 404
    assert signed_in("gil").post(f"/requests/{request.pk}/apply").status_code == 404
    assert signed_in("marek").get(f"/requests/{request.pk}/decide").status_code == 403


def test_the_owner_reads_and_sets_in_settings_which_plans_wait(world: Node, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/objects/{world.id}/asking"
    page = shown(marek, address)
    assert "Approval of policy file plans" in page
    assert '<option value="removals" selected>' in page
    sent = {"nonce": hidden(page.encode(), "nonce"), "plan_approval": "always"}
    assert marek.post(address, sent).status_code == 302
    assert RequestRule.objects.get(securable=world.id).plan_approval == "always"
    assert "Another person approves each plan." in shown(marek, f"/realms/{world.id}/policies")
    assert "plan_approval" not in shown(marek, f"/objects/{the('catalog', 'shop').id}/asking")
