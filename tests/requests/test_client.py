"""A job that is refused asks for all it lacks, waits, and runs: with the package alone, and from a shell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts import tokens
from lakewarden.__main__ import main
from lakewarden.client import AccessDenied, BadQuestion, Client, Conflicting, MayNotAsk, Unavailable
from policies.models import AccessRequest
from tests.client.site import Site
from tests.requests.conftest import make_shop
from tests.requests.world import WHY, approve, who

ORDERS, CUSTOMERS = "table:demo/shop.sales.orders", "table:demo/shop.sales.customers"


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    make_shop()
    site_ = Site()
    site_.start()
    yield site_
    site_.stop()


def client_of(site: Site, name: str = "ana", *scopes: str) -> Client:
    return site.client(tokens.create(who(name), scopes=scopes))


def test_a_job_asks_for_everything_it_lacks_and_then_runs(site: Site) -> None:
    job = client_of(site)
    questions = [("user:ana", "read", ORDERS), ("user:ana", "read", CUSTOMERS)]
    with pytest.raises(AccessDenied) as denied:
        job.require_many(questions)
    refused = [refusal.question for refusal in denied.value.refusals]
    made = job.ask_for(refused, WHY, lasts="P7D", key="run 7")
    assert (made.status, made.open, len(made.parts)) == ("asked", True, 4)
    assert job.ask_for(refused, WHY, lasts="P7D", key="run 7").number == made.number
    with pytest.raises(Conflicting):
        job.ask_for(refused, WHY, lasts="P30D", key="run 7")
    request = AccessRequest.objects.get()
    for name in ("carla", "olivia", "theo"):
        approve(request, name)
    done = job.request(made.number)
    assert done.granted and [what for what, _ in done.given] == [
        "read table demo/shop.sales.orders",
        "read table demo/shop.sales.customers",
    ]
    assert len(job.require_many(questions)) == 2


def test_what_cannot_be_asked_is_told_in_words(site: Site) -> None:
    job = client_of(site)
    for questions, reason, kind in (
        ([], WHY, BadQuestion),
        ([("user:ana", "read", ORDERS), ("user:ben", "read", ORDERS)], WHY, BadQuestion),
        ([("user:ana", "read", ORDERS)], ".", BadQuestion),
        ([("user:ben", "read", ORDERS)], WHY, MayNotAsk),
    ):
        with pytest.raises(kind):
            job.ask_for(questions, reason)
    with pytest.raises(MayNotAsk):
        client_of(site, "ana", "check").ask_for([("user:ana", "read", ORDERS)], WHY)
    with pytest.raises(Unavailable, match="404"):
        job.request(12345)


def test_the_same_from_a_shell(site: Site, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("LAKEWARDEN_URL", site.url)
    monkeypatch.setenv("LAKEWARDEN_TOKEN", tokens.create(who("ana")))

    def typed(*words: str) -> tuple[int, list[str]]:
        code = main(["request", *words])
        return code, "".join(capsys.readouterr()).splitlines()

    code, output = typed("user:ana", "read", ORDERS, "--reason", WHY, "--lasts", "P7D")
    number = str(AccessRequest.objects.get().pk)
    assert (code, output) == (
        0,
        [
            f"request {number} for user:ana is waiting for a decision",
            "  USE_CATALOG on catalog demo/shop: waiting for a decision",
            "  USE_SCHEMA on schema demo/shop.sales: waiting for a decision",
            "  SELECT_TABLE on table demo/shop.sales.orders: waiting for a decision",
            f"  see {site.url}/requests/{number}",
        ],
    )
    assert typed(number)[1] == output
    assert typed(number, "--withdraw")[1][0] == f"request {number} for user:ana is withdrawn"
    assert typed(number, "--withdraw")[0] == 2
    assert typed("user:ana", "read", ORDERS)[0] == 2
