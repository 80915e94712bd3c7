"""What one process commits, another knows on the very next question."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts import people
from policies.decisions import slices
from policies.decisions.held import people as held
from policies.decisions.lookups import searches
from policies.services import members, roles
from tests.api.world import BY, Caller, make_shop, token
from tests.factories import the

ORDERS = "table:demo/shop.sales.orders"


def database_url() -> str:
    """The very database of these tests, for another process."""
    known = {
        name: str(connection.settings_dict[name]) for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")
    }
    who = quote(known["USER"], safe="") + (
        f":{quote(known['PASSWORD'], safe='')}" if known["PASSWORD"] else ""
    )
    where = f"?host={quote(known['HOST'], safe='')}" + (f"&port={known['PORT']}" if known["PORT"] else "")
    return f"postgresql://{who}@/{quote(known['NAME'], safe='')}{where}"


@pytest.fixture
def flipper(transactional_db: None) -> Iterator[subprocess.Popen[str]]:
    slices.forget_all()
    shop = make_shop()
    shop.allow(shop.sales, "SELECT_TABLE")
    staff = people.ensure("group", "staff")
    members.add(shop.realm, staff, **BY)
    members.join_group(staff, people.ensure("user", "ana"), **BY)
    roles.unassign(shop.readers, people.ensure("user", "ana"), **BY)
    roles.assign(shop.readers, staff, **BY)
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE,
        "PYTHONPATH": os.pathsep.join([str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.api.flipping"],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    with process:
        yield process
    assert process.returncode == 0


@pytest.mark.parametrize("often", [True, False], ids=["kept slices", "kept roles"])
@pytest.mark.parametrize("flips", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_stale_answer_after_a_commit_is_acknowledged(
    flipper: subprocess.Popen[str], flips: int, often: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is asked about often has a slice that is kept; of others, what their roles give is held."""
    monkeypatch.setattr(slices, "WORTH_KEEPING", 1 if often else 10**9)
    caller = Caller(token("user", "ana"))

    def may_read() -> bool:
        return bool(caller.decide("user:ana", "read", ORDERS)["decision"])

    assert may_read()
    stale, beside = [], 0
    for number in range(flips):
        flipper.stdin.write("flip\n")
        while not select.select([flipper.stdout], [], [], 0)[0]:
            may_read()  # while the other commits: what is kept now must not outlive the commit
            beside += 1
        answer = flipper.stdout.readline().strip()
        if may_read() != (answer == "allowed"):
            stale.append((number, answer))
    assert stale == []
    assert beside > flips / 4, "the two hardly ever worked at once"


def test_who_has_access_is_never_told_of_somebody_after_their_access_was_taken(
    flipper: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of people whose facts are held, too, while the other process gives and takes."""
    monkeypatch.setattr(held, "FEW", 0)
    orders = the("table", "shop.sales.orders")

    def is_found() -> bool:
        found = searches.subjects(orders, "read", "user", after=0, limit=100, now=timezone.now()).found
        return "ana" in {one.name for one in found}

    assert is_found() and held._realms
    stale, beside = [], 0
    for number in range(100):
        flipper.stdin.write("flip\n")
        while not select.select([flipper.stdout], [], [], 0)[0]:
            is_found()
            beside += 1
        told = flipper.stdout.readline().strip()
        if is_found() != (told == "allowed"):
            stale.append((number, told))
    assert stale == []
    assert beside > 25, "the two hardly ever worked at once"
