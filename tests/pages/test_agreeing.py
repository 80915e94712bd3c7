"""A connection that waits for agreement says so, and service admins agree to it on a page of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from accounts import people
from policies.models import Backend, Event
from policies.sync import worker
from tests.factories import admit, the
from tests.pages.test_owners_and_members import posted
from tests.sync.conftest import Source, governed, source

__all__ = ["governed", "source"]
Enter = Callable[[str], Client]


@pytest.fixture
def waiting(governed: Backend, settings: Settings) -> Backend:
    settings.LAKEWARDEN_SERVICE_ADMINS = ("sam",)
    people.make_account("sam")
    Backend.objects.filter(pk=governed.pk).update(awaits="new")
    return governed


def test_who_runs_it_reads_why_it_only_reports_and_who_agrees(waiting: Backend, signed_in: Enter) -> None:
    marek = signed_in("marek")
    room = marek.get(f"/sync/{waiting.pk}").content.decode()
    assert "It only reports until a service admin of this site agrees." in room
    assert "somebody who does not run this site" in room
    assert "Only reports" in room
    refused = marek.get(f"/sync/{waiting.pk}/agree")
    assert refused.status_code == 403
    assert "service admin" in refused.content.decode()
    assert marek.post(f"/sync/{waiting.pk}/agree", {"reason": "mine"}).status_code == 403
    waiting.refresh_from_db()
    assert waiting.awaits == "new"


def test_who_may_not_see_it_learns_nothing(waiting: Backend, signed_in: Enter) -> None:
    people.make_account("eve")
    assert signed_in("eve").get(f"/sync/{waiting.pk}/agree").status_code == 404


def test_a_service_admin_agrees_though_in_no_realm(waiting: Backend, signed_in: Enter) -> None:
    sam, page = signed_in("sam"), f"/sync/{waiting.pk}/agree"
    shown = sam.get(page).content.decode()
    assert "Agree that demo/shop governs" in shown or "demo/shop" in shown
    assert posted(sam, page, reason=" ").status_code == 422
    assert posted(sam, page, reason="the shop asked for it").status_code == 302
    waiting.refresh_from_db()
    assert waiting.awaits == ""
    assert Event.objects.get(kind="backend.agreed").change.reason == "the shop asked for it"
    assert sam.get(page).status_code == 404


def test_a_source_of_somebody_else_is_not_told_to_who_connects(
    waiting: Backend,
    source: Source,
    signed_in: Enter,
) -> None:
    from psycopg.conninfo import conninfo_to_dict

    from tests.factories import a_metalake

    worker.now(waiting)
    zebra = a_metalake("zebra", owner="zoe")
    people.make_account("zoe")
    admit(zebra, "zoe")
    there = conninfo_to_dict(source.url())
    form = {
        "kind": "postgresql",
        "catalog": "stolen",
        "host": str(there["host"]),
        "its-database": source.database,
        "user": "postgres",
        "password": str(there["password"]),
        "its-tls": "prefer",
        "policy": "repair",
        "step": "connect",
    }
    answer = posted(signed_in("zoe"), f"/realms/{zebra.id}/connect?kind=postgresql", **form)
    body = answer.content.decode()
    assert answer.status_code == 422
    assert "governed by another connection already" in body
    assert "demo" not in body.replace("demo_", "")
    assert Backend.objects.count() == 1
    assert the("catalog", "shop")
