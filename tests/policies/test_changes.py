"""The one way to write: numbered, chained, replayable, and proof against two writers at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, connections, transaction

from accounts import people
from accounts.models import Membership
from catalog.models import Mode, Placement
from catalog.nodes import Node
from policies.authority import Authority
from policies.errors import Conflict, Invalid, Refused
from policies.events import GRANT_ADDED, MEMBER_ADDED
from policies.models import Assignment, Change, Counter, Event, Grant, Ownership, RealmMember
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.verify import verify
from policies.services import grants, members, objects, owners, realms, roles
from policies.services.grants import GrantRequest
from policies.services.roles import Privilege
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, the
from tests.policies.conftest import make_shop

FACTS = (Membership, RealmMember, Assignment, Grant, Ownership, Placement, Mode)


def replayed() -> dict[str, dict]:
    """The open facts as the record alone tells them, from its first change on."""
    state: dict[str, dict] = {}
    for event in Event.objects.order_by("change", "number"):
        if "state" in event.data:
            state[event.data["fact"]] = event.data["state"]
        elif "fact" in event.data:
            del state[event.data["fact"]]
    return state


def live() -> set[str]:
    return {f"{row._meta.model_name}:{row.pk}" for model in FACTS for row in model.objects.open()}


def a_busy_history(root: Node) -> None:
    orders = the("table", "shop.sales.orders")
    ana = people.ensure("user", "ana")
    grants.add(
        GrantRequest(orders, (ana,), ("SELECT_TABLE", "MODIFY_TABLE")), by=acting("olivia"), reason="a"
    )
    grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia"))
    owners.set_owner(orders, ana, by=BY, authority=AUTHORITY)
    objects.rename(orders, "purchases", by=BY, authority=AUTHORITY)
    objects.drop(the("schema", "shop.stock"), by=BY, authority=AUTHORITY)
    roles.delete(the("role", "no_contractors"), by=BY, authority=AUTHORITY)
    members.remove(root, ana, by=BY, authority=AUTHORITY)
    from catalog.queries import realm_named

    realms.set_mode(realm_named("demo"), "pass-through", by=BY, authority=AUTHORITY)


def test_replaying_the_record_gives_exactly_the_open_facts(shop: Node) -> None:
    a_busy_history(shop)
    assert replayed().keys() == live()


def test_revisions_have_no_gaps_and_the_chain_holds(shop: Node) -> None:
    a_busy_history(shop)
    revisions = list(Change.objects.order_by("revision").values_list("revision", flat=True))
    assert revisions == list(range(1, Counter.objects.get().revision + 1))
    assert verify()


def test_a_change_that_fails_leaves_nothing(shop: Node) -> None:
    before = Counter.objects.get().revision, Event.objects.count(), live()
    with pytest.raises(ZeroDivisionError), change(MEMBER_ADDED, realm=None, by=BY) as current:
        row = RealmMember(realm_id=shop.realm_id, principal=a_person("eve"))
        current.begin(row, make_event(MEMBER_ADDED, shop, row.principal), by=AUTHORITY)
        raise ZeroDivisionError
    assert (Counter.objects.get().revision, Event.objects.count(), live()) == before


def test_nothing_done_is_no_change(shop: Node) -> None:
    before = Counter.objects.get().revision
    with change(GRANT_ADDED, realm=None, by=BY):
        pass
    assert Counter.objects.get().revision == before


def test_authority_comes_from_a_decision_alone() -> None:
    with pytest.raises(TypeError, match="from a decision"):
        Authority(BY, "I say so")


def test_people_stand_in_the_record_without_their_names(shop: Node) -> None:
    secret = a_person("zz-secret-name")
    members.add(shop, secret, by=BY, authority=AUTHORITY)
    orders = the("table", "shop.sales.orders")
    grants.add(GrantRequest(orders, (secret,), ("SELECT_TABLE",), way=False), by=acting("olivia"))
    grants.remove(orders, [secret], ["SELECT_TABLE"], by=acting("olivia"))
    texts = [
        *Event.objects.values_list("data", "people", "object_name"),
        *Change.objects.values_list("actor"),
    ]
    named = [row for row in texts if "zz-secret-name" in str(row)]
    # the personal role's placement is a fact with a name; everything else speaks of the pseudonym
    assert all("placement:" in str(row) for row in named)


FORBIDDEN = [
    "UPDATE policies_grant SET privilege = 'MODIFY_TABLE'",
    "UPDATE policies_grant SET closed = NULL WHERE closed IS NOT NULL",
    "DELETE FROM policies_ownership",
    "TRUNCATE policies_assignment",
    "UPDATE policies_change SET reason = ''",
    "DELETE FROM policies_event",
    "TRUNCATE policies_event",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_facts_can_only_be_closed_and_the_record_only_grow(shop: Node, statement: str) -> None:
    orders = the("table", "shop.sales.orders")
    ana = people.ensure("user", "ana")
    grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=acting("olivia"))
    grants.remove(orders, [ana], ["SELECT_TABLE"], by=acting("olivia"))
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)


def test_a_realm_is_never_left_without_an_owner(shop: Node) -> None:
    with pytest.raises(Invalid, match="is the owner of the metalake"):
        members.remove(shop, people.ensure("user", "marek"), by=BY, authority=AUTHORITY)
    row = Ownership.objects.open().get(securable=shop.id)
    with pytest.raises(Conflict, match="without an owner"), change("x", realm=None, by=BY) as current:
        current.end(row, make_event("owner.ended", shop, row.owner), by=AUTHORITY)


@pytest.mark.django_db(transaction=True)
def test_two_writers_who_together_would_break_the_law_are_not_both_let_through() -> None:
    root = make_shop()
    role, orders = a_role(root, "both"), the("table", "shop.sales.orders")
    gate, outcomes = threading.Barrier(2), []

    def writer(effect: str) -> Callable[[], None]:
        def write() -> None:
            gate.wait()
            try:
                privilege = [Privilege("SELECT_TABLE", effect)]
                roles.add_privileges(role, orders, privilege, by=BY, authority=AUTHORITY)
                outcomes.append("written")
            except Invalid:
                outcomes.append("refused")
            finally:
                connections.close_all()

        return write

    threads = [threading.Thread(target=writer(effect)) for effect in ("allow", "deny")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "written"]
    assert Grant.objects.open().filter(role=role.id).count() == 1


def test_authority_is_judged_under_the_lock_not_before(shop: Node) -> None:
    orders, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    owners.set_owner(the("schema", "shop.sales"), ana, by=BY, authority=AUTHORITY)
    with pytest.raises(Refused):
        grants.add(GrantRequest(orders, (ana,), ("SELECT_TABLE",)), by=acting("olivia"))
