"""The members under a row of a group or a role: what an owner checks one by one before deciding for all."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from authzsite.console.kit.display import words
from catalog.nodes import Node
from policies.models import Review, ReviewRow, Use
from policies.reviews import row_members
from policies.services import grants, members, roles
from policies.services.grants import GrantRequest
from tests.factories import AUTHORITY, BY, a_person, a_role, a_use, acting, admit, the
from tests.markup import markup
from tests.reviews.world import a_review, can_sign_in, person, rows

Enter = Callable[[str], Client]
ORDERS = "shop.sales.orders"
HEARD = {"HTTP_HX_REQUEST": "true"}
TAGS = re.compile(r"<[^>]+>")


@pytest.fixture
def buyers(shop: Node) -> Review:
    """A review by Olivia of what the group buyers may read: Bea uses it, Carla did once, Dan never, and Eve,
    whom the realm does not admit, is hidden from Olivia."""
    can_sign_in("olivia", "bea", "carla", "dan", "eve")
    for name in ("bea", "carla", "dan", "eve"):
        a_person(name, "buyers")
    admit(shop, "bea", "carla", "dan", "group:buyers")
    wish = GrantRequest(the("table", ORDERS), (person("group:buyers"),), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("olivia"))
    a_use("bea", the("table", ORDERS), days=3, by="etl")
    a_use("carla", the("table", ORDERS), days=200, by="etl")
    a_use("eve", the("table", ORDERS), days=1, by="etl")
    return a_review()


def row_of(review: Review) -> ReviewRow:
    return rows(review)[f"group:buyers {ORDERS}"]


def address(row: ReviewRow) -> str:
    return f"/reviews/{row.review_id}/rows/{row.number}/members"


def table(text: str) -> list[list[str]]:
    """The cells of each line, as they are read."""
    row_cells = []
    for line in text.partition("<tbody")[2].split("<tr ")[1:]:
        cells = re.split(r"<t[hd] ", line)[1:]
        texts = (TAGS.sub(" ", cell.partition(">")[2]) for cell in cells)
        row_cells.append([" ".join(unescape(word).split()) for word in texts])
    return row_cells


def test_each_member_has_their_last_use_and_a_suggestion(buyers: Review, signed_in: Enter) -> None:
    text = markup(signed_in("olivia").get(address(row_of(buyers)), **HEARD))
    bea, carla = (words.ago(Use.objects.get(principal=person(name)).at) for name in ("bea", "carla"))
    like = "3 of 3 similar people have it"
    assert table(text) == [
        ["B bea", bea, f"Keep last used {bea}; {like}"],
        ["C carla", carla, f"Remove last used {carla}; {like}"],
        ["D dan", "Never", f"No suggestion usage gives no clear answer; {like}"],
    ]


def test_who_is_hidden_from_the_viewer_is_a_number(buyers: Review, signed_in: Enter) -> None:
    text = markup(signed_in("olivia").get(address(row_of(buyers)), **HEARD))
    assert "4 people, 1 of them not shown to you." in text
    assert "eve" not in TAGS.sub(" ", text).split()
    assert row_of(buyers).people == 4


def test_the_row_unfolds_by_script_and_without(buyers: Review, signed_in: Enter) -> None:
    olivia, row = signed_in("olivia"), row_of(buyers)
    for page in (f"/reviews/{buyers.pk}", f"/reviews/{buyers.pk}/rows/{row.number}"):
        text = markup(olivia.get(page))
        assert f'<details class="rv-members" hx-get="{address(row)}" hx-trigger="toggle once"' in text
        assert f'href="{address(row)}">Show the members</a>' in text
    alone = markup(olivia.get(address(row)))
    assert "<h1>" in alone
    assert [line[0] for line in table(alone)] == ["B bea", "C carla", "D dan"]


def test_those_are_listed_who_were_in_the_group_when_the_review_began(
    buyers: Review, signed_in: Enter
) -> None:
    admit(the("metalake"), "fay")
    a_person("fay", "buyers")
    members.leave_group(person("group:buyers"), person("dan"), by=BY, authority=AUTHORITY)
    text = markup(signed_in("olivia").get(address(row_of(buyers)), **HEARD))
    assert [line[0] for line in table(text)] == ["B bea", "C carla", "D dan"]


def test_of_a_role_its_holders_by_groups_too(shop: Node) -> None:
    can_sign_in("marek", "bea", "carla", "dan")
    admit(shop, "bea", "carla", "dan", "group:buyers")
    for name in ("bea", "dan"):
        a_person(name, "buyers")
    a_role(shop, "buying", f"allow SELECT_TABLE on table {ORDERS}")
    for name in ("group:buyers", "carla", "dan"):
        roles.assign(the("role", "buying"), person(name), by=BY, authority=AUTHORITY)
    a_use("bea", the("table", ORDERS), days=2, by="etl")
    member_rows = rows(a_review(by="marek", roles=(the("role", "buying"),)))
    rule = member_rows[f"role:buying {ORDERS}"]
    people = list(row_members.people_of(rule).order_by("name"))
    lines = row_members.advised(rule, people, shop)
    assert [(line.holder.name, line.kind, line.advice) for line in lines if line.holder] == [
        ("bea", "member", "keep"),
        ("carla", "role", ""),
        ("dan", "role", ""),
    ]
    assert not row_members.has_members(member_rows["carla buying"])
    assert row_members.has_members(member_rows["group:buyers buying"])


def test_a_row_of_one_person_or_of_others_has_none(buyers: Review, signed_in: Enter) -> None:
    grants.add(
        GrantRequest(the("table", ORDERS), (person("bea"),), ("SELECT_TABLE",), way=False),
        by=acting("olivia"),
    )
    direct = rows(a_review())[f"bea {ORDERS}"]
    assert signed_in("olivia").get(address(direct)).status_code == 404
    assert signed_in("bea").get(address(row_of(buyers))).status_code == 404


def test_long_groups_have_pages_and_ask_no_more_often(buyers: Review, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    few = queries(olivia, address(row_of(buyers)))
    names = [f"n{at:02}" for at in range(40)]
    for name in names:
        a_person(name, "buyers")
    admit(the("metalake"), *names)
    row = row_of(a_review())
    assert queries(olivia, address(row)) == few
    first = markup(olivia.get(address(row), **HEARD))
    assert len(table(first)) == 25
    assert "44 people" in first
    following = re.search(r'href="([^"]+\?after=\d+)"', first)
    assert following is not None
    assert len(table(markup(olivia.get(following[1], **HEARD)))) == 18


def queries(client: Client, page: str) -> int:
    client.get(page, **HEARD)
    with CaptureQueriesContext(connection) as asked:
        client.get(page, **HEARD)
    return len(asked)
