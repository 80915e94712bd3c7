"""The inbox as its reader meets it: what is new, read by following it, settled by others, paged, chosen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import people
from accounts.models import User
from catalog.nodes import Node
from policies import notices
from policies.models import Notice
from policies.notices import inbox
from policies.notices.kinds import Kind
from tests.factories import a_person

pytestmark = pytest.mark.django_db

NEWS = "test.inbox"


@pytest.fixture(autouse=True)
def kinds_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known while a test runs: a page of another test lists every kind there is."""
    monkeypatch.setitem(notices.KINDS, NEWS, Kind(NEWS, "what the tests of the inbox do"))


@pytest.fixture
def olivia(shop: Node, signed_in: Callable[[str], Client]) -> Client:
    return signed_in("olivia")


def tell(key: str, **more: object) -> Notice:
    person = people.ensure("user", "olivia")
    notices.tell(person, NEWS, "{who} asks to read orders.", key=key, who=a_person("ana"), **more)  # type: ignore[arg-type]
    return Notice.objects.get(key=key)


def seen(client: Client, address: str = "/inbox") -> str:
    return client.get(address).content.decode()


def test_what_is_new_stands_beside_the_bell_on_every_page(olivia: Client) -> None:
    assert "Inbox</span>" in seen(olivia, "/help")
    tell("1")
    assert "Inbox: 1 new" in seen(olivia, "/help")
    assert "One new notice" in seen(olivia)


def test_a_notice_leads_where_it_points_and_no_get_reads_it(olivia: Client) -> None:
    row = tell("1", link="/help")
    tell("2")
    page = seen(olivia)
    assert f'<a href="/help" data-sends="read:{row.pk}">' in page
    assert page.count("data-sends") == 1  # what leads nowhere is no link
    olivia.get("/help")
    assert olivia.get(f"/inbox/{row.pk}").status_code == 404
    assert "Two new notices" in seen(olivia)


def test_marking_one_all_and_back(olivia: Client) -> None:
    rows = [tell(str(number)) for number in range(3)]
    olivia.post("/inbox", {"do": f"read:{rows[0].pk}"})
    assert "Two new notices" in seen(olivia)
    olivia.post("/inbox?show=all", {"do": f"unread:{rows[0].pk}"})
    assert "Three new notices" in seen(olivia)
    olivia.post("/inbox", {"do": "all"})
    page = seen(olivia)
    assert "3 notices marked as read" in page
    assert "Nothing new" in page


@pytest.mark.parametrize("do", ["read:", "read:x", "read:99999999999999999999", "", "burn:1", "read:1:2"])
def test_nonsense_marks_nothing(olivia: Client, do: str) -> None:
    tell("1")
    assert olivia.post("/inbox", {"do": do}).status_code == 302
    assert "One new notice" in seen(olivia)


def test_nobody_reads_or_marks_what_another_was_told(
    olivia: Client, signed_in: Callable[[str], Client]
) -> None:
    row, marek = tell("1"), signed_in("marek")
    marek.post("/inbox", {"do": f"read:{row.pk}"})
    marek.post("/inbox", {"do": "all"})
    assert "One new notice" in seen(olivia)


def test_what_another_settled_says_so(olivia: Client) -> None:
    tell("1")
    notices.settle("1")
    assert "Nothing new" in seen(olivia)
    assert "settled today" in seen(olivia, "/inbox?show=all")


def test_ten_thousand_notices_are_paged_by_constant_queries(olivia: Client) -> None:
    person, ana = people.ensure("user", "olivia"), a_person("ana")
    now = timezone.now()
    rows = [
        Notice(recipient=person, kind=NEWS, key=str(at), text="{who} asks.", who=ana, made=now, how="inbox")
        for at in range(10_000)
    ]
    Notice.objects.bulk_create(rows, batch_size=2000)
    first = inbox.page(person, unread=True)
    far = first.rows[-1].pk - 9_000
    seen(olivia)
    queries = {}
    for name, address in {"first": "/inbox", "middle": f"/inbox?before={far}"}.items():
        with CaptureQueriesContext(connection) as asked:
            page = seen(olivia, address)
        queries[name] = len(asked)
        assert page.count("ana asks.") == 2 * inbox.PAGE
        assert len(page) < 100_000
    assert queries["first"] == queries["middle"]
    assert f"before={far - inbox.PAGE}" in page


# How one is told


def test_choices_and_the_address_are_kept(olivia: Client) -> None:
    form = {"address": "olivia@lake.example", f"how-{NEWS}": "digest"}
    assert olivia.post("/inbox/settings", form).status_code == 302
    assert User.objects.get(username="olivia").email == "olivia@lake.example"
    assert '<option value="digest" selected>' in seen(olivia, "/inbox/settings")
    assert tell("1").how == "digest"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"address": "no address"}, "not a valid mail address"),
        ({"address": "a@b.example\nBcc: x@y.example"}, "not a valid mail address"),
        ({f"how-{NEWS}": "pigeon"}, "That choice does not exist"),
    ],
)
def test_a_wrong_choice_changes_nothing(olivia: Client, form: dict[str, str], said: str) -> None:
    answer = olivia.post("/inbox/settings", form)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert User.objects.get(username="olivia").email == ""
    assert tell("1").how == "mail"


def test_a_session_that_ended_keeps_the_form(olivia: Client) -> None:
    assert Client().post("/inbox/settings", {"address": "olivia@lake.example"}).status_code == 401
