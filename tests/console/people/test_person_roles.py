"""Several roles at once to one person or group, so that whoever is new can start; foretold together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.people import ensure
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions import ask
from policies.models import Assignment, Change
from tests.console.people.test_groups import undo_on
from tests.console.settings.test_owners_and_members import posted
from tests.console.test_forms import can_read
from tests.factories import a_person, a_role, admit, the
from tests.kept import kept

Enter = Callable[[str], Client]


def page_of(name: str, kind: str = "user") -> str:
    return f"/people/{ensure(kind, name).pk}/roles"


def held_by(name: str, kind: str = "user") -> set[str]:
    rows = Assignment.objects.open().filter(holder=ensure(kind, name)).values_list("role", flat=True)
    return {item for item in ("browse", "opens", "reads") if the("role", item).id in rows}


def make_newcomer(shop: Node) -> Node:
    """Noah has just joined; one role opens schema sales, another reads its tables: it takes both."""
    admit(shop, "noah", "ines", "group:interns")
    a_person("ines", "interns")
    a_role(shop, "opens", "allow USE_SCHEMA on schema shop.sales")
    a_role(shop, "reads", "allow SELECT_TABLE on schema shop.sales")
    return shop


newcomer = kept(make_newcomer, on="shop")


def roles(*names: str) -> list[int]:
    return [the("role", name).id for name in names]


@pytest.mark.seed("S4-019")
@pytest.mark.parametrize(("kind", "name", "reader"), [("user", "noah", "noah"), ("group", "interns", "ines")])
def test_whoever_is_new_gets_all_roles_in_one_step(
    kind: str, name: str, reader: str, newcomer: Node, signed_in: Enter
) -> None:
    marek, orders, before = signed_in("marek"), the("table", "shop.sales.orders"), Change.objects.count()
    answer = posted(
        marek, page_of(name, kind), role=roles("browse", "opens", "reads"), until="never", step="save"
    )
    assert held_by(name, kind) == {"browse", "opens", "reads"}
    assert Change.objects.count() == before + 1
    assert can_read(reader, orders)
    marek.post(undo_on(marek, answer["Location"]))
    assert held_by(name, kind) == set()


def test_they_are_foretold_together(newcomer: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    both = {"role": roles("browse", "opens", "reads"), "step": "look"}
    single = {"role": roles("reads"), "step": "look"}
    assert "read all tables in sales" in marek.post(page_of("noah"), both).content.decode()
    alone = marek.post(page_of("noah"), single).content.decode()
    assert "cannot use it yet" in alone
    assert held_by("noah") == set()


def test_a_role_is_chosen_and_a_day_is_real(newcomer: Node, signed_in: Enter) -> None:
    marek = signed_in("marek")
    assert posted(marek, page_of("noah"), step="save").status_code == 422
    past = {"until": "date", "date": "2001-01-01T00:00"}
    assert posted(marek, page_of("noah"), role=roles("opens"), step="save", **past).status_code == 422
    assert held_by("noah") == set()


@pytest.mark.parametrize("name", ["olivia", "gina"])
def test_who_may_give_no_roles_is_told_so(name: str, newcomer: Node, signed_in: Enter) -> None:
    admit(newcomer, "gina")
    a_role(newcomer, "grants", "allow MANAGE_GRANTS on schema shop.sales", held_by=("gina",))
    client = signed_in(name)
    assert "You cannot assign any role here." in client.get(page_of("noah")).content.decode()
    client.post(page_of("noah"), {"role": roles("opens"), "step": "save", "nonce": "c" * 20})
    assert held_by("noah") == set()


def test_who_is_no_member_is_offered_no_roles(newcomer: Node, signed_in: Enter, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"marek"})
    a_person("zoe")
    body = signed_in("marek").get(page_of("zoe")).content.decode()
    assert "You cannot assign any role here." in body


@pytest.mark.seed("S4-054")
def test_a_service_admin_makes_metalakes_and_may_nothing_inside_them(
    newcomer: Node, signed_in: Enter, settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    sam, mia, create = a_person("sam"), a_person("mia"), "Metalake.createMetalake"
    assert ask.ask_site(sam, "gravitino", create)
    assert not ask.ask_site(mia, "gravitino", create)
    inside = [
        newcomer,
        *(the(*item.split(" ")) for item in ("catalog shop", "schema shop.sales", "table shop.sales.orders")),
    ]
    operations = set(dialects.get("gravitino").operations) - {create}
    allowed = {(op, node.type) for node in inside for op in operations if ask.ask(sam, op, node)}
    assert allowed == set()
    client = signed_in("sam")
    for node in inside:
        assert client.get(f"/objects/{node.id}").status_code == 404
