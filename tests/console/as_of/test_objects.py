"""The past of an object in the browser: then, since then, in between, and evidence to take away."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from lakewarden.record import bundle
from policies import signing
from policies.models import AccessRecord
from policies.record import revisions
from policies.services import duties, grants, roles
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, acting, the
from tests.record.test_evidence import make_site

pytestmark = pytest.mark.django_db
SignedIn = Callable[[str], Client]


@pytest.fixture
def came_and_went(shop: Node) -> tuple[int, int]:
    """Ana was given the table and it was taken again; the revisions before and after."""
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    before = revisions.latest().revision
    grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    given = revisions.latest().revision
    grants.remove(table, (ana,), ("SELECT_TABLE",), by=acting("olivia"))
    return before, given


def text(client: Client, asked: str = "") -> str:
    return client.get(f"/objects/{the('table', 'shop.sales.orders').id}/then{asked}").content.decode()


def test_nothing_is_shown_until_a_moment_is_chosen(shop: Node, signed_in: SignedIn) -> None:
    body = text(signed_in("olivia"))
    assert 'name="at"' in body
    assert "This is the past" not in body


def test_it_opens_on_what_changed_lately(
    came_and_went: tuple[int, int], signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("authzsite.console.as_of.objects.FIRST_SHOWN", timedelta(0))
    body = text(signed_in("olivia"))
    assert "This is the past" in body
    assert f'value="{timezone.localdate().isoformat()}"' in body
    assert 'name="show" value="changes"' in body


def test_two_dates_are_compared_at_once(came_and_went: tuple[int, int], signed_in: SignedIn) -> None:
    before, given = came_and_went
    olivia = signed_in("olivia")
    assert "has gained read" in text(olivia, f"?at={before}&to={given}")
    assert "has gained read" not in text(olivia, f"?at={before}&to={given}&show=state")


def test_the_state_of_a_revision_is_shown_as_the_past(
    came_and_went: tuple[int, int], signed_in: SignedIn
) -> None:
    before, given = came_and_went
    olivia = signed_in("olivia")
    assert "This is the past" in text(olivia, f"?at={given}")
    assert ">ana</b>" in text(olivia, f"?at={given}")
    assert ">ana</b>" not in text(olivia, f"?at={before}")


def test_what_changed_since_and_what_came_and_went(
    came_and_went: tuple[int, int], signed_in: SignedIn
) -> None:
    before, given = came_and_went
    olivia = signed_in("olivia")
    assert "access differs" in text(olivia, f"?at={before}&show=changes")
    assert "has lost read" in text(olivia, f"?at={given}&show=changes")
    between = text(olivia, f"?at={before}&show=between")
    assert ">ana</b>" in between
    assert f"revision {given}" in between


@pytest.mark.parametrize("at", ["yesterday", "9999999", "-1", "2026-13-01", "٣", "2026-01-01T99:00"])
def test_a_moment_that_is_none_is_explained(shop: Node, signed_in: SignedIn, at: str) -> None:
    body = text(signed_in("olivia"), f"?at={at}")
    assert "Enter a day, a day with a time, or an existing revision." in body


def test_two_moments_in_the_wrong_order_are_explained(
    came_and_went: tuple[int, int], signed_in: SignedIn
) -> None:
    before, given = came_and_went
    assert "must not be before" in text(signed_in("olivia"), f"?at={given}&to={before}&show=changes")


@pytest.mark.parametrize(
    ("typed", "whole", "meant"),
    [
        ("2026-01-31", True, datetime.combine(date(2026, 1, 31), time.max)),
        ("2026-01-31", False, datetime(2026, 1, 31)),
        ("2026-01-31T12:00", True, datetime(2026, 1, 31, 12)),
        ("2026-02-30", True, None),
        ("some day", True, None),
    ],
)
def test_a_day_alone_is_its_end_where_all_of_it_is_meant(
    typed: str, whole: bool, meant: datetime | None
) -> None:
    assert revisions.moment_in(typed, whole=whole) == (timezone.make_aware(meant) if meant else None)


def test_before_everything_nobody_had_anything(shop: Node, signed_in: SignedIn) -> None:
    assert "was not there then" in text(signed_in("olivia"), "?at=2001-01-01")
    duties.give(shop, "export_history", a_person("olivia"), by=BY, authority=AUTHORITY)
    address = f"/objects/{the('table', 'shop.sales.orders').id}/evidence"
    answer = signed_in("olivia").post(address, {"at": "2001-01-01"})
    assert answer.status_code == 422
    assert "was not there then" in answer.content.decode()


def test_others_past_is_shown_to_those_who_may_look_and_recorded(shop: Node, signed_in: SignedIn) -> None:
    assert "is hidden from you" in text(signed_in("mia"), "?at=3")
    assert not AccessRecord.objects.filter(kind="looked").exists()
    text(signed_in("olivia"), "?at=3")
    assert AccessRecord.objects.get(kind="looked").operation == "access in the past"


def test_evidence_is_for_those_with_the_duty(
    came_and_went: tuple[int, int], shop: Node, signed_in: SignedIn, tmp_path: Path
) -> None:
    address = f"/objects/{the('table', 'shop.sales.orders').id}/evidence"
    olivia = signed_in("olivia")
    shown = text(olivia, "?at=3")
    assert 'aria-describedby="why-not-evidence"' in shown
    assert (
        "Nobody has the duty to export the history here yet. It is assigned by marek, who owns demo." in shown
    )
    people.make_account("carl")
    duties.give(shop, "export_history", a_person("carl"), by=BY, authority=AUTHORITY)
    assert "people with the duty to export the history here can export evidence: carl." in text(
        olivia, "?at=3"
    )
    assert olivia.post(address, {"at": "3"}).status_code == 403
    duties.give(shop, "export_history", a_person("olivia"), by=BY, authority=AUTHORITY)
    answer = olivia.post(address, {"at": str(came_and_went[1])})
    assert answer["Content-Disposition"].startswith('attachment; filename="evidence-orders-')
    (tmp_path / "e.zip").write_bytes(io.BytesIO(answer.content).getvalue())
    statements = bundle.check(tmp_path / "e.zip", signing.public_key(), "user:ana").lines
    assert statements[1] == "user:ana could do: read"
    # of a sample, which the same seed draws again, and of one person alone
    for asked, many in (({"sample": "2", "seed": "2026-Q1"}, 2), ({"person": "ana"}, 1)):
        answer = olivia.post(address, {"at": str(came_and_went[1]), **asked})
        (tmp_path / "e.zip").write_bytes(answer.content)
        statements = bundle.check(tmp_path / "e.zip", signing.public_key()).lines
        assert sum("could do" in line for line in statements) == many, asked
    for wrong, message in (
        ({"person": "nobody"}, "Nobody is called nobody."),
        ({"sample": "x"}, "as a number"),
    ):
        answer = olivia.post(address, {"at": str(came_and_went[1]), **wrong})
        assert answer.status_code == 422 and message in answer.content.decode()


# a person


def reach_of(client: Client, name: str, asked: str = "") -> str:
    return client.get(f"/people/{a_person(name).pk}/then{asked}").content.decode()


def test_what_somebody_reached_then(came_and_went: tuple[int, int], signed_in: SignedIn) -> None:
    before, given = came_and_went
    olivia = signed_in("olivia")
    assert ">orders</b>" in reach_of(olivia, "ana", f"?at={given}")
    assert ">orders</b>" not in reach_of(olivia, "ana", f"?at={before}")
    assert "This is the past" in reach_of(olivia, "ana", f"?at={given}")


def test_two_moments_of_one_person_beside_each_other(
    came_and_went: tuple[int, int], signed_in: SignedIn
) -> None:
    before, given = came_and_went
    body = reach_of(signed_in("olivia"), "ana", f"?at={before}&to={given}")
    assert ">orders</b>" in body
    assert "sign gain" in body


def test_the_past_of_a_person_opens_on_what_changed_lately(
    came_and_went: tuple[int, int], signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "This is the past" not in reach_of(signed_in("olivia"), "ana")
    monkeypatch.setattr("authzsite.console.as_of.objects.FIRST_SHOWN", timedelta(0))
    body = reach_of(signed_in("olivia"), "ana")
    assert "This is the past" in body
    assert body.count(f'value="{timezone.localdate().isoformat()}"') >= 2


def test_two_people_beside_each_other(shop: Node, signed_in: SignedIn) -> None:
    olivia = signed_in("olivia")
    assert ">sales</b>" in reach_of(olivia, "ana", "?of=mia")
    assert "No difference" in reach_of(olivia, "mia", "?of=mia")


def test_a_person_one_may_not_know_is_nobody(shop: Node, signed_in: SignedIn) -> None:
    a_person("stranger")
    for name in ("stranger", "ghost"):
        assert f"Nobody is called {name}." in reach_of(signed_in("olivia"), "ana", f"?of={name}")


@pytest.mark.parametrize("asked", ["at=never", "to=never"])
def test_a_moment_of_a_person_that_is_none_is_explained(shop: Node, signed_in: SignedIn, asked: str) -> None:
    assert "or an existing revision" in reach_of(signed_in("olivia"), "ana", f"?{asked}")


# a role


def test_what_a_role_gave_and_who_held_it_then(shop: Node, signed_in: SignedIn) -> None:
    role, marek = the("role", "sales_read"), signed_in("marek")
    before = revisions.latest().revision
    roles.unassign(role, people.ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    privilege = roles.Privilege("SELECT_TABLE", "allow")
    roles.remove_privileges(role, the("schema", "shop.sales"), [privilege], by=BY, authority=AUTHORITY)
    now = marek.get(f"/roles/{role.id}/then?at={revisions.latest().revision}").content.decode()
    then = marek.get(f"/roles/{role.id}/then?at={before}").content.decode()
    assert "read tables" in then
    assert "group:analysts" in then
    assert "read tables" not in now
    assert "group:analysts" not in now
    assert "This is the past" not in marek.get(f"/roles/{role.id}/then").content.decode()


def test_the_past_of_a_role_stands_beside_now_and_opens_a_while_ago(
    shop: Node, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    role, marek = the("role", "sales_read"), signed_in("marek")
    before = revisions.latest().revision
    roles.unassign(role, people.ensure("group", "analysts"), by=BY, authority=AUTHORITY)
    privilege = roles.Privilege("MODIFY_TABLE", "allow")
    roles.add_privileges(role, the("schema", "shop.sales"), [privilege], by=BY, authority=AUTHORITY)
    then = marek.get(f"/roles/{role.id}/then?at={before}").content.decode()
    assert "No longer holds it" in then
    assert "sign change" in then
    monkeypatch.setattr("authzsite.console.as_of.objects.FIRST_SHOWN", timedelta(0))
    opened = marek.get(f"/roles/{role.id}/then").content.decode()
    assert "This is the past" in opened
    assert "sign change" not in opened


def test_the_past_of_a_role_stands_beside_another_moment(shop: Node, signed_in: SignedIn) -> None:
    role, marek, schema = the("role", "sales_read"), signed_in("marek"), the("schema", "shop.sales")
    analysts, write = people.ensure("group", "analysts"), roles.Privilege("MODIFY_TABLE", "allow")
    first = revisions.latest().revision
    roles.unassign(role, analysts, by=BY, authority=AUTHORITY)
    roles.add_privileges(role, schema, [write], by=BY, authority=AUTHORITY)
    second = revisions.latest().revision
    roles.assign(role, analysts, by=BY, authority=AUTHORITY)
    roles.remove_privileges(role, schema, [write], by=BY, authority=AUTHORITY)
    page = f"/roles/{role.id}/then?at={first}"
    between = marek.get(f"{page}&to={second}").content.decode()
    assert "At the first time alone" in between and "sign change" in between
    beside_now = marek.get(page).content.decode()
    assert "Then and now" in beside_now and "sign change" not in beside_now
    wrong = marek.get(f"{page}&to=tomorrow").content.decode()
    assert "an existing revision" in wrong and "What it gave" not in wrong


# every law


def test_the_past_and_its_evidence_are_there_for_each_law(
    db: None, signed_in: SignedIn, tmp_path: Path
) -> None:
    made, olive = make_site(), signed_in("olive")
    for node in (made.gravitino, made.herd, made.cdap):
        duties.give(next(iter(node.above())), "export_history", a_person("olive"), by=BY, authority=AUTHORITY)
        at = revisions.latest().revision
        page = olive.get(f"/objects/{node.id}/then?at={at}", follow=True)
        assert page.status_code == 200 and "bob" in page.content.decode(), node.ref
        answer = olive.post(f"/objects/{node.id}/evidence", {"at": str(at)})
        assert answer["Content-Type"] == "application/zip", node.ref
        (tmp_path / "e.zip").write_bytes(answer.content)
        statements = bundle.check(tmp_path / "e.zip", signing.public_key(), "user:bob").lines
        assert any(line.startswith("user:bob could do: ") and "read" in line for line in statements), (
            statements
        )
