"""Service accounts ask about others in realms that admit them; any other realm reads like an absent one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import people, tokens
from catalog.nodes import Node
from policies.models import AccessRecord
from policies.record import inquiries
from policies.services import members, objects, realms, roles
from policies.services.objects import NewObject
from tests.admitted import admitted_service
from tests.api.world import BY, EVALUATION, EVALUATIONS, Caller, Shop, question, token, user
from tests.kept import kept
from tests.policies.test_seals import past_triggers

SEARCH = "/access/v1/search"
Ask = Callable[[Caller, str], Any]


def evaluated(caller: Caller, realm: str) -> Any:
    return caller.send(EVALUATION, question("user:clerk", "read", f"table:{realm}/cat.sch.tab"))


def evaluated_together(caller: Caller, realm: str) -> Any:
    asked = [question("user:clerk", action, f"table:{realm}/cat.sch.tab") for action in ("read", "write")]
    return caller.send(EVALUATIONS, {"evaluations": asked})


def who_may(caller: Caller, realm: str) -> Any:
    return caller.send(f"{SEARCH}/subject", question("user:", "read", f"table:{realm}/cat.sch.tab"))


def what_may(caller: Caller, realm: str) -> Any:
    return caller.send(f"{SEARCH}/action", question("user:clerk", "", f"table:{realm}/cat.sch.tab"))


def explained(caller: Caller, realm: str) -> Any:
    asked = {"principal": "user:clerk", "action": "read", "resource": f"table:{realm}/cat.sch.tab"}
    return caller.get("/authz/v1/explain", asked)


def snapshot(caller: Caller, realm: str) -> Any:
    return caller.get("/authz/v1/snapshot", {"realm": realm, "for": "user:clerk"})


def access(caller: Caller, realm: str) -> Any:
    return caller.get("/authz/v1/access", {"realm": realm, "principal": "user:clerk"})


def holders(caller: Caller, realm: str) -> Any:
    return caller.get("/authz/v1/access", {"resource": f"table:{realm}/cat.sch.tab"})


def resolved(caller: Caller, realm: str) -> Any:
    return caller.send("/authz/v1/resolve", {"realm": realm, "names": ["cat.sch.tab"], "locations": ["/x"]})


def history(caller: Caller, realm: str) -> Any:
    return caller.get("/authz/v1/audit", {"realm": realm})


def splits(caller: Caller, realm: str) -> Any:
    return caller.get("/authz/v1/splits", {"realm": realm, "view": "objects"})


WAYS: tuple[Ask, ...] = (
    *(evaluated, evaluated_together, who_may, what_may, explained, snapshot),
    *(access, holders, resolved, history, splits),
)


def make_zebra(shop: Shop) -> Node:
    """Another realm, in which user clerk reads a table, and which admits nobody else."""
    realm = realms.create("gravitino", "zebra", owner=user("zebraowner"), **BY)
    members.add(realm, user("clerk"), **BY)
    reader = roles.create(realm, "reader", **BY)
    roles.assign(reader, user("clerk"), **BY)
    place = realm
    for type_, name, code in (
        ("catalog", "cat", "USE_CATALOG"),
        ("schema", "sch", "USE_SCHEMA"),
        ("table", "tab", "SELECT_TABLE"),
    ):
        [place] = objects.register(place, [NewObject(type_, name)], owner=user("zebraowner"), **BY)
        roles.add_privileges(reader, place, [roles.Privilege(code)], **BY)
    return realm


zebra = kept(make_zebra, on="shop")


@pytest.fixture
def robo(shop: Shop, zebra: Node) -> Caller:
    """A service account that realm demo admits, and realm zebra does not."""
    members.add(shop.realm, people.ensure("service", "robo"), **BY)
    return Caller(token("service", "robo"))


def seen(answer: Any, realm: str) -> tuple[int, str, list[str]]:
    return answer.status_code, answer.content.decode().replace(realm, "REALM"), sorted(answer.headers)


@pytest.mark.parametrize("way", WAYS)
def test_a_realm_that_does_not_admit_a_service_reads_like_an_absent_one(robo: Caller, way: Ask) -> None:
    hidden, absent = seen(way(robo, "zebra"), "zebra"), seen(way(robo, "nonesuch"), "nonesuch")
    assert hidden == absent
    assert "zebraowner" not in hidden[1]
    assert '"decision":true' not in hidden[1]


def tables(caller: Caller, who: str) -> list[str]:
    response = caller.send(f"{SEARCH}/resource", question(f"user:{who}", "read", "table:"))
    return [item["id"] for item in response.json()["results"]]


def test_it_finds_nothing_elsewhere(robo: Caller) -> None:
    assert tables(robo, "clerk") == tables(robo, "zebraowner") == []


@pytest.mark.parametrize("through", ["itself", "a group"])
def test_where_it_is_admitted_it_asks(robo: Caller, zebra: Node, through: str) -> None:
    service, group = people.ensure("service", "robo"), people.ensure("group", "programs")
    members.join_group(group, service, **BY)
    members.add(zebra, group if through == "a group" else service, **BY)
    assert evaluated(robo, "zebra").json()["decision"] is True
    assert snapshot(robo, "zebra").status_code == 200
    assert {"type": "user", "id": "clerk"} in who_may(robo, "zebra").json()["results"]
    assert tables(robo, "clerk") == ["zebra/cat.sch.tab"]


@pytest.mark.parametrize(("kind", "settings"), [("herd", {}), ("cdap", {"policy": "4.3"})])
def test_where_everybody_belongs_the_first_service_admitted_by_name_closes_it_to_others(
    db: None, kind: str, settings: dict[str, str]
) -> None:
    realms.create(kind, "open", owner=user("admin"), settings=settings, **BY)
    robo, other = (Caller(token("service", name, "check")) for name in ("robo", "other"))
    asked = "/authz/v1/snapshot?realm=open&for=user:admin"
    assert [caller.get(asked).status_code for caller in (robo, other)] == [200, 200]
    admitted_service("robo")
    assert [caller.get(asked).status_code for caller in (robo, other)] == [200, 403]


def test_a_forged_row_of_members_admits_no_service(db: None) -> None:
    realms.create("herd", "open", owner=user("admin"), settings={}, **BY)
    admitted_service("robo")
    other = Caller(token("service", "other", "check"))
    past_triggers(
        "INSERT INTO policies_realmmember (realm_id, principal_id, opened, origin, seal)"
        f" SELECT realm_id, {people.ensure('service', 'other').pk}, opened, origin, seal"
        f" FROM policies_realmmember WHERE principal_id = {people.ensure('service', 'robo').pk}"
    )
    assert other.get("/authz/v1/snapshot?realm=open&for=user:admin").status_code == 403


def test_what_it_asks_is_counted_in_one_record(shop: Shop, etl: Caller) -> None:
    asked = [question(f"user:u{at}", "read", f"table:demo/shop.sales.t{at}") for at in range(50)]
    for _ in range(3):
        etl.send(EVALUATIONS, {"evaluations": asked})
    inquiries.tally.write()
    record = AccessRecord.objects.get(kind="looked")
    assert (record.operation, record.object_name, record.repeat.count) == ("access of others", "demo", 150)


def test_counting_costs_a_check_nothing(shop: Shop, etl: Caller) -> None:
    asked = question("user:marek", "read", "table:demo/shop.sales.orders")
    etl.send(EVALUATION, asked)
    with CaptureQueriesContext(connection) as queries:
        etl.send(EVALUATION, asked)
    assert not [query["sql"] for query in queries if "policies_access" in query["sql"]]


def test_asking_elsewhere_is_told_to_the_realm(robo: Caller) -> None:
    evaluated(robo, "zebra")
    record = AccessRecord.objects.get(kind="refused")
    assert (record.operation, record.object_name) == ("access of others", "zebra")
    assert not AccessRecord.objects.filter(kind="looked").exists()


def test_about_itself_a_service_asks_everywhere(zebra: Node) -> None:
    caller = Caller(tokens.create(people.ensure("service", "robo")))
    assert caller.decide("service:robo", "read", "table:zebra/cat.sch.tab")["decision"] is False


def test_many_questions_in_a_realm_open_to_all_find_out_once_who_is_admitted(shop: Shop, etl: Caller) -> None:
    realms.create("herd", "everybodys", owner=user("marek"), **BY)
    asked = [question(f"user:u{at}", "read", f"namespace:everybodys/n{at}") for at in range(20)]

    def admitting(items: list[dict[str, Any]]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert etl.send(EVALUATIONS, {"evaluations": items}).status_code == 200
        return sum("policies_realmmember" in query["sql"] for query in queries)

    admitting(asked)
    assert admitting(asked) == admitting(asked[:1]) > 0
