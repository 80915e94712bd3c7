"""Tables as files: the same rows as the page, for the same people, safe in a spreadsheet, looks recorded."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRecord, Backend, BackendFinding
from tests.factories import a_person, a_role, admit, the, under

Enter = Callable[[str], Client]


def lines(client: Client, address: str) -> list[list[str]]:
    answer = client.get(address)
    assert answer.status_code == 200, address
    assert answer["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))


def address_of(name: str) -> str:
    numbers = {"role": the("role", "sales_read").id, "table": the("table", "shop.sales.orders").id}
    numbers |= {"analysts": people.ensure("group", "analysts").pk, "mia": a_person("mia").pk}
    return name.format(**numbers)


@pytest.mark.parametrize(
    ("who", "address", "rows"),
    [
        (
            "olivia",
            "/people.csv?kind=group",
            [["group", "analysts", "analysts", ""], ["group", "staff", "staff", ""]],
        ),
        ("olivia", "/people.csv?q=mia", [["user", "mia", "Mia Meyer", "analysts; staff"]]),
        ("ana", "/people.csv?q=mia", []),
        (
            "olivia",
            "/people/{analysts}/groups.csv",
            [["analysts", "user:carl", "carl", "", ""], ["analysts", "user:mia", "Mia Meyer", "", ""]],
        ),
        (
            "mia",
            "/people/{mia}/groups.csv",
            [["analysts", "user:mia", "Mia Meyer", "", ""], ["staff", "user:mia", "Mia Meyer", "", ""]],
        ),
        ("marek", "/roles.csv?q=sales", [["sales_read", "demo", "1 holder", "On 1 object", "Nothing", ""]]),
        ("ana", "/roles.csv", [["browse", "demo", "1 holder", "On 1 object", "Nothing", ""]]),
        (
            "marek",
            "/roles/{role}/holders.csv",
            [
                ["sales_read", "group:analysts", "user:carl", "carl", "", ""],
                ["sales_read", "group:analysts", "user:mia", "Mia Meyer", "", ""],
            ],
        ),
        (
            "marek",
            "/roles/{role}/gives.csv",
            [["sales_read", "demo/shop.sales", "schema", "Use schema, read tables", "allow"]],
        ),
        (
            "olivia",
            "/search.csv?q=orders",
            [["demo/shop.sales.orders", "table", "orders", "Olivia Owner", ""]],
        ),
        ("ana", "/search.csv?q=orders", []),
        ("olivia", "/search.csv", []),
        ("marek", "/owners.csv?of=olivia", [["demo/shop.sales", "schema", "user:olivia", "olivia"]]),
        ("marek", "/owners.csv?how=nobody&type=role&q=read", [["demo/sales_read", "role", "", ""]]),
        ("mia", "/owners.csv?of=olivia", []),
    ],
)
def test_a_file_holds_what_one_may_know(
    who: str, address: str, rows: list[list[str]], shop: Node, signed_in: Enter
) -> None:
    signed_in("mia")  # whose account gives her name
    assert lines(signed_in(who), address_of(address))[1:] == rows


def test_rules_come_with_their_holders(shop: Node, signed_in: Enter) -> None:
    told = lines(signed_in("olivia"), address_of("/objects/{table}/rules.csv"))
    assert told[0] == ["object", "on", "right", "effect", "role", "holder", "begins", "ends", "revision"]
    rows = {tuple(row[1:6]) for row in told[1:]}
    assert ("demo/shop.sales", "SELECT_TABLE", "allow", "sales_read", "group:analysts") in rows
    assert ("demo/shop.sales", "SELECT_TABLE", "deny", "no_contractors", "user:carl") in rows


def test_no_cell_is_taken_for_a_formula(shop: Node, signed_in: Enter) -> None:
    under(the("schema", "shop.sales"), "table", "=SUM(A1)")
    a_person("@cmd", "analysts")
    admit(shop, "@cmd")
    a_role(shop, "-role", held_by=("mia",))
    olivia, marek = signed_in("olivia"), signed_in("marek")
    assert lines(olivia, "/search.csv?q=SUM")[1][2] == "'=SUM(A1)"
    assert lines(olivia, "/people.csv?q=cmd")[1][1] == "'@cmd"
    assert lines(marek, "/roles.csv?q=-role")[1][0] == "'-role"


@pytest.mark.parametrize(
    ("address", "operation"),
    [
        ("/roles/{role}/holders.csv", "holders as a file"),
        ("/objects/{table}/rules.csv", "rules as a file"),
        ("/sync.csv", "findings as a file"),
        ("/owners.csv", "owners as a file"),
        ("/people/{analysts}/groups.csv", "groups of "),
    ],
)
def test_a_look_at_others_is_recorded(address: str, operation: str, shop: Node, signed_in: Enter) -> None:
    lines(signed_in("marek"), address_of(address))
    found = AccessRecord.objects.filter(kind="looked", operation__startswith=operation)
    assert [row.actor for row in found] == [a_person("marek").pseudonym]


def test_findings_are_those_of_the_page(shop: Node, signed_in: Enter) -> None:
    catalog = the("catalog", "shop")
    backend = Backend.objects.create(realm_id=shop.realm_id, catalog_id=catalog.id, kind="postgresql")
    now = timezone.now()
    for kind, holder in (("foreign", "=etl"), ("missing", "lw_ana")):
        BackendFinding.objects.create(
            backend=backend, kind=kind, holder=holder, what="SELECT", place="sales.orders",
            securable_id=the("table", "shop.sales.orders").id, first_seen=now, last_seen=now,
        )  # fmt: skip
    olivia = signed_in("olivia")
    assert [row[1:5] for row in lines(olivia, "/sync.csv")[1:]] == [
        ["foreign", "'=etl", "SELECT", "demo/shop.sales.orders"],
        ["missing", "lw_ana", "SELECT", "demo/shop.sales.orders"],
    ]
    assert [row[1] for row in lines(olivia, "/sync.csv?s=missing")[1:]] == ["missing"]
    assert lines(signed_in("mia"), "/sync.csv")[1:] == []
