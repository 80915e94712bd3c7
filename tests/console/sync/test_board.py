"""The Sync rooms over a real PostgreSQL: what differs, what owners decide, what operators do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import people
from accounts.models import User
from lakewarden.backends.errors import Misconfigured
from policies.models import (
    Backend,
    BackendFinding,
    Discovery,
    Event,
    ForeignOrder,
    OutboxEntry,
    SyncItem,
    SyncRun,
)
from policies.services import members
from policies.sync import worker
from policies.sync.actions import operations
from policies.sync.discovery import discoveries
from policies.sync.safeguards import loss_limit
from tests.factories import AUTHORITY, BY, a_person, acting, admit, rewritten, the
from tests.sync.conftest import Source

Enter = Callable[[str], Client]


@pytest.fixture
def looked(governed: Backend) -> Backend:
    worker.deliver(governed)
    return Backend.objects.get()


def finding(place: str = "sales.orders") -> BackendFinding:
    return BackendFinding.objects.get(kind="foreign", holder="legacy", place=place)


def text(answer: Any, status: int = 200) -> str:
    """What a page says; one of another status would lack whatever a test misses on it."""
    assert answer.status_code == status, answer.request["PATH_INFO"]
    return str(answer.content.decode())


def deed(code: str, place: str = "sales.orders") -> str:
    return reverse("console:sync_deed", args=[finding(place).pk, code])


def test_the_board_offers_what_can_be_done_about_a_foreign_grant(looked: Backend, signed_in: Enter) -> None:
    page = text(signed_in("olivia").get("/sync"))
    assert "legacy" in page
    # what would be refused is locked, and says why
    assert deed("adopt") not in page
    assert "legacy is not a member of demo, and you may not admit members." in page
    for code in ("revoke", "accept"):
        assert deed(code) in page
    admit(the("metalake"), people.ensure("user", "legacy").name)
    page = text(signed_in("olivia").get("/sync"))
    for code in ("adopt", "revoke", "accept"):
        assert deed(code) in page
    # Mia owns nothing here: Mia's page has neither the grant nor a way to decide about it
    assert "legacy" not in text(signed_in("mia").get("/sync"))


def test_revoking_on_the_board_ends_in_a_proof_beside_the_decision(
    looked: Backend,
    source: Source,
    signed_in: Enter,
) -> None:
    olivia, address = signed_in("olivia"), deed("revoke")
    asked = text(olivia.get(address))
    assert "Revoke read on sales.orders from legacy?" in asked
    assert "Granted by postgres in PostgreSQL." in asked
    done = olivia.post(address, {"nonce": "a" * 24, "reason": "not known"}, follow=True)
    assert "Read of legacy on sales.orders: revoked" in text(done)
    assert "Being revoked" in text(done)
    assert "On its way" in text(done)
    # a double click decides once
    olivia.post(address, {"nonce": "a" * 24})
    assert ForeignOrder.objects.count() == 1
    worker.deliver(looked)
    assert not source.reads("legacy")
    board = text(olivia.get("/sync"))
    assert "Read back" in board
    assert "it is gone" in board
    assert olivia.get(address).status_code == 404


def test_adopting_says_who_is_admitted_and_what_goes_with_it(
    looked: Backend,
    source: Source,
    signed_in: Enter,
) -> None:
    source.run("GRANT SELECT, INSERT ON sales.orders TO legacy WITH GRANT OPTION")
    worker.look(looked)
    row = BackendFinding.objects.get(kind="foreign", holder="legacy", place="sales.orders", what="SELECT")
    page = text(signed_in("marek").get(reverse("console:sync_deed", args=[row.pk, "adopt"])))
    assert "becomes a member of demo" in page
    assert "may no longer pass it on to others" in page
    assert "stays granted outside Lakewarden" in page
    refused = signed_in("olivia").post(reverse("console:sync_deed", args=[row.pk, "adopt"]), {})
    assert "legacy is not a member of demo, and you may not admit members." in text(refused, 422)


def test_what_is_accepted_is_shown_as_accepted_until_its_day(
    looked: Backend, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    olivia, day = signed_in("olivia"), timezone.localdate() + timedelta(days=3)
    problem = olivia.post(deed("accept"), {"until": day.isoformat(), "reason": ""})
    assert "Give a reason for leaving it" in text(problem, 422)
    wrong = olivia.post(deed("accept"), {"until": "soon", "reason": "known"})
    assert "Enter a day from today to" in text(wrong, 422)
    olivia.post(deed("accept"), {"until": day.isoformat(), "reason": "until it has moved"})
    page = text(olivia.get("/sync?s=accepted"))
    assert "until it has moved" in page
    assert deed("reopen") in page
    assert (
        "sales.orders" not in text(olivia.get("/sync?s=foreign")).split("What differs")[1].split("Decided")[0]
    )
    later = timezone.now() + timedelta(days=5)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert deed("revoke") in text(signed_in("olivia").get("/sync?s=foreign"))


@pytest.mark.parametrize("code", ["adopt", "revoke", "accept", "reopen"])
@pytest.mark.parametrize("verb", ["get", "post"])
def test_who_may_not_grant_decides_nothing(looked: Backend, signed_in: Enter, code: str, verb: str) -> None:
    assert getattr(signed_in("mia"), verb)(deed(code)).status_code == 403
    assert getattr(signed_in("zoe"), verb)(deed(code)).status_code == 404
    assert not ForeignOrder.objects.exists()


def test_a_backends_page_tells_its_runs_and_each_step(looked: Backend, signed_in: Enter) -> None:
    marek = signed_in("marek")
    page = text(marek.get(f"/sync/{looked.pk}"))
    assert "PostgreSQL shop" in page
    assert "Nothing to do" in page
    run = SyncRun.objects.filter(applied__gt=0)[0]
    page_text = text(marek.get(f"/sync/runs/{run.pk}"))
    assert "Create role browse" in page_text
    assert "mia joins" in page_text
    # who may neither run it nor grant on the catalog sees its state and no names
    assert "You cannot see the details" in text(signed_in("mia").get(f"/sync/{looked.pk}"))
    assert signed_in("mia").get(f"/sync/runs/{run.pk}").status_code == 404
    assert signed_in("zoe").get(f"/sync/{looked.pk}").status_code == 404


def test_pausing_and_resuming_from_the_page(looked: Backend, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/sync/{looked.pk}"
    assert "Pause PostgreSQL shop?" in text(marek.get(f"{address}/pause"))
    bad = marek.post(f"{address}/pause", {"until": "2020-01-01T00:00"})
    assert "is in the past" in text(bad, 422)
    page = text(marek.post(f"{address}/pause", {"reason": "moving"}, follow=True))
    assert "Paused by Marek Malik." in page
    assert Backend.objects.get().state == "paused"
    marek.post(f"{address}/resume")
    assert Backend.objects.get().state == "behind"
    assert Event.objects.filter(kind__in=("backend.paused", "backend.resumed")).count() == 2


def test_a_pause_until_a_time_that_the_clock_skips_is_refused(looked: Backend, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/sync/{looked.pk}/pause"
    User.objects.filter(username="marek").update(time_zone="Europe/Berlin")
    answer = marek.post(address, {"until": "2130-03-26T02:30"})
    assert "This time does not exist in Europe/Berlin because the clocks go forward" in text(answer, 422)
    assert Backend.objects.get().state == "in_sync"


@pytest.mark.parametrize(
    "what", ["pause", "resume", "repair", "report", "confirm", "retry", "look", "rate", "share"]
)
def test_only_who_runs_a_sync_runs_it(looked: Backend, signed_in: Enter, what: str) -> None:
    answer = signed_in("olivia").post(f"/sync/{looked.pk}/{what}", {"digest": "x"})
    assert "You cannot run sync for shop" in text(answer, 403)
    assert Backend.objects.get().state == "in_sync"
    assert "why-not-operate" in text(signed_in("olivia").get(f"/sync/{looked.pk}"))


def test_repairing_shows_the_plan_first_and_what_it_takes_on_top(looked: Backend, signed_in: Enter) -> None:
    marek, address = signed_in("marek"), f"/sync/{looked.pk}"
    marek.post(f"{address}/report")
    members.leave_group(
        people.ensure("group", "analysts"), people.ensure("user", "mia"), by=BY, authority=AUTHORITY
    )
    worker.deliver(Backend.objects.get())
    page = text(marek.get(f"{address}/repair"))
    assert "affecting 1 person" in page
    assert "mia leaves" in page
    assert "danger primary" in page
    marek.post(f"{address}/repair", {"reason": "seen"})
    assert Backend.objects.get().policy == "repair"


def test_a_held_plan_goes_on_from_its_page(
    looked: Backend, signed_in: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_limit, "FEW", 0)
    rewritten(Backend.objects.all(), share=10)
    members.leave_group(
        people.ensure("group", "analysts"), people.ensure("user", "mia"), by=BY, authority=AUTHORITY
    )
    worker.deliver(Backend.objects.get())
    marek, address = signed_in("marek"), f"/sync/{looked.pk}"
    assert "Held: the plan revokes something from 1 person." in text(marek.get(address))
    assert marek.post(f"{address}/confirm", {"digest": "other"}).status_code == 422
    digest = SyncRun.objects.order_by("-pk")[0].digest
    marek.post(f"{address}/confirm", {"digest": digest})
    worker.deliver(Backend.objects.get())
    assert Backend.objects.get().state == "in_sync"


def test_what_is_parked_is_told_with_what_to_do_and_tried_again(looked: Backend, signed_in: Enter) -> None:
    OutboxEntry.objects.create(
        backend=looked,
        key="p:1",
        revision=999_999,
        due=timezone.now(),
        attempts=3,
        parked=True,
        parked_at=timezone.now(),
        error="permission denied for table orders",
        error_kind="misconfigured",
    )
    Backend.objects.update(state="behind")
    marek = signed_in("marek")
    page = text(marek.get(f"/sync/{looked.pk}"))
    assert "permission denied for table orders" in page
    assert "Fix the connection or the rights of its account, then try again." in page
    assert "refuses changes and needs attention" in text(signed_in("olivia").get("/"))
    marek.post(f"/sync/{looked.pk}/retry")
    assert not OutboxEntry.objects.filter(parked=True).exists()


def test_a_run_that_goes_on_tells_how_far_it_is(looked: Backend, signed_in: Enter) -> None:
    run = SyncRun.objects.create(
        backend=looked,
        started=timezone.now() - timedelta(seconds=41),
        total=42,
        done=41,
        removals=3,
        removed=3,
    )
    page = text(signed_in("marek").get(f"/sync/{looked.pk}/progress"))
    assert "41 of 42 applied" in page
    assert "about 1 s left" in page
    assert "every 2s" in page
    # it counts what is hidden from those who merely use the catalog
    for address in (f"/sync/{looked.pk}/progress", f"/sync/{looked.pk}"):
        assert "of 42" not in text(signed_in("ana").get(address))
    SyncRun.objects.filter(pk=run.pk).update(state="proved")
    assert "every 2s" not in text(signed_in("marek").get(f"/sync/{looked.pk}/progress"))


def test_who_merely_uses_the_catalog_hears_nothing_of_what_was_read(
    looked: Backend, source: Source, signed_in: Enter
) -> None:
    source.run('CREATE TABLE stock."bo\txes" (id int)')
    Discovery.objects.create(backend=looked, by="system")
    discoveries.run_waiting()
    addresses = (f"/sync/{looked.pk}/discover", f"/sync/{looked.pk}/discover/progress")
    marek, ana = (
        " ".join(text(signed_in(name).get(address)) for address in addresses) for name in ("marek", "ana")
    )
    assert "1 object left out: table stock.bo" in marek
    assert [word for word in ("left out", "xes", "described") if word in ana] == []
    Discovery.objects.update(error="permission denied for schema stock")
    assert "permission denied" in text(signed_in("marek").get(addresses[0]))
    assert "permission denied" not in text(signed_in("ana").get(addresses[0]))


def test_a_failed_step_stands_first_with_a_button_of_its_own(looked: Backend, signed_in: Enter) -> None:
    run = SyncRun.objects.create(backend=looked, started=timezone.now(), state="unproved", total=2, done=2)
    SyncItem.objects.create(run=run, number=0, step="switch", person="ana", what={"joins": ["role browse"]})
    item = SyncItem.objects.create(
        run=run,
        number=1,
        step="give",
        label="role sales_read",
        state="failed",
        error="row is too big",
        error_kind="rejected",
        what={"rights": [["table", "sales.orders", "SELECT"]], "many": 1},
    )
    marek = signed_in("marek")
    page = text(marek.get(f"/sync/runs/{run.pk}"))
    assert page.index("Grant read on sales.orders to role sales_read") < page.index("ana joins role browse")
    assert "PostgreSQL answered: row is too big" in page
    marek.post(f"/sync/runs/{run.pk}/items/{item.pk}/retry")
    assert OutboxEntry.objects.filter(key=f"item:{item.pk}").exists()
    assert signed_in("olivia").post(f"/sync/runs/{run.pk}/items/{item.pk}/retry").status_code == 403


def test_the_record_keeps_who_ran_what(looked: Backend, signed_in: Enter) -> None:
    operations.pause(looked, by=acting("marek"), reason="moving the server")
    page = text(signed_in("marek").get("/history"))
    assert "paused the sync of shop" in page
    assert "moving the server" in page


def test_an_objects_page_says_to_how_many_it_was_applied(looked: Backend, signed_in: Enter) -> None:
    a_person("nina", "analysts", "staff")
    admit(the("metalake"), "nina")
    worker.deliver(looked)
    page = text(signed_in("olivia").get(f"/objects/{the('table', 'shop.sales.orders').id}"))
    # marek owns the metalake, and has no login in the backend either
    assert "Applied to 2 of 4 people. No login in PostgreSQL: marek and nina." in page


def test_a_backend_whose_package_is_gone_is_told_in_words_on_every_page(
    looked: Backend, signed_in: Enter
) -> None:
    rewritten(Backend.objects.all(), kind="paper")
    with pytest.raises(Misconfigured) as problem:
        worker.look(Backend.objects.get())
    worker.failed(looked, problem.value)
    marek, legacy = signed_in("marek"), finding()
    pages = (
        "/sync",
        *(f"/sync/{looked.pk}{part}" for part in ("", "/discover", "/pause")),
        *(f"/sync/findings/{legacy.pk}/{code}" for code in ("adopt", "revoke", "accept")),
        f"/realms/{looked.realm.securables.get(type='metalake').pk}/connect?catalog=shop",
        f"/objects/{the('table', 'shop.sales.orders').id}/sync",
    )
    responses = {page: marek.get(page) for page in pages}
    assert [page for page, answer in responses.items() if answer.status_code >= 500] == []
    assert "no backend of kind `paper` is installed here" in text(responses[f"/sync/{looked.pk}"])
