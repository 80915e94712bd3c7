"""One list of privileges, one decision and one console for databases, queues, object storage and models."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions import ask
from policies.services import objects
from policies.services.objects import NewObject
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, admit, the, under

KINDS = [
    # kind of catalog, what lies in it, the privilege to read it
    ("relational", "table", "SELECT_TABLE"),
    ("messaging", "topic", "CONSUME_TOPIC"),
    ("fileset", "fileset", "READ_FILESET"),
    ("model", "model", "USE_MODEL"),
]


@pytest.fixture
def lake(db: None) -> Node:
    root = a_metalake()
    for kind, leaf, _ in KINDS:
        new = NewObject("catalog", kind, properties={"type": kind})
        [catalog] = objects.register(root, [new], by=BY, authority=AUTHORITY)
        [schema] = under(catalog, "schema", "s")
        under(schema, leaf, "thing")
    a_person("ana")
    admit(root, "ana")
    return root


@pytest.mark.seed("S4-001", "S4-006")
@pytest.mark.parametrize(("kind", "leaf", "privilege"), KINDS, ids=[row[0] for row in KINDS])
def test_one_role_and_one_page_serve_sources_of_every_kind(
    lake: Node, client: Client, kind: str, leaf: str, privilege: str
) -> None:
    thing, ana = the(leaf, f"{kind}.s.thing"), people.ensure("user", "ana")
    assert privilege in dialects.get("gravitino").privileges
    assert not ask.ask(ana, "read", thing)
    way = ("allow USE_CATALOG on metalake", "allow USE_SCHEMA on metalake")
    a_role(lake, "reader", *way, f"allow {privilege} on {leaf} {kind}.s.thing", held_by=("ana",))
    assert ask.ask(ana, "read", thing)
    client.force_login(people.make_account("marek"), backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(f"/objects/{thing.id}").content.decode()
    assert "Grant access" in page
    assert "ana" in page
