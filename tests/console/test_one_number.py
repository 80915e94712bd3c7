"""One number, one meaning: every page says the same of who can read what, and of who is a member."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from django.test import Client
from django.utils import timezone

from accounts.people import ensure
from catalog.nodes import Node
from policies.analytics.figures import Measured
from policies.decisions import slices
from policies.decisions.lookups.readable import count_readable
from tests.console.conftest import make_shop
from tests.drawn import seeds
from tests.factories import a_person, a_role, admit, the, under

Enter = Callable[[str], Client]
PEOPLE = ("ana", "mia", "carl", "olivia", "marek", "pia", "quentin")
PLACES = (
    "schema shop.sales",
    "table shop.sales.orders",
    "schema shop.extra",
    "table shop.extra.one",
    "catalog shop",
)
RIGHTS = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")


def a_world(seed: int) -> Node:
    """The shop with a schema more, and some roles by chance; some of them deny."""
    root, chance = make_shop(), random.Random(seed)
    [extra] = under(the("catalog", "shop"), "schema", "extra")
    under(extra, "table", "one", "two", "three")
    for name in ("pia", "quentin"):
        a_person(name)
        admit(root, name)
    for number in range(6):
        some = [
            f"{chance.choice(('allow', 'allow', 'deny'))} {code} on {place}"
            for place in chance.sample(PLACES, 2)
            for code in chance.sample(RIGHTS, 2)
            if fits(code, place)
        ]
        a_role(root, f"by_chance_{number}", *some, held_by=tuple(chance.sample(PEOPLE, 2)))
    return root


def fits(code: str, place: str) -> bool:
    order = ("catalog", "schema", "table")
    type_ = place.split(" ")[0]
    lowest = code.removeprefix("USE_").lower() if code.startswith("USE_") else "table"
    return order.index(type_) <= order.index(lowest)


def fact(page: str, label: str) -> str:
    """What the line of facts says under a label."""
    text = re.sub(
        r"<[^>]+>", "\n", re.split(rf"<dt>(?:<a[^>]*>)?{label}", page, maxsplit=1)[1].split("</div>", 1)[0]
    )
    return next(line for line in text.split("\n") if re.match(r"\d|Nobody|Nothing", line.strip())).strip()


def number(text: str) -> int:
    numbers = [int(many) for many in re.findall(r"\d+", text)]
    return sum(numbers)


@seeds(3)
def test_pages_agree_on_who_can_read(seed: int, db: None, signed_in: Enter) -> None:
    root = a_world(seed)
    measured = Measured(root, now=timezone.now()).figures()
    furthest = {row["key"]: row["weight"] for row in measured["furthest"]}
    exposed = {row["key"]: row["weight"] for row in measured["exposed"]}
    marek = signed_in("marek")
    for name in PEOPLE:
        person = ensure("user", name)
        page = marek.get(f"/people/{person.pk}").content.decode()
        assert number(fact(page, "Can read")) == furthest.get(person.pk, 0), name
    for text in ("shop.sales.orders", "shop.extra.one", "shop.extra.two"):
        table = the("table", text).id
        page = marek.get(f"/objects/{table}").content.decode()
        assert number(fact(page, "Can read")) == exposed.get(table, 0), text


def test_pages_agree_on_who_is_a_member(db: None, signed_in: Enter) -> None:
    root = a_world(0)
    marek = signed_in("marek")
    realm = marek.get(f"/realms/{root.id}").content.decode()
    top = marek.get(f"/objects/{root.id}").content.decode()
    many = number(fact(realm, "Members"))
    assert many == number(fact(top, "Can use it"))
    listed = re.search(r'data-label="Members"><span>([^<]*)', marek.get("/realms").content.decode())
    assert listed and number(listed[1]) == many
    assert Measured(root, now=timezone.now()).figures()["people"]["members"] == many


def test_a_viewer_counts_what_they_may_know_of(db: None, signed_in: Enter) -> None:
    """Olivia owns one schema: of another's access they are told no more than what lies in it."""
    root = a_world(1)
    mia, now = ensure("user", "mia"), timezone.now()
    sales = the("schema", "shop.sales").id
    slice_ = slices.current(mia, root, now=now)
    count = count_readable(slice_, root, now=now, within={sales})
    page = signed_in("olivia").get(f"/people/{mia.pk}").content.decode()
    assert number(fact(page, "Can read")) == count
    whole = count_readable(slice_, root, now=now)
    assert count is not None and whole is not None and count <= whole


def test_each_number_leads_to_what_it_means(db: None, signed_in: Enter) -> None:
    a_world(0)
    page = signed_in("marek").get(f"/objects/{the('table', 'shop.sales.orders').id}").content.decode()
    assert 'href="/help#can-count"' in page
    assert 'id="can-count"' in signed_in("marek").get("/help").content.decode()
