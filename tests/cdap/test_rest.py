"""`/v3/security/authorization`: the client's requests byte for byte, every text and status, and garbage."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.models import AccessRecord, Change
from policies.services import duties, members
from tests.cdap.world import BASE, BY, Caller, a_cdap, a_role, give

TEXT = "text/plain; charset=utf-8"


def texts(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == TEXT
    return str(answer.content.decode())


def empty(answer: Any) -> None:
    assert (answer.status_code, answer.content) == (200, b""), answer.content


def listed(caller: Caller, kind: str, name: str) -> list[Any]:
    answer = caller.listed(kind, name)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "application/json"
    body: list[Any] = answer.json()
    return body


# the forms of three generations, as their clients send them

OF_35 = (
    b'{"entity":{"namespace":"ns1","dataset":"orders","entity":"DATASET"},'
    b'"principal":{"name":"alice","type":"USER"},"actions":["READ"]}'
)
OF_43 = (
    b'{"authorizable":{"entityType":"DATASET","entityParts":{"NAMESPACE":"ns1","DATASET":"orders"}},'
    b'"principal":{"name":"alice","type":"USER"},"actions":["READ"]}'
)
NEWEST = (
    b'{"authorizable":{"entityType":"DATASET","entityParts":{"NAMESPACE":"ns1","DATASET":"orders"}},'
    b'"principal":{"name":"alice","type":"USER"},"permissions":[{"type":"STANDARD","name":"GET"}]}'
)
DEPRECATED = (
    b'{"authorizable":{"entityType":"DATASET","entityParts":{"NAMESPACE":"ns1","DATASET":"orders"}},'
    b'"principal":{"name":"alice","type":"USER"},"permissions":["READ"]}'
)
READ_ORDERS = {
    "authorizable": {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns1", "DATASET": "orders"}},
    "action": "READ",
}


@pytest.mark.parametrize(
    "body", [OF_35, OF_43, NEWEST, DEPRECATED], ids=["3.5", "4.3", "newest", "deprecated"]
)
@pytest.mark.parametrize("slashes", ["/", "//", "///"])
def test_every_clients_grant_and_revoke_work_unchanged(admin: Caller, body: bytes, slashes: str) -> None:
    empty(admin.send("POST", f"{BASE}{slashes}privileges/grant", body))
    assert listed(admin, "USER", "alice") == [READ_ORDERS]
    empty(admin.send("POST", f"{BASE}{slashes}privileges/revoke", body))
    assert listed(admin, "USER", "alice") == []


PARTS = {
    "namespace:ns1": {"NAMESPACE": "ns1"},
    "application:ns1.app": {"NAMESPACE": "ns1", "APPLICATION": "app"},
    "program:ns1.app.service.UploadService": {
        "NAMESPACE": "ns1",
        "APPLICATION": "app",
        "PROGRAM": "service.UploadService",
    },
    "dataset:ns1.orders": {"NAMESPACE": "ns1", "DATASET": "orders"},
    "stream:ns1.who": {"NAMESPACE": "ns1", "STREAM": "who"},
    "artifact:ns1.tool": {"NAMESPACE": "ns1", "ARTIFACT": "tool"},
    "dataset_type:ns1.co.Type": {"NAMESPACE": "ns1", "DATASET_TYPE": "co.Type"},
    "dataset_module:ns1.co.Module": {"NAMESPACE": "ns1", "DATASET_MODULE": "co.Module"},
    "securekey:ns1.key": {"NAMESPACE": "ns1", "SECUREKEY": "key"},
    "kerberosprincipal:alice/a.b@REALM.COM": {"KERBEROSPRINCIPAL": "alice/a.b@REALM.COM"},
}


@pytest.mark.seed(
    "S1-128", "S1-129", "S1-130", "S1-131", "S1-132", "S1-133", "S1-134", "S1-135", "S1-136", "S1-137"
)
@pytest.mark.parametrize("text", PARTS)
def test_every_type_of_entity_is_granted_before_it_exists(admin: Caller, text: str) -> None:
    authorizable = {"entityType": text.partition(":")[0].upper(), "entityParts": PARTS[text]}
    body = {
        "authorizable": authorizable,
        "principal": {"name": "alice", "type": "USER"},
        "actions": ["ADMIN"],
    }
    empty(admin.change("grant", body))
    assert listed(admin, "USER", "alice") == [{"authorizable": authorizable, "action": "ADMIN"}]


def request(target: str = "dataset:ns1.orders", holder: str = "USER:alice", *actions: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "authorizable": {"entityType": target.partition(":")[0].upper(), "entityParts": PARTS[target]}
    }
    kind, _, name = holder.partition(":")
    if holder:
        body["principal"] = {"name": name, "type": kind}
    return body | ({"actions": list(actions)} if actions else {})


@pytest.mark.seed("S1-027", "S1-028", "S1-029", "S1-030")
def test_missing_actions_are_all_four(admin: Caller) -> None:
    empty(admin.change("grant", request()))
    assert [item["action"] for item in listed(admin, "user", "alice")] == [
        "READ",
        "WRITE",
        "EXECUTE",
        "ADMIN",
    ]
    empty(admin.change("revoke", request() | {"actions": ["WRITE"]}))
    assert [item["action"] for item in listed(admin, "user", "alice")] == ["READ", "EXECUTE", "ADMIN"]
    empty(admin.change("revoke", request()))
    assert listed(admin, "user", "alice") == []


def test_an_empty_list_of_actions_is_none_of_them(admin: Caller) -> None:
    empty(admin.change("grant", request() | {"actions": []}))
    assert listed(admin, "user", "alice") == []
    empty(admin.change("grant", request()))
    empty(admin.change("revoke", request() | {"actions": []}))
    assert len(listed(admin, "user", "alice")) == 4


def test_revoking_from_nobody_in_particular_is_from_everybody(admin: Caller, cdap: Node) -> None:
    a_role(cdap, "readers")
    for holder in ("USER:alice", "GROUP:staff", "ROLE:readers"):
        empty(admin.change("grant", request("dataset:ns1.orders", holder)))
        empty(admin.change("grant", request("namespace:ns1", holder, "READ")))
    empty(admin.change("revoke", request(holder="")))
    for kind, name in (("user", "alice"), ("group", "staff"), ("role", "readers")):
        left = [item["authorizable"]["entityType"] for item in listed(admin, kind, name)]
        assert left == ["NAMESPACE"], "what is below or above is not touched"
    assert texts(admin.change("revoke", request(holder="") | {"actions": ["READ"]}), 400) == (
        "Principal is required when actions is provided"
    )


@pytest.mark.seed("S1-111", "S1-112")
def test_a_pattern_is_granted_and_revoked_as_it_is_written(admin: Caller, cdap: Node) -> None:
    pattern = {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns?", "DATASET": "ord*"}}
    body = {"authorizable": pattern, "principal": {"name": "alice", "type": "user"}, "actions": ["READ"]}
    entity = {"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}
    empty(admin.change("grant", body))
    empty(admin.change("grant", request("dataset:ns1.orders", "USER:bob", "READ")))
    assert Caller("alice").may("alice", "READ", entity)
    empty(admin.change("revoke", request()))
    assert Caller("alice").may("alice", "READ", entity), "revoking matches exactly"
    empty(admin.change("revoke", body))
    assert not Caller("alice").may("alice", "READ", entity)
    assert Caller("bob").may("bob", "READ", entity), "a pattern takes back the pattern, not what it matches"


UPDATE = {"type": "STANDARD", "name": "UPDATE"}


def test_permissions_are_the_actions_that_became_them(admin: Caller) -> None:
    body = request() | {
        "permissions": [UPDATE, {"type": "APPLICATION", "name": "EXECUTE"}],
        "actions": ["READ"],
    }
    empty(admin.change("grant", body))
    assert [item["action"] for item in listed(admin, "user", "alice")] == [
        "READ",
        "WRITE",
        "EXECUTE",
        "ADMIN",
    ]


BAD: list[tuple[Any, str]] = [
    (b"", "Missing request body"),
    (b"null", "Missing request body"),
    (b"{", "is not JSON"),
    (b"[1]", "must be a JSON object"),
    (b'"text"', "must be a JSON object"),
    (b"\xff\xfe", "is not JSON"),
    (b"[" * 100_000, "is not JSON"),
    (b'{"a":1,"a":2}', "a name stands twice"),
    (b'{"a":NaN}', "is no JSON value"),
    ({}, "Authorizable is required"),
    ({"authorizable": None, "entity": None}, "Authorizable is required"),
    ({"entity": {"namespace": "ns1"}}, "Expected entity in EntityId JSON"),
    ({"entity": {"namespace": "ns1", "entity": "VIEW"}}, "Entity type VIEW does not support authorization."),
    ({"authorizable": {"entityType": "DATASET", "entityParts": {"NAMESPACE": "ns1"}}}, "NAMESPACE, DATASET"),
    ({"authorizable": "dataset:ns1.orders"}, "must be a JSON object"),
    (request() | {"principal": "alice"}, "A principal must be a JSON object"),
    (request() | {"principal": {"name": "alice"}}, "must have a name and a type"),
    (request() | {"principal": {"name": 1, "type": "USER"}}, "must have a name and a type"),
    (request() | {"principal": {"name": "alice", "type": "WIZARD"}}, "`WIZARD` is no type of principal"),
    (request() | {"principal": {"name": "", "type": "USER"}}, "is not usable"),
    (request() | {"principal": {"name": "a\0b", "type": "USER"}}, "is not usable"),
    (request() | {"principal": {"name": "a" * 300, "type": "USER"}}, "is not usable"),
    (request() | {"principal": {"name": "\ud800", "type": "USER"}}, "is not usable"),
    (request() | {"actions": "READ"}, "must be lists"),
    (request() | {"actions": ["FLY"]}, "`FLY` is no action here; known are READ, WRITE, EXECUTE, ADMIN"),
    (request() | {"actions": ["read"]}, "`read` is no action here"),
    (request() | {"actions": ["ALL"]}, "`ALL` is no action here"),
    (request() | {"actions": [None]}, "An action must be a text"),
    (request() | {"actions": [["READ"]]}, "An action must be a text"),
    (request() | {"permissions": [{"type": "STANDARD"}]}, "must have a type and a name"),
    (request() | {"permissions": [{"type": "STANDARD", "name": "DELETE"}]}, "stands for the permission"),
    (request() | {"permissions": {"type": "STANDARD", "name": "GET"}}, "must be lists"),
    (
        {
            "authorizable": {
                "entityType": "NAMESPACE",
                "entityParts": {"NAMESPACE": "a"},
                "childType": "DATASET",
            }
        },
        "children of an entity",
    ),
    (
        {"entity": {"namespace": "a\0b", "entity": "NAMESPACE"}, "principal": {"name": "x", "type": "USER"}},
        "",
    ),
    (
        {
            "entity": {"namespace": "\ud800", "entity": "NAMESPACE"},
            "principal": {"name": "x", "type": "USER"},
        },
        "",
    ),
    (
        {
            "entity": {"namespace": "a" * 5000, "entity": "NAMESPACE"},
            "principal": {"name": "x", "type": "USER"},
        },
        "",
    ),
]


@pytest.mark.parametrize(("body", "told"), BAD, ids=lambda value: repr(value)[:60])
@pytest.mark.parametrize("verb", ["grant", "revoke"])
@pytest.mark.seed("S1-031")
def test_a_bad_request_is_told_in_text_and_changes_nothing(
    admin: Caller, verb: str, body: Any, told: str
) -> None:
    before = Change.objects.count()
    assert told in texts(admin.change(verb, body), 400)
    assert Change.objects.count() == before


def test_a_grant_names_its_principal(admin: Caller) -> None:
    assert texts(admin.change("grant", request(holder="")), 400) == "Principal is required"


# who may

DENIED = (
    "Principal 'Principal{name='bob', type=USER, kerberosPrincipal=null}' is not authorized to perform "
    "action 'ADMIN' on entity '%s'"
)


@pytest.mark.seed("S1-040", "S1-157")
def test_only_admins_of_the_backend_grant_and_revoke(cdap: Node) -> None:
    give(cdap, "dataset:ns1.orders", "bob", "ADMIN", "READ")
    bob, before = Caller("bob"), Change.objects.count()
    expected = DENIED % "dataset:ns1.orders"
    for verb in ("grant", "revoke"):
        assert texts(bob.change(verb, request()), 403) == expected
        assert texts(bob.change(verb, request(holder="ROLE:ghost")), 403) == expected, (
            "not even what roles there are"
        )
    assert Change.objects.count() == before
    record = AccessRecord.objects.get(kind="refused", via="cdap")
    assert (record.operation, record.object_name) == ("ADMIN", "cdap/dataset:ns1.orders")


def test_a_configured_group_administers_too(db: None) -> None:
    a_cdap(admin_group="keepers")
    kim = Caller("kim")
    texts(kim.change("grant", request()), 403)
    members.join_group(people.ensure("group", "keepers"), people.ensure("user", "kim"), **BY)
    empty(kim.change("grant", request()))
    empty(kim.send("PUT", f"{BASE}/roles/readers"))


CALLS = [
    ("PUT", "roles/r"),
    ("DELETE", "roles/r"),
    ("GET", "roles"),
    ("GET", "user/alice/privileges"),
    ("GET", "role/r/privileges"),
    ("GET", "role/ghost/privileges"),
    ("GET", "group/staff/privileges"),
    ("GET", "user/alice/roles"),
    ("PUT", "user/alice/roles/r"),
    ("DELETE", "user/alice/roles/r"),
    ("PUT", "user/bob/roles/r"),
    ("PUT", "user/bob/roles/ghost"),
]


@pytest.mark.seed("S1-158")
@pytest.mark.parametrize(("verb", "path"), CALLS)
def test_roles_and_other_peoples_privileges_are_for_admins(cdap: Node, verb: str, path: str) -> None:
    a_role(cdap, "r")
    give(cdap, "dataset:ns1.orders", "alice", "READ")
    before = Change.objects.count()
    assert texts(Caller("bob").send(verb, f"{BASE}/{path}"), 403) == DENIED % "instance:cdap"
    assert Change.objects.count() == before


def test_everybody_sees_their_own(cdap: Node) -> None:
    role = a_role(cdap, "readers", "bob")
    assert role
    give(cdap, "dataset:ns1.orders", "role:readers", "READ")
    members.join_group(people.ensure("group", "staff"), people.ensure("user", "bob"), **BY)
    bob = Caller("bob")
    for kind, name in (("user", "bob"), ("role", "readers")):
        assert listed(bob, kind, name) == [READ_ORDERS]
    assert listed(bob, "group", "staff") == []
    assert bob.get(f"{BASE}/user/bob/roles").json() == [{"name": "readers", "type": "ROLE"}]


def test_a_reviewer_sees_everybodys(cdap: Node) -> None:
    give(cdap, "dataset:ns1.orders", "alice", "READ")
    people.make_account("rita")
    duties.give(cdap, "review_access", people.ensure("user", "rita"), **BY)
    assert listed(Caller("rita"), "user", "alice") == [READ_ORDERS]
    record = AccessRecord.objects.get(kind="looked", via="cdap")
    assert record.operation == "review access of USER 'alice'"
    assert texts(Caller("rita").change("grant", request()), 403)


def test_service_admins_administer(cdap: Node, settings: Any) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = ("bob",)
    empty(Caller("bob").change("grant", request()))


# roles


def test_roles_are_made_held_and_dropped(admin: Caller, cdap: Node) -> None:
    empty(admin.send("PUT", f"{BASE}/roles/admins"))
    assert texts(admin.send("PUT", f"{BASE}/roles/admins"), 409) == (
        "Principal{name='admins', type=ROLE, kerberosPrincipal=null} already exists."
    )
    empty(admin.send("PUT", f"{BASE}/roles/a%20role%2Fx"))
    both = [{"name": "a role/x", "type": "ROLE"}, {"name": "admins", "type": "ROLE"}]
    assert admin.get(f"{BASE}/roles").json() == both
    empty(admin.send("PUT", f"{BASE}/GROUP/staff/roles/admins"))
    empty(admin.send("PUT", f"{BASE}/user/al%2Fx@EXAMPLE.COM/roles/admins"))
    assert admin.get(f"{BASE}/Group/staff/roles").json() == both[1:]
    assert admin.get(f"{BASE}/USER/al%2Fx@EXAMPLE.COM/roles").json() == both[1:]
    assert admin.get(f"{BASE}/user/staff/roles").json() == [], "a group is never the user of its name"
    empty(admin.send("DELETE", f"{BASE}/group/staff/roles/admins"))
    assert admin.get(f"{BASE}/group/staff/roles").json() == []
    empty(admin.change("grant", request(holder="ROLE:admins")))
    empty(admin.send("DELETE", f"{BASE}/roles/admins"))
    absent = "Principal{name='admins', type=ROLE, kerberosPrincipal=null} not found."
    for verb, path in (
        ("DELETE", "roles/admins"),
        ("PUT", "user/bob/roles/admins"),
        ("DELETE", "user/bob/roles/admins"),
        ("GET", "role/admins/privileges"),
    ):
        assert texts(admin.send(verb, f"{BASE}/{path}"), 404) == absent
    assert texts(admin.change("grant", request(holder="ROLE:admins")), 404) == absent
    empty(admin.send("PUT", f"{BASE}/roles/admins"))
    assert listed(admin, "role", "admins") == [], "what was dropped is forgotten"
    assert admin.get(f"{BASE}/USER/al%2Fx@EXAMPLE.COM/roles").json() == []


def test_a_users_privileges_include_those_of_roles(admin: Caller, cdap: Node) -> None:
    a_role(cdap, "readers", "alice", "group:staff")
    empty(admin.change("grant", request(holder="ROLE:readers") | {"actions": ["READ"]}))
    empty(admin.change("grant", request("namespace:ns1", "USER:alice", "ADMIN")))
    texts_of = [item["authorizable"]["entityType"] for item in listed(admin, "user", "alice")]
    assert texts_of == ["DATASET", "NAMESPACE"]
    assert listed(admin, "group", "staff") == [READ_ORDERS]


@pytest.mark.parametrize("path", ["role/r/roles/r", "wizard/merlin/roles/r", "roles/~x", "roles/%01"])
def test_nonsense_about_roles_is_told(admin: Caller, cdap: Node, path: str) -> None:
    a_role(cdap, "r")
    before = Change.objects.count()
    assert texts(admin.send("PUT", f"{BASE}/{path}"), 400)
    assert Change.objects.count() == before


def test_unknown_types_of_principals_are_told(admin: Caller) -> None:
    for path in ("wizard/merlin/privileges", "wizard/merlin/roles"):
        assert texts(admin.get(f"{BASE}/{path}"), 400).startswith("`wizard` is no type of principal")
    for kind in ("USER", "user", "Group"):
        assert listed(admin, kind, "nobody") == []


# the door


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer "}, {"authorization": "Bearer wrong"}])
@pytest.mark.parametrize("path", [f"{BASE}/roles", f"{BASE}//privileges/grant", "/v1/execute/enforce"])
def test_without_credentials_it_is_401_as_the_router_says(
    cdap: Node, client: Client, headers: dict[str, str], path: str
) -> None:
    answer = client.post(path, b"{}", content_type="application/json", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="cdap"'
    body = answer.json()
    assert body.pop("auth_uri") == ["http://testserver/sign-in"]
    assert bool(body) == bool(headers)
    assert not body or body["error"] == "invalid_token"


def test_basic_with_the_tokens_name_works(cdap: Node) -> None:
    import base64

    from accounts import tokens

    token = tokens.create(people.ensure("user", "admin"))
    basic = base64.b64encode(f"admin:{token}".encode()).decode()
    assert Client(headers={"Authorization": f"Basic {basic}"}).get(f"{BASE}/roles").json() == []


TURN_ON = (
    "Feature '%s' is not enabled. Please set '%s' to 'true' in the 'cdap-site.xml' to enable this feature."
)
FEATURES = {
    "authentication": TURN_ON % ("authentication", "security.enabled"),
    "authorization": TURN_ON % ("authorization", "security.authorization.enabled"),
}
EVERY = [
    ("POST", "/privileges/grant"),
    ("POST", "//privileges/revoke"),
    ("GET", "/user/alice/privileges"),
    ("GET", "/roles"),
    ("PUT", "/roles/r"),
    ("DELETE", "/roles/r"),
    ("GET", "/user/alice/roles"),
    ("PUT", "/user/alice/roles/r"),
    ("DELETE", "/user/alice/roles/r"),
]


@pytest.mark.seed("S1-014", "S1-017")
@pytest.mark.parametrize(("verb", "path"), EVERY)
def test_what_is_switched_off_is_told(db: None, verb: str, path: str, client: Client) -> None:
    root = a_cdap(authentication="off")
    for caller in (Caller("admin"), client):
        assert texts(caller.generic(verb, BASE + path), 501) == FEATURES["authentication"]
    assert root


@pytest.mark.seed("S1-014")
@pytest.mark.parametrize(("verb", "path"), EVERY)
def test_authorization_off_is_told_to_who_signs_in(db: None, verb: str, path: str, client: Client) -> None:
    a_cdap(mode="off")
    assert texts(Caller("admin").send(verb, BASE + path), 501) == FEATURES["authorization"]
    assert client.generic(verb, BASE + path).status_code == 401


def test_other_paths_and_verbs_are_told(admin: Caller) -> None:
    texts(admin.get(f"{BASE}/nowhere"), 404)
    texts(admin.get(f"{BASE}//privileges/grant"), 405)
    texts(admin.send("PUT", f"{BASE}/roles"), 405)
    texts(admin.send("PATCH", f"{BASE}/roles/r"), 405)
    texts(admin.get("/v1/execute/enforce"), 405)
    texts(admin.get("/v1/execute/anything"), 404)


def test_there_may_be_no_cdap(db: None) -> None:
    assert texts(Caller("ana").get(f"{BASE}/roles"), 404) == "There is no CDAP named cdap here."


@pytest.mark.parametrize("scope", ["check", "report", "audit", "request"])
def test_a_narrow_token_changes_nothing(cdap: Node, scope: str) -> None:
    narrow, before = Caller("admin", scope), Change.objects.count()
    changing = [each for each in EVERY if each[0] != "GET"]
    for verb, path in changing:
        assert texts(narrow.send(verb, BASE + path, request()), 403) == "this token lacks the scope manage"
    assert Change.objects.count() == before


def test_each_change_is_one_change_by_its_maker(admin: Caller, cdap: Node) -> None:
    before = Change.objects.count()
    empty(admin.change("grant", request()))
    assert Change.objects.count() == before + 1
    empty(admin.change("grant", request()))
    assert Change.objects.count() == before + 1, "what is held already changes nothing"
