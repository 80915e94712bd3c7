"""The world most of these tests start from."""

from __future__ import annotations

from catalog.nodes import Node
from tests.factories import a_person, a_role, a_shop, admit, owned, the
from tests.kept import kept


def make_shop() -> Node:
    """Marek owns metalake demo, Olivia schema sales; all staff may use the catalog; analysts read sales."""
    root = a_shop()
    for name in ("olivia", "ana", "mia", "carl"):
        a_person(name, "staff")
    a_person("mia", "analysts")
    a_person("carl", "analysts")
    admit(root, "olivia", "ana", "mia", "carl", "group:staff", "group:analysts")
    owned(the("schema", "shop.sales"), "olivia")
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", held_by=("group:staff",))
    a_role(
        root,
        "sales_read",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        held_by=("group:analysts",),
    )
    a_role(root, "no_contractors", "deny SELECT_TABLE on schema shop.sales", held_by=("carl",))
    return root


shop = kept(make_shop)
