"""A snapshot that did not change is not made again; one that did is, in every process at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import tokens
from lakewarden.client.snapshot import Snapshot
from lakewarden.law.objects import ObjectRef
from policies.decisions import snapshot_cache
from policies.models import AccessRecord
from policies.record.repeats import repeats
from policies.services import duties, roles
from tests.admitted import admitted_service
from tests.api.world import BY, Caller, make_shop, token, user

pytestmark = pytest.mark.django_db(transaction=True)

SNAPSHOT = "/authz/v1/snapshot?realm=demo"
ORDERS = ObjectRef.parse("table", "demo/shop.sales.orders")


def queries(caller: Caller) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert caller.get(SNAPSHOT).status_code == 200
    return len(seen)


def may_read(caller: Caller) -> bool:
    return bool(Snapshot.read(caller.get(SNAPSHOT).content).decide("read", ORDERS))


def test_what_did_not_change_is_not_made_again_and_what_did_is() -> None:
    shop, ana = make_shop(), Caller(token("user", "ana"))
    queries(ana)
    assert queries(ana) <= 7
    assert not may_read(ana)
    shop.allow(shop.sales, "SELECT_TABLE")
    assert may_read(ana)
    shop.take(shop.sales, "SELECT_TABLE")
    assert not may_read(ana)


def test_what_begins_by_the_clock_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shop, ana, now = make_shop(), Caller(token("user", "ana")), timezone.now()
    soon = roles.create(shop.realm, "soon", **BY)
    roles.add_privileges(soon, shop.sales, [roles.Privilege("SELECT_TABLE")], **BY)
    roles.assign(soon, user("ana"), valid_from=now + timedelta(seconds=20), **BY)
    first = ana.get(SNAPSHOT)
    assert first.json()["next_change_at"] is not None
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=21))
    assert ana.get(SNAPSHOT)["ETag"] != first["ETag"]


def test_each_asker_gets_what_they_may_know_and_is_recorded() -> None:
    from accounts import people

    shop = make_shop()
    shop.allow(shop.tables["plans"], "SELECT_TABLE")
    people.make_account("ada")
    duties.give(shop.realm, "view_history", user("ada"), **BY)
    asked = SNAPSHOT + "&for=user:ana"
    ana, ada = Caller(token("user", "ana")), Caller(tokens.create(user("ada")))
    marek = Caller(token("user", "marek"))
    assert ana.get(SNAPSHOT).content == ada.get(asked).content
    assert marek.get(asked).status_code == 403
    for _ in range(2):
        ada.get(asked)
    repeats.write()
    [record] = AccessRecord.objects.filter(kind="looked").select_related("repeat")
    assert record.repeat.count == 3


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    make_shop()
    monkeypatch.setattr(snapshot_cache, "KEPT", 2)
    etl = Caller(tokens.create(admitted_service("etl")))
    for name in ("ana", "olivia", "marek", "bob"):
        assert etl.get(f"{SNAPSHOT}&for=user:{name}").status_code == 200
    assert len(snapshot_cache._sent) == 2
