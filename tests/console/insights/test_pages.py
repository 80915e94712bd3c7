"""Pipelines are started and watched, and the figures that they count looked at, by those who may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.analytics.pipelines import control, known, running
from policies.analytics.pipelines.definition import Pipeline, RunContext
from policies.analytics.pipelines.driver import Trouble
from policies.authority import OPERATOR
from policies.models import PipelineRun
from policies.services import duties, grants
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, acting, admit, the
from tests.markup import markup

pytestmark = pytest.mark.django_db
NAMES = ("effective_access", "unused_grants")


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return markup(answer)


def reviewing(shop: Node, signed_in: Callable[[str], Client]) -> Client:
    """Dora, who reviews access to the realm and has none."""
    client = signed_in("dora")
    admit(shop, "dora")
    duties.give(shop, "review_access", people.ensure("user", "dora"), by=BY, authority=AUTHORITY)
    return client


def run(root: Node, name: str) -> PipelineRun:
    """A run of the realm as it is now, from its start to its end."""
    row = control.ask(name, root, by=OPERATOR)
    running.run(row)
    assert (row.state, row.trouble) == ("done", "")
    return row


def start(client: Client, root: Node, name: str = "effective_access") -> Any:
    return client.post("/pipelines/start", {"name": name, "realm": root.id})


@pytest.fixture
def troubled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A pipeline that raises what is put into the list, and works when it is empty."""
    plan: list[Any] = []

    def here(work: RunContext) -> Any:
        if plan:
            raise plan.pop()
        return dict

    pipeline = Pipeline("troubled", "Troubled", "For a test.", here=here, nightly=False)
    monkeypatch.setitem(known._PIPELINES, "troubled", pipeline)
    yield plan


