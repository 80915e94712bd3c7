"""Two at once: one wins, the other is told; and what nobody with authority approved nobody gains."""

from __future__ import annotations

import random

import pytest
from django.apps import apps
from django.db import connection

from catalog.nodes import Node
from policies.decisions import approvers
from policies.errors import Conflict, PolicyError
from policies.models import AccessRequest, Grant
from policies.requests import decisions, submission, visibility
from policies.requests.submission import Asking, WantedAction
from tests.at_once import at_once
from tests.factories import the
from tests.requests.conftest import make_shop
from tests.requests.world import WHY, ask, by, can, who


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("other", ["approve", "refuse", "withdraw"])
def test_of_two_who_decide_at_once_one_wins_and_the_other_is_told(other: str) -> None:
    make_shop()
    request = ask("ana", "read shop.sales.customers")
    everything = [part.number for part in request.parts.all()]
    deeds = {
        "approve": lambda: decisions.approve(request.pk, by=by("carla"), parts=everything),
        "refuse": lambda: decisions.refuse(request.pk, "not for this", by=by("carla"), parts=everything),
        "withdraw": lambda: submission.withdraw(request.pk, by=by("ana")),
    }
    results = at_once(lambda: decisions.approve(request.pk, by=by("marek"), parts=everything), deeds[other])
    lost = [item for item in results if isinstance(item, Conflict)]
    assert len(lost) == 1, results
    assert "check it again" in str(lost[0])
    state = AccessRequest.objects.get().state
    won = "approve" if isinstance(results[1], Conflict) else other
    assert state == {"approve": "approved", "refuse": "refused", "withdraw": "withdrawn"}[won]
    assert can("ana", table="shop.sales.customers") == (won == "approve")


@pytest.mark.django_db(transaction=True)
def test_the_same_key_sent_twice_at_once_is_one_request() -> None:
    make_shop()
    asked = Asking((WantedAction("table", "demo/shop.sales.orders", "read"),), who("ana"), WHY, key="one")
    results = at_once(*[lambda: submission.ask(asked, by=by("ana"))] * 3)
    assert {item.pk for item in results if isinstance(item, AccessRequest)} == {
        AccessRequest.objects.get().pk
    }


@pytest.mark.django_db(transaction=True)
def test_a_part_that_is_decided_while_it_escalates_is_decided_once() -> None:
    from policies.requests import escalation

    make_shop()
    request = ask("ana", "read shop.sales.orders")
    late = request.parts.latest("escalates_at").escalates_at
    at_once(lambda: escalation.tick(late), lambda: decisions.refuse(request.pk, "not now", by=by("theo")))
    assert AccessRequest.objects.get().state == "refused"


NAMES = ("marek", "carla", "olivia", "theo", "ana", "ben", "dora", "gil", "mia")
TABLES = ("orders", "customers")
HOLDERS = {"ben": ("", "group:analysts"), "mia": ("", "group:analysts")}


