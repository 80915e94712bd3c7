"""The rules in general: what each of CDAP's documents says of every type of entity."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.decisions import ask
from policies.services import patterns
from tests.cdap_law.asking import decided, explained, holding, law_of
from tests.cdap_law.tables import ENTITIES, PRIVILEGES, ROWS
from tests.cdap_law.world import OPERATOR, Caller, a_cdap, give, make, text, user

IN_REALM = [type for type in ENTITIES if type != "instance"]
NEEDS = {"create": "ADMIN", "update": "ADMIN", "delete": "ADMIN"}


@pytest.mark.parametrize(
    ("doing", "row"),
    [
        pytest.param("create", "S1-010", marks=pytest.mark.seed("S1-010")),
        pytest.param("update", "S1-011", marks=pytest.mark.seed("S1-011", "S1-012", "S1-035")),
        pytest.param("delete", "S1-013", marks=pytest.mark.seed("S1-013")),
    ],
)
@pytest.mark.parametrize("type", IN_REALM)
def test_every_type_is_governed_in_4_3(type: str, doing: str, row: str) -> None:
    for code in PRIVILEGES["cdap43"]:
        mine = holding("cdap43", [(code, ENTITIES[type])])
        assert decided(mine, doing, ENTITIES[type]) == (code == NEEDS[doing])
        for other in IN_REALM:
            if other != type:
                assert not decided(mine, doing, ENTITIES[other])


@pytest.mark.parametrize("type", ["dataset", "stream"])
@pytest.mark.parametrize(
    ("word", "needed"),
    [
        pytest.param("read", "READ", marks=pytest.mark.seed("S1-033")),
        pytest.param("write", "WRITE", marks=pytest.mark.seed("S1-034")),
    ],
)
def test_reading_and_writing_are_told_apart(type: str, word: str, needed: str) -> None:
    for code in PRIVILEGES["cdap43"]:
        assert decided(holding("cdap43", [(code, ENTITIES[type])]), word, ENTITIES[type]) == (code == needed)


@pytest.mark.seed("S1-037")
def test_running_a_program_needs_execute() -> None:
    for code in PRIVILEGES["cdap43"]:
        mine = holding("cdap43", [(code, ENTITIES["program"])])
        for word in ("execute", "program.start", "program.stop", "program.debug", "schedule.resume"):
            assert decided(mine, word, ENTITIES["program"]) == (code == "EXECUTE")


@pytest.mark.seed("S2-002", "S2-007", "S2-008", "S2-050", "S2-179")
@pytest.mark.parametrize("entity", ["dataset:ns1.orders", "stream:ns1.clicks", "dataset:ns1.co.shop.Custom"])
def test_read_and_write_are_given_one_by_one_in_3_5(entity: str) -> None:
    for code in PRIVILEGES["cdap35"]:
        mine = holding("cdap35", [(code, entity)])
        assert decided(mine, "READ", entity) == (code in ("READ", "ALL"))
        assert decided(mine, "WRITE", entity) == (code in ("WRITE", "ALL"))
        for word, needed in (("read", "READ"), ("write", "WRITE")):
            assert decided(mine, word, entity) == (code in (needed, "ALL"))
    assert not decided(holding("cdap35", []), "READ", entity)


@pytest.mark.seed("S2-051")
@pytest.mark.parametrize(
    ("access", "enough"),
    [
        ("READ", [{"READ"}, {"ALL"}]),
        ("WRITE", [{"WRITE"}, {"ALL"}]),
        ("READ_WRITE", [{"READ", "WRITE"}, {"ALL"}]),
    ],
)
def test_opening_a_dataset_names_the_access_wanted(access: str, enough: list[set[str]]) -> None:
    entity = "dataset:ns1.orders"
    for held in ({"READ"}, {"WRITE"}, {"READ", "WRITE"}, {"EXECUTE", "ADMIN"}, {"ALL"}, set()):
        mine = holding("cdap35", [(code, entity) for code in held])
        assert decided(mine, access, entity) == any(item <= held for item in enough), held


@pytest.mark.seed("S2-004")
def test_no_operation_on_datasets_and_streams_is_free_in_3_5() -> None:
    law = law_of("cdap35")
    operations = [name for name in law.operations if name.startswith(("dataset.", "stream."))]
    assert len(operations) > 25
    for name in operations:
        entity = ENTITIES[name.partition(".")[0]]
        assert not decided(holding("cdap35", []), name, entity), name
        assert not decided(holding("cdap35", [("EXECUTE", entity)]), name, entity), name
        assert decided(holding("cdap35", [("ALL", entity), ("ALL", "namespace:ns1")]), name, entity), name


@pytest.mark.seed("S2-173", "S2-177")
@pytest.mark.parametrize("law", ["cdap34", "cdap35"])
def test_metadata_logs_and_metrics_have_rows_of_their_own(law: str) -> None:
    words = ("metadata", "logs", "metrics")
    rows = [row for row in ROWS[law] if row.operation.endswith(words)]
    assert len(rows) > 10
    for row in rows:
        entity = ENTITIES[row.type]
        assert decided(holding(law, row.enough()), row.operation, entity)
        assert not decided(holding(law, []), row.operation, entity)


@pytest.mark.django_db
@pytest.mark.seed("S2-052")
def test_a_right_taken_after_opening_is_missed_on_the_next_access() -> None:
    root = a_cdap("c")
    give(root, "ana", "READ on dataset:ns1.orders")
    orders = text("dataset:ns1.orders")
    for held in (True, False):
        if not held:
            patterns.revoke(root, orders, user("ana"), by=OPERATOR)
        for _ in range(2):
            assert bool(ask.ask_entity(user("ana"), "dataset.read", root, orders)) == held


@pytest.mark.django_db
@pytest.mark.seed("S2-065")
def test_only_service_accounts_ask_about_others() -> None:
    root = a_cdap("c")
    give(root, "ana", "READ on dataset:ns1.orders")
    body = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "READ"},
        "resource": {"type": "dataset", "id": "c/ns1.orders"},
    }
    for name, kind, status in (("pipeline", "service", 200), ("ana", "user", 200), ("bob", "user", 403)):
        answer = Caller(name, kind).generic(
            "POST", "/access/v1/evaluation", json.dumps(body), content_type="application/json"
        )
        assert answer.status_code == status, name


@pytest.mark.django_db
@pytest.mark.seed("S2-175")
def test_changes_of_authorization_are_on_record() -> None:
    root = a_cdap("c")
    give(root, "ana", "READ on dataset:ns1.*")
    patterns.revoke(root, text("dataset:ns1.*"), user("ana"), by=OPERATOR)
    answer = Caller("admin", "user").get("/authz/v1/audit?realm=c")
    kinds = [event["kind"] for item in answer.json()["results"] for event in item.get("events", [item])]
    assert ("grant.added" in kinds, "grant.removed" in kinds) == (True, True), kinds


@pytest.mark.django_db
@pytest.mark.seed("S0-095")
def test_the_pages_list_what_one_has_access_to() -> None:
    root = a_cdap("c", "3.4")
    make(root, "namespace:ns1", "dataset:ns1.mine", "dataset:ns1.theirs")
    give(root, "ana", "READ on namespace:ns1", "READ on dataset:ns1.mine")
    client = Client()
    account = User.objects.create(username="ana", principal=user("ana"))
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    for name, seen in (("mine", True), ("theirs", False)):
        node = find(ObjectRef("dataset", "c", ("ns1", name)))
        assert node is not None
        page = client.get(reverse("console:search"), {"q": name}).content.decode()
        assert (reverse("console:object", args=[node.id]) in page) == seen, name


@pytest.mark.parametrize("asked", ["instance:c", "namespace:ns1", "dataset:ns1.orders"])
def test_who_may_not_grant_lacks_what_its_administrator_can_give(asked: str) -> None:
    explanation = explained(holding("cdap43", [("ADMIN", asked)]), "grant", asked)
    assert [lack.kind for lack in explanation.missing] == ["ownership"], "no owner makes anybody a site admin"
    assert [[lack.kind for lack in way] for way in explanation.alternatives] == [["service_admin"]]
