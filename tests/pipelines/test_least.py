"""What is given for nothing is found, each kind by an example an owner would recognise, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakewarden.spark.pipelines import hint_phrases
from lakewarden.spark.pipelines.hint_phrases import Phrase, phrase
from lakewarden.spark.pipelines.memory_tables import InMemory
from lakewarden.spark.pipelines.unneeded_grants import Hint
from lakewarden.spark.pipelines.unused_grants import in_memory

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LAKE, SHOP, LAB, SALES, ORDERS, ITEMS, TOP = 1, 10, 11, 20, 30, 31, 40
"""Metalake lake › catalogs shop, lab; shop › schema sales › tables orders, items and view top."""
TREE: dict[int, tuple[str, str, list[int]]] = {
    LAKE: ("metalake", "lake", []),
    SHOP: ("catalog", "shop", [LAKE]),
    LAB: ("catalog", "lab", [LAKE]),
    SALES: ("schema", "sales", [LAKE, SHOP]),
    ORDERS: ("table", "orders", [LAKE, SHOP, SALES]),
    ITEMS: ("table", "items", [LAKE, SHOP, SALES]),
    TOP: ("view", "top", [LAKE, SHOP, SALES]),
}
PLACES = {name: key for key, (_, name, _) in TREE.items()}
PEOPLE = {"ana": 100, "bo": 101, "cem": 102, "etl": 103, "staff": 104, "gone": 105}
ROLES = {"reader": 200, "writer": 201, "twin": 202, "~ana": 203}
DAY = timedelta(days=1)


def table(columns: str, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]


def hints(
    *sentences: str,
    holds: str = "",
    uses: str = "",
    owners: str = "lake:ana shop:ana lab:ana",
    groups: str = "",
    after: int = 0,
    more: int = 0,
) -> list[Hint]:
    """The hints of a world of sentences: `reader may SELECT_TABLE on sales`, `ana: not`, `… until 5`.

    `holds` are pairs `role:holder`, also `role:holder:until` and `role:holder:until:since`; `uses` are
    `person:object:action:days ago`.  So many `more` tables stand in schema sales.
    """
    tree = {**TREE, **{1000 + n: ("table", f"t{n}", [LAKE, SHOP, SALES]) for n in range(more)}}
    grants = [_grant(number, sentence) for number, sentence in enumerate(sentences, 1)]
    people = table(
        "key kind name able service_admin",
        [
            (key, {"etl": "service", "staff": "group"}.get(name, "user"), name, name != "gone", False)
            for name, key in PEOPLE.items()
        ],
    )
    realm = (9, LAKE, "lake", "gravitino", "{}", "on", 7, AT)
    tables = {
        "realm": table("key root name law settings mode revision at", [realm]),
        "objects": table(
            "key type name ancestors", [(key, type, name, up) for key, (type, name, up) in tree.items()]
        ),
        "principals": people,
        "members": table("principal from until", [(key, None, None) for key in PEOPLE.values()]),
        "memberships": table("group member from until since", [_window(pair) for pair in groups.split()]),
        "roles": table(
            "key name holder", [(key, name, PEOPLE.get(name.lstrip("~"))) for name, key in ROLES.items()]
        ),
        "assignments": table("role holder from until since", [_window(pair) for pair in holds.split()]),
        "grants": grants,
        "ownerships": table(
            "object owner from until",
            [
                (PLACES[place], PEOPLE[owner], None, None)
                for place, _, owner in (pair.partition(":") for pair in owners.split())
            ],
        ),
        "uses": table("principal object action executed at", [_use(item) for item in uses.split()]),
    }
    for row in tables["roles"]:
        row["holder"] = row["holder"] if row["name"].startswith("~") else None
    return in_memory(InMemory(tables), after=after)


def _window(pair: str) -> tuple[Any, ...]:
    first, other, end, since, *_ = (*pair.split(":"), "", "")
    known = PEOPLE | ROLES
    return known[first], known[other], None, _day(end), _day(since)


def _day(text: str) -> datetime | None:
    return AT + int(text) * DAY if text else None


def _use(text: str) -> tuple[Any, ...]:
    person, on, action, days = text.split(":")
    return PEOPLE[person], PLACES[on], action, not days.startswith("x"), AT - int(days.lstrip("x")) * DAY


def _grant(number: int, sentence: str) -> dict[str, Any]:
    who, verb, code, _, on, *rest = sentence.split()
    more = dict(zip(rest[::2], rest[1::2], strict=True))
    return {
        "key": number,
        "role": ROLES[who],
        "holder": None,
        "object": PLACES[on],
        "pattern": None,
        "privilege": code,
        "effect": "allow" if verb == "may" else "deny",
        "from": _day(more.get("from", "")),
        "until": _day(more.get("until", "")),
        "since": _day(more.get("since", "")),
    }


def told(found: list[Hint], *kinds: str) -> set[tuple[str, int | None]]:
    return {(item.kind, item.grant) for item in found if item.kind in kinds}


READS = "reader may SELECT_TABLE on sales"
USED, UNUSED = set[Any](), {("unused_grant", 1)}


@pytest.mark.parametrize(
    ("case", "uses", "expected"),
    [
        ("nobody told of any use, so nothing is known", "", USED),
        ("it is used", "bo:orders:read:3", USED),
        ("another reads, those who hold it do not", "cem:orders:read:3", UNUSED),
        ("it was only prepared", "bo:orders:read:x3 cem:orders:read:3", UNUSED),
        ("it was used long ago", "bo:orders:read:200", UNUSED),
        ("what was used needs another right", "bo:top:read:3", UNUSED),
        ("only uses in another catalog are told of", "ana:lab:use:3", USED),
    ],
)
def test_a_grant_nobody_uses(case: str, uses: str, expected: set[Any]) -> None:
    assert told(hints(READS, holds="reader:bo", uses=uses), "unused_grant") == expected, case


def test_the_coverage_of_reports_is_said() -> None:
    hints_ = hints(READS, holds="reader:bo reader:ana", uses="cem:orders:read:30")
    [hint] = [item for item in hints_ if item.kind == "unused_grant"]
    assert (hint.object, hint.role, hint.people) == (SALES, ROLES["reader"], 2)
    assert hint.data == {"days": 30, "reported": 1, "objects": 3, "given": ""}


@pytest.mark.parametrize(
    ("case", "sentence", "holds", "groups", "expected"),
    [
        ("given long ago", f"{READS} since -31", "reader:bo", "", phrase(hint_phrases.DAYS_AGO, many=31)),
        ("before the history that is kept", READS, "reader:bo", "", ""),
        ("given yesterday", f"{READS} since -1", "reader:bo", "", None),
        ("recorded long ago, begun lately", f"{READS} since -90 from -3", "reader:bo", "", None),
        ("the role is held since last week", READS, "reader:bo::-7", "", None),
        ("one has it for longer", READS, "reader:bo::-7 reader:etl::-31", "", ""),
        ("the group was joined lately", READS, "reader:staff", "staff:bo::-2", None),
        ("the group was joined long ago", READS, "reader:staff", "staff:bo::-40", ""),
    ],
)
def test_what_was_given_lately_is_not_called_unused(
    case: str, sentence: str, holds: str, groups: str, expected: Phrase | str | None
) -> None:
    hints_ = hints(sentence, holds=holds, groups=groups, uses="cem:orders:read:35", after=30)
    given_dates = [item.data["given"] for item in hints_ if item.kind in ("unused_grant", "wide_grant")]
    assert given_dates == ([] if expected is None else [expected]), case


def test_reports_must_cover_as_long_before_anything_is_called_unused() -> None:
    def unused(days: int) -> set[Any]:
        hints_ = hints(READS, holds="reader:bo", uses=f"cem:orders:read:{days}", after=30)
        return told(hints_, "unused_grant")

    assert (unused(29), unused(30)) == (set(), UNUSED)


@pytest.mark.parametrize(
    ("case", "sentence", "more", "uses", "wide"),
    [
        ("one of twenty tables is read", READS, 18, "bo:orders:read:9", True),
        ("one of ten things", READS, 7, "bo:orders:read:9", True),
        ("one of nine", READS, 6, "bo:orders:read:9", False),
        ("two of twenty-one, one by another", READS, 18, "bo:orders:read:9 cem:items:read:9", True),
        ("two of nineteen, one by another", READS, 16, "bo:orders:read:9 cem:items:read:9", False),
        ("no more than one was read of late", READS, 18, "bo:orders:read:9 bo:items:read:99", True),
        ("nobody who has it reads any of it", READS, 18, "cem:orders:read:9", False),
        ("it is one table alone", "reader may SELECT_TABLE on orders", 18, "bo:orders:read:9", False),
        ("it only leads there", "reader may USE_SCHEMA on sales", 18, "bo:orders:read:9", False),
    ],
)
def test_what_is_given_on_much_and_used_on_little(
    case: str, sentence: str, more: int, uses: str, *, wide: bool
) -> None:
    hints_ = [hint for hint in hints(sentence, holds="reader:bo", uses=uses, more=more) if hint.grant == 1]
    assert ("wide_grant" in {item.kind for item in hints_}) == wide, case


def test_nobody_is_missed_where_a_right_only_leads_to_what_is_used() -> None:
    way = "reader may USE_SCHEMA on shop"
    hints_ = hints(way, READS, holds="reader:bo", uses="bo:orders:read:3")
    assert told(hints_, "unused_grant") == set()


@pytest.mark.parametrize(
    ("case", "sentences", "holds", "expected"),
    [
        ("the same role has it above", (READS, "reader may SELECT_TABLE on shop"), "reader:bo", {1}),
        ("another role of all of them has it", (READS, "writer may SELECT_TABLE on sales"), "", {1}),
        (
            "another role of one of the two has it",
            (READS, "writer may SELECT_TABLE on sales"),
            "reader:bo reader:cem writer:bo",
            {2},
        ),
        (
            "above for one, beside for the other",
            (READS, "writer may SELECT_TABLE on shop", "twin may SELECT_TABLE on sales"),
            "reader:bo reader:cem writer:bo twin:cem",
            {3},
        ),
        ("what it rests on will end", (READS, "reader may SELECT_TABLE on shop until 9"), "reader:bo", set()),
        ("it is another right", (READS, "reader may MODIFY_TABLE on shop"), "reader:bo", set()),
        ("the other denies", (READS, "reader not SELECT_TABLE on shop"), "reader:bo", set()),
        (
            "who has the other role loses it soon",
            (READS, "writer may SELECT_TABLE on shop"),
            "reader:bo writer:bo:5",
            set(),
        ),
        (
            "a direct grant goes before that of a role",
            (READS, "~ana may SELECT_TABLE on sales"),
            "reader:ana ~ana:ana",
            {2},
        ),
    ],
)
def test_a_grant_given_twice(case: str, sentences: tuple[str, ...], holds: str, expected: set[int]) -> None:
    hints_ = hints(*sentences, holds=holds or "reader:bo writer:bo writer:cem")
    assert {item.grant for item in hints_ if item.kind == "redundant_grant"} == expected, case


@pytest.mark.parametrize(
    ("case", "sentences", "holds", "idle"),
    [
        ("nobody of them has it", ("reader not SELECT_TABLE on sales",), "reader:bo", True),
        (
            "one has it above",
            ("reader not SELECT_TABLE on sales", "writer may SELECT_TABLE on shop"),
            "",
            False,
        ),
        (
            "one has it below",
            ("reader not SELECT_TABLE on shop", "writer may SELECT_TABLE on orders"),
            "",
            False,
        ),
        (
            "one will have it",
            ("reader not SELECT_TABLE on shop", "writer may SELECT_TABLE on orders from 9"),
            "",
            False,
        ),
        (
            "somebody else has it",
            ("reader not SELECT_TABLE on sales", "writer may SELECT_TABLE on shop"),
            "reader:bo writer:cem",
            True,
        ),
        (
            "it is denied above, too",
            (
                "reader not SELECT_TABLE on sales",
                "reader not SELECT_TABLE on shop",
                "writer may SELECT_TABLE on lake",
            ),
            "",
            True,
        ),
        (
            "to some it only matters that it is not denied",
            ("reader not USE_CATALOG on shop",),
            "reader:bo",
            False,
        ),
    ],
)
def test_a_denial_without_effect(case: str, sentences: tuple[str, ...], holds: str, *, idle: bool) -> None:
    texts = told(hints(*sentences, holds=holds or "reader:bo writer:bo"), "idle_deny")
    assert (("idle_deny", 1) in texts) == idle, case


@pytest.mark.parametrize(
    ("case", "owners", "expected"),
    [
        ("each has one", "lake:ana shop:bo", {}),
        ("its owner left", "lake:ana shop:gone sales:bo", {SHOP: phrase(hint_phrases.OWNER_CLOSED)}),
        (
            "a table's owner left",
            "lake:ana shop:bo orders:gone",
            {ORDERS: phrase(hint_phrases.OWNER_CLOSED)},
        ),
        ("a catalog has none", "lake:ana sales:bo", {SHOP: phrase(hint_phrases.NO_OWNER)}),
        ("what stands in an owned catalog is looked after", "lake:ana shop:bo", {}),
        (
            "there is none at all",
            "sales:bo",
            {LAKE: phrase(hint_phrases.NO_OWNER), SHOP: phrase(hint_phrases.NO_OWNER)},
        ),
    ],
)
def test_objects_without_an_owner(case: str, owners: str, expected: dict[int, Phrase]) -> None:
    hints_ = hints(owners=owners)
    why = {item.object: item.data["why"] for item in hints_ if item.kind == "ownerless"}
    assert why == expected, case


def test_a_group_that_somebody_of_can_sign_in_owns() -> None:
    hints_ = hints(owners="lake:ana shop:staff lab:ana", groups="staff:gone staff:bo")
    assert [item.object for item in hints_ if item.kind == "ownerless"] == []


def test_people_and_services_that_sleep() -> None:
    hints_ = hints(
        READS,
        holds="reader:bo reader:cem reader:etl reader:gone",
        uses="bo:orders:read:3 cem:orders:read:100",
        owners="lake:ana",
    )
    asleep = {
        item.holder: (item.kind, item.data["able"]) for item in hints_ if item.kind.startswith("dormant")
    }
    assert asleep == {
        PEOPLE["ana"]: ("dormant_person", True),
        PEOPLE["cem"]: ("dormant_person", True),
        PEOPLE["etl"]: ("dormant_service", True),
        PEOPLE["gone"]: ("dormant_person", False),
    }


def test_roles_that_are_nearly_one() -> None:
    same = ["USE_CATALOG on shop", "USE_SCHEMA on shop", "SELECT_TABLE on sales", "SELECT_VIEW on sales"]
    sentences = [f"{role} may {item}" for role in ("reader", "twin") for item in same]
    sentences += ["twin may MODIFY_TABLE on sales", "writer may MODIFY_TABLE on sales"]
    [near_role] = [hint for hint in hints(*sentences) if hint.kind == "near_roles"]
    assert (near_role.role, near_role.other_role) == (ROLES["reader"], ROLES["twin"])
    assert near_role.data == {"shared": 4, "rules": 5, "only": 0}


def test_a_hint_has_the_same_key_in_the_next_run() -> None:
    def key(*more: str, holds: str) -> str:
        hints_ = hints(*more, READS, holds=holds, uses="ana:orders:read:30")
        [hint] = [item for item in hints_ if item.kind == "unused_grant" and item.object == SALES]
        return hint.key

    first = key(holds="reader:bo")
    assert key("writer may SELECT_TABLE on lab", holds="reader:bo reader:cem") == first
    assert len({first, key("reader may SELECT_VIEW on shop", holds="reader:bo")}) == 1
