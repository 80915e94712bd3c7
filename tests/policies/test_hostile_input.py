"""Text that no database can hold, and far too much of it: found nowhere, recorded readably, never a crash."""

from __future__ import annotations

import pytest

from accounts import people
from catalog.nodes import Node
from catalog.queries import find, realm_named
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.decisions import slices
from policies.decisions.lookups import visible_objects
from policies.errors import Invalid
from policies.models import AccessRecord, Change
from policies.record import access_log, history
from policies.record.verify import verify
from policies.services import grants, objects
from policies.services.grants import GrantRequest
from policies.services.objects import NewObject
from tests.factories import AUTHORITY, BY, a_person, the, under

UNHOLDABLE = ["nul\0", "half \ud800", "\udfff", "\0" * 5000]


@pytest.mark.parametrize("text", [*UNHOLDABLE, "x" * 100_000, "%_\\'\""])
def test_nothing_bears_such_a_name(shop: Node, text: str) -> None:
    ana = people.ensure("user", "ana")
    assert people.find("user", text) is None
    assert realm_named(text) is None
    assert find(ObjectRef("table", "demo", ("shop", "sales", text))) is None
    assert find(ObjectRef("table", text, ("shop", "sales", "orders"))) is None
    assert not visible_objects.search(slices.current(ana, shop), shop, text)
    assert not visible_objects.admitted(shop, text)
    assert not history.page(history.Filter(text=text), history.sight(ana, [shop])).entries


@pytest.mark.parametrize("text", [*UNHOLDABLE, "x" * 100_000])
def test_a_refusal_is_recorded_whatever_was_asked_for(shop: Node, text: str) -> None:
    access_log.refused(a_person("eve"), text, None, name=text, via="api")
    access_log.refused(a_person("eve"), text, None, name=text, via="api")
    assert AccessRecord.objects.count() == 1
    assert verify()


@pytest.mark.parametrize("text", [*UNHOLDABLE, "x" * 100_000])
def test_a_reason_and_a_request_are_recorded_whatever_they_hold(shop: Node, text: str) -> None:
    by = Actor(people.ensure("user", "olivia"), "console", request_id=text)
    wish = GrantRequest(the("table", "shop.sales.orders"), (people.ensure("user", "ana"),), ("SELECT_TABLE",))
    assert grants.add(wish, by=by, reason=text)
    assert Change.objects.latest("revision").reason
    assert verify()


@pytest.mark.parametrize("text", UNHOLDABLE[:3])
def test_an_object_says_of_itself_only_what_can_be_kept(shop: Node, text: str) -> None:
    sales = the("schema", "shop.sales")
    for new in (
        NewObject("table", "t", comment=text),
        NewObject("table", "t", properties={"a": text}),
        NewObject("table", "t", columns=[{"name": text}]),
    ):
        with pytest.raises(Invalid):
            objects.register(sales, [new], by=BY, authority=AUTHORITY)
    under(sales, "table", "t")


@pytest.mark.parametrize(
    ("type_", "name"), [("role", "~ana"), ("role", "reader"), ("user", "zoe"), ("group", "all")]
)
def test_what_has_a_service_of_its_own_is_registered_by_no_other(shop: Node, type_: str, name: str) -> None:
    """Else who may make roles would own `~ana`, what is given to Ana would go there, and reach nobody."""
    with pytest.raises(Invalid, match="not registered as objects"):
        objects.register(shop, [NewObject(type_, name)], by=BY, authority=AUTHORITY)