class Walk:
    """Random people make random moves; who said yes to what is kept beside the console."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.said: list[str] = []

    def step(self) -> None:
        deed = self.dice.choice(
            [self.ask, self.approve, self.approve, self.refuse, self.back, self.answer, self.withdraw]
        )
        try:
            deed()
        except PolicyError as problem:
            self.said.append(str(problem))

    def ask(self) -> None:
        name, table = self.dice.choice(NAMES), self.dice.choice(TABLES)
        action = self.dice.choice(["read", "write"])
        holder = self.dice.choice(HOLDERS.get(name, ("",)))
        ask(name, f"{action} shop.sales.{table}", holder=holder, lasts=self.dice.choice(["", "P7D"]))

    def one(self) -> AccessRequest | None:
        rows = list(AccessRequest.objects.all())
        return self.dice.choice(rows) if rows else None

    def approve(self) -> None:
        if request := self.one():
            numbers = [part.number for part in request.parts.all()]
            chosen = self.dice.sample(numbers, self.dice.randint(0, len(numbers)))
            give = {}
            for part in request.parts.all():
                if len(part.privileges) > 1 and self.dice.random() < 0.5:
                    give[part.number] = part.privileges[:1]
            decisions.approve(request.pk, by=by(self.dice.choice(NAMES)), parts=chosen, give=give)

    def refuse(self) -> None:
        if request := self.one():
            decisions.refuse(request.pk, "no, not now", by=by(self.dice.choice(NAMES)))

    def back(self) -> None:
        if request := self.one():
            decisions.ask_back(request.pk, "why is that?", by=by(self.dice.choice(NAMES)))

    def answer(self) -> None:
        if request := self.one():
            submission.answer(request.pk, "because", by=by(self.dice.choice(NAMES)))

    def withdraw(self) -> None:
        if request := self.one():
            submission.withdraw(request.pk, by=by(self.dice.choice(NAMES)))


def approved_by(request: AccessRequest) -> set[str]:
    """Who said yes to something of it."""
    return {
        part.decided_by.name for part in request.parts.exclude(decided_by=None).select_related("decided_by")
    }


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
def test_no_sequence_of_moves_gives_what_nobody_else_with_authority_approved(shop: Node, seed: int) -> None:
    before = {name: {t: can(name, a, f"shop.sales.{t}") for t in TABLES for a in ("read",)} for name in NAMES}
    walk = Walk(seed)
    for _ in range(40):
        walk.step()
    for grant in Grant.objects.filter(origin="request"):
        change = grant.opened
        giving = [
            access_request
            for access_request in AccessRequest.objects.all()
            if access_request.wants.filter(revision=change).exists()
        ]
        assert giving, "a grant came from no request"
        for request in giving:
            for want in request.wants.filter(revision=change):
                parts = [part for part in request.parts.all() if want.number in part.wants]
                assert all(part.state in ("approved", "approved_less") for part in parts)
                for part in parts:
                    own = part.decided_by
                    assert own is not None and own != request.asker and own != request.holder
                    if request.holder.kind == "group":
                        assert own.name not in ("ben", "mia")
                    node = the(part.type, part.name.partition("/")[2])
                    assert approvers.may(own, node, duty="approve_requests"), (
                        f"{own} may not decide on {node.name}"
                    )
    for name in NAMES:
        for table, could in before[name].items():
            if can(name, "read", f"shop.sales.{table}") and not could:
                served = AccessRequest.objects.filter(
                    holder__in=[who(name), who("group:analysts")], wants__given_at__isnull=False
                )
                assert any(approved_by(item) - {name} for item in served), (
                    f"{name} gained {table} by their own decision"
                )
    for request in AccessRequest.objects.all():
        assert request.asker.name not in approved_by(request)
        states = {part.state for part in request.parts.all()}
        if request.state in ("asked", "asked_back"):
            assert states & {"asked", "asked_back"}
        else:
            assert not states & {"asked", "asked_back"}
        if request.state in ("refused", "withdrawn", "lapsed"):
            assert not request.wants.filter(given_at__isnull=False).exists()


def crowd(many: int) -> None:
    """So many open requests, half of them put to Theo."""
    for row in (ask("ana", "read shop.sales.orders"), ask("ben", "read shop.sales.customers")):
        with connection.cursor() as cursor:
            for model, inside in (("accessrequest", False), ("requestwant", True), ("requestpart", True)):
                cursor.execute(_copies(model, inside=inside), {"id": row.pk, "many": many // 2 - 1})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE policies_accessrequest, policies_requestpart")
    assert AccessRequest.objects.count() == many


def _copies(model: str, *, inside: bool) -> str:
    """Copies of a request and its rows; copy n of request r has the number r * 10000 + n."""
    fields = apps.get_model("policies", model)._meta.concrete_fields
    names = [field.column for field in fields if field.column != "id" or not inside]
    values = {
        "id": "t.id * 10000 + n",
        "request_id": "t.request_id * 10000 + n",
        "digest": "md5(t.digest || n)",
    }
    listed = ", ".join(f'"{name}"' for name in names)
    shown = ", ".join(values.get(name, f't."{name}"') for name in names)
    where = "t.request_id" if inside else "t.id"
    table = f"policies_{model}"
    chosen = f"SELECT {shown} FROM {table} t, generate_series(1, %(many)s) n WHERE {where} = %(id)s"
    return f"INSERT INTO {table} ({listed}) {chosen}"


@pytest.mark.parametrize("many", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_open_requests_are_listed_page_by_page_in_the_same_few_queries(
    shop: Node, many: int, django_assert_max_num_queries
) -> None:
    crowd(many)
    seen, after = [], None
    for _ in range(4):
        with django_assert_max_num_queries(14):
            page = visibility.page(visibility.waiting_for(who("theo")), after=after)
        assert len(page.requests) == 50 or page.next is None
        seen += [request.pk for request in page.requests]
        after = page.next
    assert seen == sorted(set(seen)) and len(seen) == min(200, many // 2)
    for name, waiting in (("theo", many // 2), ("olivia", many), ("ana", 0)):
        with django_assert_max_num_queries(14):
            assert visibility.waiting_for(who(name)).count() == waiting
