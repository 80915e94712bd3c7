"""The rooms of realms, connections and of a CDAP ask the database as often for a hundred rows as for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import people
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.models import Backend
from policies.services import entities
from policies.sync.connections import registration
from tests.cdap import world
from tests.console.test_query_counts import MANY, a_shop_of, count, ledger
from tests.factories import AUTHORITY, BY, a_metalake, the

REALMS = {
    "realms": "/realms",
    "a new realm": "/realms/new",
    "a realm": "/realms/{root}",
    "retention of a realm": "/realms/{root}/retention",
    "switching a realm off": "/realms/{root}/mode?to=off",
    "connecting": "/realms/{root}/connect",
    "connecting again": "/realms/{root}/connect?catalog=lake",
    "a new member": "/realms/{root}/members/add?who=user:zoe",
    "a backend": "/sync/{backend}",
    "what a catalog holds": "/sync/{backend}/discover",
    "help": "/help",
    "help on one word": "/help?q=owner",
    "calls for programs": "/help/calls",
    "first steps": "/first",
}
ADMINS = ("a new realm", "first steps")
CDAPS = {
    "an instance": "/instances/{instance}",
    "entities of an instance": "/instances/{instance}/entities",
    "entities of a namespace": "/instances/{instance}/entities?in=namespace:ns1",
    "a name in an instance": "/instances/{instance}/name?text=dataset:ns1.*",
    "granting in an instance": "/instances/{instance}/grant?text=dataset:ns1.*&who=user:hana",
    "revoking in an instance": "/instances/{instance}/revoke?text=dataset:ns1.*&who=user:hana",
    "settings of an instance": "/realms/{instance}/settings",
    "realm of an instance": "/realms/{instance}",
    "roles of an instance": "/roles",
}


@pytest.mark.parametrize("many", [1, MANY])
def test_rooms_of_realms(many: int, db: None, signed_in: Callable[[str], Client], settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    root = a_shop_of(many)
    url = "postgresql://console@127.0.0.1:9/lake"  # nobody is asked there
    registration.connect(root, "lake", "postgresql", url, policy="report", by=BY, authority=AUTHORITY)
    for at in range(many):
        a_metalake(f"lake_{at:03}", owner="marek")
    numbers = {"root": root.id, "backend": Backend.objects.get().pk}
    clients = {name: signed_in(name) for name in ("marek", "sam")}
    counts = {
        name: count(clients["sam" if name in ADMINS else "marek"], address.format(**numbers))
        for name, address in REALMS.items()
    }
    assert counts == ledger(REALMS)
    assert the("catalog", "lake").realm == "demo"


@pytest.mark.parametrize("many", [1, MANY])
def test_rooms_of_a_cdap(many: int, db: None, signed_in: Callable[[str], Client]) -> None:
    root = world.a_cdap()
    for text in ("namespace:ns1", *(f"dataset:ns1.d{at:03}" for at in range(many))):
        entities.create(root, parse(text), by=OPERATOR)
    world.give(root, "dataset:ns1.*", "hana", "READ")
    for at in range(many):
        people.make_account(f"n{at:03}")
        world.give(root, "dataset:ns1.*", f"n{at:03}", "READ")
        world.a_role(root, f"readers_{at:03}", f"n{at:03}")
    admin = signed_in("admin")
    counts = {name: count(admin, address.format(instance=root.id)) for name, address in CDAPS.items()}
    assert counts == ledger(CDAPS)
