"""Pipelines, overview and hints, by who comes: owners of a part and of all, reviewers, site admins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from accounts.people import make_account
from catalog.nodes import Node
from policies.analytics.pipelines import control
from policies.models import Grant, Hint
from policies.services import duties
from tests.console.visitors import DOOR, KEPT, misanswered
from tests.factories import AUTHORITY, BY, a_person, acting, admit, the
from tests.kept import kept
from tests.pipelines.test_hints import a_hint
from tests.policies.conftest import make_shop


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor gets; `{run}` goes over the realm, `{hint}` is about sales."""

    name: str
    address: str
    anonymous: int
    stranger: int
    member: int
    reader: int
    owner: int
    above: int
    duty: int
    admin: int
    method: str = "get"


FILE = "/overview/{realm}/files/0a"
RUN, HINT = "/pipelines/runs/{run}", "/hints/{hint}"
PAGES = (
    Page("overview", "/overview", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("overview_realm", "/overview/{realm}", DOOR, 404, 403, 403, 403, 200, 200, 200),
    Page("policy_drift", "/overview/{realm}/files", DOOR, 404, 403, 403, 403, 200, 200, 403),
    Page("policy_taken_in", f"{FILE}.yaml", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("policy_let_go", f"{FILE}/let-go", DOOR, 404, 403, 403, 403, 404, 404, 403),
    Page("policy_let_go", f"{FILE}/let-go", KEPT, 404, 403, 403, 403, 404, 404, 403, "post"),
    Page("pipelines", "/pipelines", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("pipeline_runs_csv", "/pipelines/runs.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("pipeline_progress", "/pipelines/progress?run={run}", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("pipeline_run", RUN, DOOR, 404, 404, 404, 404, 200, 200, 200),
    Page("pipeline_start", "/pipelines/start", KEPT, 404, 403, 403, 403, 302, 403, 302, "post"),
    Page("pipeline_stop", f"{RUN}/stop", KEPT, 404, 404, 404, 404, 302, 403, 302, "post"),
    Page("hints", "/hints", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("hints_csv", "/hints.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("hint_mend", f"{HINT}/mend", DOOR, 404, 404, 404, 200, 200, 403, 404),
    Page("hint_dismiss", f"{HINT}/dismiss", DOOR, 404, 404, 404, 200, 200, 403, 404),
    Page("hint_dismiss", f"{HINT}/dismiss", KEPT, 404, 404, 404, 422, 422, 403, 404, "post"),
    Page("hint_back", f"{HINT}/back", KEPT, 404, 404, 404, 302, 302, 403, 404, "post"),
    Page("hint_mend", f"{HINT}/mend", KEPT, 404, 404, 404, 302, 302, 403, 404, "post"),
)
VISITORS = {
    "anonymous": "",
    "stranger": "zoe",
    "member": "ana",
    "reader": "mia",
    "owner": "olivia",  # of schema sales
    "above": "marek",  # owns the realm
    "duty": "dora",  # reviews access to the realm, and has none
    "admin": "sam",
}


def make_numbers() -> dict[str, int]:
    """Of what the addresses name: the realm, a run over it and a hint about sales."""
    shop = make_shop()
    for name in ("marek", "olivia", "dora"):
        make_account(name)
    for name in ("zoe", "sam"):
        a_person(name)
    admit(shop, "dora")
    duties.give(shop, "review_access", a_person("dora"), by=BY, authority=AUTHORITY)
    return {
        "realm": shop.id,
        "run": control.ask("effective_access", shop, by=acting("marek")).pk,
        "hint": a_sales_hint(shop).pk,
    }


def a_sales_hint(shop: Node) -> Hint:
    """That nobody uses what sales_read gives on schema sales."""
    row = Grant.objects.open().get(role=the("role", "sales_read").id, privilege="SELECT_TABLE")
    return a_hint(shop, row)


numbers = kept(make_numbers)


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    form = {"name": "unused_grants", "realm": str(numbers["realm"])}
    assert not misanswered(PAGES, visitor, VISITORS, signed_in, numbers, form)
