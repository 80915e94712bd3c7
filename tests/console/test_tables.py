"""The page of a list and its file agree: the same columns, rows, order and values."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts import people as accounts
from accounts.models import Principal
from authzsite.console.kit.display.tables import Table
from authzsite.console.objects import owners, rules
from authzsite.console.people import views as people
from authzsite.console.roles import views as roles
from authzsite.console.settings import duties
from policies.services import duties as duty_services
from tests.factories import AUTHORITY, BY, a_person, a_role, admit, owned, the, under
from tests.kept import kept
from tests.policies.conftest import make_shop

SEED = 20_261_123
TABLES: dict[str, tuple[str, Table[Any]]] = {
    "/people": ("/people.csv", people.TABLE),
    "/roles": ("/roles.csv", roles.TABLE),
    "/owners": ("/owners.csv", owners.TABLE),
    "/owners?how=nobody": ("/owners.csv?how=nobody", owners.TABLE),
    "/objects/{orders}/rules": ("/objects/{orders}/rules.csv", rules.TABLE),
    "/objects/{orders}/duties": ("/objects/{orders}/duties.csv", duties.TABLE),
}
KINDS = {str(kind.value): str(kind.label).capitalize() for kind in Principal.Kind}
SHOWN: dict[str, Callable[[str], list[str]]] = {
    # what the page says of a value that the file has in another form
    "kind": lambda kind: [KINDS[kind]],
    "groups": lambda groups: groups.split("; ")[:3],
    "object": lambda name: [re.split(r"[./]", name)[-1]],
    "on": lambda name: [re.split(r"[./]", name)[-1]],
    "given on": lambda name: [re.split(r"[./]", name)[-1]],
    "type": lambda type_: [],
    "effect": lambda effect: ["denied"] if effect == "deny" else [],
    "holder": lambda names: [name.partition(":")[2] for name in names.split("; ")][:1],
    "owner": lambda owner: [owner.rpartition(":")[2]],
    "duty": lambda code: [],
    "revision": lambda number: [f"{int(number):,}"],
}
INSTEAD = {"on": "Here", "given on": "Here", "name": "you"}
"""What the page says of its own object, and of who looks."""


def make_world() -> None:
    """Many people, groups, objects, roles and rules, drawn by a seed that is told when it fails."""
    root, chance = make_shop(), random.Random(SEED)
    groups = [f"team{number}" for number in range(5)]
    for number in range(70):
        name = f"p{chance.randrange(10**6)}x{number}"
        a_person(name, *chance.sample(groups, chance.randrange(3)))
        admit(root, name, *(f"group:{group}" for group in groups if not number))
    for number in range(60):
        [table] = under(the("schema", "shop.sales"), "table", f"t{number}")
        if chance.random() < 0.5:
            owned(table, chance.choice(("olivia", "ana")))
    rights = [
        f"{right} on {on}"
        for on in ("table shop.sales.orders", "schema shop.sales", "catalog shop", "metalake")
        for right in ("SELECT_TABLE", "MODIFY_TABLE")
    ]
    for number in range(60):
        given = [f"{chance.choice(('allow', 'deny'))} {right}" for right in chance.sample(rights, number % 3)]
        holders = chance.sample(("ana", "mia", "carl", "group:staff"), chance.randrange(3))
        a_role(root, f"r{number}", *given, held_by=tuple(holders))
    for node in (root, the("table", "shop.sales.orders")):
        for name in ("mia", "ana"):
            accounts.make_account(name)
            duty_services.give(node, "export_history", a_person(name), by=BY, authority=AUTHORITY)


world = kept(make_world)


def in_file(client: Client, address: str) -> tuple[list[str], list[list[str]]]:
    answer: Any = client.get(address)
    content = b"".join(answer.streaming_content).decode()
    head, *lines = csv.reader(io.StringIO(content))
    return head, lines


def on_page(client: Client, address: str) -> tuple[list[str], list[list[str]]]:
    """The labels and the cells of all pages of a list."""
    labels: list[str] = []
    rows: list[list[str]] = []
    following = address
    while following:
        html = client.get(following).content.decode()
        labels = list(map(words_of, re.findall(r'<th role="columnheader".*?</th>', html, re.S)))
        body = re.findall(r"<tbody.*?</tbody>", html, re.S)[-1].split('<tr role="row">')[1:]
        rows += [list(map(words_of, re.findall(r"<t[hd] .*?</t[hd]>", row, re.S))) for row in body]
        onward = re.search(r'href="([^"]+)"\s+rel="next"', html)
        following = address.partition("?")[0] + unescape(onward[1]) if onward else ""
    return labels, rows


def words_of(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


@pytest.mark.parametrize("address", TABLES)
def test_the_page_and_the_file_of_a_list_agree(
    address: str, world: None, signed_in: Callable[[str], Client]
) -> None:
    marek, (sheet, table) = signed_in("marek"), TABLES[address]
    orders = the("table", "shop.sales.orders").id
    (head, lines), (labels, rows) = (
        in_file(marek, sheet.format(orders=orders)),
        on_page(marek, address.format(orders=orders)),
    )
    columns = table.shown(None)
    shown_labels = [label.removesuffix(" ↑").partition(" ?")[0] for label in labels]
    assert shown_labels == [str(column.label) for column in columns]
    assert sorted(head) == sorted(name for column in table.columns for name in column.values())
    assert len(rows) == len(lines) > (3 if "duties" in address else 20), SEED
    for line, row in zip(lines, rows, strict=True):
        values = dict(zip(head, line, strict=True))
        for column, cell in zip(columns, row, strict=True):
            for name in column.values():
                expected = SHOWN.get(name, lambda value: [value])(values[name])
                shown = all(text in cell for text in expected)
                assert shown or cell.endswith(INSTEAD.get(name, "-")), (SEED, name, values, row)
