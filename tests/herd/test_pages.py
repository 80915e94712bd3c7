"""The rooms of a Herd without a browser: who sees what, the grid looked at and saved, roles, one user id."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.decisions.lookups import entries
from policies.models import Change, Grant
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.console.conftest import BACKEND
from tests.herd.world import Caller, entry_path, give, namespaces, role, the_namespace

Enter = Callable[[str], Client]


@pytest.fixture
def enter(herd: Node) -> Enter:
    def signed_in(name: str) -> Client:
        client = Client()
        client.force_login(people.make_account(name), backend=BACKEND)
        return client

    return signed_in


@pytest.fixture
def sales(herd: Node) -> Node:
    return the_namespace("SALES")


def address(code: str) -> str:
    return f"/namespaces/{the_namespace(code).id}"


def told(body: bytes) -> str:
    """What a page says, tags and folded space apart."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", body.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(text))


def form_of(client: Client, page: str) -> dict[str, Any]:
    """The grid's form as a browser would send it unchanged."""
    body = client.get(page).content.decode()
    [form] = re.findall(r'<form class="stack" method="post".*?</form>', body, re.S)
    sent: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = (re.search(rf'{item}="([^"]*)"', tag) for item in ("name", "value"))
        if name and name[1] != "csrfmiddlewaretoken" and ("checkbox" not in tag or " checked" in tag):
            sent.setdefault(name[1], []).append(html.unescape(value[1]) if value else "on")
    return sent


def turned(sent: dict[str, Any], *, on: tuple[str, ...] = (), off: tuple[str, ...] = ()) -> dict[str, Any]:
    boxes = [item for item in sent.get("may", []) if item not in off]
    return {**sent, "may": [*boxes, *on]}


def held(herd: Node, user: str, code: str) -> set[str]:
    pks = [principal.pk for principal in Principal.objects.filter(name__iexact=user)]
    entries_ = entries.entries(herd, objects=[the_namespace(code).id], holders=pks)
    return {permission for item in entries_ for permission in item.privileges}


@pytest.mark.seed("S3-016", "S3-023")
def test_a_data_owner_gives_changes_and_takes_in_the_grid(
    herd: Node, sales: Node, enter: Enter, olivia: Caller
) -> None:
    page, client = address("SALES"), enter("olivia")
    assert "Data owners olivia" in told(client.get(page).content)

    sent = form_of(client, page) | {"add": "ana", "add_may": ["READ", "WRITE"]}
    looked = told(client.post(page, sent | {"step": "look"}).content)
    assert "ana may read and write on SALES" in looked
    assert held(herd, "ana", "SALES") == set()
    assert client.post(page, sent | {"step": "save"}).status_code == 302
    assert held(herd, "ana", "SALES") == {"READ", "WRITE"}
    assert olivia.get(entry_path("ana", "SALES")).json()["namespacePermissions"] == ["READ", "WRITE"]

    sent = turned(form_of(client, page), on=("EXECUTE user:ana",), off=("WRITE user:ana",))
    looked = told(client.post(page, sent | {"step": "look"}).content)
    assert "ana loses Write on SALES" in looked
    assert "ana may execute on SALES" in looked
    assert looked.index("loses Write") < looked.index("may execute")
    client.post(page, sent | {"step": "save", "reason": "New task"})
    assert held(herd, "ana", "SALES") == {"READ", "EXECUTE"}
    assert Change.objects.order_by("-revision")[0].reason == "New task"

    sent = form_of(client, page)
    looked = told(client.post(page, sent | {"clear": "user:ana"}).content)
    assert "ana loses Read and Execute on SALES Nothing is left." in looked
    client.post(page, turned(sent, off=("READ user:ana", "EXECUTE user:ana")) | {"step": "save"})
    assert held(herd, "ana", "SALES") == set()


def test_several_entries_are_one_change_and_undone_as_one(herd: Node, sales: Node, enter: Enter) -> None:
    give("ana", "SALES", "READ")
    give("bo", "SALES", "WRITE")
    page, client = address("SALES"), enter("olivia")
    sent = turned(form_of(client, page), on=("READ user:bo",), off=("READ user:ana",))
    before = Change.objects.count()
    client.post(page, sent | {"step": "save"})
    assert Change.objects.count() == before + 1
    assert (held(herd, "ana", "SALES"), held(herd, "bo", "SALES")) == (set(), {"READ", "WRITE"})
    undo = re.search(r'action="(/undo/\d+)"', client.get(page).content.decode())
    assert undo is not None
    client.post(undo[1])
    assert (held(herd, "ana", "SALES"), held(herd, "bo", "SALES")) == ({"READ"}, {"WRITE"})


