"""What was applied where and when, whom a difference concerns, and how fast a backend may be changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from authzsite.console.sync import history
from policies.models import Backend, BackendFinding, Event, SyncRun
from policies.record import revisions
from policies.record.exports import applied
from policies.record.revisions import Past
from policies.services import roles
from policies.sync import worker
from tests.factories import AUTHORITY, BY, rewritten, the
from tests.sync.conftest import Source
from tests.sync.test_delivery import grant_ana, revoke_ana

Enter = Callable[[str], Client]


@pytest.fixture
def looked(governed: Backend) -> Backend:
    worker.deliver(governed)
    return Backend.objects.get()


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return " ".join(answer.content.decode().split())


def test_an_object_tells_what_was_given_and_taken_there_and_when(looked: Backend, signed_in: Enter) -> None:
    grant_ana()
    worker.deliver(Backend.objects.get())
    revoke_ana()
    worker.deliver(Backend.objects.get())
    olivia, orders = signed_in("olivia"), the("table", "shop.sales.orders").id
    page = shown(olivia, f"/objects/{orders}/applied")
    assert page.index("Revoke read") < page.index("Grant use schema")
    assert "read on sales.orders" in page
    assert f"/sync/runs/{SyncRun.objects.latest('pk').pk}" in shown(
        signed_in("marek"), f"/objects/{orders}/applied"
    )
    items = the("table", "shop.stock.items").id
    assert "Nothing was applied here" in shown(signed_in("marek"), f"/objects/{items}/applied")
    assert signed_in("mia").get(f"/objects/{orders}/applied").status_code == 404
    assert f"/objects/{orders}/applied" in shown(olivia, f"/objects/{orders}/sync")


def test_evidence_tells_what_had_been_applied_by_then_and_what_is_true_only_now(looked: Backend) -> None:
    orders, before = the("table", "shop.sales.orders"), revisions.latest()
    grant_ana()
    decided = revisions.latest()
    worker.deliver(Backend.objects.get())
    given = revisions.latest()
    revoke_ana()
    worker.deliver(Backend.objects.get())

    def told(at: Past) -> tuple[list[str], list[str], dict[str, Any]]:
        [backend] = applied.backend_states(orders, at, timezone.now())["backends"]
        by_then, since = backend["by_then"]["steps"], backend["since_then"]["steps"]
        return [item["step"] for item in by_then], [item["step"] for item in since], backend

    by_then, since, backend = told(given)
    assert by_then[-1] == "give" and since == ["take"]
    assert backend["reached"]["revision"] == backend["by_then"]["proved"]["revision"] == given.revision
    assert backend["at_making"]["proved_revision"] > given.revision
    by_then, since, backend = told(decided)  # decided, and not yet carried out
    assert "give" in since and by_then == told(before)[0]
    assert backend["by_then"]["proved"]["revision"] < decided.revision <= backend["reached"]["revision"]
    assert backend["reached"]["at"] > decided.moment.isoformat()
    SyncRun.objects.all().delete()  # the operator keeps runs for so long and no longer
    by_then, since, backend = told(given)
    assert (by_then, since, backend["by_then"]["proved"], backend["reached"]) == ([], [], None, None)
    assert backend["runs_since"] is None and backend["at_making"]["state"] == "in_sync"


def test_runs_are_filtered_and_go_on_behind_the_last_one_shown(
    looked: Backend, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SHOWN", 2)
    now = timezone.now()
    for number in range(4):
        SyncRun.objects.create(backend=looked, started=now + timedelta(days=number), state="shown")
    failed = SyncRun.objects.create(backend=looked, started=now, state="failed", errors=["away"])
    marek, page = signed_in("marek"), f"/sync/{looked.pk}/runs"
    assert f"/sync/runs/{failed.pk}" in shown(marek, page)
    assert f"?before={failed.pk - 1}" in shown(marek, page)
    older = shown(marek, f"{page}?before={failed.pk - 1}")
    assert f"/sync/runs/{failed.pk - 2}" in older
    assert f"/sync/runs/{failed.pk}" not in older
    wrong = shown(marek, f"{page}?s=wrong")
    assert f"/sync/runs/{failed.pk}" in wrong
    assert f"/sync/runs/{failed.pk - 1}" not in wrong
    assert "No run matches" in shown(marek, f"{page}?s=held")
    assert signed_in("mia").get(page).status_code == 404


def test_a_difference_names_the_people_it_concerns_and_no_inner_names(
    looked: Backend, source: Source, signed_in: Enter
) -> None:
    rewritten(Backend.objects.all(), policy="report")
    for (role,) in source.run("SELECT rolname FROM pg_roles WHERE rolname LIKE 'lw%'"):
        source.run(f'REVOKE ALL ON sales.orders FROM "{role}"')
        source.run(f'REVOKE "{role}" FROM mia')
    worker.look(Backend.objects.get())
    assert BackendFinding.objects.filter(kind="missing", holder__startswith="role:").exists()
    marek = signed_in("marek")
    for address in ("/sync", f"/sync/{looked.pk}"):
        page = shown(marek, address)
        assert "<strong>mia</strong> may read" in page
        assert "role:" not in page
        assert "rights:" not in page
    assert "is to be a member of role sales_read" in shown(marek, f"/sync/{looked.pk}")


def test_a_step_about_a_role_that_nothing_wants_any_more_names_it_in_words(
    looked: Backend, signed_in: Enter
) -> None:
    # by the denial lifted Carl goes from own resolved rights to the analysts' role
    role = the("role", "no_contractors")
    roles.unassign(role, people.ensure("user", "carl"), by=BY, authority=AUTHORITY)
    worker.deliver(Backend.objects.get())
    run = SyncRun.objects.filter(applied__gt=0).latest("pk")
    page_text = shown(signed_in("marek"), f"/sync/runs/{run.pk}")
    assert "a role no longer needed" in page_text
    assert "rights:" not in page_text


def test_only_what_opens_is_linked(looked: Backend, signed_in: Enter) -> None:
    """Olivia owns a schema: its steps are shown, not the runs of the whole backend and what is gone."""
    sales = the("schema", "shop.sales").id
    run, gone = r'href="/sync/runs/\d+"', f'href="/sync/{looked.pk}/vanished"'
    olivia, marek = signed_in("olivia"), signed_in("marek")
    steps, held = f"/objects/{sales}/applied", f"/sync/{looked.pk}/discover"
    assert re.search(run, marek.get(steps).content.decode())
    assert gone in marek.get(held).content.decode()
    shown_to_olivia = olivia.get(steps).content.decode()
    assert "steps, newest first" in shown_to_olivia
    assert not re.search(run, shown_to_olivia)
    assert gone not in olivia.get(held).content.decode()
    assert olivia.get(f"/sync/{looked.pk}/vanished").status_code == 404


def test_the_board_goes_on_page_by_page(
    looked: Backend, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authzsite.console.sync.drift.differences.SHOWN", 2)
    marek, seen = signed_in("marek"), set()
    address = f"/sync/{looked.pk}?s=bypass"
    for _ in range(20):
        answer = marek.get(address)
        lines = answer.context["findings"]
        cells = {(line.holder, line.what, line.object) for line in lines}
        assert cells.isdisjoint(seen)
        seen |= cells
        if not answer.context["pager"].next:
            break
        address = f"/sync/{looked.pk}{answer.context['pager'].next}"
    assert len(seen) == BackendFinding.objects.filter(kind="bypass").count() > 2


def test_how_much_a_plan_may_take_unseen_is_set_by_who_runs_the_sync(
    looked: Backend, signed_in: Enter
) -> None:
    marek, page = signed_in("marek"), f"/sync/{looked.pk}/share"
    assert 'value="50"' in shown(marek, page)
    for wrong in ("", "-1", "101", "half", "１"):
        assert marek.post(page, {"share": wrong}).status_code == 422
    assert "When over 50 % of the people lose access" in shown(marek, f"/sync/{looked.pk}")
    marek.post(page, {"share": "20 %", "reason": "it is the shop"})
    assert Backend.objects.get().share == 20
    assert "When over 20 % of the people lose access" in shown(marek, f"/sync/{looked.pk}")
    assert Event.objects.get(kind="backend.share").data["share"] == "20 of a hundred"
    assert signed_in("olivia").post(page, {"share": "1"}).status_code == 403


def test_a_rate_is_set_and_lifted_by_who_runs_the_sync(looked: Backend, signed_in: Enter) -> None:
    marek, page = signed_in("marek"), f"/sync/{looked.pk}/rate"
    assert f'href="{page}"' in shown(marek, f"/sync/{looked.pk}")
    for wrong in ("-1", "ten", "1.5", "2000000"):
        answer = marek.post(page, {"rate": wrong})
        assert answer.status_code == 422, wrong
        assert "Not done." in answer.content.decode()
    marek.post(page, {"rate": "50", "reason": "others work there"})
    assert Backend.objects.get().rate == 50
    assert "50 a second" in shown(marek, f"/sync/{looked.pk}")
    marek.post(page, {"rate": ""})
    assert Backend.objects.get().rate == 0
    events = Event.objects.filter(kind="backend.rate").order_by("pk").values_list("data__rate", flat=True)
    assert list(events) == ["at most 50 a second", "without a limit"]
    assert signed_in("olivia").post(page, {"rate": "1"}).status_code == 403


def test_comparisons_are_drawn_by_day(looked: Backend, signed_in: Enter) -> None:
    SyncRun.objects.create(backend=looked, started=timezone.now(), state=SyncRun.State.FAILED)
    many = SyncRun.objects.filter(backend=looked).count()
    page = shown(signed_in("marek"), f"/sync/{looked.pk}/runs")
    assert f"Comparisons by day: {many} in 30 days" in page
    assert "; 1 failed" in page
    assert page.count('<rect class="bad"') == 1
