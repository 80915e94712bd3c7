"""The six calls on namespaces, and the four steps by which a new one gets its data owner."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.nodes import Node
from policies.models import Change
from tests.herd.test_entries import lacking, texts
from tests.herd.world import ENTRIES, REST, Caller, entry_path, give, namespaces, role, the_namespace

NAMESPACES = f"{REST}/namespaces"


def make(caller: Caller, code: object, **more: object) -> Any:
    return caller.send("POST", NAMESPACES, {"namespaceCode": code, **more})


@pytest.mark.seed("S3-097")
def test_anybody_makes_and_sees_namespaces(herd: Node, pdp: Caller) -> None:
    ana = Caller("ana")
    made = make(ana, " New_App ", chargeCode=" c1 ").json()
    assert made == {"namespaceCode": "New_App", "chargeCode": "c1", "s3KeyPrefix": "new-app"}
    assert ana.get(f"{NAMESPACES}/NEW_app").json() == made
    keys = ana.get(NAMESPACES).json()["namespaceKeys"]
    assert keys == [{"namespaceCode": code} for code in ("New_App", "SALES", "STOCK")]
    assert not any(pdp.may("ana", code, "new_app") for code in ("READ", "WRITE", "EXECUTE", "GRANT"))
    assert (
        texts(make(ana, "new_APP"), 409) == 'Unable to create namespace "new_APP" because it already exists.'
    )
    assert texts(ana.get(f"{NAMESPACES}/nope"), 404) == 'Namespace "nope" doesn\'t exist.'


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (None, "A namespace must be specified."),
        (" ", "A namespace must be specified."),
        ("a/b", "Namespace can not contain a forward slash character."),
        ("a\\b", "Namespace can not contain a backward slash character."),
        ("x" * 256, "Namespace is not usable: a name has 1 to 255 characters."),
        ("a\0b", "Namespace is not usable: a name has no control characters."),
    ],
)
def test_codes_are_checked(admin: Caller, code: object, text: str) -> None:
    assert texts(make(admin, code), 400) == text


def test_changing_needs_write(herd: Node, admin: Caller) -> None:
    give("ana", "SALES", "READ", "EXECUTE", "GRANT")
    ana, path = Caller("ana"), f"{NAMESPACES}/sales"
    assert texts(ana.send("PUT", path, {"chargeCode": "x"}), 403) == lacking("ana", "WRITE", "sales")
    give("ana", "SALES", "WRITE")
    changed = ana.send("PUT", path, {"chargeCode": " x "}).json()
    assert changed == {"namespaceCode": "SALES", "chargeCode": "x", "s3KeyPrefix": "sales"}
    assert ana.get(path).json() == changed
    assert ana.send("PUT", path, {}).json()["chargeCode"] is None
    assert texts(ana.send("PUT", f"{NAMESPACES}/nope", {}), 403) == lacking("ana", "WRITE", "nope")
    assert texts(admin.send("PUT", f"{NAMESPACES}/nope", {}), 404) == 'Namespace "nope" doesn\'t exist.'


def test_deleting_needs_the_role_and_grant(herd: Node, olivia: Caller, admin: Caller) -> None:
    give("ana", "SALES", "READ", "WRITE", "EXECUTE", "GRANT")
    assert texts(Caller("ana").delete(f"{NAMESPACES}/SALES"), 403) == "Access is denied"
    assert texts(olivia.delete(f"{NAMESPACES}/STOCK"), 403) == lacking("olivia", "GRANT", "STOCK")
    assert texts(olivia.delete(f"{NAMESPACES}/nope"), 403) == lacking("olivia", "GRANT", "nope")
    assert texts(admin.delete(f"{NAMESPACES}/nope"), 404) == 'Namespace "nope" doesn\'t exist.'
    for caller in (olivia, admin):
        assert texts(caller.delete(f"{NAMESPACES}/sales"), 400).startswith(
            "A constraint has been violated. Reason: "
        )
    assert olivia.delete(entry_path("ana", "SALES")).status_code == 200
    assert olivia.delete(f"{NAMESPACES}/sales").json()["namespaceCode"] == "SALES"
    assert admin.delete(f"{NAMESPACES}/STOCK").status_code == 200
    assert admin.get(NAMESPACES).json() == {"namespaceKeys": []}


def test_what_is_made_again_is_another(olivia: Caller, admin: Caller, pdp: Caller) -> None:
    before = the_namespace("SALES").id
    assert olivia.delete(f"{NAMESPACES}/SALES").status_code == 200
    assert make(admin, "SALES").status_code == 200
    assert the_namespace("SALES").id != before
    assert not pdp.may("olivia", "READ", "SALES")
    assert admin.get(f"{ENTRIES}/namespaces/SALES").json() == {"userNamespaceAuthorizations": []}


def test_search_by_charge_code(admin: Caller) -> None:
    for code, charge in (("ONE", "c1"), ("TWO", "c2"), ("BARE", None)):
        make(admin, code, **({"chargeCode": charge} if charge else {}))

    def search(key: dict[str, Any] | None, fields: str = "chargeCode,s3KeyPrefix") -> list[dict[str, Any]]:
        body = {} if key is None else {"namespaceSearchFilters": [{"namespaceSearchKeys": [key]}]}
        answer = admin.send("POST", f"{NAMESPACES}/search?fields={fields}", body)
        assert answer.status_code == 200, answer.content
        matching: list[dict[str, Any]] = answer.json()["namespaces"]
        return matching

    assert [item["namespaceCode"] for item in search(None)] == ["BARE", "ONE", "SALES", "STOCK", "TWO"]
    assert search({"chargeCode": " C1 "}) == [
        {"namespaceCode": "ONE", "chargeCode": "c1", "s3KeyPrefix": "one"}
    ]
    assert [item["namespaceCode"] for item in search({"mustHaveChargeCode": True})] == ["ONE", "TWO"]
    assert search({"chargeCode": "c2"}, "") == [
        {"namespaceCode": "TWO", "chargeCode": None, "s3KeyPrefix": None}
    ]


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ([{}, {}], "At most one namespace search filter must be specified."),
        ([{}], "Exactly one namespace search key must be specified."),
        ([{"namespaceSearchKeys": []}], "Exactly one namespace search key must be specified."),
        ([{"namespaceSearchKeys": [{}, {}]}], "Exactly one namespace search key must be specified."),
    ],
)
def test_searches_are_checked(admin: Caller, filters: list[Any], text: str) -> None:
    answer = admin.send("POST", f"{NAMESPACES}/search", {"namespaceSearchFilters": filters})
    assert texts(answer, 400) == text


def test_a_namespace_may_be_called_search(admin: Caller) -> None:
    make(admin, "search")
    assert admin.get(f"{NAMESPACES}/search").json()["namespaceCode"] == "search"


@pytest.mark.seed("S3-025", "S3-027", "S3-028")
def test_the_four_steps(herd: Node, admin: Caller) -> None:
    owner = Caller("dana")

    def responsibilities() -> list[int]:
        return [
            owner.create("emil", "NEW_APP", "READ").status_code,
            owner.update("emil", "NEW_APP", "WRITE").status_code,
            owner.get(entry_path("emil", "NEW_APP")).status_code,
            owner.delete(entry_path("emil", "NEW_APP")).status_code,
        ]

    assert make(owner, "NEW_APP").status_code == 200
    assert responsibilities() == [403] * 4
    role("dana")
    assert responsibilities() == [403] * 4
    assert admin.create("dana", "NEW_APP", "GRANT").status_code == 200, (
        "the administrator needs no role and no entry"
    )
    assert responsibilities() == [200, 200, 403, 200]
    assert owner.update("dana", "NEW_APP", "GRANT", "READ").status_code == 200
    assert responsibilities() == [200] * 4
    role("dana", remove=True)
    assert responsibilities() == [403] * 4


def test_every_deed_is_one_change_that_says_who(admin: Caller, herd: Node) -> None:
    before = Change.objects.count()
    make(admin, "ONE")
    admin.create("ana", "ONE", "READ", "WRITE")
    admin.update("ana", "ONE", "EXECUTE")
    admin.delete(entry_path("ana", "ONE"))
    admin.delete(f"{NAMESPACES}/ONE")
    changes = Change.objects.order_by("revision")[before:]
    kinds = ["object.registered", "grant.added", "grant.added", "grant.removed", "object.dropped"]
    assert [change.kind for change in changes] == kinds
    assert len({change.actor for change in changes}) == 1
    assert namespaces(herd, "ONE"), "the name is free again"


def test_asking_the_calls_beforehand_says_what_the_calls_then_do(herd: Node, pdp: Caller) -> None:
    """The page of 2016 has them open to everybody; the code of 2022, which the calls follow, has not."""
    make(Caller("ana"), "NEW_APP")
    give("writer", "NEW_APP", "WRITE")
    give("granter", "NEW_APP", "GRANT")
    role("granter")
    body = {"chargeCode": "c9"}
    for name in ("ana", "writer", "granter", "admin"):
        caller = Caller(name)
        changed = caller.send("PUT", f"{NAMESPACES}/NEW_APP", body).status_code == 200
        assert changed == pdp.may(name, "Namespace.updateNamespaces", "NEW_APP"), name
        refused = caller.delete(f"{NAMESPACES}/NEW_APP").status_code == 403
        assert refused == (not pdp.may(name, "Namespace.deleteNamespace", "NEW_APP")), name
        assert pdp.may(name, "namespace_crud", "NEW_APP"), "the row of the page"
        by_method = {
            method: pdp.may(name, "namespace_crud", "NEW_APP", action={"method": method})
            for method in ("GET", "POST", "PUT", "DELETE")
        }
        assert by_method == {"GET": True, "POST": True, "PUT": changed, "DELETE": not refused}, name
