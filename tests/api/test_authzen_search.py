"""The searches over HTTP: who may, on what, what may be done; pages, and who may search."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people, tokens
from catalog.queries import realm_named
from policies.authority import Actor
from policies.decisions.lookups import searches
from policies.models import AccessRecord
from policies.services import duties, members, objects, realms, roles
from policies.services.grants import GrantRequest, add
from policies.services.objects import NewObject
from tests.admitted import admitted_service
from tests.api.world import BY, Caller, Shop, question, token, user

SUBJECT, RESOURCE, ACTION = (f"/access/v1/search/{each}" for each in ("subject", "resource", "action"))
ORDERS = "table:demo/shop.sales.orders"


def asked(path: str, subject: str, action: str, resource: str, **more: Any) -> dict[str, Any]:
    """A search as its path wants it; what is looked for loses its id."""
    body = question(subject, action, resource)
    if path == ACTION:
        del body["action"]
    elif not body[path.rpartition("/")[2]]["id"]:
        del body[path.rpartition("/")[2]]["id"]
    return {**body, **more}


def names(caller: Caller, path: str, subject: str, action: str, resource: str) -> list[str]:
    response = caller.send(path, asked(path, subject, action, resource))
    assert response.status_code == 200, response.content
    return [item.get("id", item.get("name")) for item in response.json()["results"]]


def pages(caller: Caller, path: str, body: dict[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    page: dict[str, Any] = {"limit": limit}
    while True:
        response = caller.send(path, {**body, "page": page})
        assert response.status_code == 200, response.content
        yield response.json()
        page = {"token": response.json()["page"]["next_token"]}
        if not page["token"]:
            return


def test_subjects_are_those_who_may_themselves_or_through_a_group(shop: Shop, etl: Caller) -> None:
    assert names(etl, SUBJECT, "user:", "read", ORDERS) == ["marek"]
    shop.allow(shop.sales, "SELECT_TABLE")
    crew = people.ensure("group", "crew")
    members.add(shop.realm, crew, **BY)
    members.join_group(crew, user("bob"), **BY)
    assert set(names(etl, SUBJECT, "user:", "read", ORDERS)) == {"marek", "ana"}
    roles.assign(shop.readers, crew, **BY)
    assert set(names(etl, SUBJECT, "user:", "read", ORDERS)) == {"marek", "ana", "bob"}
    assert names(etl, SUBJECT, "group:", "read", ORDERS) == ["crew"]
    assert names(etl, SUBJECT, "service:", "read", ORDERS) == []
    shop.allow(shop.tables["orders"], "SELECT_TABLE", effect="deny")
    assert set(names(etl, SUBJECT, "user:", "read", ORDERS)) == {"marek"}


def test_everybody_admitted_may_use_the_realm(shop: Shop, etl: Caller) -> None:
    names_ = names(etl, SUBJECT, "user:", "use", "metalake:demo")
    assert set(names_) == {"marek", "olivia", "ana", "ada", "bob"}


def test_resources_are_those_on_which_it_is_allowed(shop: Shop, ana: Caller) -> None:
    assert names(ana, RESOURCE, "user:ana", "read", "table:") == []
    shop.allow(shop.tables["items"], "SELECT_TABLE")
    assert names(ana, RESOURCE, "user:ana", "read", "table:") == ["demo/shop.sales.items"]
    shop.allow(shop.catalog, "SELECT_TABLE")
    shop.allow(shop.tables["orders"], "SELECT_TABLE", effect="deny")
    names_ = names(ana, RESOURCE, "user:ana", "read", "table:")
    assert set(names_) == {
        "demo/shop.sales.items",
        'demo/shop.sales."odd.name"',
        "demo/shop.sales.naïve 店 😀",
    }
    assert names(ana, RESOURCE, "user:ana", "use", "schema:") == ["demo/shop.sales"]
    assert names(ana, RESOURCE, "user:ana", "use", "metalake:") == ["demo"]


def test_resources_of_all_realms_and_kinds_are_found(shop: Shop, ana: Caller) -> None:
    second = realms.create("gravitino", "second", owner=user("ana"), **BY)
    [catalog] = objects.register(second, [NewObject("catalog", "c")], **BY)
    [outer] = objects.register(catalog, [NewObject("schema", "A")], **BY)
    [inner] = objects.register(outer, [NewObject("schema", "A:B")], **BY)
    objects.register(inner, [NewObject("topic", "t"), NewObject("view", "v")], **BY)
    assert names(ana, RESOURCE, "user:ana", "use", "catalog:") == ["demo/shop", "second/c"]
    assert set(names(ana, RESOURCE, "user:ana", "drop", "schema:")) == {"second/c.A", "second/c.A:B"}
    assert names(ana, RESOURCE, "user:ana", "read", "topic:") == ["second/c.A:B.t"]
    assert names(ana, RESOURCE, "user:ana", "View.loadView", "view:") == ["second/c.A:B.v"]


def test_actions_are_the_names_that_are_allowed(shop: Shop, ana: Caller, etl: Caller) -> None:
    assert names(ana, ACTION, "user:ana", "", ORDERS) == []
    shop.allow(shop.sales, "SELECT_TABLE")
    assert names(ana, ACTION, "user:ana", "", ORDERS) == ["read"]
    shop.allow(shop.sales, "MODIFY_TABLE")
    assert names(ana, ACTION, "user:ana", "", ORDERS) == ["read", "write", "alter"]
    assert names(etl, ACTION, "user:marek", "", ORDERS) == [
        *("read", "write", "alter", "drop", "grant", "set_owner")
    ]


def test_what_is_found_is_what_is_decided(shop: Shop, etl: Caller) -> None:
    shop.allow(shop.catalog, "SELECT_TABLE", "CREATE_TABLE")
    shop.allow(shop.tables["orders"], "MODIFY_TABLE")
    everybody = ["user:marek", "user:olivia", "user:ana", "user:bob"]
    nodes = (shop.realm, shop.catalog, shop.sales, *shop.tables.values())
    places = [f"{node.type}:{node.ref.id}" for node in nodes]
    deeds = ["read", "write", "use", "create_table", "drop", "grant", "Table.loadTable"]
    for who, where in product(everybody, places):
        listed = names(etl, ACTION, who, "", where)
        for deed in deeds:
            decided = etl.decide(who, deed, where)["decision"]
            kind, _, id_ = where.partition(":")
            assert (who[5:] in names(etl, SUBJECT, "user:", deed, where)) == decided, (who, deed, where)
            assert (id_ in names(etl, RESOURCE, who, deed, f"{kind}:")) == decided, (who, deed, where)
            if "." not in deed:
                assert (deed in listed) == decided, (who, deed, where)


def test_a_right_that_ended_is_not_found(shop: Shop, etl: Caller) -> None:
    begins = timezone.now() + timedelta(days=1)
    wish = GrantRequest(shop.tables["orders"], (user("ana"),), ("SELECT_TABLE",), valid_from=begins)
    add(wish, by=Actor(user("marek"), "api"))
    assert names(etl, RESOURCE, "user:ana", "read", "table:") == []
    assert "ana" not in names(etl, SUBJECT, "user:", "read", ORDERS)


@pytest.mark.parametrize("mode", ["on", "off", "pass-through"])
def test_the_switch_of_a_realm_counts(shop: Shop, etl: Caller, mode: str) -> None:
    realms.set_mode(realm_named("demo"), mode, **BY)
    for deed in ("read", "grant"):
        expected = [
            name
            for name in ("marek", "olivia", "ana", "ada", "bob")
            if etl.decide(f"user:{name}", deed, ORDERS)["decision"]
        ]
        assert sorted(names(etl, SUBJECT, "user:", deed, ORDERS)) == sorted(expected)
        names_ = names(etl, RESOURCE, "user:bob", deed, "table:")
        assert len(names_) == (5 if "bob" in expected else 0)


UNKNOWN = [
    (SUBJECT, "robot:", "read", ORDERS),
    (SUBJECT, "user:", "fly", ORDERS),
    (SUBJECT, "user:", "read", "record:demo/shop.sales.orders"),
    (SUBJECT, "user:", "read", "table:demo/shop.sales.nothing"),
    (SUBJECT, "user:", "read", "table:"),
    (SUBJECT, "user:", "read", "table:demo/\0"),
    (RESOURCE, "user:nobody", "read", "table:"),
    (RESOURCE, "robot:x", "read", "table:"),
    (RESOURCE, "user:marek", "read", "record:"),
    (RESOURCE, "user:marek", "fly", "table:"),
    (RESOURCE, "user:\0", "read", "table:"),
    (RESOURCE, "user:", "read", "namespace:"),
    (ACTION, "user:nobody", "", ORDERS),
    (ACTION, "robot:x", "", ORDERS),
    (ACTION, "user:marek", "", "record:demo"),
    (ACTION, "user:marek", "", "table:demo/shop.sales.nothing"),
    (ACTION, "user:\ud800", "", ORDERS),
]


@pytest.mark.parametrize("search", UNKNOWN, ids=ascii)
def test_what_is_unknown_finds_nothing(etl: Caller, search: tuple[str, str, str, str]) -> None:
    response = etl.send(search[0], asked(*search))
    assert (response.status_code, response.content) == (200, b'{"results":[]}')


BESIDE = [
    (SUBJECT, {"subject": {"type": "user", "id": "nobody"}}),
    (SUBJECT, {"subject": {"type": "user", "id": 7}}),
    (RESOURCE, {"resource": {"type": "table", "id": "nothing/at.all"}}),
    (RESOURCE, {"resource": {"type": "table", "id": None}}),
    (ACTION, {"action": {"name": "fly"}}),
    (ACTION, {"action": 3}),
    *((path, {"context": {"a": [1]}, "else": 1}) for path in (SUBJECT, RESOURCE, ACTION)),
]


@pytest.mark.parametrize(("path", "more"), BESIDE, ids=str)
def test_what_is_sent_for_the_searched_entity_is_ignored(
    shop: Shop, etl: Caller, path: str, more: dict[str, Any]
) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")
    body = asked(path, "user:ana", "read", ORDERS)
    plain = etl.send(path, body)
    assert len(plain.json()["results"]) >= 1
    assert etl.send(path, {**body, **more}).content == plain.content


NEEDED = [
    *((SUBJECT, each) for each in ("subject", "subject.type", "action", "action.name", "resource")),
    *((SUBJECT, each) for each in ("resource.type", "resource.id")),
    *((RESOURCE, each) for each in ("subject", "subject.type", "subject.id", "action", "action.name")),
    *((RESOURCE, each) for each in ("resource", "resource.type")),
    *((ACTION, each) for each in ("subject", "subject.type", "subject.id")),
    *((ACTION, each) for each in ("resource", "resource.type", "resource.id")),
]


@pytest.mark.parametrize(("path", "field"), NEEDED, ids=str)
def test_what_a_search_needs_is_asked_for(caller: Caller, path: str, field: str) -> None:
    body = asked(path, "user:ana", "read", ORDERS)
    outer, _, inner = field.partition(".")
    for broken in (None, 3):
        (body[outer] if inner else body)[inner or outer] = broken
        assert caller.send(path, body).status_code == 400
    del (body[outer] if inner else body)[inner or outer]
    response = caller.send(path, body)
    assert (response.status_code, response.json()) == (400, f"{field} is missing")


@pytest.mark.parametrize("path", [SUBJECT, RESOURCE, ACTION])
@pytest.mark.parametrize(
    "page",
    [
        3,
        None,
        [],
        {"limit": 0},
        {"limit": -1},
        {"limit": "1"},
        {"limit": 1.0},
        {"limit": True},
        {"limit": None},
        {"token": 3},
        {"token": None},
        {"token": "a3M9NDU2O3N6PTI="},
        {"token": "\ud800"},
        {"token": "é" * 5000},
        {"properties": 3},
    ],
    ids=ascii,
)
def test_a_broken_page_is_400_with_a_text(ana: Caller, path: str, page: Any) -> None:
    response = ana.send(path, asked(path, "user:ana", "read", ORDERS, page=page))
    assert response.status_code == 400
    assert response.json().startswith("page")


@pytest.mark.parametrize("path", [SUBJECT, RESOURCE, ACTION])
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_pages_together_are_the_whole(shop: Shop, etl: Caller, path: str, limit: int) -> None:
    body = asked(path, "user:marek", "read", ORDERS)
    whole = etl.send(path, body).json()
    assert list(whole) == ["results"]
    items = list(pages(etl, path, body, limit))
    assert [item for page in items for item in page["results"]] == whole["results"]
    assert all(list(page) == ["page", "results"] for page in items)
    assert all(page["page"]["count"] == len(page["results"]) <= limit for page in items)
    assert len(items) == -(-len(whole["results"]) // limit)


def test_a_page_ends_where_it_has_read_enough(
    shop: Shop, ana: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "SCANNED", 1)
    shop.allow(shop.tables["items"], "SELECT_TABLE")
    body = asked(RESOURCE, "user:ana", "read", "table:")
    first = ana.send(RESOURCE, body).json()
    assert (first["results"], bool(first["page"]["next_token"])) == ([], True)
    ids = [item["id"] for page in pages(ana, RESOURCE, body, 5) for item in page["results"]]
    assert ids == ["demo/shop.sales.items"]
    assert (
        len(
            list(
                pages(
                    Caller(tokens.create(admitted_service("etl"))),
                    SUBJECT,
                    asked(SUBJECT, "user:", "read", ORDERS),
                    9,
                )
            )
        )
        > 1
    )


def test_a_token_is_good_for_the_rest_of_its_own_search_only(shop: Shop, etl: Caller, ana: Caller) -> None:
    body = asked(RESOURCE, "user:ana", "use", "schema:")
    shop.allow(shop.secret, "USE_SCHEMA")
    first = etl.send(RESOURCE, {**body, "page": {"limit": 1}}).json()["page"]["next_token"]

    def status(caller: Caller, **more: Any) -> int:
        page = more.pop("page", {"token": first})
        path = more.pop("path", RESOURCE)
        return int(caller.send(path, {**body, "page": page, **more}).status_code)

    assert status(etl) == status(etl, page={"token": first, "limit": 1}) == 200
    assert status(etl, page={"token": first, "limit": 2}) == 400
    assert status(etl, page={"token": first + "x"}) == status(etl, page={"token": first[:-1]}) == 400
    assert status(etl, action={"name": "read"}) == status(etl, context={"a": 1}) == 400
    assert status(etl, subject={"type": "user", "id": "bob"}) == 400
    assert status(etl, resource={"type": "schema", "properties": {"a": 1}}) == 400
    assert status(etl, path=SUBJECT, resource={"type": "schema", "id": "demo/shop.sales"}) == 400
    assert status(ana) == 400
    assert status(etl, resource={"type": "schema", "id": "ignored"}) == 200
    again = etl.send(RESOURCE, {**body, "page": {"token": "", "limit": 1}}).json()
    assert (again["results"], again["page"]["count"]) == ([{"type": "schema", "id": "demo/shop.sales"}], 1)


def test_a_limit_may_be_as_large_as_it_likes(shop: Shop, etl: Caller) -> None:
    page = {"limit": 10**30}
    answer = etl.send(RESOURCE, asked(RESOURCE, "user:marek", "read", "table:", page=page)).json()
    assert answer["page"] == {"next_token": "", "count": 5}


WHO = [
    (SUBJECT, "user:", "read", ORDERS),
    (RESOURCE, "user:bob", "read", "table:"),
    (ACTION, "user:bob", "", ORDERS),
    (SUBJECT, "user:", "read", "table:demo/shop.sales.nothing"),
    (RESOURCE, "user:nobody", "read", "table:"),
]


@pytest.mark.parametrize("search", WHO, ids=str)
def test_searching_about_others_takes_what_asking_takes(
    shop: Shop, ana: Caller, ada: Caller, etl: Caller, settings: Any, search: tuple[str, str, str, str]
) -> None:
    body = asked(*search)
    assert ana.send(search[0], body).status_code == 403
    assert ada.send(search[0], body).status_code == etl.send(search[0], body).status_code == 200
    assert Caller().send(search[0], body).status_code == 401
    assert Caller(token("user", "marek", "report")).send(search[0], body).status_code == 403
    settings.LAKEWARDEN_SERVICE_ADMINS = ["bob", "marek"]
    assert Caller(token("user", "marek")).send(search[0], body).status_code == 200


def test_a_duty_shows_what_it_is_about(shop: Shop, ada: Caller, etl: Caller) -> None:
    body = asked(RESOURCE, "user:marek", "read", "table:")
    assert len(etl.send(RESOURCE, body).json()["results"]) == 5
    shown = [item["id"] for item in ada.send(RESOURCE, body).json()["results"]]
    assert len(shown) == 4
    assert all(id_.startswith("demo/shop.sales.") for id_ in shown)
    plans = asked(SUBJECT, "user:", "read", "table:demo/shop.secret.plans")
    assert ada.send(SUBJECT, plans).status_code == 403


def test_what_people_find_out_about_others_is_recorded(shop: Shop, ada: Caller, etl: Caller) -> None:
    for caller in (ada, etl):
        caller.send(SUBJECT, asked(SUBJECT, "user:", "read", ORDERS))
    looks = AccessRecord.objects.filter(kind="looked").values_list("operation", "object_name")
    assert list(looks) == [("who read", "demo/shop.sales.orders"), ("access of others", "demo")]


@pytest.mark.parametrize("path", [SUBJECT, RESOURCE])
def test_a_search_takes_the_same_queries_however_much_it_finds(shop: Shop, etl: Caller, path: str) -> None:
    shop.allow(shop.sales, "SELECT_TABLE")

    def count(body: dict[str, Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert etl.send(path, body).status_code == 200
        return len(queries)

    body = asked(path, "user:ana", "read", "table:demo/shop.sales.orders")
    count(body)
    few = count(body)
    objects.register(shop.sales, [NewObject("table", f"t{at}") for at in range(50)], **BY)
    for at in range(20):
        members.add(shop.realm, user(f"u{at}"), **BY)
        roles.assign(shop.readers, user(f"u{at}"), **BY)
    count(body)  # after a change it is asked once what is switched off
    assert count(body) == few
    assert len(etl.send(path, body).json()["results"]) > 20
    assert few <= 20


def test_a_method_other_than_post_is_405(caller: Caller) -> None:
    for path in (SUBJECT, RESOURCE, ACTION):
        assert caller.get(path).status_code == 405


def test_a_duty_of_somewhere_else_is_none_here(shop: Shop) -> None:
    people.make_account("bob")
    duties.give(shop.secret, "view_history", user("bob"), **BY)
    bob = Caller(token("user", "bob"))
    assert bob.send(SUBJECT, asked(SUBJECT, "user:", "read", ORDERS)).status_code == 403
    assert names(bob, RESOURCE, "user:marek", "read", "table:") == ["demo/shop.secret.plans"]
