"""A shop whose parts have different owners, so that one request needs several decisions."""

from __future__ import annotations

from accounts import people
from catalog.nodes import Node
from policies.events import REALM_CREATED
from policies.record.change import change
from policies.services import duties
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, owned, the
from tests.kept import kept
from tests.sync.conftest import demo_members, governed, source  # noqa: F401 -- fixtures

PEOPLE = ("carla", "olivia", "theo", "ana", "ben", "dora", "gil")


def make_shop() -> Node:
    """Marek owns metalake demo, Carla catalog shop, Olivia schema sales, Theo table orders there.

    Ana and Ben own nothing and may nothing; Dora may decide requests for schema sales; Gil may grant
    in schema sales; analysts (Ben, Mia) are a group that the realm admits.
    """
    with change(REALM_CREATED, realm=None, by=BY):  # one change is quicker than forty
        return _made()


shop = kept(make_shop)


def _made() -> Node:
    root = a_shop()
    for name in ("marek", *PEOPLE):
        people.make_account(name)
    people.make_account("mia")
    a_person("ben", "analysts")
    a_person("mia", "analysts")
    admit(root, *PEOPLE, "mia", "group:analysts")
    owned(the("catalog", "shop"), "carla")
    owned(the("schema", "shop.sales"), "olivia")
    owned(the("table", "shop.sales.orders"), "theo")
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", held_by=("olivia", "theo", "gil"))
    a_role(root, "sales", "allow USE_SCHEMA on schema shop.sales", held_by=("theo", "gil"))
    a_role(root, "granting", "allow MANAGE_GRANTS on metalake", held_by=("gil",))
    dora = people.ensure("user", "dora")
    duties.give(the("schema", "shop.sales"), "approve_requests", dora, by=BY, authority=AUTHORITY)
    return root
