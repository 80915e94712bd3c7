"""Every plan of a change says which reported uses it would refuse: of leavers, reviews, Herd and CDAP too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from accounts.people import make_account
from authzsite.console.kit.change_view import ChangeView
from catalog.nodes import Node
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.authority import OPERATOR
from policies.models import Grant, Review
from policies.reviews.proposals import of_end
from policies.services import accounts, entities, grants, objects, realm_of, realms
from policies.services.grants import GrantRequest
from policies.simulation.changes import ClearOwner, CloseAccount, LeaveGroup, RemoveFromRole, RevokeAccess
from policies.simulation.difference import Difference
from policies.simulation.endings import of_grants
from policies.simulation.replay import Replay
from policies.simulation.simulation import Simulation
from tests.cdap.world import a_cdap
from tests.cdap.world import give as give_in_cdap
from tests.cdap_law.world import text
from tests.factories import AUTHORITY, BY, a_person, a_use, acting, admit, owned, rewritten, the
from tests.herd.conftest import make_herd
from tests.herd.test_pages import form_of
from tests.herd.world import give as give_in_herd
from tests.herd.world import the_namespace
from tests.reviews.world import a_review, decides, rows

Enter = Callable[[str], Client]
READ = ("SELECT_TABLE",)


def orders() -> Node:
    return the("table", "shop.sales.orders")


def page(client: Client, address: str, **sent: object) -> str:
    answer = client.post(address, sent) if sent else client.get(address)
    assert answer.status_code == 200, answer.status_code
    return " ".join(unescape(answer.content.decode()).split())


LOST = "could no longer read shop.sales.orders"
OF_NO_ACCESS = {
    *("AskView", "DecideView"),  # asking gives nothing; a decision shows it beside what it weighs
    *("BindAccountView", "AnsweringView", "KeeperView", "NewServiceView"),  # who signs in, who answers
    *("GiveView", "TakeView"),  # duties let nobody use data
    *("DelegationView", "StartReviewView", "RetentionView"),
    *("EndRuleView", "EndExceptionView", "NewRuleView", "NewExceptionView"),  # they keep future grants apart
    *("ConnectView", "ForeignGrantView", "BulkForeignGrantsView"),  # grants that a backend made by itself
    "LeaveView",  # what was decided stands, and is tried again after a date
    "RepairRealmView",  # a realm that nobody can enter
    "DisableAccountView",  # jobs that ask about the person go on letting them in, as its plan says
}
"""Forms with a plan that changes no access to data here."""


def every(view: type[ChangeView]) -> Iterator[type[ChangeView]]:
    for each in view.__subclasses__():
        yield from (each, *every(each))


def test_every_form_with_a_plan_says_what_it_would_refuse_or_changes_no_access() -> None:
    get_resolver().namespace_dict["console"]  # every form is there by then
    planned = {view for view in every(ChangeView) if view.plan is not ChangeView.plan}
    silent = {
        view.__name__
        for view in planned
        if (view.proposals, view.replay) == (ChangeView.proposals, ChangeView.replay)
    }
    assert silent == OF_NO_ACCESS


@pytest.fixture
def ana(shop: Node) -> Node:
    """Ana reads orders by a direct grant, and did."""
    grants.add(GrantRequest(orders(), (a_person("ana"),), READ), by=acting("olivia"))
    a_use("ana", orders())
    return shop


def test_a_leaver_s_plan_names_what_would_be_refused(ana: Node, signed_in: Enter) -> None:
    address = f"/people/{a_person('ana').pk}/leaving"
    assert LOST in page(signed_in("olivia"), address, step="look")
    lines = {f"do-give-{node.id}": "leave" for node in (orders(), the("schema", "shop.sales"))}
    kept = page(signed_in("olivia"), address, step="look", **lines)
    assert "Uses of the last" not in kept


def test_the_end_of_a_leaver_s_account_alone_refuses_no_job(
    ana: Node, signed_in: Enter, settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"admin"})
    make_account("ana")
    admin, address = signed_in("admin"), f"/people/{a_person('ana').pk}/leaving"
    admit(ana, "admin")
    grants.add(GrantRequest(ana, (a_person("admin"),), ("MANAGE_GRANTS",)), by=acting("marek"))
    drawn = page(admin, address)
    names = re.findall(r'name="(do-[^"]+)"', drawn)
    lines = {name: "take" if name.startswith("do-account") else "leave" for name in names}
    plan = page(admin, address, step="look", **lines)
    assert "can no longer sign in, and tokens no longer work" in plan
    assert "Uses of the last" not in plan


def test_who_cannot_sign_in_any_more_uses_nothing(ana: Node) -> None:
    difference = Difference(Simulation(ana, [CloseAccount(a_person("ana"))], at=timezone.now()))
    assert [use.node for use in Replay(difference).refused] == [orders()]
    assert difference.totals.people_losing == 1


def test_disabling_a_service_account_names_what_would_be_refused(
    ana: Node, signed_in: Enter, settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"admin"})
    service = accounts.make_service("loader", a_person("olivia"), by=BY, authority=AUTHORITY)
    admit(ana, "service:loader")
    grants.add(GrantRequest(orders(), (service,), READ), by=acting("marek"))
    use = ReportedUse(service, orders(), "read", True, timezone.now())
    uses.take(ana.realm_id, service, "load", [use])
    shown = page(signed_in("admin"), f"/services/{service.pk}/disable")
    assert "<strong>loader</strong>" in shown and LOST in shown


def test_who_switches_authorization_on_sees_what_would_be_refused(shop: Node, signed_in: Enter) -> None:
    a_use("ana", orders())
    realms.set_mode(realm_of(shop), "off", by=BY, authority=AUTHORITY)
    assert LOST in page(signed_in("marek"), f"/realms/{shop.id}/mode?to=on")
    realms.set_mode(realm_of(shop), "on", by=BY, authority=AUTHORITY)
    assert "could read shop.sales.orders" in page(signed_in("marek"), f"/realms/{shop.id}/mode?to=off")


def test_a_member_s_removal_names_what_would_be_refused(ana: Node, signed_in: Enter) -> None:
    assert LOST in page(signed_in("marek"), f"/realms/{ana.id}/members/remove?who=user:ana")


def test_uses_of_what_is_gone_are_named_beside_a_plan(ana: Node, signed_in: Enter) -> None:
    objects.drop(orders(), by=BY, authority=AUTHORITY)
    removal = page(signed_in("marek"), f"/realms/{ana.id}/members/remove?who=user:ana")
    assert "used shop.sales.orders, which no longer exists" in removal
    assert LOST not in removal


def test_handing_over_names_what_would_be_refused(shop: Node, signed_in: Enter) -> None:
    a_use("olivia", orders())
    address = f"/owners/hand-over?of=user:olivia&in={shop.id}"
    assert LOST in page(signed_in("marek"), address, who="user:ana", step="look")


def test_roles_for_a_person_name_the_refusals_that_would_end(shop: Node, signed_in: Enter) -> None:
    a_use("ana", orders())
    role = the("role", "sales_read")
    looked = page(signed_in("marek"), f"/people/{a_person('ana').pk}/roles", role=role.id, step="look")
    assert "could read shop.sales.orders" in looked


def test_the_end_of_a_review_names_what_would_be_refused(ana: Node, signed_in: Enter) -> None:
    make_account("olivia")
    review = a_review()
    row = rows(review)["ana shop.sales.orders"]
    decides("olivia", row, "keep")
    end = f"/reviews/{review.pk}/do/end"
    assert LOST not in page(signed_in("olivia"), end)
    decides("olivia", row, "remove")
    assert LOST in page(signed_in("olivia"), end)


def test_silence_takes_what_a_review_says_it_takes(ana: Node) -> None:
    make_account("olivia")
    owned(orders(), "carl")
    review = a_review()
    assert of_end(review)[1] == []
    rewritten(Review.objects.filter(pk=review.pk), silence=Review.Silence.REMOVE)
    review.refresh_from_db()
    kinds = {type(change) for change in of_end(review)[1]}
    assert RevokeAccess in kinds and ClearOwner not in kinds and LeaveGroup not in kinds


def test_a_grant_that_ends_is_its_holder_s_or_its_role_s(ana: Node) -> None:
    ending = of_grants(ana, Grant.objects.open().order_by("pk"))
    assert {type(change) for change in ending} == {RevokeAccess, RemoveFromRole}
    direct = [change for change in ending if isinstance(change, RevokeAccess)]
    assert {change.holder for change in direct} == {a_person("ana")}
    assert orders() in {change.target.node for change in direct}


def test_a_herd_s_forms_name_what_would_be_refused(db: None, signed_in: Enter) -> None:
    herd = make_herd()
    give_in_herd("ana", "SALES", "READ", "WRITE")
    a_use("ana", the_namespace("SALES"))
    admin, lost = signed_in("admin"), "could no longer read SALES"
    assert lost in page(admin, f"/herds/{herd.id}/users/remove?id=ana")
    grid = f"/namespaces/{the_namespace('SALES').id}"
    unchanged = form_of(admin, grid)
    boxes = [box for box in unchanged["may"] if box != "READ user:ana"]
    assert len(boxes) < len(unchanged["may"])
    looked = admin.post(grid, {**unchanged, "may": boxes, "step": "look"}).content.decode()
    assert lost in " ".join(looked.split())


def test_a_cdap_s_forms_name_what_would_be_refused(db: None, signed_in: Enter) -> None:
    root = a_cdap()
    for name in ("namespace:ns1", "dataset:ns1.orders"):
        entities.create(root, text(name), by=OPERATOR)
    give_in_cdap(root, "dataset:ns1.orders", "ana", "READ")
    give_in_cdap(root, "dataset:ns1.orders", "admin", "ADMIN")
    there = entities.found(root, text("dataset:ns1.orders"))
    assert there is not None
    a_use("ana", there)
    admin, lost = signed_in("admin"), "could no longer read ns1.orders"
    base = f"/instances/{root.id}"
    assert lost in page(admin, f"{base}/revoke?text=dataset:ns1.orders&who=user:ana")
    assert lost in page(admin, f"{base}/entities/delete?text=dataset:ns1.orders")
    a_use("bo", there)
    looked = page(admin, f"{base}/grant", step="look", text="dataset:ns1.*", who="user:bo", may="READ")
    assert "could read ns1.orders" in looked
