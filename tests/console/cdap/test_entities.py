"""Registering and deleting entities in the console: by the law of the instance, said in the form."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRecord
from policies.services import entities
from tests.cdap.world import OPERATOR, a_cdap, give
from tests.cdap_law.world import held_by, text

pytestmark = pytest.mark.django_db
NEW = "/instances/{}/entities/new"
DELETE = "/instances/{}/entities/delete?text=dataset:ns1.orders"


def a_visitor(name: str) -> Client:
    client = Client()
    client.force_login(people.make_account(name))
    return client


def a_35() -> Node:
    root = a_cdap("3.5")
    entities.create(root, text("namespace:ns1"), by=OPERATOR)
    give(root, "namespace:ns1", "ana", "WRITE")
    return root


def form(**sent: str) -> dict[str, str]:
    return {"nonce": "a" * 12 + sent.get("entity", "").replace(":", "").replace(".", "")[:20], **sent}


@pytest.mark.seed("S2-075", "S2-080")
def test_who_may_registers_an_entity_and_has_all_on_it() -> None:
    root = a_35()
    ana = a_visitor("ana")
    answer = ana.post(NEW.format(root.id), form(entity="dataset:ns1.orders", principal="etl"))
    assert answer.status_code == 302, answer.content.decode()
    assert ("ALL", "dataset:ns1.orders") in held_by(root, "ana")
    assert "ns1" in ana.get(answer.headers["Location"]).content.decode()
    assert "Delete" in ana.get(f"/instances/{root.id}/name?text=dataset:ns1.orders").content.decode()
    gone = ana.post(DELETE.format(root.id), form(entity="x", reason="no longer used"))
    assert gone.status_code == 302
    assert entities.found(root, text("dataset:ns1.orders")) is None


def test_who_may_not_is_told_what_they_lack_and_it_is_recorded() -> None:
    root = a_35()
    answer = a_visitor("bob").post(NEW.format(root.id), form(entity="dataset:ns1.orders"))
    page = answer.content.decode()
    assert answer.status_code == 422 and "is not authorized" in page and "WRITE" in page
    assert AccessRecord.objects.latest("pk").object_name == "cdap/dataset:ns1.orders"


@pytest.mark.parametrize("entity", ["", "teapot:x", "dataset", "dataset:ns1.*", "instance:cdap"])
def test_what_names_no_entity_is_said_in_the_form(entity: str) -> None:
    root = a_35()
    answer = a_visitor("ana").post(NEW.format(root.id), form(entity=entity))
    assert answer.status_code == 422
