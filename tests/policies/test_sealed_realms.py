"""The settings of a realm, which name its law and who may do everything there: written past the console they
count for nothing, and the whole realm is closed until they are set right.
"""

from __future__ import annotations

import pytest
from django.core.management import call_command

from accounts import people
from catalog.models import Realm
from catalog.nodes import Node
from catalog.queries import realm_named
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.decisions import ask, slices
from policies.decisions.seals import opened_again, unsealed
from policies.record import rows_put_back
from policies.services import realms
from tests.cdap.world import BY, a_cdap, give
from tests.policies.superuser import former, past_triggers
from tests.policies.verdicts import is_reported, whole

pytestmark = pytest.mark.django_db
WRITTEN = {
    "authentication off": 'settings || \'{"authentication": "off"}\'',
    "another master": 'settings || \'{"master_user": "eve"}\'',
    "a group of administrators": 'settings || \'{"admin_group": "friends"}\'',
    "rules of before": 'settings || \'{"policy": "3.4"}\'',
    "nothing": "'{}'",
}


@pytest.fixture(autouse=True)
def _slices_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is one long transaction, in which no slice would be kept."""
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)


@pytest.fixture
def root() -> Node:
    """Bob may read the orders, Eve nothing."""
    root = a_cdap("4.3", owner="hedda")
    give(root, "dataset:ns1.orders", "bob", "READ")
    people.ensure("user", "eve")
    return root


def may(root: Node, name: str, action: str = "READ") -> bool:
    slices.forget_all()
    person = people.ensure("user", name)
    return bool(ask.ask_entity(person, action, root, parse("dataset:ns1.orders")))


@pytest.mark.parametrize("deed", WRITTEN)
@pytest.mark.parametrize("swept", [False, True], ids=["not seen yet", "swept"])
def test_settings_written_past_the_console_close_the_realm(root: Node, deed: str, swept: bool) -> None:
    assert may(root, "bob") and not may(root, "eve") and whole()
    past_triggers(f"UPDATE catalog_realm SET settings = {WRITTEN[deed]} WHERE id = {root.realm_id}")
    if swept:
        assert unsealed.sweep(root.realm_id) == 1
    assert not may(root, "eve") and not may(root, "bob")
    assert [row.model for row in unsealed.standing()] == ["realm"]
    assert is_reported(f"realm {root.realm_id}")
    call_command("facts", set_right=True)
    assert may(root, "bob") and not may(root, "eve") and not unsealed.standing().exists()
    assert whole()


def test_settings_of_before_are_told_when_they_are_put_back(root: Node) -> None:
    realm = Realm.objects.get(pk=root.realm_id)
    realms.configure(realm, {"authentication": "off"}, **BY)
    put_back = former(Realm, pk=realm.pk)
    realms.configure(realm, {"authentication": "on"}, **BY)
    assert not may(root, "eve") and whole()
    put_back()
    assert is_reported(f"realm {realm.pk}")
    call_command("facts", set_right=True)
    settled = realm_named("cdap")
    assert settled is not None and settled.settings["authentication"] == "on"
    assert not may(root, "eve") and whole()


def test_within_a_minute_settings_of_before_close_the_realm(root: Node) -> None:
    realm, since = Realm.objects.get(pk=root.realm_id), opened_again.first_running()
    realms.configure(realm, {"authentication": "off"}, **BY)
    put_back = former(Realm, pk=realm.pk)
    realms.configure(realm, {"authentication": "on"}, **BY)
    assert rows_put_back.take_seals(since=since) == 0
    put_back()
    assert may(root, "eve")
    assert rows_put_back.take_seals(since=since) == 1
    assert not may(root, "eve") and not may(root, "bob")
    assert [row.model for row in unsealed.standing()] == ["realm"]
    call_command("facts", set_right=True)
    assert may(root, "bob") and not may(root, "eve") and whole()


def test_the_console_changes_settings_as_before(root: Node) -> None:
    realm = Realm.objects.get(pk=root.realm_id)
    realms.configure(realm, {"authentication": "off"}, **BY)
    assert may(root, "eve") and whole()
    realms.configure(realm, {"authentication": "on"}, **BY)
    assert not may(root, "eve") and may(root, "bob") and whole()
    assert Realm.objects.get(pk=realm.pk).edition == 2
