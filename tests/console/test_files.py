"""Tables as files: the same rows as the page, for the same people, safe in a spreadsheet, looks recorded."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRecord, Backend, BackendFinding
from policies.record import revisions
from policies.requests import submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.services import accounts, duties, grants
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, the, under

Enter = Callable[[str], Client]


def lines(client: Client, address: str) -> list[list[str]]:
    answer = client.get(address)
    assert answer.status_code == 200, address
    assert answer["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))


def address_of(name: str, **more: int) -> str:
    numbers = {"role": the("role", "sales_read").id, "table": the("table", "shop.sales.orders").id}
    numbers |= {"analysts": people.ensure("group", "analysts").pk, "mia": a_person("mia").pk}
    numbers |= {"sales": the("schema", "shop.sales").id, "ana": a_person("ana").pk}
    return name.format(**numbers, **more)


FILES = (
    ("olivia", "/people.csv?kind=group", "", ["group | analysts | analysts | ", "group | staff | staff | "]),
    ("olivia", "/people.csv?q=mia", "", ["user | mia | Mia Meyer | analysts; staff"]),
    ("ana", "/people.csv?q=mia", "", []),
    (
        "olivia",
        "/people/{analysts}/groups.csv",
        "group, member, shown as",
        ["analysts | user:carl | carl", "analysts | user:mia | Mia Meyer"],
    ),
    (
        "mia",
        "/people/{mia}/groups.csv",
        "group, member, begins, ends",
        ["analysts | user:mia |  | ", "staff | user:mia |  | "],
    ),
    ("marek", "/roles.csv?q=sales", "", ["sales_read | demo | 1 holder | On 1 object | Nothing | "]),
    ("ana", "/roles.csv", "role, held by", ["browse | 1 holder"]),
    (
        "marek",
        "/roles/{role}/holders.csv",
        "role, holder, person, shown as",
        [
            "sales_read | group:analysts | user:carl | carl",
            "sales_read | group:analysts | user:mia | Mia Meyer",
        ],
    ),
    (
        "marek",
        "/roles/{role}/gives.csv",
        "",
        ["sales_read | demo/shop.sales | schema | Use schema, read tables | allow"],
    ),
    ("olivia", "/search.csv?q=orders", "", ["demo/shop.sales.orders | table | orders | Olivia Owner | "]),
    ("ana", "/search.csv?q=orders", "", []),
    ("olivia", "/search.csv", "", []),
    ("marek", "/owners.csv?of=olivia", "", ["demo/shop.sales | schema | user:olivia | Olivia Owner"]),
    ("marek", "/owners.csv?how=nobody&type=role&q=read", "object, owner", ["demo/sales_read | "]),
    ("mia", "/owners.csv?of=olivia", "", []),
    # who can sign in
    (
        "sam",
        "/accounts.csv?q=mia",
        "account, shown as, acts as, token, state",
        ["mia | Mia Meyer | user:mia | no | Enabled"],
    ),
    ("sam", "/accounts.csv?kind=services", "", ["etl | user:marek | no | Enabled"]),
    ("sam", "/accounts.csv?kind=unkept", "", []),
    # what another sees
    (
        "marek",
        "/people/{mia}/sees.csv?in={sales}&q=ord",
        "",
        ["user:mia | Mia Meyer | demo/shop.sales.orders | table | Read"],
    ),
    ("marek", "/people/{mia}/sees.csv?in={sales}&q=top", "", []),
    ("mia", "/people/{mia}/sees.csv", "object, type", ["demo | metalake"]),
    # two beside each other
    (
        "marek",
        "/roles/compare.csv?a=sales_read&b=browse&only=first",
        "",
        [
            "demo/shop.sales | schema | sales_read | Use schema, read tables | browse |  | Only the first",
        ],
    ),
    ("mia", "/roles/compare.csv?a=sales_read&b=no_contractors", "", []),
    # the past
    (
        "olivia",
        "/objects/{table}/then.csv?at={given}",
        "principal, could",
        [
            *("user:ana | Read", "user:carl | Nothing", "user:marek | Everything"),
            *("user:mia | Read", "user:olivia | Everything"),
        ],
    ),
    (
        "olivia",
        "/objects/{table}/then.csv?at={before}&to={given}&show=changes",
        "principal, could, can after, until revision",
        ["user:ana | Nothing | Read | {given}"],
    ),
    (
        "olivia",
        "/objects/{table}/then.csv?at={before}&show=between",
        "principal, could, since revision, until revision",
        [
            *("user:ana | Read | {given} | {taken}", "user:marek | Everything | {before} | "),
            *("user:mia | Read | {before} | ", "user:olivia | Everything | {before} | "),
        ],
    ),
    (
        "olivia",
        "/people/{ana}/then.csv?at={given}",
        "object, first could",
        ["demo/shop.sales | Use schema", "demo/shop.sales.orders | Read"],
    ),
    (
        "olivia",
        "/people/{ana}/then.csv?at={before}&to={given}",
        "object, first could, second could, change",
        ["demo/shop.sales | Nothing | Use schema | gain", "demo/shop.sales.orders | Nothing | Read | gain"],
    ),
    (
        "marek",
        "/roles/{role}/then.csv?at={given}",
        "role, object, rights, effect",
        ["sales_read | demo/shop.sales | Use schema, read tables | allow"],
    ),
    # who watches, what is asked for, what was refused
    ("marek", "/objects/{table}/duties.csv", "holder, duty, given on", ["user:ada | export_history | demo"]),
    (
        "ana",
        "/requests.csv?tab=mine",
        "requested by, for, object, action, reason, state",
        ["user:ana | user:ana | demo/shop.sales.orders | read | Returns report | waiting for a decision"],
    ),
    ("mia", "/requests.csv?tab=all", "", []),
    ("marek", "/hints.csv", "", []),
    (
        "ada",
        "/history/looks.csv?kind=refused",
        "kind, who, what, object, through, times",
        ["refused | Ana Analyst | Table.loadTable | demo/shop.sales.orders | console | 2"],
    ),
    ("marek", "/roles/{role}/then.csv?at={given}&show=held", "role, holder", ["sales_read | group:analysts"]),
)
"""Who asks, for what, which columns are looked at, and the rows."""


def test_a_file_holds_what_one_may_know(shop: Node, signed_in: Enter, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    accounts.set_keeper(people.ensure("service", "etl"), a_person("marek"), by=BY, authority=AUTHORITY)
    clients = {who: signed_in(who) for who in ("mia", "marek", "olivia", "ana", "ada", "sam")}
    at = came_and_went()
    duties.give(shop, "export_history", a_person("ada"), by=BY, authority=AUTHORITY)
    wants = (WantedAction("table", "demo/shop.sales.orders", "read"),)
    submission.ask(Asking(wants, a_person("ana"), reason="Returns report", lasts="P30D"), by=acting("ana"))
    for _ in range(2):
        clients["ana"].get(f"/objects/{the('table', 'shop.sales.orders').id}")  # is refused
    wrong = {}
    for who, address, columns, rows in FILES:
        head, *file_rows = lines(clients[who], address_of(address, **at))
        places = [head.index(item) for item in columns.split(", ")] if columns else range(len(head))
        cells = [" | ".join(line[place] for place in places) for line in file_rows]
        if cells != [row.format(**at) for row in rows]:
            wrong[who, address] = cells
    assert not wrong


def came_and_went() -> dict[str, int]:
    """Ana was given the table and it was taken again; the revisions before, with it and after."""
    table, ana = the("table", "shop.sales.orders"), a_person("ana")
    before = revisions.latest().revision
    grants.add(GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True), by=acting("olivia"))
    given = revisions.latest().revision
    grants.remove(table, (ana,), ("SELECT_TABLE",), by=acting("olivia"))
    return {"before": before, "given": given, "taken": revisions.latest().revision}


@pytest.mark.parametrize(
    "page",
    ["/objects/{table}/then", "/people/{ana}/then", "/roles/{role}/then"],
    ids=["object", "person", "role"],
)
def test_a_file_of_no_moment_is_told_of_by_its_page(page: str, shop: Node, signed_in: Enter) -> None:
    for at in ("", "never", "2026-13-01"):
        address = address_of(page)
        answer = signed_in("marek").get(f"{address}.csv?at={at}", follow=True)
        assert answer.redirect_chain == [(f"{address}?at={at}", 302)]
        assert ("or an existing revision" in answer.content.decode()) == bool(at)


def test_rules_come_with_their_holders(shop: Node, signed_in: Enter) -> None:
    file_rows = lines(signed_in("olivia"), address_of("/objects/{table}/rules.csv"))
    assert file_rows[0] == ["object", "on", "right", "effect", "role", "holder", "begins", "ends", "revision"]
    rows = {tuple(row[1:6]) for row in file_rows[1:]}
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
        ("/people/{mia}/sees.csv?in={sales}", "the catalog as "),
        ("/objects/{table}/then.csv?at=3", "access in the past"),
    ],
)
def test_a_look_at_others_is_recorded(address: str, operation: str, shop: Node, signed_in: Enter) -> None:
    lines(signed_in("marek"), address_of(address))
    records = AccessRecord.objects.filter(kind="looked", operation__startswith=operation)
    assert [row.actor for row in records] == [a_person("marek").pseudonym]


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
