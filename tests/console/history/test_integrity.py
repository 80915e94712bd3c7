"""The rooms of the record beside the changes: refusals and looks, checkpoints, the verification on demand."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies import signing, tasks
from policies.authority import Actor
from policies.models import Checkpoint, Verification
from policies.record import access_log, checkpoints
from policies.record.access_log import AccessLookup
from policies.services import duties, grants
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, the

pytestmark = pytest.mark.django_db
SignedIn = Callable[[str], Client]


def words(client: Client, address: str) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", client.get(address).content.decode())


def watched(shop: Node) -> None:
    """Mia was refused a table, Carl looked at the schema twice."""
    access_log.refused(
        people.ensure("user", "mia"), "dropTable", the("table", "shop.sales.orders"), via="api"
    )
    for _ in range(2):
        looks = [AccessLookup(people.ensure("user", "carl"), "access", the("schema", "shop.sales"))]
        access_log.looked_all(looks, via="console")


def test_refusals_and_looks_below_ones_own_are_listed(shop: Node, signed_in: SignedIn) -> None:
    watched(shop)
    body = words(signed_in("olivia"), "/history/looks")
    assert "mia was refused: drop (dropTable)" in body
    assert "carl viewed who has access" in body
    assert "2 times" in body


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("uses", "viewed who uses what"),
        ("access in review 7", "viewed who has access, in review 7"),
        ("access to dataset:shop.*", "viewed who has access to dataset:shop.*"),
        ("conflicts with rules of separation", "viewed who holds both sides of a separation rule"),
    ],
)
def test_a_look_is_told_in_words(stored: str, shown: str, shop: Node, signed_in: SignedIn) -> None:
    carl = people.ensure("user", "carl")
    access_log.looked(carl, stored, the("schema", "shop.sales"), via="console")
    assert shown in words(signed_in("olivia"), "/history/looks")


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("realm_office", "was refused: the settings of the realm"),
        ("Table.loadTable", "was refused: read (Table.loadTable)"),
        ("program.start", "was refused: the call program.start"),
        ("operate_sync", "was refused: something that needs the duty Sync"),
    ],
)
def test_a_refusal_is_told_in_words(stored: str, shown: str, shop: Node, signed_in: SignedIn) -> None:
    carl = people.ensure("user", "carl")
    access_log.refused(carl, stored, the("schema", "shop.sales"), via="console")
    assert shown in words(signed_in("olivia"), "/history/looks")


def test_nobody_sees_who_looked_at_what_is_not_theirs(shop: Node, signed_in: SignedIn) -> None:
    watched(shop)
    assert "carl looked" not in words(signed_in("mia"), "/history/looks")
    assert "was refused: drop (dropTable)" in words(
        signed_in("mia"), "/history/looks"
    )  # Mia's own refusals are shown


def test_whose_access_was_looked_at_is_said_by_name(shop: Node, signed_in: SignedIn) -> None:
    ana = people.ensure("user", "ana")
    access_log.looked(a_person("carl"), f"access of {ana.pseudonym}", the("schema", "shop.sales"), via="api")
    body = words(signed_in("olivia"), "/history/looks")
    assert f"viewed access of {ana.label}" in body
    assert ana.pseudonym not in body


def test_they_are_filtered(shop: Node, signed_in: SignedIn) -> None:
    watched(shop)
    olivia = signed_in("olivia")
    assert "carl looked" not in words(olivia, "/history/looks?kind=refused")
    assert "mia was refused" not in words(olivia, "/history/looks?actor=carl")
    assert "Nobody is called ghost" in words(olivia, "/history/looks?actor=ghost")
    assert "Nobody is called carl" in words(signed_in("ana"), "/history/looks?actor=carl")


def test_checkpoints_and_the_key_are_shown(shop: Node, signed_in: SignedIn) -> None:
    checkpoints.make()
    body = words(signed_in("mia"), "/history/integrity")
    assert f"{signing.public_key()}" in body
    assert checkpoints.origin() in body
    assert "why-not-verify" in signed_in("mia").get("/history/integrity").content.decode()


@pytest.fixture
def auditor(shop: Node, signed_in: SignedIn) -> Client:
    """Ada may view the history of the realm."""
    a_person("ada")
    people.make_account("ada")
    duties.give(shop, "view_history", a_person("ada"), by=BY, authority=AUTHORITY)
    return signed_in("ada")


def test_the_record_is_verified_by_a_button(auditor: Client) -> None:
    assert auditor.post("/history/integrity/verify").status_code == 302
    tasks.verify_record()
    assert "The audit log is intact" in words(auditor, "/history/integrity")
    assert Verification.objects.get().finished


def test_a_broken_record_is_said_to_be_broken(auditor: Client, shop: Node) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE policies_change DISABLE TRIGGER USER")
        cursor.execute("UPDATE policies_change SET reason = 'x' WHERE revision = 2")
    auditor.post("/history/integrity/verify")
    tasks.verify_record()
    assert "revision 2 was changed after it was written" in words(auditor, "/history/integrity/progress")


def test_one_reading_at_a_time(auditor: Client) -> None:
    for _ in range(2):  # no broker here: the reading waits for the beat
        auditor.post("/history/integrity/verify")
    assert Verification.objects.count() == 1
    assert "Reading the whole audit log" in words(auditor, "/history/integrity/progress")
    tasks.verify_record()
    auditor.post("/history/integrity/verify")
    assert Verification.objects.count() == 2


def test_a_reading_whose_worker_was_killed_is_run_again(auditor: Client) -> None:
    auditor.post("/history/integrity/verify")
    Verification.objects.update(started=timezone.now())
    tasks.verify_record()
    assert Verification.objects.get().finished is None
    Verification.objects.update(started=timezone.now() - timedelta(hours=2))
    tasks.verify_record()
    assert Verification.objects.get().finished


def test_the_history_leaves_as_a_file_with_those_who_have_that_duty(auditor: Client, shop: Node) -> None:
    assert auditor.get("/history.csv").status_code == 403
    assert "/history.csv" not in auditor.get("/history").content.decode()
    duties.give(the("schema", "shop.sales"), "export_history", a_person("ada"), by=BY, authority=AUTHORITY)
    lines = b"".join(auditor.get("/history.csv").streaming_content).decode().splitlines()
    assert lines[0] == "revision,when,by,what,object,reason"
    assert any("demo/shop.sales" in line for line in lines)
    assert not any("demo/shop.stock" in line for line in lines)


# the changes, filtered


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("since=2001-01-01", True),
        ("until=2001-01-01", False),
        ("since=2099-01-01", False),
        ("since=2001-01-01T10:00&until=2099-12-31", True),
        ("q=shop.sales", True),
        ("q=quarterly", True),  # of the reason
        ("q=repo quart", True),  # beginnings of words, in any order
        ("q=sales/ORDERS", True),
        ("q=uarterly", False),
        ("q=%26%21%7C%27", False),  # no word in it, so none is found
        ("q=nothing like it", False),
        ("request=r-17", True),
        ("request=r-18", False),
    ],
)
def test_changes_are_filtered_by_time_words_and_request(
    shop: Node, signed_in: SignedIn, asked: str, shown: bool
) -> None:
    by = Actor(people.ensure("user", "olivia"), "api", request_id="r-17")
    wish = GrantRequest(
        the("table", "shop.sales.orders"), (people.ensure("user", "ana"),), ("SELECT_TABLE",), way=True
    )
    grants.add(wish, by=by, reason="quarterly report")
    page_words = words(signed_in("olivia"), f"/history?{asked}")
    assert ("granted" in page_words and "quarterly report" in page_words) == shown


@pytest.mark.parametrize("asked", ["since=soon", "until=2026-02-30", "since=2026-01-01T25:00"])
def test_a_time_that_is_none_is_explained(shop: Node, signed_in: SignedIn, asked: str) -> None:
    assert "Enter a day, or a day with a time." in words(signed_in("olivia"), f"/history?{asked}")


@pytest.mark.parametrize(
    ("log", "size", "told"),
    [
        ("changes", 1, "change"),
        ("changes", 2, "changes"),
        ("access", 1, "refusal or view"),
        ("access", 0, "refusals and views"),
    ],
)
def test_what_a_checkpoint_is_over_is_counted_in_words(log: str, size: int, told: str) -> None:
    assert Checkpoint(log=log, size=size).counted == told
