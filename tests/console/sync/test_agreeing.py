"""A connection that waits for agreement says so, and site admins agree to it on a page of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from accounts import people
from policies.models import Backend, Event
from policies.sync import worker
from tests.console.settings.test_owners_and_members import posted
from tests.console.sync.connection_form import repairing
from tests.console.test_forms import hidden
from tests.factories import a_metalake, admit, rewritten, the
from tests.sync.conftest import Source, demo_members, governed, source

__all__ = ["demo_members", "governed", "source"]
Enter = Callable[[str], Client]


@pytest.fixture
def waiting(governed: Backend, settings: Settings) -> Backend:
    settings.LAKEWARDEN_SERVICE_ADMINS = ("sam",)
    people.make_account("sam")
    rewritten(Backend.objects.filter(pk=governed.pk), awaits="new")
    return governed


def test_who_runs_it_reads_why_it_only_reports_and_who_agrees(waiting: Backend, signed_in: Enter) -> None:
    worker.now(Backend.objects.get(pk=waiting.pk))
    marek = signed_in("marek")
    room = marek.get(f"/sync/{waiting.pk}").content.decode()
    assert "It only reports until a site admin of this site agrees." in room
    assert "someone who is not a site admin" in room
    assert "Only reports" in room
    assert "only reports until a site admin agrees" in room  # why nothing granted there can be adopted
    assert "Set its sync to repair" not in room
    refused = marek.get(f"/sync/{waiting.pk}/agree")
    assert refused.status_code == 403
    assert "site admin" in refused.content.decode()
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
    read = hidden(sam.get(page).content, "digest")
    assert posted(sam, page, reason=" ", digest=read).status_code == 422
    assert posted(sam, page, reason="the shop asked for it", digest=read).status_code == 302
    waiting.refresh_from_db()
    assert waiting.awaits == ""
    assert Event.objects.get(kind="backend.agreed").change.reason == "the shop asked for it"
    assert sam.get(page).status_code == 404


def test_nobody_agrees_to_a_connection_of_a_kind_that_is_not_installed(
    waiting: Backend, signed_in: Enter
) -> None:
    """What it would govern nobody can tell; the pages say so."""
    rewritten(Backend.objects.filter(pk=waiting.pk), kind="gone_kind")
    sam, page = signed_in("sam"), f"/sync/{waiting.pk}/agree"
    shown = sam.get(page)
    assert "No backend of kind gone_kind is installed" in shown.content.decode()
    answer = posted(sam, page, reason="mine", digest=hidden(shown.content, "digest"))
    assert answer.status_code == 422
    waiting.refresh_from_db()
    assert waiting.awaits == "new"


@pytest.mark.parametrize("page", ("", "/progress", "/discover", "/vanished", "/runs", "/pause", "/run"))
def test_no_page_fails_for_a_kind_that_is_not_installed(
    page: str, waiting: Backend, signed_in: Enter
) -> None:
    rewritten(Backend.objects.filter(pk=waiting.pk), kind="gone_kind")
    assert signed_in("marek").get(f"/sync/{waiting.pk}{page}").status_code < 500
    assert signed_in("marek").post(f"/sync/{waiting.pk}{page}", {"reason": "x"}).status_code < 500


def test_a_source_of_somebody_else_is_not_told_to_who_connects(
    waiting: Backend,
    source: Source,
    signed_in: Enter,
) -> None:
    worker.now(waiting)
    zebra = a_metalake("zebra", owner="zoe")
    people.make_account("zoe")
    admit(zebra, "zoe")
    form = repairing(source, catalog="stolen", step="connect")
    answer = posted(signed_in("zoe"), f"/realms/{zebra.id}/connect?kind=postgresql", **form)
    body = answer.content.decode()
    assert answer.status_code == 422
    assert "governed by another connection already" in body
    assert "demo" not in body.replace("demo_", "")
    assert Backend.objects.count() == 1
    assert the("catalog", "shop")


def test_nobody_agrees_to_another_connection_than_the_one_they_read_of(
    waiting: Backend, signed_in: Enter
) -> None:
    sam, page = signed_in("sam"), f"/sync/{waiting.pk}/agree"
    read = hidden(sam.get(page).content, "digest")
    rewritten(Backend.objects.filter(pk=waiting.pk), source="postgresql 7/8", place="elsewhere")
    answer = posted(sam, page, reason="the shop asked for it", digest=read)
    assert answer.status_code == 422
    assert "has changed since" in answer.content.decode()
    waiting.refresh_from_db()
    assert waiting.awaits == "new"
    assert posted(sam, page, reason="no page was read").status_code == 422
    assert posted(sam, page, reason="so be it", digest=hidden(answer.content, "digest")).status_code == 302


def test_who_agrees_to_a_report_reads_that_its_owner_may_set_it_to_repair(
    waiting: Backend, signed_in: Enter
) -> None:
    rewritten(Backend.objects.filter(pk=waiting.pk), policy="report")
    assert (
        "until its owner sets it to repair"
        in signed_in("sam").get(f"/sync/{waiting.pk}/agree").content.decode()
    )
