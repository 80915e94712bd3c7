"""The pages of pipelines, figures and hints ask the database as often for many runs and hints as for one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.people import ensure
from catalog.nodes import Node
from policies.analytics.pipelines import control, running
from policies.events import POLICY_APPLIED
from policies.models import Figure, PipelineRun
from policies.policy_files import applied_files, document
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of
from tests.console.insights.test_hints import DATA
from tests.console.test_query_counts import count, ledger
from tests.factories import AUTHORITY, BY, acting, admit, the
from tests.pipelines.test_hints import a_hint

PAGES = {
    "overview": "/overview",
    "overview of a realm": "/overview/{realm}",
    "what differs from files": "/overview/{realm}/files",
    "pipelines": "/pipelines",
    "progress of pipelines": "/pipelines/progress?run={run}",
    "a run": "/pipelines/runs/{run}",
    "hints": "/hints",
    "dismissing a hint": "/hints/{hint}/dismiss",
    "home with hints": "/",
    "object with hints": "/objects/{schema}",
    "role with hints": "/roles/{role}",
    "person with hints": "/people/{person}",
}


def differ(shop: Node, many: int) -> None:
    """A policy file was applied, and so many members were admitted beside it."""
    file = document.read("format: 1\nrealm: demo\nowns: [members]\nmembers: [user:marek]\n")
    with change(POLICY_APPLIED, realm=realm_of(shop), by=BY) as current:
        counts = {"adds": 0, "changes": 0, "removals": 0}
        current.say(make_event(POLICY_APPLIED, shop, owns=["members"], **counts), by=AUTHORITY)
        applied_files.keep(current, shop, file)
    admit(shop, *(f"late{at}" for at in range(many)))


def grow(shop: Node, many: int) -> None:
    """So many runs, hints about one person and one role, lines of figures, and of what differs from files."""
    differ(shop, many)
    row = control.ask("effective_access", shop, by=acting("marek"))
    running.run(row)
    sales, role, mia = the("schema", "shop.sales").id, the("role", "sales_read").id, ensure("user", "mia")
    for at in range(many):
        a_hint(shop, kind="wide_grant", securable_id=sales, role_id=role, holder=mia, data=DATA)
        PipelineRun.objects.create(
            name="effective_access",
            realm_id=shop.realm_id,
            revision=row.revision + at + 1,
            asked=timezone.now() - timedelta(days=at),
            ended=timezone.now() - timedelta(days=at),
            by="system",
            state="done",
            result=row.result,
        )
    Figure.objects.filter(kind="object").exclude(place=1).delete()
    Figure.objects.bulk_create(
        Figure(run=row, realm_id=shop.realm_id, kind="object", place=at + 2, securable_id=sales, weight=1)
        for at in range(many)
    )


@pytest.mark.parametrize("many", [1, 60])
def test_the_ledger_holds_for_one_and_for_many(
    many: int, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    marek = signed_in("marek")
    grow(shop, many)
    numbers = {
        "realm": shop.id,
        "run": PipelineRun.objects.earliest("pk").pk,
        "hint": a_hint(shop, kind="ownerless", securable_id=shop.id, data=DATA).pk,
        "schema": the("schema", "shop.sales").id,
        "role": the("role", "sales_read").id,
        "person": ensure("user", "mia").pk,
    }
    counts = {name: count(marek, address.format(**numbers)) for name, address in PAGES.items()}
    assert counts == ledger(PAGES)
