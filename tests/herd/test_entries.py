"""The seven calls on what users may do: who may, in which order things are checked, and every text."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from policies.decisions.lookups import entries as kept
from policies.models import AccessRecord, Change
from tests.herd.tables import PERMISSIONS
from tests.herd.world import ENTRIES, REST, Caller, entry_path, give, namespaces, role, take


def texts(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    body = answer.json()
    assert list(body) == ["statusCode", "statusDescription", "message", "messageDetails"]
    assert (body["statusCode"], body["messageDetails"]) == (status, [])
    return str(body["message"])


def lacking(user: str, permission: str, code: str) -> str:
    return f'User "{user}" does not have "[{permission}]" permission(s) to the namespace "{code}"'


def listed(answer: Any) -> list[tuple[str, str, list[str]]]:
    assert answer.status_code == 200, answer.content
    items = answer.json()["userNamespaceAuthorizations"]
    keys = [item["userNamespaceAuthorizationKey"] for item in items]
    return [
        (key["userId"], key["namespace"], item["namespacePermissions"])
        for key, item in zip(keys, items, strict=True)
    ]


@pytest.mark.seed("S3-017", "S3-007")
@pytest.mark.parametrize("codes", [*[(code,) for code in PERMISSIONS], PERMISSIONS, PERMISSIONS[::-1]])
def test_a_data_owner_grants(olivia: Caller, pdp: Caller, codes: tuple[str, ...]) -> None:
    answer = olivia.create(" ana ", " sales ", *codes)
    assert answer.status_code == 200
    body = answer.json()
    assert body["userNamespaceAuthorizationKey"] == {"userId": "ana", "namespace": "SALES"}
    assert body["namespacePermissions"] == [code for code in PERMISSIONS if code in codes]
    for code in PERMISSIONS:
        assert pdp.may("ana", code, "SALES") == (code in codes)
    assert not pdp.may("ana", codes[0], "STOCK")
    assert texts(Caller("ana").create("bo", "SALES", "READ"), 403) == "Access is denied"


@pytest.mark.seed("S3-018", "S3-050")
def test_put_replaces_the_whole_set(olivia: Caller, pdp: Caller) -> None:
    before = olivia.create("ana", "SALES", "READ", "WRITE").json()
    after = olivia.update("ANA", "sales", "EXECUTE").json()
    assert after == before | {"namespacePermissions": ["EXECUTE"]}
    assert [pdp.may("ana", code, "SALES") for code in PERMISSIONS] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.seed("S3-019", "S3-051")
def test_delete_removes_everything(olivia: Caller, pdp: Caller) -> None:
    made = olivia.create("ana", "SALES", "READ", "WRITE").json()
    assert olivia.delete(entry_path("ANA", "sales")).json() == made
    assert not any(pdp.may("ana", code, "SALES") for code in PERMISSIONS)
    gone = 'User namespace authorization with user id "ana" and namespace "SALES" doesn\'t exist.'
    assert texts(olivia.delete(entry_path("ana", "sales")), 404) == gone
    again = olivia.create("ana", "SALES", "READ").json()
    assert again["id"] > made["id"], "a number is never used again"


@pytest.mark.seed("S3-020")
def test_a_data_owner_reviews(olivia: Caller) -> None:
    made = olivia.create("ana", "SALES", "READ").json()
    assert olivia.get(entry_path("aNa", "sales")).json() == made
    assert AccessRecord.objects.filter(kind="looked", object_name="herd/SALES", via="herd").count() == 1


def calls(caller: Caller, user: str, code: str) -> list[Any]:
    return [
        caller.create(user, code, "READ"),
        caller.update(user, code, "WRITE"),
        caller.get(entry_path(user, code)),
        caller.delete(entry_path(user, code)),
    ]


@pytest.mark.seed("S3-001", "S3-006", "S3-049")
def test_the_role_alone_is_not_enough(herd: Node) -> None:
    role("ana")
    give("ana", "STOCK", "READ", "GRANT")
    give("ana", "SALES", "WRITE", "EXECUTE")
    needed = ("GRANT", "GRANT", "READ", "GRANT")
    for code, shown in (("SALES", "SALES"), (" sales%20", "sales"), ("NOPE", "NOPE")):
        refusals = [texts(answer, 403) for answer in calls(Caller("ana"), "bo", code.replace("%20", " "))]
        assert refusals == [lacking("ana", permission, shown) for permission in needed]
    assert texts(Caller("ana").get(f"{ENTRIES}/namespaces/SALES"), 403) == lacking("ana", "READ", "SALES")


@pytest.mark.seed("S3-021", "S3-053")
def test_the_permissions_without_the_role_are_not_enough(herd: Node) -> None:
    give("ana", "SALES", *PERMISSIONS)
    ana = Caller("ana")
    others = [ana.get(f"{ENTRIES}/namespaces/SALES"), ana.get(f"{ENTRIES}/userIds/ana")]
    for answer in (*calls(ana, "bo", "SALES"), *others, ana.delete(f"{ENTRIES}/userIds/bo")):
        assert texts(answer, 403) == "Access is denied"
    assert AccessRecord.objects.filter(kind="refused", via="herd").exists()


@pytest.mark.seed("S3-022", "S3-052")
def test_grant_writes_and_read_reviews(herd: Node, pdp: Caller) -> None:
    role("ana")
    ana = Caller("ana")
    give("ana", "SALES", "GRANT")
    assert ana.create("bo", "SALES", "WRITE").status_code == 200
    assert pdp.may("bo", "WRITE", "SALES"), "who cannot write may let others write"
    assert ana.update("bo", "SALES", "READ").status_code == 200
    assert texts(ana.get(entry_path("bo", "SALES")), 403) == lacking("ana", "READ", "SALES")
    give("ana", "SALES", "READ")
    assert ana.get(entry_path("bo", "SALES")).status_code == 200
    assert texts(ana.update("bo", "SALES", "WRITE"), 403) == lacking("ana", "GRANT", "SALES")
    assert texts(ana.delete(entry_path("bo", "SALES")), 403) == lacking("ana", "GRANT", "SALES")
    assert texts(ana.create("cy", "SALES", "WRITE"), 403) == lacking("ana", "GRANT", "SALES")


REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({}, "A user namespace authorization key must be specified."),
    ({"userNamespaceAuthorizationKey": {}}, "A namespace must be specified."),
    ({"userNamespaceAuthorizationKey": {"userId": "a", "namespace": " "}}, "A namespace must be specified."),
    ({"userNamespaceAuthorizationKey": {"namespace": "SALES"}}, "A user id must be specified."),
    (
        {"userNamespaceAuthorizationKey": {"userId": " \t", "namespace": "SALES"}},
        "A user id must be specified.",
    ),
    (
        {"userNamespaceAuthorizationKey": {"userId": "a/b", "namespace": "SALES"}},
        "User id can not contain a forward slash character.",
    ),
    (
        {"userNamespaceAuthorizationKey": {"userId": "a\\b", "namespace": "SALES"}},
        "User id can not contain a backward slash character.",
    ),
    (
        {"userNamespaceAuthorizationKey": {"userId": "a", "namespace": "SALES"}},
        "Namespace permissions must be specified.",
    ),
    (
        {
            "userNamespaceAuthorizationKey": {"userId": "a", "namespace": "SALES"},
            "namespacePermissions": ["READ", "WRITE", "READ"],
        },
        'Duplicate namespace permission "READ" is found.',
    ),
]


@pytest.mark.parametrize(
    ("body", "text"), REQUESTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_request_is_read_in_order(olivia: Caller, admin: Caller, body: dict[str, Any], text: str) -> None:
    for caller in (olivia, admin):
        assert texts(caller.send("POST", ENTRIES, body), 400) == text


def test_slashes_in_namespaces_are_told_to_who_passes(olivia: Caller, admin: Caller) -> None:
    for code, word in (("a/b", "forward"), ("a\\b", "backward")):
        message = f"Namespace can not contain a {word} slash character."
        assert texts(admin.create("ana", code, "READ"), 400) == message
        assert texts(olivia.create("ana", code, "READ"), 403) == lacking("olivia", "GRANT", code)
    assert (
        texts(admin.get(entry_path("a%2Fb", "SALES")), 400)
        == "User id can not contain a forward slash character."
    )
    assert texts(admin.get(entry_path("a", "%20")), 400) == "A namespace must be specified."


WHOLE_KEY = '{"userNamespaceAuthorizationKey": {"userId": "a", "namespace": "SALES"}, '
UNREADABLE = [
    b" ",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b'{"userNamespaceAuthorizationKey": 3}',
    b'{"userNamespaceAuthorizationKey": {"userId": 3}}',
    b'{"namespacePermissions": "READ"}',
    f'{WHOLE_KEY}"namespacePermissions": ["read"]}}'.encode(),
    b'{"namespacePermissions": [null]}',
    f'{WHOLE_KEY}"namespacePermissions": ["READ", "OWNER"]}}'.encode(),
    b"\xff",
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", UNREADABLE, ids=lambda content: content.decode("latin-1")[:40])
def test_what_cannot_be_read_is_400(olivia: Caller, content: bytes) -> None:
    answer = olivia.generic("POST", ENTRIES, content, content_type="application/json")
    assert texts(answer, 400).startswith("Could not read the request: ")


def test_bodies_of_other_types_are_not_read(olivia: Caller) -> None:
    answer = olivia.generic("POST", ENTRIES, b"{}", content_type="text/plain")
    texts(answer, 415)
    answer = olivia.get(f"{REST}/currentUser", headers={"accept": "text/plain"})
    texts(answer, 406)


def test_what_exists_comes_before_what_does_not(olivia: Caller, admin: Caller) -> None:
    assert olivia.create("Ana", "SALES", "READ").status_code == 200
    named = 'user id "ANA" and namespace "SALES"'
    exists = f"Unable to create user namespace authorization with {named} because it already exists."
    assert texts(olivia.create("ANA", "sales", "WRITE"), 409) == exists
    assert texts(admin.create("ana", "nope", "READ"), 404) == 'Namespace "nope" doesn\'t exist.'
    assert texts(admin.get(f"{ENTRIES}/namespaces/nope"), 404) == 'Namespace "nope" doesn\'t exist.'
    absent = 'User namespace authorization with user id "bo" and namespace "SALES" doesn\'t exist.'
    for answer in calls(admin, "bo", "SALES")[2:]:
        assert answer.status_code == 200
    for answer in (admin.update("bo", "sales", "READ"), admin.get(entry_path("bo", "sales"))):
        assert texts(answer, 404) == absent
    assert texts(admin.update("bo", "sales"), 400) == "Namespace permissions must be specified."


OWN = (
    "Users are not allowed to remove their own GRANT namespace permission. "
    "Please include the GRANT namespace permission in this request, "
    "or have another user remove the GRANT permission."
)


def test_nobody_drops_their_own_grant(olivia: Caller, admin: Caller, pdp: Caller) -> None:
    assert texts(olivia.update("OLIVIA", "sales", "READ"), 400) == OWN
    assert pdp.may("olivia", "GRANT", "SALES")
    give("Admin", "SALES", "GRANT")
    assert texts(admin.update("admin", "SALES", "READ"), 400) == OWN
    assert olivia.update("olivia", "SALES", "GRANT", "WRITE").status_code == 200
    assert admin.update("olivia", "SALES", "READ").status_code == 200
    give("olivia", "SALES", "READ", "GRANT")
    assert olivia.delete(entry_path("olivia", "SALES")).status_code == 200, "deleting it is allowed"
    assert texts(olivia.get(entry_path("olivia", "SALES")), 403) == lacking("olivia", "READ", "SALES")


def test_lists_are_in_order(olivia: Caller, admin: Caller, herd: Node) -> None:
    for user in ("zoe", "*@corp", "Ana", "bo"):
        give(user, "SALES", "READ")
    give("bo", "STOCK", "WRITE", "READ")
    items = listed(olivia.get(f"{ENTRIES}/namespaces/sales"))
    assert [user for user, _, _ in items] == ["*@corp", "Ana", "bo", "olivia", "zoe"]
    assert listed(admin.get(f"{ENTRIES}/userIds/BO")) == [
        ("bo", "SALES", ["READ"]),
        ("bo", "STOCK", ["READ", "WRITE"]),
    ]
    assert listed(olivia.get(f"{ENTRIES}/userIds/bo")) == [("bo", "SALES", ["READ"])], "what olivia may read"
    assert listed(olivia.get(f"{ENTRIES}/userIds/nobody")) == []
    assert listed(olivia.get(f"{ENTRIES}/userIds/x@corp")) == [], "wildcards are not expanded here"
    role("bo")
    take("bo", "STOCK")
    give("bo", "STOCK", "WRITE")
    assert [code for _, code, _ in listed(Caller("bo").get(f"{ENTRIES}/userIds/Bo"))] == ["SALES", "STOCK"]


def test_deleting_a_user_is_all_or_nothing(olivia: Caller, admin: Caller, pdp: Caller, herd: Node) -> None:
    namespaces(herd, "EXTRA")
    for code in ("SALES", "STOCK", "EXTRA"):
        give("bo", code, "READ")
    message = texts(olivia.delete(f"{ENTRIES}/userIds/BO"), 403)
    assert message.splitlines() == [lacking("olivia", "GRANT", "EXTRA"), lacking("olivia", "GRANT", "STOCK")]
    assert all(pdp.may("bo", "READ", code) for code in ("SALES", "STOCK", "EXTRA"))
    assert [code for _, code, _ in listed(admin.delete(f"{ENTRIES}/userIds/bo"))] == [
        "EXTRA",
        "SALES",
        "STOCK",
    ]
    assert not any(pdp.may("bo", "READ", code) for code in ("SALES", "STOCK", "EXTRA"))
    assert listed(admin.delete(f"{ENTRIES}/userIds/bo")) == []


@pytest.mark.seed("S3-024")
def test_everybody_sees_their_own(herd: Node) -> None:
    give("ana@corp", "SALES", "WRITE", "READ")
    give("*@CORP", "SALES", "EXECUTE")
    give("*", "STOCK", "READ")
    body = Caller("ana@corp").get(f"{REST}/currentUser").json()
    assert body == {
        "userId": "ana@corp",
        "namespaceAuthorizations": [
            {"namespace": "SALES", "namespacePermissions": ["READ", "WRITE"]},
            {"namespace": "SALES", "namespacePermissions": ["EXECUTE"]},
            {"namespace": "STOCK", "namespacePermissions": ["READ"]},
        ],
        "securityRoles": [],
        "securityFunctions": [],
    }
    role("bo")
    body = Caller("bo").get(f"{REST}/currentUser").json()
    assert body["securityRoles"] == ["DATA_OWNER"]
    assert [item["namespace"] for item in body["namespaceAuthorizations"]] == ["STOCK"]


@pytest.mark.parametrize(("other", "name"), [("fiona", "\ufb01ona"), ("strasse", "straße")])
def test_who_is_called_alike_is_not_the_user_whose_entries_are_theirs(
    herd: Node, other: str, name: str
) -> None:
    """Python makes FIONA of a name that begins with a ligature; the laws, as the database, do not."""
    give(other, "SALES", "READ")
    stranger = Caller(name)
    role(name)
    assert listed(stranger.get(f"{ENTRIES}/userIds/{other}")) == []
    browser = Client()
    browser.force_login(people.make_account(name))
    assert "SALES" not in browser.get(f"/herds/{herd.id}/users?id={other}").content.decode()


def test_the_administrator_sees_all_with_all(admin: Caller) -> None:
    body = admin.get(f"{REST}/currentUser").json()
    assert body["namespaceAuthorizations"] == [
        {"namespace": code, "namespacePermissions": list(PERMISSIONS)} for code in ("SALES", "STOCK")
    ]


def test_a_wildcard_in_the_middle_is_a_letter(olivia: Caller, pdp: Caller) -> None:
    assert olivia.create("jo*n", "SALES", "READ").status_code == 200
    assert not pdp.may("john", "READ", "SALES")
    assert pdp.may("JO*N", "READ", "SALES")


@pytest.mark.parametrize("scope", ["check", "report", "audit", "request"])
def test_a_narrow_token_changes_nothing(herd: Node, scope: str) -> None:
    narrow = Caller("olivia", scope)
    before = Change.objects.count()
    writing = [
        answer for answer, read in zip(calls(narrow, "bo", "SALES"), (0, 0, 1, 0), strict=True) if not read
    ]
    for answer in (*writing, narrow.send("POST", f"{REST}/namespaces", {"namespaceCode": "X"})):
        assert texts(answer, 403) == "this token lacks the scope manage"
    assert Change.objects.count() == before


def test_without_credentials_it_is_401_in_the_same_form(herd: Node, client: Any) -> None:
    for headers in ({}, {"authorization": "Bearer "}, {"authorization": "Bearer wrong"}):
        for path in (f"{REST}/currentUser", f"{REST}/nowhere", entry_path("a", "b")):
            answer = client.get(path, headers=headers)
            texts(answer, 401)
            assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_other_paths_and_verbs_answer_in_the_same_form(admin: Caller) -> None:
    texts(admin.get(f"{REST}/nowhere"), 404)
    texts(admin.send("PUT", ENTRIES, {}), 405)
    texts(admin.send("POST", f"{REST}/currentUser", {}), 405)
    texts(admin.generic("PATCH", f"{REST}/namespaces/SALES", b"{}"), 405)


def test_there_may_be_no_herd(db: None) -> None:
    assert texts(Caller("ana").get(f"{REST}/currentUser"), 404) == "There is no Herd named herd here."


def test_an_entry_keeps_its_number_while_it_lives(olivia: Caller, herd: Node) -> None:
    numbers = [olivia.create("ana", "SALES", "READ").json()["id"]]
    sets = (("WRITE",), ("READ", "EXECUTE"), ("GRANT",))
    numbers += [olivia.update("ana", "SALES", *codes).json()["id"] for codes in sets]
    assert len(set(numbers)) == 1
    [entry] = [item for item in kept.entries(herd) if item.name == "ana"]
    assert (entry.number, entry.privileges) == (numbers[0], frozenset({"GRANT"}))


def test_a_list_costs_the_same_queries_however_long(
    olivia: Caller, django_assert_max_num_queries: Any, herd: Node
) -> None:
    for at in range(30):
        give(f"user{at:02}", "SALES", "READ")
    olivia.get(f"{ENTRIES}/namespaces/SALES")
    with django_assert_max_num_queries(12):
        assert len(listed(olivia.get(f"{ENTRIES}/namespaces/SALES"))) == 31


@pytest.mark.parametrize("content", UNREADABLE[1:4], ids=lambda content: content.decode())
def test_who_may_not_is_told_so_before_their_request_is_read(herd: Node, content: bytes) -> None:
    stranger = Caller("ana")
    for verb, path in (("POST", ENTRIES), ("PUT", entry_path("bo", "SALES"))):
        answer = stranger.generic(verb, path, content, content_type="application/json")
        assert texts(answer, 403) == "Access is denied"
    answer = stranger.generic("PUT", f"{REST}/namespaces/SALES", content, content_type="application/json")
    assert texts(answer, 403) == lacking("ana", "WRITE", "SALES")
    role("ana")
    assert texts(stranger.create("bo", "SALES", "OWNER"), 403) == lacking("ana", "GRANT", "SALES")
    answer = stranger.generic("PUT", entry_path("bo", "SALES"), content, content_type="application/json")
    assert texts(answer, 403) == lacking("ana", "GRANT", "SALES")
