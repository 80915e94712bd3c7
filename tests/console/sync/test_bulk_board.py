"""The list of what differs: found by holder and object, in several orders, and decided about together."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from policies.models import Backend, BackendFinding, Change, ForeignOrder
from policies.sync import worker
from tests.sync.conftest import Source

Enter = Callable[[str], Client]


@pytest.fixture
def looked(governed: Backend, source: Source) -> Backend:
    """Beside legacy's grants, two tables for Ana and one for Carl."""
    source.run("GRANT SELECT ON sales.orders, sales.customers TO ana; GRANT SELECT ON sales.orders TO carl")
    worker.deliver(governed)
    return Backend.objects.get()


def text(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.request["PATH_INFO"]
    return str(answer.content.decode())


def differing(answer: Any) -> str:
    return text(answer).split("What differs</h2>")[1].split("</section>")[0]


def finding(holder: str, place: str) -> int:
    return BackendFinding.objects.get(kind="foreign", holder=holder, place=place).pk


def together(code: str, *named: tuple[str, str]) -> str:
    on = "&".join(f"on={finding(*names)}" for names in named)
    return f"{reverse('console:sync_together', args=[code])}?{on}"


def sent(page: str, **more: str) -> dict[str, Any]:
    """What the form of a plan sends."""
    nonce = re.findall(r'name="nonce" value="(\w+)"', page)[0]
    return {"nonce": nonce, "on": re.findall(r'name="on" value="(\d+)"', page), **more}


@pytest.mark.parametrize(
    ("asked", "holders"),
    [
        ("", {"ana", "carl", "legacy"}),
        ("q=ANA", {"ana"}),
        ("q=customers", {"ana"}),
        ("q=shop.sales.customers", {"ana"}),
        ("q=orders&by=holder", {"ana", "carl", "legacy"}),
        ("q=nobody", set()),
        ("s=accepted", set()),
        ("by=nonsense&s=nonsense&backend=x", {"ana", "carl", "legacy"}),
        ("backend=0", {"ana", "carl", "legacy"}),
        ("backend=99", set()),
    ],
)
def test_the_list_is_filtered_by_holder_and_object(
    looked: Backend, signed_in: Enter, asked: str, holders: set[str]
) -> None:
    olivia = signed_in("olivia")
    page = differing(olivia.get(f"/sync?{asked}"))
    assert set(re.findall(r"<strong>(\w+)</strong>", page)) == holders
    assert ("No difference matches" in page) == (not holders)
    file = b"".join(olivia.get(f"/sync.csv?{asked}").streaming_content).decode()
    assert {line.split(",")[2] for line in file.splitlines()[1:]} == holders


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("", []),
        ("holder", ["ana", "carl", "legacy"]),
        ("object", ["shop.sales", "sales.customers", "sales.orders"]),
        ("newest", []),
    ],
)
def test_the_list_stands_together_by_holder_or_by_object(
    looked: Backend, signed_in: Enter, by: str, groups: list[str]
) -> None:
    page = differing(signed_in("olivia").get(f"/sync?by={by}"))
    assert re.findall(r'scope="rowgroup"[^>]*>([^<]*)<', page) == groups


def test_adopting_several_has_one_plan_that_says_what_is_left_out(looked: Backend, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    address = together(
        "adopt", *(("ana", "sales.orders"), ("ana", "sales.customers")), *(("carl", "sales.orders"),)
    )
    page = text(olivia.get(address))
    assert "Adopt 2 grants of 1 holder?" in page
    assert page.count("is also granted use schema on sales") == 1
    assert "Without it ana could not reach customers and orders." in page
    assert "1 of 3 left out." in page
    assert "Here carl is denied this." in page
    before = Change.objects.count()
    form = sent(page, reason="known to all")
    done = olivia.post(address.partition("?")[0], form, follow=True)
    assert "2 grants adopted" in text(done)
    # sent twice, decided once
    assert "2 grants adopted" not in text(olivia.post(address.partition("?")[0], form, follow=True))
    assert Change.objects.count() == before + 1
    assert ForeignOrder.objects.filter(holder="ana", replaced=True).count() == 2


def test_what_was_not_shown_is_not_decided(looked: Backend, source: Source, signed_in: Enter) -> None:
    olivia, address = signed_in("olivia"), together("revoke", ("ana", "sales.orders"))
    form = sent(text(olivia.get(address)))
    source.run("GRANT INSERT ON sales.orders TO ana")
    worker.look(looked)
    page = text(olivia.post(address.partition("?")[0], form), 422)
    assert "None of them was decided." in page
    assert "The differences have changed since you opened the page." in page
    assert not ForeignOrder.objects.exists()
    # the page that came back shows what is there now
    assert olivia.post(address.partition("?")[0], sent(page)).status_code == 302
    assert ForeignOrder.objects.filter(holder="ana").count() == 2


def test_accepting_several_wants_a_day_and_a_reason(looked: Backend, signed_in: Enter) -> None:
    olivia, address = (
        signed_in("olivia"),
        together("accept", ("ana", "sales.orders"), ("carl", "sales.orders")),
    )
    page = text(olivia.get(address))
    assert "Accept 2 grants of 2 holders?" in page
    until = re.findall(r'name="until" value="([\d-]+)"', page)[0]
    unsaid = olivia.post(address.partition("?")[0], sent(page, until=until))
    assert "Give a reason for leaving it" in text(unsaid, 422)
    olivia.post(address.partition("?")[0], sent(page, until=until, reason="moves in May"))
    assert BackendFinding.objects.filter(accepted_reason="moves in May").count() == 2


@pytest.mark.parametrize("code", ["adopt", "revoke", "accept"])
def test_who_may_not_grant_is_offered_nothing_and_decides_nothing(
    looked: Backend, signed_in: Enter, code: str
) -> None:
    address = together(code, ("ana", "sales.orders"))
    for name in ("mia", "zoe"):
        page = text(signed_in(name).get(address))
        assert "Nothing is chosen." in page
        assert "sales.orders" not in page
        signed_in(name).post(
            address.partition("?")[0], {"nonce": "a" * 24, "on": [finding("ana", "sales.orders")]}
        )
    assert not ForeignOrder.objects.exists()
    assert not BackendFinding.objects.filter(accepted_until__isnull=False).exists()


@pytest.mark.parametrize(
    "address", ["adopt", "adopt?on=", "adopt?on=x", "revoke?on=0", "accept?on=99999999999999999"]
)
def test_nothing_chosen_is_said(looked: Backend, signed_in: Enter, address: str) -> None:
    olivia = signed_in("olivia")
    assert "Nothing is chosen." in text(olivia.get(f"/sync/findings/together/{address}"))
    assert olivia.get("/sync/findings/together/drop").status_code == 404