def test_its_owner_starts_one_and_sees_how_it_ends(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek = signed_in("marek")
    page = text(marek, "/pipelines")
    assert "Effective access" in page
    assert "Nothing yet" in page
    assert "Nothing has run yet" in page
    answer = start(marek, shop)
    row = PipelineRun.objects.get()
    assert answer.url == f"/pipelines/runs/{row.pk}"
    page = text(marek, answer.url)
    assert "A worker starts it when the realm is free" in page
    assert "Stop it" in page
    assert "hx-get" in text(marek, f"/pipelines/progress?run={row.pk}")
    running.run(row)
    part = text(marek, f"/pipelines/progress?run={row.pk}")
    assert "hx-get" not in part
    assert f'href="/overview/{shop.id}"' in part
    live = marek.get(f"/pipelines/progress?run={row.pk}", headers={"HX-Request": "true"})
    assert live["HX-Refresh"] == "true"  # a run that is over can no longer be stopped
    page = text(marek, "/pipelines")
    assert f"Revision {row.revision}" in page
    assert page.count(f"/pipelines/runs/{row.pk}") == 2  # beside its pipeline, and among all runs


def test_asked_for_again_it_is_the_same_result(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek = signed_in("marek")
    start(marek, shop)
    running.run(PipelineRun.objects.get())
    answer = marek.post("/pipelines/start", {"name": "effective_access", "realm": shop.id}, follow=True)
    assert "nothing has changed since" in answer.content.decode()
    assert PipelineRun.objects.get().attempts == 1


def test_it_tells_number_and_time_left(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek = signed_in("marek")
    start(marek, shop)
    # an hour's quarter is told in whole minutes, however long the page takes to be made
    since = timezone.now() - timedelta(minutes=45)
    PipelineRun.objects.update(state="running", started=since, done=75, total=100, step="adding up")
    for address in ("/pipelines", f"/pipelines/runs/{PipelineRun.objects.get().pk}"):
        page = text(marek, address)
        assert "75 % done" in page
        assert "about 15 min left" in page
        assert "Adding up" in page


def test_trouble_is_said_and_it_goes_on_when_started_again(
    shop: Node, signed_in: Callable[[str], Client], troubled: list[Any]
) -> None:
    marek = signed_in("marek")
    troubled.append(Trouble("the Spark driver was killed by SIGKILL"))
    start(marek, shop, "troubled")
    row = PipelineRun.objects.get()
    running.run(row)
    page = text(marek, f"/pipelines/runs/{row.pk}")
    assert "the Spark driver was killed by SIGKILL" in page
    assert "The last good result stays" in page
    assert "Start it again" in page
    assert "the Spark driver was killed" in text(marek, "/pipelines")
    start(marek, shop, "troubled")
    running.run(row)
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("done", 2)


def test_one_is_stopped_once(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek = signed_in("marek")
    start(marek, shop)
    row = PipelineRun.objects.get()
    answer = marek.post(f"/pipelines/runs/{row.pk}/stop", follow=True).content.decode()
    assert "is stopped; the last good result stays" in answer
    again = marek.post(f"/pipelines/runs/{row.pk}/stop", follow=True).content.decode()
    assert "now stopped" in again


def test_who_reviews_watches_and_does_not_start(shop: Node, signed_in: Callable[[str], Client]) -> None:
    dora = reviewing(shop, signed_in)
    page = text(dora, "/pipelines")
    assert 'aria-describedby="why-not-start"' in page
    assert "can start a pipeline over it" in page
    answer = start(dora, shop)
    assert answer.status_code == 403
    assert "You cannot run pipelines over demo" in answer.content.decode()
    assert not PipelineRun.objects.exists()


@pytest.mark.parametrize("name", ["ana", "mia", "olivia"])
def test_others_have_nothing_to_watch(shop: Node, signed_in: Callable[[str], Client], name: str) -> None:
    row = control.ask("effective_access", shop, by=acting("marek"))
    client = signed_in(name)
    assert "You don’t have access to scheduled jobs" in text(client, "/pipelines")
    assert client.get(f"/pipelines/runs/{row.pk}").status_code == 404
    assert "Effective access" not in text(client, f"/pipelines/progress?run={row.pk}")
    assert start(client, shop).status_code == 403


def test_what_is_not_there_is_not_started(shop: Node, signed_in: Callable[[str], Client]) -> None:
    marek = signed_in("marek")
    for form in (
        {"name": "dreams", "realm": shop.id},
        {"name": "effective_access", "realm": the("table", "shop.sales.orders").id},
        {"name": "effective_access", "realm": "x"},
        {"name": "effective_access"},
        {},
    ):
        assert marek.post("/pipelines/start", form).status_code == 404, form
    assert not PipelineRun.objects.exists()


def test_all_runs_are_paged(shop: Node, signed_in: Callable[[str], Client]) -> None:
    now = timezone.now()
    PipelineRun.objects.bulk_create(
        PipelineRun(
            name=NAMES[at % 2],
            realm_id=shop.realm_id,
            revision=at,
            asked=now - timedelta(hours=at),
            by="system",
            state="done",
        )
        for at in range(1, 31)
    )
    marek = signed_in("marek")
    first = text(marek, "/pipelines")
    assert "20 runs, newest first" in first
    rows = list(PipelineRun.objects.order_by("-asked"))
    assert f"?before={rows[19].pk}" in first
    second = text(marek, f"/pipelines?before={rows[19].pk}")
    assert "10 runs, newest first" in second
    assert f"/pipelines/runs/{rows[29].pk}" in second


# The overview


def test_before_the_first_run_it_says_so_and_how_to_start(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    page = text(signed_in("marek"), f"/overview/{shop.id}")
    assert "Nothing was counted in demo yet" in page
    assert "Count now" in page
    assert "Not yet" in text(signed_in("marek"), "/overview")


def test_it_shows_who_reaches_how_much(shop: Node, signed_in: Callable[[str], Client]) -> None:
    row = run(shop, "effective_access")
    marek = signed_in("marek")
    site = text(marek, "/overview")
    assert f"Revision {row.revision}, " in site
    page = text(marek, f"/overview/{shop.id}")
    assert page.count(f"Revision {row.revision}, ") == 6
    exposed = page.split("Most exposed objects</h2>")[1].split("</section>")[0]
    assert "orders" in exposed
    assert "3 people" in exposed
    assert "sales_read" in page.split("Broadest roles</h2>")[1].split("</section>")[0]
    assert "Only one count so far" in page


def test_growth_is_a_line_and_the_same_in_words(shop: Node, signed_in: Callable[[str], Client]) -> None:
    first = run(shop, "effective_access")
    PipelineRun.objects.update(ended=timezone.now() - timedelta(days=3))
    grants.add(
        GrantRequest(the("table", "shop.sales.orders"), (people.ensure("user", "ana"),), ("SELECT_TABLE",)),
        by=acting("olivia"),
    )
    second = run(shop, "effective_access")
    assert second.revision > first.revision
    page = text(signed_in("marek"), f"/overview/{shop.id}")
    with_data = ("table", "view", "topic", "fileset", "model")  # what lies above them is used, not read
    before, now = (
        sum(item.result["pairs"].get(type, {}).get("read", 0) for type in with_data)
        for item in (first, second)
    )
    assert now > before
    assert f"Pairs that can read: {before} (" in page
    assert f"; {now - before} more." in page
    assert f'class="rule" d="M0 {round(96 - 96 * before / now, 1):g}H640V0"' in page


def test_figures_name_nothing_that_one_may_not_see(shop: Node, signed_in: Callable[[str], Client]) -> None:
    run(shop, "effective_access")
    page = text(reviewing(shop, signed_in), f"/overview/{shop.id}")
    assert "Objects" in page
    assert page.count("None that you can see.") == 3
    for hidden in ("orders", "sales_read", "olivia"):
        assert hidden not in page
    assert signed_in("olivia").get(f"/overview/{shop.id}").status_code == 403
    assert "You can’t see reports for any realm" in text(signed_in("olivia"), "/overview")