def test_a_form_sent_twice_saves_once(herd: Node, sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    sent = form_of(client, page) | {"add": "ana", "add_may": ["READ"], "step": "save"}
    assert [client.post(page, sent).status_code for _ in range(2)] == [302, 302]
    assert Change.objects.filter(request_id=sent["nonce"][0]).count() == 1


def test_what_somebody_changed_meanwhile_is_not_overwritten(herd: Node, sales: Node, enter: Enter) -> None:
    give("ana", "SALES", "READ")
    page, client = address("SALES"), enter("olivia")
    sent = turned(form_of(client, page), on=("WRITE user:ana",)) | {"reason": "Mine", "step": "save"}
    give("ana", "SALES", "READ", "EXECUTE")
    answer = client.post(page, sent)
    assert answer.status_code == 409
    assert "Not saved" in told(answer.content)
    assert b"Mine" in answer.content
    assert held(herd, "ana", "SALES") == {"READ", "EXECUTE"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a/b", "A user id cannot contain slashes."),
        ("x" * 256, "A name has 1 to 255 characters."),
        ("tab\there", "A name has no control characters."),
    ],
)
def test_names_that_nobody_bears_are_refused(name: str, words: str, sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    before = Change.objects.count()
    answer = client.post(page, form_of(client, page) | {"add": name, "add_may": ["READ"], "step": "save"})
    assert answer.status_code == 422
    assert words in told(answer.content)
    assert Change.objects.count() == before
    assert not Principal.objects.filter(name=name[:255]).exists()


def test_a_name_without_a_permission_is_told(sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    answer = client.post(page, form_of(client, page) | {"add": "ana", "step": "save"})
    assert answer.status_code == 422
    assert "Choose at least one permission for ana." in told(answer.content)


def test_looking_makes_nobody(sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    sent = form_of(client, page) | {"add": "nobody@corp", "add_may": ["READ"], "step": "look"}
    assert "nobody@corp may read" in told(client.post(page, sent).content)
    assert not Principal.objects.filter(name="nobody@corp").exists()


def test_a_wildcard_user_tells_whom_it_speaks_of(herd: Node, sales: Node, enter: Enter) -> None:
    for name in ("ana@corp", "BO@CORP", "zoe@other"):
        people.ensure("user", name)
    give("ana@corp", "SALES", "READ")
    page, client = address("SALES"), enter("olivia")
    sent = form_of(client, page) | {"add": "*@corp", "add_may": ["READ"]}
    looked = told(client.post(page, sent | {"step": "look"}).content)
    assert "everyone whose user id ends with @corp" in looked
    assert "BO@CORP gains Read on SALES Through *@corp." in looked
    assert "ana@corp gains" not in looked
    client.post(page, sent | {"step": "save"})
    assert held(herd, "*@corp", "SALES") == {"READ"}

    sent = turned(form_of(client, page), off=("READ user:ana@corp",))
    looked = told(client.post(page, sent | {"step": "look"}).content)
    assert "ana@corp keeps Read, through *@corp" in looked
    assert "ana@corp loses" not in looked


def test_the_same_user_in_other_letters_is_one_entry(herd: Node, sales: Node, enter: Enter) -> None:
    give("Ana", "SALES", "READ")
    page, client = address("SALES"), enter("olivia")
    client.post(page, form_of(client, page) | {"add": "ANA", "add_may": ["WRITE"], "step": "save"})
    assert held(herd, "ana", "SALES") == {"READ", "WRITE"}
    assert not Principal.objects.filter(name="ANA").exists()


def test_nobody_takes_grant_from_themselves_and_keeps_the_rest(herd: Node, sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    sent = turned(form_of(client, page), off=("GRANT user:olivia",))
    answer = client.post(page, sent | {"step": "save"})
    assert answer.status_code == 422
    assert "You cannot revoke your own Grant" in told(answer.content)
    assert held(herd, "olivia", "SALES") == {"READ", "GRANT"}
    sent = turned(sent, off=("READ user:olivia",))
    looked = told(client.post(page, sent | {"step": "look"}).content)
    assert "SALES is left without a holder of Grant" in looked
    assert client.post(page, sent | {"step": "save"}).status_code == 302
    assert held(herd, "olivia", "SALES") == set()


def test_a_grant_without_the_role_is_said_to_be_useless_yet(sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("admin")
    looked = told(
        client.post(page, form_of(client, page) | {"add": "bo", "add_may": ["GRANT"], "step": "look"}).content
    )
    assert "bo cannot use Grant yet: the role DATA_OWNER is missing" in looked


def test_the_later_permissions_fold_and_are_kept(herd: Node, sales: Node, enter: Enter) -> None:
    give("ana", "SALES", "READ", "WRITE_ATTRIBUTE")
    page, client = address("SALES"), enter("olivia")
    assert "also write attributes" in told(client.get(page).content)
    sent = turned(form_of(client, page), on=("WRITE user:ana",))
    client.post(page, sent | {"step": "save"})
    assert held(herd, "ana", "SALES") == {"READ", "WRITE", "WRITE_ATTRIBUTE"}
    unfolded = client.post(page, turned(form_of(client, page), off=("READ user:ana",)) | {"fold": "more"})
    assert 'value="WRITE_ATTRIBUTE user:ana" checked' in unfolded.content.decode()
    assert "ana loses Read" in told(unfolded.content)


def test_a_grant_that_ends_keeps_its_end(herd: Node, sales: Node, enter: Enter) -> None:
    until = timezone.now() + timedelta(days=3)
    by = Actor(people.ensure("user", "olivia"), "console")
    grants.add(GrantRequest(sales, (people.ensure("user", "ana"),), ("READ",), valid_until=until), by=by)
    page, client = address("SALES"), enter("olivia")
    client.post(page, turned(form_of(client, page), on=("WRITE user:ana",)) | {"step": "save"})
    kept = Grant.objects.open().get(securable=sales.id, holder__name="ana", privilege="READ")
    assert kept.valid_until == until


@pytest.mark.parametrize(
    ("held_", "is_data_owner", "rows", "form"),
    [
        (("READ", "GRANT"), True, True, True),
        (("READ",), True, True, False),
        (("GRANT",), True, False, True),
        (("READ", "GRANT"), False, False, False),
        ((), False, False, False),
    ],
    ids=["data owner", "reviewer", "giver alone", "without the role", "anybody"],
)
def test_who_sees_and_who_turns(
    held_: tuple[str, ...], is_data_owner: bool, rows: bool, form: bool, sales: Node, enter: Enter
) -> None:
    give("ana", "SALES", "EXECUTE")
    if held_:
        give("eve", "SALES", *held_)
    if is_data_owner:
        role("eve")
    page, client = address("SALES"), enter("eve")
    body = client.get(page).content.decode()
    assert ("<b>ana</b>" in body) == rows
    assert ('name="add"' in body) == form
    assert ("You cannot change this: you lack" in told(body.encode())) != form
    sent = {"row": "user:bo", "may": "READ user:bo", "step": "save", "nonce": "a" * 20}
    assert client.post(page, sent).status_code == (302 if form else 403)
    assert (Grant.objects.open().filter(securable=sales.id, holder__name="bo").exists()) == form


def test_the_grid_has_pages_and_a_filter(sales: Node, enter: Enter) -> None:
    for at in range(60):
        give(f"u{at:02}", "SALES", "READ")
    page, client = address("SALES"), enter("olivia")
    first = client.get(page).content.decode()
    assert "61 entries" in told(first.encode())
    next_ = re.search(r'href="(\?after=[^"]*)"\s+rel="next"', first)
    assert next_ is not None
    second = client.get(page + html.unescape(next_[1])).content.decode()
    assert "user:u59" in second
    assert "user:u01" not in second
    filtered = client.get(f"{page}?q=u5").content.decode()
    assert "user:u55" in filtered
    assert "user:u11" not in filtered


@pytest.mark.seed("S3-025", "S3-026", "S3-027", "S3-028")
def test_the_four_steps_to_a_new_namespace(herd: Node, enter: Enter) -> None:
    dora, admin = enter("dora"), enter("admin")
    made = dora.post(f"/herds/{herd.id}/new", {"name": "NEW_APP", "nonce": "a" * 20})
    page = made["Location"]
    assert page == address("NEW_APP")
    seen = told(dora.get(page).content)
    assert "No data owner" in seen
    assert "Done by dora" in seen
    assert "This is for the administrator, admin." in seen
    assert "Assign the role" not in seen

    roles_page = f"/herds/{herd.id}/roles"
    assert dora.post(roles_page, {"role": "DATA_OWNER", "who": "dora"}).status_code == 403
    form = {"role": "DATA_OWNER", "who": "dora", "next": str(the_namespace("NEW_APP").id), "nonce": "b" * 20}
    assert admin.post(roles_page, form)["Location"] == page
    seen = admin.get(page).content.decode()
    link = re.search(r'href="([^"]*add_may=GRANT[^"]*)"', seen)
    assert link is not None

    first = html.unescape(link[1]).partition("#")[0]
    offered = admin.get(first).content.decode()
    assert "dora may read and grant on NEW_APP" in told(offered.encode())
    admin.post(page, form_of(admin, first) | {"step": "save"})
    assert held(herd, "dora", "NEW_APP") == {"READ", "GRANT"}

    dora.post(page, form_of(dora, page) | {"add": "ana", "add_may": ["READ"], "step": "save"})
    assert held(herd, "ana", "NEW_APP") == {"READ"}
    seen = told(dora.get(page).content)
    assert "How it was set up" in seen
    assert "Data owners dora" in seen


@pytest.mark.seed("S3-016")
def test_a_namespace_without_a_data_owner_is_a_task(herd: Node, enter: Enter) -> None:
    page = f"/herds/{herd.id}"
    listed = told(enter("admin").get(page).content)
    assert "Without a data owner 1" in listed
    lacking = told(enter("admin").get(f"{page}?s=lacking").content)
    assert "STOCK" in lacking
    assert "SALES" not in lacking


def test_names_differ_in_more_than_their_case(herd: Node, enter: Enter) -> None:
    client = enter("dora")
    answer = client.post(f"/herds/{herd.id}/new", {"name": "sales", "nonce": "a" * 20})
    assert answer.status_code == 422
    assert "already exists" in told(answer.content)


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"name": ""}, "Enter a name."),
        ({"name": "A/B"}, "A namespace cannot contain slashes."),
        ({"name": "A", "charge_code": "x" * 256}, "Enter at most 255 characters."),
        ({"name": "A", "charge_code": "a\x07b"}, "A charge code must be printable text."),
    ],
)
def test_what_is_wrong_with_a_new_namespace_stands_beside_its_field(
    form: dict[str, str], wrong: str, herd: Node, enter: Enter
) -> None:
    answer = enter("dora").post(f"/herds/{herd.id}/new", form | {"nonce": "a" * 20})
    assert answer.status_code == 422
    assert wrong in told(answer.content)
    assert find(ObjectRef("namespace", "herd", ("A",))) is None


def test_the_administrator_takes_a_role_back_and_sees_what_is_left_alone(herd: Node, enter: Enter) -> None:
    page, admin = f"/herds/{herd.id}/roles/take?role=DATA_OWNER&who=user:olivia", enter("admin")
    seen = told(admin.get(page).content)
    assert "can no longer decide access in SALES" in seen
    assert "SALES is left without a data owner" in seen
    assert enter("olivia").post(page, {"nonce": "a" * 20}).status_code == 403
    assert admin.post(page, {"nonce": "a" * 20}).status_code == 302
    assert admin.get(page).status_code == 404
    assert "No data owner" in told(admin.get(address("SALES")).content)


@pytest.mark.parametrize("typed", ["", "*@corp", "a/b"])
def test_a_role_is_for_users(typed: str, herd: Node, enter: Enter) -> None:
    form = {"role": "OPS", "who": typed, "nonce": "a" * 20}
    answer = enter("admin").post(f"/herds/{herd.id}/roles", form)
    assert answer.status_code == 422


def test_ones_own_overview_tells_own_and_wildcard_entries_apart(herd: Node, enter: Enter) -> None:
    give("ana@corp", "SALES", "EXECUTE")
    give("*@corp", "SALES", "READ")
    give("*@corp", "STOCK", "WRITE")
    role("ana@corp")
    seen = told(enter("ana@corp").get(f"/herds/{herd.id}/mine").content)
    assert "Security roles DATA_OWNER" in seen
    assert "SALES Execute By your own entry" in seen
    assert "SALES Read By wildcard *@corp" in seen
    assert "STOCK Write By wildcard *@corp" in seen
    nobody = told(enter("zoe").get(f"/herds/{herd.id}/mine").content)
    assert "You have no access to any namespace yet" in nobody
    everything = told(enter("admin").get(f"/herds/{herd.id}/mine").content)
    assert "STOCK Read, Write, Execute, Grant" in everything


def test_one_user_id_is_reviewed_and_removed_everywhere_or_nowhere(herd: Node, enter: Enter) -> None:
    give("ana", "SALES", "READ")
    give("ana", "STOCK", "READ")
    page = f"/herds/{herd.id}/users"
    olivia = enter("olivia")
    seen = told(olivia.get(f"{page}?id=ANA").content)
    assert "SALES Read" in seen
    assert "STOCK" not in seen
    assert "All or nothing" in seen
    remove = f"{page}/remove?id=ana"
    olivia.post(remove, {"nonce": "a" * 20})
    assert held(herd, "ana", "SALES") == {"READ"}
    give("olivia", "STOCK", "READ", "GRANT")
    assert "Remove ana from 2 namespaces?" in told(olivia.get(remove).content)
    assert olivia.post(remove, {"nonce": "b" * 20}).status_code == 302
    assert held(herd, "ana", "SALES") | held(herd, "ana", "STOCK") == set()
    assert enter("zoe").get(f"{page}?id=ana").status_code == 403
    assert enter("ana").get(f"{page}?id=ana").status_code == 200


def test_a_namespace_in_use_stays(herd: Node, enter: Enter) -> None:
    [old] = namespaces(herd, "OLD")
    give("ana", "OLD", "READ")
    page, admin = f"/namespaces/{old.id}/delete", enter("admin")
    assert enter("olivia").get(page).status_code == 403
    assert "is in use" in told(admin.get(page).content)
    assert admin.post(page, {"nonce": "a" * 20}).status_code == 409
    assert admin.get(f"/namespaces/{old.id}").status_code == 200
    admin.post(
        f"/namespaces/{old.id}",
        turned(form_of(admin, f"/namespaces/{old.id}"), off=("READ user:ana",)) | {"step": "save"},
    )
    assert admin.post(page, {"nonce": "b" * 20}).status_code == 302
    assert "Gone since" in told(admin.get(f"/namespaces/{old.id}", follow=True).content)


@pytest.mark.parametrize("tab", ["", "/rules", "/history", "/grant", "/revoke?who=user:ana"])
def test_the_general_pages_lead_to_the_room(tab: str, sales: Node, enter: Enter) -> None:
    answer = enter("olivia").get(f"/objects/{sales.id}{tab}")
    assert answer.status_code == 302
    assert answer["Location"].startswith(f"/namespaces/{sales.id}")


def test_history_speaks_the_words_of_the_herd(sales: Node, enter: Enter) -> None:
    page, client = address("SALES"), enter("olivia")
    client.post(page, form_of(client, page) | {"add": "ana", "add_may": ["READ", "WRITE"], "step": "save"})
    assert "olivia granted Read and Write on SALES to ana" in told(client.get(f"{page}/history").content)


COUNTS = {"herd": 16, "namespace": 37, "history": 30, "roles": 15, "mine": 8, "user": 15}
"""How often each page asks the database, however many entries, namespaces and data owners there are."""


@pytest.mark.parametrize("many", [1, 60])
def test_pages_ask_as_often_for_many_as_for_one(many: int, herd: Node, sales: Node, enter: Enter) -> None:
    for at, node in enumerate(namespaces(herd, *(f"N{at:03}" for at in range(many)))):
        give(f"u{at:03}", "SALES", "READ", "GRANT")
        give("ana", node.name, "READ")
        role(f"u{at:03}")
    client, counts = enter("admin"), {}
    pages = {
        "herd": f"/herds/{herd.id}",
        "namespace": address("SALES"),
        "history": f"{address('SALES')}/history",
        "roles": f"/herds/{herd.id}/roles",
        "mine": f"/herds/{herd.id}/mine",
        "user": f"/herds/{herd.id}/users?id=ana",
    }
    for name, page in pages.items():
        client.get(page)  # what is kept in the process is kept by now
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(page)
        assert answer.status_code == 200
        assert len(answer.content) < 100_000, name
        counts[name] = len(queries)
    assert counts == COUNTS
