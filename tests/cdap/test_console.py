"""The rooms of a CDAP in the console: names with what they match, giving, revoking and undoing, warnings."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts import people
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import parse
from lakewarden.law.objects import ObjectRef
from policies.authority import OPERATOR
from policies.models import Change, Grant
from policies.services import entities, members
from tests.cdap.world import BY, Caller, a_cdap, a_role, give
from tests.factories import a_use
from tests.kept import kept

ORDERS = {"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}
THERE = ("namespace:ns1", "dataset:ns1.orders", "dataset:ns1.items", "application:ns1.app", "stream:ns1.who")


@pytest.fixture
def signed_in(db: None) -> Callable[[str], Client]:
    def enter(name: str) -> Client:
        client = Client()
        client.force_login(people.make_account(name))
        return client

    return enter


def make_world(cdap: Node) -> Node:
    make(cdap, *THERE)
    for name in ("alice", "bob", "carl"):
        people.make_account(name)
    for name in ("bob", "carl"):
        members.join_group(people.ensure("group", "staff"), people.ensure("user", name), **BY)
    return cdap


world = kept(make_world, on="cdap")


@pytest.fixture
def admin(world: Node, signed_in: Callable[[str], Client]) -> Client:
    return signed_in("admin")


def make(root: Node, *texts: str) -> None:
    for text in texts:
        entities.create(root, parse(text), by=OPERATOR)


def words(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.content[:2000]
    body = re.sub(r"<(script|style).*?</\1>", "", answer.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


def at(root: Node, page: str = "", **asked: str) -> str:
    query = f"?{urlencode(asked)}" if asked else ""
    return f"/instances/{root.id}{f'/{page}' if page else ''}{query}"


def form(**more: Any) -> dict[str, Any]:
    return {"nonce": "n" * 12, "step": "save", "may": ["READ"], **more}


def given() -> list[tuple[str, str]]:
    rows = Grant.objects.open().filter(realm__isnull=False).order_by("pattern", "privilege")
    return [(row.pattern, row.privilege) for row in rows]


# what is given


def test_the_room_says_what_each_name_matches(admin: Client, world: Node) -> None:
    give(world, "dataset:ns1.*", "alice", "READ", "WRITE")
    give(world, "dataset:ns9.*", "group:staff", "READ")
    give(world, "dataset:ns1.orders", "bob", "READ")
    give(world, "stream:ns1.gone", "bob", "READ")
    page_words = words(admin.get(at(world)))
    assert "dataset:ns1.* alice Read and Write 2 datasets" in page_words
    assert "dataset:ns9.* staff Read Matches nothing" in page_words
    assert "dataset:ns1.orders bob Read 1 dataset" in page_words
    assert "stream:ns1.gone bob Read No such entity" in page_words
    assert "more than when granted" not in page_words


@pytest.mark.seed("S1-043", "S2-092")
def test_a_name_that_outgrew_its_grant_or_lost_its_entity_is_told(admin: Client, world: Node) -> None:
    give(world, "dataset:ns1.o*", "alice", "READ")
    give(world, "dataset:ns1.items", "bob", "READ")
    give(world, "stream:ns1.who", "bob", "READ")
    make(world, "dataset:ns1.other")
    entities.delete(world, parse("dataset:ns1.items"), by=OPERATOR)
    page_words = words(admin.get(at(world, s="lost")))
    assert "dataset:ns1.o* alice Read 2 datasets 1 more than when granted" in page_words
    assert "dataset:ns1.items bob Read No such entity" in page_words
    assert "stream:ns1.who" not in page_words
    page = words(admin.get(at(world, "name", text="dataset:ns1.o*")))
    assert "1 dataset added since it was first granted." in page
    assert "dataset:ns1.orders dataset:ns1.other" in page
    left = words(admin.get(at(world, "name", text="dataset:ns1.items")))
    assert "There is no such entity." in left
    taken = admin.post(at(world, "revoke", text="dataset:ns1.items", who="user:bob"), {"nonce": "m" * 12})
    assert taken.status_code == 302
    assert ("dataset:ns1.items", "READ") not in given()


def test_an_entity_names_everybody_who_reaches_it(admin: Client, world: Node) -> None:
    a_role(world, "readers", "carl")
    give(world, "dataset:ns1.orders", "alice", "READ")
    give(world, "dataset:ns?.ord*", "group:staff", "WRITE")
    give(world, "dataset:*.*", "role:readers", "READ")
    give(world, "dataset:ns1.item*", "bob", "READ")
    page_words = words(admin.get(at(world, "name", text="dataset:ns1.orders")))
    assert "alice Read" in page_words
    assert "staff Group Write" in page_words
    assert "From dataset:ns?.ord*" in page_words
    assert "readers Role Read" in page_words
    assert "From dataset:*.*" in page_words
    assert "ns1.item" not in page_words


def test_in_35_names_above_count(db: None, signed_in: Callable[[str], Client]) -> None:
    root = a_cdap("3.5")
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "instance:cdap", "alice", "READ")
    give(root, "namespace:ns1", "bob", "WRITE")
    page_words = words(signed_in("admin").get(at(root, "name", text="dataset:ns1.orders")))
    assert "alice Read From instance:cdap" in page_words
    assert "bob Write From namespace:ns1" in page_words
    assert "name of an existing entity" in words(signed_in("admin").get(at(root, "grant")))


@pytest.mark.seed("S0-099", "S0-100")
@pytest.mark.parametrize("policy", ["3.4", "3.5"])
@pytest.mark.parametrize("action", ["WRITE", "ADMIN"])
def test_who_may_only_write_or_administer_sees_it_and_reads_nothing(
    db: None, signed_in: Callable[[str], Client], policy: str, action: str
) -> None:
    root = a_cdap(policy)
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "dataset:ns1.orders", "alice", action)
    page_words = words(signed_in("alice").get(at(root, "name", text="dataset:ns1.orders")))
    label = {"WRITE": "Write", "ADMIN": "Administer"}[action]
    assert f"You may {label}" in page_words
    assert not Caller("alice").may("alice", "READ", ORDERS)


@pytest.mark.seed("S0-095", "S2-013")
def test_a_list_of_entities_holds_what_exists_for_one(
    world: Node, signed_in: Callable[[str], Client]
) -> None:
    give(world, "dataset:ns1.orders", "alice", "READ")
    alice = signed_in("alice")
    assert "ns1" in words(alice.get(at(world, "entities")))
    page_words = words(alice.get(at(world, "entities", **{"in": "namespace:ns1"})))
    assert "orders Dataset Read" in page_words
    assert "items" not in page_words
    assert "dataset:ns1.who" not in page_words
    assert "who Dataset" not in page_words
    assert "Nothing you may see is in cdap" in words(signed_in("zoe").get(at(world, "entities")))
    every = words(signed_in("admin").get(at(world, "entities", **{"in": "namespace:ns1"})))
    for name in ("orders", "items", "app", "who"):
        assert name in every


def test_one_sees_what_one_was_given(world: Node, signed_in: Callable[[str], Client]) -> None:
    a_role(world, "readers", "bob")
    give(world, "dataset:ns1.*", "role:readers", "READ")
    give(world, "stream:ns1.*", "group:staff", "WRITE")
    give(world, "dataset:ns1.items", "alice", "READ")
    page_words = words(signed_in("bob").get(at(world)))
    assert "dataset:ns1.*" in page_words
    assert "stream:ns1.*" in page_words
    assert "dataset:ns1.items" not in page_words
    assert "Who may do what on cdap is decided by admin, who administers cdap." in page_words


# giving


@pytest.mark.seed("S1-111")
def test_giving_on_a_pattern_tells_what_it_does_first(admin: Client, world: Node) -> None:
    give(world, "dataset:ns1.items", "bob", "READ")
    asked = form(text="dataset:ns1.*", who=["user:alice", "group:staff"], step="look")
    page_words = words(admin.post(at(world, "grant"), asked))
    assert "2 datasets now: ns1.items and ns1.orders. Also those created later." in page_words
    assert "alice gains read on 2 datasets" in page_words
    assert "bob of staff gains read on 1 dataset" in page_words
    assert "carl of staff gains read on 2 datasets" in page_words
    assert given() == [("dataset:ns1.items", "READ")], "nothing is saved yet"
    before = Change.objects.count()
    saved = admin.post(at(world, "grant"), {**asked, "step": "save", "reason": "SALES-1"})
    assert saved.headers["Location"] == at(world, "name", text="dataset:ns1.*")
    assert Change.objects.count() == before + 1, "one form is one change"
    assert Caller("carl").may("carl", "READ", ORDERS)
    again = admin.post(at(world, "grant"), {**asked, "step": "save"})
    assert again.status_code == 302
    assert Change.objects.count() == before + 1, "sent twice is done once"


def test_giving_before_there_is_anything_says_so(admin: Client, world: Node) -> None:
    asked = form(text="dataset:ns7.*", who=["user:alice"], step="look")
    page_words = words(admin.post(at(world, "grant"), asked))
    assert "No dataset matches now. Later ones will." in page_words
    assert "alice gains what is created later" in page_words
    exact = words(admin.post(at(world, "grant"), {**asked, "text": "dataset:ns7.new"}))
    assert "It does not exist yet. These rights will apply once it is created." in exact
    assert "alice gains read on dataset:ns7.new" in exact


def test_a_role_is_given_to_as_anybody(admin: Client, world: Node) -> None:
    a_role(world, "readers", "alice", "group:staff")
    page_words = words(
        admin.post(at(world, "grant"), form(text="dataset:ns1.*", role="readers", step="look"))
    )
    assert "3 of role readers gain read on 2 datasets alice, bob and carl." in page_words
    admin.post(at(world, "grant"), form(text="dataset:ns1.*", role="readers"))
    assert Caller("bob").may("bob", "READ", ORDERS)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "Enter the name of an entity, or a pattern."),
    ({"text": "dataset"}, "Cannot extract the entity type from dataset"),
    ({"text": "view:ns1.a"}, "Entity type VIEW does not support authorization."),
    ({"text": "dataset:ns1"}, "Entity value is missing some parts"),
    ({"text": "dataset:ns1.\0"}, "Entity value is missing some parts"),
    ({"text": "dataset:ns1." + "a" * 3000}, "An entity's name has at most 2000 bytes."),
    ({"who": []}, "Enter at least one person, group or role."),
    ({"who": [], "find": "zzz"}, "No person here has that name."),
    ({"may": []}, "Choose at least one right."),
    ({"may": ["ALL", "FLY"]}, "Choose at least one right."),
]


@pytest.mark.parametrize(("changed", "told"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_form_is_kept_and_nothing_saved(
    admin: Client, world: Node, changed: dict[str, Any], told: str
) -> None:
    before = Change.objects.count()
    asked = form(text="dataset:ns1.*", who=["user:alice"]) | changed
    assert told in words(admin.post(at(world, "grant"), asked), 422)
    assert Change.objects.count() == before


def test_in_35_only_what_is_there_can_be_given_on(db: None, signed_in: Callable[[str], Client]) -> None:
    root = a_cdap("3.5")
    make(root, "namespace:ns1")
    people.make_account("alice")
    asked = form(text="dataset:ns1.new", who=["user:alice"])
    assert "'dataset:ns1.new' was not found." in words(signed_in("admin").post(at(root, "grant"), asked), 422)
    give(root, "namespace:ns1", "alice", "ADMIN")
    people.make_account("bob")
    alice = signed_in("alice")
    assert alice.get(at(root, "grant")).status_code == 403
    there = at(root, "grant", text="namespace:ns1")
    assert "Grant access in cdap" in words(alice.get(there))
    saved = alice.post(at(root, "grant"), form(text="namespace:ns1", who=["user:bob"]))
    assert saved.status_code == 302
    assert Caller("bob").may("bob", "READ", {"namespace": "ns1", "entity": "NAMESPACE"})


# roles


def test_roles_are_made_given_taken_and_deleted(admin: Client, world: Node) -> None:
    assert "Create a role" in words(admin.get(at(world)))
    made = admin.post(f"/roles/new?in={world.id}", {"name": "readers", "nonce": "a" * 12})
    number = int(made.headers["Location"].rpartition("/")[2])
    chosen = admin.get(f"/roles/{number}/give").headers["Location"]
    assert chosen == at(world, "grant", role="readers").replace("/grant?", "/grant?")
    admin.post(at(world, "grant"), form(text="dataset:ns1.*", role="readers", may=["READ", "WRITE"]))
    page_words = words(admin.get(f"/roles/{number}"))
    assert "dataset:ns1.* Read and Write Open" in page_words
    assert "Gives on 1 name" in page_words
    assert "Set on many objects" not in page_words
    admin.post(
        f"/roles/{number}/assign", {"nonce": "b" * 12, "step": "save", "who": "user:carl", "until": "never"}
    )
    assert Caller("carl").may("carl", "READ", ORDERS)
    assert "carl" in words(admin.get(f"/roles/{number}"))
    given_at = Change.objects.latest("pk").revision
    admin.post(f"/undo/{given_at}")
    assert not Caller("carl").may("carl", "READ", ORDERS)
    admin.post(f"/undo/{Change.objects.latest('pk').revision}")
    assert Caller("carl").may("carl", "READ", ORDERS)
    admin.post(f"/roles/{number}/unassign?who=user:carl", {"nonce": "c" * 12})
    assert not Caller("carl").may("carl", "READ", ORDERS)
    admin.post(f"/roles/{number}/delete", {"nonce": "d" * 12, "name": "readers"})
    assert given() == []


def test_who_does_not_administer_changes_no_role(world: Node, signed_in: Callable[[str], Client]) -> None:
    role = a_role(world, "readers", "bob")
    bob = signed_in("bob")
    assert bob.get(f"/roles/new?in={world.id}").status_code == 403
    for page in ("assign", "unassign?who=user:bob", "delete"):
        assert bob.post(f"/roles/{role.id}/{page}", {"nonce": "e" * 12}).status_code in (403, 404)
    assert Caller("bob").get("/v3/security/authorization/user/bob/roles").json() == [
        {"name": "readers", "type": "ROLE"}
    ]


@pytest.mark.seed("S1-218")
def test_it_is_said_that_rights_are_not_pushed_to_storage(admin: Client, world: Node) -> None:
    assert "Pushed to storage No" in words(admin.get(at(world)))


# taking back


def test_revoking_tells_who_really_loses(admin: Client, world: Node) -> None:
    give(world, "dataset:ns1.*", "group:staff", "READ", "WRITE")
    give(world, "dataset:ns1.orders", "bob", "READ", "WRITE")
    give(world, "dataset:ns1.items", "bob", "READ", "WRITE")
    address = at(world, "revoke", text="dataset:ns1.*", who="group:staff")
    page_words = words(admin.get(address))
    assert "Revoke read and write on dataset:ns1.* from group staff?" in page_words
    assert "carl of staff loses read on 2 datasets and write on 2 datasets" in page_words
    assert "bob of staff keeps it by another name" in page_words
    before = Change.objects.count()
    admin.post(address, {"nonce": "r" * 12, "reason": "over"})
    assert Change.objects.count() == before + 1
    assert not Caller("carl").may("carl", "READ", ORDERS)
    assert Caller("bob").may("bob", "READ", ORDERS)
    assert "There is nothing to revoke" in words(admin.get(address))


def test_what_one_did_is_undone_on_the_same_name(admin: Client, world: Node) -> None:
    admin.post(at(world, "grant"), form(text="dataset:ns1.*", who=["user:alice"], may=["READ", "WRITE"]))
    made = Change.objects.latest("pk").revision
    admin.post(f"/undo/{made}")
    assert given() == []
    admin.post(f"/undo/{Change.objects.latest('pk').revision}")
    assert given() == [("dataset:ns1.*", "READ"), ("dataset:ns1.*", "WRITE")]
    admin.post(at(world, "revoke", text="dataset:ns1.*", who="user:alice"), {"nonce": "v" * 12})
    assert given() == []
    admin.post(f"/undo/{Change.objects.latest('pk').revision}")
    assert given() == [("dataset:ns1.*", "READ"), ("dataset:ns1.*", "WRITE")]


def test_the_history_says_it(admin: Client, world: Node) -> None:
    admin.post(at(world, "grant"), form(text="dataset:ns1.*", who=["user:alice"]))
    page_words = words(admin.get("/history"))
    assert "granted READ on dataset:ns1.* to alice" in page_words


# elsewhere


def test_objects_open_on_the_page_of_their_name(admin: Client, world: Node) -> None:
    give(world, "dataset:ns1.orders", "admin", "READ")
    orders, ns1 = (
        find(ObjectRef(kind, "cdap", path))
        for kind, path in (("dataset", ("ns1", "orders")), ("namespace", ("ns1",)))
    )
    assert orders is not None
    assert ns1 is not None
    for address in (f"/objects/{orders.id}", f"/objects/{orders.id}/rules", f"/catalog/{orders.id}"):
        answer = admin.get(address, follow=True)
        assert answer.redirect_chain[-1][0] == at(world, "name", text="dataset:ns1.orders")
    answer = admin.get(f"/namespaces/{ns1.id}", follow=True)
    assert answer.redirect_chain[-1][0] == at(world, "name", text="namespace:ns1")
    assert admin.get(f"/objects/{orders.id}/grant").headers["Location"] == at(
        world, "grant", text="dataset:ns1.orders"
    )


def test_pages_ask_as_often_for_many_as_for_one(
    admin: Client, world: Node, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        give(world, f"dataset:ns1.a{number:02}*", f"user{number:02}", "READ")
    make(world, *(f"dataset:ns1.b{number:02}" for number in range(40)))
    give(world, "dataset:ns1.b*", "group:staff", "READ")
    pages = [
        at(world),
        at(world, "entities", **{"in": "namespace:ns1"}),
        at(world, "name", text="dataset:ns1.b*"),
    ]
    admin.get(pages[0])  # the first page of a session notes the session
    for page in (*pages, at(world, "grant", text="dataset:ns1.b*", who="group:staff")):
        with django_assert_max_num_queries(33):
            assert admin.get(page).status_code == 200


@pytest.mark.seed("S1-217")
def test_a_realm_is_raised_after_its_plan_was_looked_at(db: None, signed_in: Callable[[str], Client]) -> None:
    root = a_cdap("3.5")
    make(root, "namespace:ns1", "dataset:ns1.orders")
    give(root, "namespace:ns1", "bob", "READ")
    give(root, "dataset:ns1.orders", "bob", "ALL")
    admin, page = signed_in("admin"), f"/realms/{root.id}/raise?to=4.3"
    orders = entities.found(root, parse("dataset:ns1.orders"))
    assert orders is not None
    give(root, "namespace:ns1", "ana", "READ")
    a_use("ana", orders)
    assert "could no longer read ns1.orders" in words(admin.get(page)), "what is above counts no more"
    assert "Raise to CDAP 4.3" in words(admin.get(f"/realms/{root.id}"))
    looked = admin.get(page)
    assert "ALL on dataset:ns1.orders becomes READ, WRITE, EXECUTE, ADMIN" in words(looked)
    sent = {"nonce": "n" * 12, "plan": looked.context["form"]["plan"].value(), "reason": "upgraded"}
    give(root, "namespace:ns1", "bob", "ALL")
    assert signed_in("bob").get(page).status_code == 403
    assert "someone changed what is granted" in words(admin.post(page, sent), 422)
    looked = admin.get(page)
    made = admin.post(page, {**sent, "plan": looked.context["form"]["plan"].value()})
    assert made.status_code == 302, words(made, made.status_code)
    assert ("dataset:ns1.orders", "EXECUTE") in given() and "ALL" not in {code for _, code in given()}
    assert admin.get(page).status_code == 404, "it has these rules already"
