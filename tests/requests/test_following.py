"""Approved is not yet there: a request is followed into a real database until it was read back."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts import people
from policies.models import Backend, Event, Notice, RequestFollow
from policies.requests import escalation, provisioning
from policies.sync import worker
from policies.sync.actions import operations
from tests.requests.world import approve, ask, by, can
from tests.sync.conftest import Source


@pytest.fixture
def request_given(governed: Backend, source: Source):
    """Ana asked to read orders in a connected catalog, and everybody said yes."""
    for name in ("marek", "olivia", "ana"):
        people.make_account(name)
    worker.deliver(governed)
    request = ask("ana", "read shop.sales.orders", lasts="P7D")
    assert not source.reads("ana")
    approve(request, "marek", parts=[part.number for part in request.parts.all()])
    return request


def states(request) -> list[tuple[str, str]]:
    return [(standing.state, standing.text) for standing in provisioning.standings(request)]


def test_it_is_on_its_way_until_the_database_was_read_back(
    request_given, governed: Backend, source: Source
) -> None:
    assert can("ana") and not source.reads("ana")
    assert states(request_given) == [("behind", "")]
    assert not Notice.objects.filter(text__startswith="Your requested access now works").exists()
    worker.deliver(governed)
    assert provisioning.look(governed.pk) == 1
    assert states(request_given) == [("proved", "")]
    assert source.reads("ana")
    assert Event.objects.filter(kind="request.proved").count() == 1
    notice = Notice.objects.get(recipient__name="ana", text__startswith="Your requested access now works")
    assert notice.link == f"/requests/{request_given.pk}"
    assert provisioning.look() == escalation.tick(timezone.now()) == 0


def test_what_stands_in_the_way_is_said_and_it_goes_on_when_that_is_gone(
    request_given, governed: Backend
) -> None:
    operations.pause(governed, by=by("marek"), reason="the database moves")
    assert provisioning.look() == 1
    [(state, text)] = states(request_given)
    assert (state, "paused" in text) == ("stuck", True)
    assert provisioning.look() == 0
    assert Event.objects.filter(kind="request.stuck").count() == 1
    governed.refresh_from_db()
    operations.resume(governed, by=by("marek"))
    worker.deliver(governed)
    assert provisioning.look() == 1
    assert RequestFollow.objects.get().state == "proved"


def test_who_has_no_login_there_is_told_so(governed: Backend) -> None:
    from tests.factories import admit

    for name in ("marek", "nora"):
        people.make_account(name)
    from catalog.nodes import node

    root = node(node(governed.catalog_id).root_id)
    admit(root, "nora")
    request = ask("nora", "read shop.sales.orders")
    approve(request, "marek", parts=[part.number for part in request.parts.all()])
    worker.deliver(governed)
    provisioning.look()
    [(state, text)] = states(request)
    assert state == "stuck"
    assert "nora cannot sign in to" in text
