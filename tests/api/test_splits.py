"""Whole views of a realm in parts: complete, pinned to a revision, for those who may, by narrow tokens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Token
from catalog.models import Realm
from policies.analytics import uses
from policies.data_views.registry import VIEWS
from policies.models import AccessRecord, Archive, Counter
from policies.services import duties, members, objects
from policies.services.objects import NewObject
from tests.api.world import BY, Caller, Shop, token, user
from tests.kept import kept

BASE = "/authz/v1/"
ALL = tuple(VIEWS)


def make_full(shop: Shop) -> Shop:
    """The shop with a deny, a direct grant, a group and some uses."""
    shop.allow(shop.tables["orders"], "SELECT_TABLE")
    shop.allow(shop.tables["items"], "SELECT_TABLE", effect="deny")
    reports = [
        uses.ReportedUse(user(name), shop.tables[table], "read", True, timezone.now())
        for name in ("ana", "bob")
        for table in ("orders", "items", "plans")
    ]
    uses.take(shop.realm.realm_id, user("ana"), "run", reports)
    return shop


full = kept(make_full, on="shop")


@pytest.fixture
def marek(full: Shop) -> Caller:
    return Caller(token("user", "marek"))


def get(caller: Caller, path: str, **asked: Any) -> Any:
    return caller.get(f"{BASE}{path}?{urlencode(asked, doseq=True)}")


def splits(caller: Caller, view: str, n: int = 1, **asked: Any) -> dict[str, Any]:
    response = get(caller, "splits", view=view, realm="demo", n=n, **asked)
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def part(caller: Caller, told: dict[str, Any], split: dict[str, str], **asked: Any) -> list[dict[str, Any]]:
    """All rows of one range, page by page."""
    rows, after = [], split["after"]
    pinned = {"realm": told["realm"], "revision": told["revision"], "at": told["at"]}
    while after is not None:
        response = get(caller, told["view"], **pinned, upto=split["upto"], after=after, **asked)
        assert response.status_code == 200, response.content
        rows += response.json()["results"]
        after = response.json()["next"]
    return rows


def whole(caller: Caller, view: str, n: int = 1, **asked: Any) -> list[dict[str, Any]]:
    parts = splits(caller, view, n)
    return [row for split in parts["splits"] for row in part(caller, parts, split, **asked)]


@pytest.mark.parametrize("view", ALL)
def test_parts_are_the_whole_once_each(marek: Caller, view: str) -> None:
    rows = whole(marek, view)
    assert rows
    assert whole(marek, view, n=3, limit=2) == rows
    assert whole(marek, view, n=200, limit=1) == rows


@pytest.mark.parametrize("view", ALL)
def test_parts_are_about_as_long(marek: Caller, full: Shop, view: str) -> None:
    parts = splits(marek, view, 3)
    assert 2 <= len(parts["splits"]) <= 3
    assert [item["after"] for item in parts["splits"][1:]] == [item["upto"] for item in parts["splits"][:-1]]


def test_rows_are_in_the_words_of_the_console(marek: Caller, full: Shop) -> None:
    by_object = {row["object"]: row for row in whole(marek, "objects")}
    orders = by_object["demo/shop.sales.orders"]
    assert (orders["type"], orders["parent"], orders["owner"]) == ("table", "demo/shop.sales", None)
    assert by_object["demo/shop.sales"]["owner"] == "user:olivia"
    assert 'demo/shop.sales."odd.name"' in by_object
    [granted] = [row for row in whole(marek, "grants") if row["object"] == "demo/shop.sales.orders"]
    assert (granted["role"], granted["privilege"], granted["effect"]) == ("readers", "SELECT_TABLE", "allow")
    who = {(row["principal"], row["object"]): row for row in whole(marek, "access")}
    ana = who["user:ana", "demo/shop.sales.orders"]
    assert (ana["actions"], ana["owner"], ana["via"]) == (["read"], False, ["role:readers"])
    assert ("user:ana", "demo/shop.sales.items") not in who
    marek_on_items = who["user:marek", "demo/shop.sales.items"]
    assert (marek_on_items["owner"], marek_on_items["via"]) == (True, [])
    [used] = [row for row in whole(marek, "uses", principal="user:bob") if row["object"].endswith("orders")]
    assert (used["action"], used["executed"], used["run"]) == ("read", True, "run")
    kinds = [row["kind"] for row in whole(marek, "audit")]
    assert kinds[0] == "realm.created" and "grant.added" in kinds


@pytest.mark.parametrize("view", [view for view in ALL if view != "uses"])
def test_later_changes_are_not_seen(marek: Caller, full: Shop, view: str) -> None:
    parts = splits(marek, view, 2)
    before = [part(marek, parts, split) for split in parts["splits"]]
    full.take(full.tables["orders"], "SELECT_TABLE")
    full.allow(full.sales, "SELECT_TABLE")
    objects.drop(full.tables["plans"], **BY)
    objects.register(full.sales, [NewObject("table", "newest")], **BY)
    assert [part(marek, parts, split) for split in parts["splits"]] == before
    assert whole(marek, view) != [row for rows in before for row in rows]


def test_windows_are_judged_by_one_moment(marek: Caller, full: Shop) -> None:
    parts = splits(marek, "access")
    later = {**parts, "at": (timezone.now() + timedelta(days=3)).isoformat()}
    membership = "demo/shop.sales.orders"
    members.join_group(people.ensure("group", "g"), user("bob"), **BY)
    assert part(marek, parts, parts["splits"][0]) == part(marek, later, parts["splits"][0])
    assert membership in {row["object"] for row in part(marek, parts, parts["splits"][0])}


def test_as_of_a_revision_and_a_time(marek: Caller, full: Shop) -> None:
    before, moment = Counter.objects.get().revision, timezone.now()
    objects.drop(full.tables["plans"], **BY)
    for then in (before, moment.isoformat()):
        parts = splits(marek, "objects", as_of=then)
        assert parts["revision"] == before
        assert "demo/shop.secret.plans" in {row["object"] for row in part(marek, parts, parts["splits"][0])}


MAY = [
    # who, access, grants, audit, uses, objects
    ("stranger", 403, 403, 403, 403, 403),
    ("bob", 403, 403, 403, 403, 200),
    ("ana", 403, 403, 403, 403, 200),
    ("olivia", 200, 200, 200, 200, 200),
    ("ada", 200, 200, 200, 200, 200),
    ("rita", 200, 200, 403, 200, 200),
    ("marek", 200, 200, 200, 200, 200),
]


@pytest.mark.parametrize(("who", "codes"), [(who, codes) for who, *codes in MAY])
def test_who_may(full: Shop, who: str, codes: list[int]) -> None:
    expected = dict(zip(ALL, codes, strict=True))
    people.make_account("ada")
    people.make_account("rita")
    duties.give(full.sales, "view_history", user("ada"), **BY)
    duties.give(full.sales, "review_access", user("rita"), **BY)
    caller = Caller(token("user", who))
    made = splits(Caller(token("user", "marek")), "grants")
    statuses = {view: get(caller, "splits", view=view, realm="demo").status_code for view in ALL}
    assert statuses == expected
    ranged = {"realm": "demo", "after": 0, "upto": 10**6, "revision": made["revision"]}
    assert {view: get(caller, view, **ranged).status_code for view in ALL} == expected
    plan_body = {"realm": "demo", "revision": made["revision"]}
    tried = {view: caller.send(f"{BASE}readings", {"view": view, **plan_body}).status_code for view in ALL}
    assert tried == {view: 201 if code == 200 else code for view, code in expected.items()}


def test_what_is_hidden_is_not_there(full: Shop) -> None:
    olivia, ana = Caller(token("user", "olivia")), Caller(token("user", "ana"))
    for view in ("access", "grants", "uses"):
        places = {row["object"] for row in whole(olivia, view)}
        assert places and all(place.startswith("demo/shop.sales") for place in places)
    shown = {row["object"] for row in whole(ana, "objects")}
    assert {"demo", "demo/shop", "demo/shop.sales", "demo/shop.sales.orders"} <= shown
    assert not {"demo/shop.secret", "demo/shop.secret.plans", "demo/shop.sales.items"} & shown


def test_no_realm_reads_like_a_hidden_one(full: Shop) -> None:
    bob = Caller(token("user", "stranger"))
    answers = [get(bob, "splits", view="objects", realm=realm).json() for realm in ("demo", "none")]
    assert answers[0] == answers[1] and answers[0]["status"] == 403


FILTERED = [
    ("objects", "type", ["schema"], {"demo/shop.sales", "demo/shop.secret"}),
    ("objects", "owner", ["user:olivia"], {"demo/shop.sales"}),
    ("grants", "effect", ["deny"], {"demo/shop.sales.items"}),
    ("grants", "privilege", ["USE_SCHEMA", "USE_CATALOG"], {"demo/shop", "demo/shop.sales"}),
    ("grants", "role", ["nobody"], set()),
    ("grants", "type", ["catalog"], {"demo/shop"}),
    ("uses", "principal", ["user:nobody", "mangled"], set()),
    ("audit", "kind", ["realm.created"], {"demo"}),
    ("access", "principal", ["user:bob"], set()),
]


@pytest.mark.parametrize(("view", "column", "values", "expected"), FILTERED)
def test_filters(marek: Caller, view: str, column: str, values: list[str], expected: set[str]) -> None:
    assert {row["object"] for row in whole(marek, view, **{column: values})} == expected


class TestNarrowTokens:
    def made(self, caller: Caller, told: dict[str, Any]) -> Caller:
        body = {name: told[name] for name in ("view", "realm", "revision")}
        response = caller.send(f"{BASE}readings", {**body, "ttl": 600})
        assert response.status_code == 201
        return Caller(response.json()["token"])

    @pytest.mark.parametrize("view", ALL)
    def test_it_reads_its_view(self, marek: Caller, view: str) -> None:
        parts = splits(marek, view, 2)
        narrow = self.made(marek, parts)
        for split in parts["splits"]:
            assert part(narrow, parts, split) == part(marek, parts, split)

    def test_and_nothing_else(self, marek: Caller, full: Shop) -> None:
        parts = splits(marek, "grants")
        narrow = self.made(marek, parts)
        ranged = {"realm": "demo", "after": 0, "upto": 99, "revision": parts["revision"]}
        refused = {
            "another view": get(narrow, "objects", **ranged),
            "another revision": get(narrow, "grants", **{**ranged, "revision": parts["revision"] - 1}),
            "splits": get(narrow, "splits", view="grants", realm="demo"),
            "snapshot": get(narrow, "snapshot", realm="demo"),
            "explain": get(narrow, "explain", action="read", resource="demo/shop"),
            "another reading": narrow.send(
                f"{BASE}readings", {"view": "grants", "realm": "demo", "revision": 1}
            ),
            "access by name": get(narrow, "access", resource="table:demo/shop.sales.orders"),
            "history": get(narrow, "audit", realm="demo"),
            "telling uses": narrow.send(f"{BASE}uses", {"realm": "demo", "run": "r", "uses": []}),
            "a decision": narrow.send("/access/v1/evaluation", {}),
            "a change": narrow.get("/api/metalakes"),
        }
        assert {what: answer.status_code for what, answer in refused.items()} == dict.fromkeys(refused, 403)

    def test_it_ends(self, marek: Caller, full: Shop) -> None:
        parts = splits(marek, "grants")
        narrow = self.made(marek, parts)
        row = Token.objects.get(view="grants")
        assert row.expires is not None and row.expires - timezone.now() < timedelta(minutes=10)
        Token.objects.filter(view="grants").update(expires=timezone.now())
        ranged = {"realm": "demo", "after": 0, "upto": 99, "revision": parts["revision"]}
        assert get(narrow, "grants", **ranged).status_code == 401
        self.made(marek, parts)
        assert Token.objects.filter(view="grants").count() == 1

    def test_who_lost_the_right_reads_no_further(self, full: Shop) -> None:
        people.make_account("ada")
        duties.give(full.sales, "view_history", user("ada"), **BY)
        ada = Caller(token("user", "ada"))
        parts = splits(ada, "grants")
        narrow = self.made(ada, parts)
        duties.take(full.sales, "view_history", user("ada"), **BY)
        ranged = {"realm": "demo", "after": 0, "upto": 99, "revision": parts["revision"]}
        assert get(narrow, "grants", **ranged).status_code == 403


def test_a_token_needs_the_scope_of_the_view(full: Shop) -> None:
    checks, audits = Caller(token("user", "marek", "check")), Caller(token("user", "marek", "audit"))
    assert get(checks, "splits", view="audit", realm="demo").status_code == 403
    assert get(audits, "splits", view="grants", realm="demo").status_code == 403
    assert get(audits, "splits", view="audit", realm="demo").status_code == 200


@pytest.mark.parametrize("revision", [10_000, 2**40])
def test_a_revision_that_is_not_there_is_gone(marek: Caller, revision: int) -> None:
    ranged = {"realm": "demo", "after": 0, "upto": 99, "revision": revision}
    response = get(marek, "grants", **ranged)
    assert (response.status_code, response["Content-Type"]) == (410, "application/problem+json")
    assert "fetch splits again" in response.json()["detail"]
    assert get(marek, "splits", view="grants", realm="demo", as_of=revision).status_code == 410


BEFORE = [
    ("before the realm", lambda live: (live, 1), "was not there yet: it begins at revision"),
    (
        "before anything",
        lambda live: (live, "2001-01-01T00:00:00Z"),
        "was not there yet: it begins at revision",
    ),
    (
        "in the archive",
        lambda live: (live, live - 1),
        "is in the archive: the live history begins at revision",
    ),
]


@pytest.mark.parametrize(("case", "asked", "told"), BEFORE, ids=[case for case, *_ in BEFORE])
def test_a_past_that_cannot_be_told_is_no_short_answer(
    marek: Caller, full: Shop, case: str, asked: Callable[[int], tuple[int, Any]], told: str
) -> None:
    realm = Realm.objects.get(pk=full.realm.realm_id)
    Realm.objects.filter(pk=realm.pk).update(opened=2)
    live, as_of = asked(Counter.objects.get().revision - 1)
    whole = {"folder": "", "digest": "", "events": 0, "facts": 0, "at": timezone.now()}
    Archive.objects.create(realm=realm, first=0, upto=live, state="removed", removed=live, **whole)
    if case == "in the archive":
        assert splits(marek, "grants", as_of=live)["revision"] == live
    response = get(marek, "splits", view="grants", realm="demo", as_of=as_of)
    assert (response.status_code, response["Content-Type"]) == (410, "application/problem+json")
    assert told in response.json()["detail"]


WRONG = [
    ("splits", {"view": "grants"}),
    ("splits", {"realm": "demo"}),
    ("splits", {"view": "nothing", "realm": "demo"}),
    ("splits", {"view": "grants", "realm": "demo", "n": "0"}),
    ("splits", {"view": "grants", "realm": "demo", "n": "many"}),
    ("splits", {"view": "grants", "realm": "demo", "as_of": "yesterday"}),
    ("splits", {"view": "grants", "realm": "demo", "as_of": "0"}),
    ("grants", {"realm": "demo"}),
    ("grants", {"realm": "demo", "upto": "9"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "x"}),
    ("grants", {"upto": "9", "revision": "1"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "1", "after": "a"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "1", "after": "1.2.3"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "1", "after": "-1"}),
    ("grants", {"realm": "demo", "upto": "9" * 30, "revision": "1"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "1", "at": "soon"}),
    ("grants", {"realm": "demo", "upto": "9", "revision": "1", "limit": "0"}),
]


@pytest.mark.parametrize(("path", "asked"), WRONG)
def test_a_wrong_question_is_told(marek: Caller, path: str, asked: dict[str, str]) -> None:
    response = get(marek, path, **asked)
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"view": "grants", "realm": "demo"},
        {"view": "grants", "realm": "demo", "revision": "1"},
        {"view": "grants", "realm": "demo", "revision": True},
        {"view": "grants", "realm": "demo", "revision": 1, "ttl": 1},
        {"view": "none", "realm": "demo", "revision": 1},
    ],
)
def test_a_wrong_reading_is_told(marek: Caller, body: dict[str, Any]) -> None:
    assert marek.send(f"{BASE}readings", body).status_code == 400


def test_nul_bytes_and_strange_filters_find_nothing(marek: Caller) -> None:
    parts = splits(marek, "grants")
    assert part(marek, parts, parts["splits"][0], holder="user:a\x00") == []


def test_looking_at_all_of_it_is_recorded_once(marek: Caller) -> None:
    whole(marek, "access", n=3, limit=1)
    rows = AccessRecord.objects.filter(operation="all of access")
    assert rows.count() == 1 and rows.get().repeat.count > 1
