"""Ordinary work of every kind, in any order: no seal, no replay and no verification complains of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import people
from accounts.models import Principal, Token, User
from catalog.queries import find
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.decisions.seals import unsealed
from policies.emergency import access as emergency_access
from policies.emergency.access import EmergencyRequest
from policies.errors import PolicyError
from policies.models import Change, SeparationRule, UnsealedFact
from policies.record.verify import verify
from policies.requests import decisions, submission
from policies.requests.needs import WantedAction
from policies.requests.submission import Asking
from policies.separation.sides import Side
from policies.services import (
    accounts,
    duties,
    erasure,
    grants,
    object_details,
    objects,
    owners,
    scheduled_grants,
    seals,
    separation,
    tokens,
    undo,
)
from policies.services.grants import GrantRequest
from policies.services.objects import Move, NewObject
from tests.factories import AUTHORITY, BY, acting, the
from tests.policies.test_replay import DEEDS, NAMES, World, make_world

pytestmark = pytest.mark.django_db
TABLE = "shop.sales.orders"


def a_window(world: World) -> None:
    """Granted ahead of time, until a moment that may be over by the next look, and taken back."""
    now, table, who = timezone.now(), the("table", TABLE), world.somebody()
    begin = world.chance.choice((None, now + timedelta(days=1)))
    end = world.chance.choice((None, (begin or now) + timedelta(milliseconds=30)))
    may = world.chance.choice(("SELECT_TABLE", "MODIFY_TABLE", "MANAGE_GRANTS"))
    grants.add(GrantRequest(table, (who,), (may,), valid_from=begin, valid_until=end), by=acting("marek"))
    if world.chance.random() < 0.4:
        grants.remove(table, [who], [may], by=acting("marek"))


def a_beginning(world: World) -> None:
    scheduled_grants.look(timezone.now() + timedelta(days=world.chance.choice((0, 2))))


def a_duty(world: World) -> None:
    act, code = (
        world.chance.choice((duties.give, duties.take)),
        world.chance.choice(("view_history", "break_glass")),
    )
    act(world.roots[0], code, world.somebody(), by=BY, authority=AUTHORITY)


def an_account(world: World) -> None:
    name = world.chance.choice(NAMES)
    account = User.objects.filter(username=name).first() or people.make_account(name)
    chosen = world.chance.randrange(5)
    if chosen == 0:
        accounts.close(account, by=BY, authority=AUTHORITY)
    elif chosen == 1:
        accounts.open_again(account, by=BY, authority=AUTHORITY)
    elif chosen == 2:
        accounts.keep_password(account, f"a-lake-is-deep-{world.chance.random()}", by=BY, authority=AUTHORITY)
    elif chosen == 3:
        accounts.begin_password(account, by=BY, authority=AUTHORITY)
    else:
        accounts.bind(
            account, people.ensure("user", f"new{world.chance.randrange(9)}"), by=BY, authority=AUTHORITY
        )


def a_service(world: World) -> None:
    name = f"robot{world.chance.randrange(3)}"
    keeper = people.ensure("user", world.chance.choice(NAMES))
    known = Principal.objects.filter(kind="service", name=name).first()
    if known is None:
        accounts.make_service(name, keeper, by=BY, authority=AUTHORITY)
    else:
        accounts.set_keeper(known, keeper, by=BY, authority=AUTHORITY)
        tokens.make(known, days=3, scopes=("check",), by=Actor(keeper, "console"))


def a_token(world: World) -> None:
    person = people.ensure("user", world.chance.choice(NAMES))
    tokens.make(person, days=3, scopes=("check", "report"), by=Actor(person, "console"))
    old = Token.objects.filter(principal=person).order_by("pk").first()
    if old and world.chance.random() < 0.5:
        tokens.revoke(person, old.pk, by=Actor(person, "console"))


def an_object(world: World) -> None:
    schema, number = the("schema", "shop.stock"), world.chance.randrange(6)
    known = find(ObjectRef("table", "demo", ("shop", "stock", f"t{number}")))
    chosen = world.chance.randrange(4)
    if known is None:
        objects.register(schema, [NewObject("table", f"t{number}")], by=BY, authority=AUTHORITY)
    elif chosen == 0:
        objects.drop(known, by=BY, authority=AUTHORITY)
    elif chosen == 1:
        objects.rename(known, f"t{world.chance.randrange(6)}", by=BY, authority=AUTHORITY)
    elif chosen == 2:
        objects.move(
            [Move(known, the("schema", "shop.sales"), f"m{revisions()}")], by=BY, authority=AUTHORITY
        )
    else:
        owners.set_owner(known, world.somebody(), by=BY, authority=AUTHORITY)


def a_switch(world: World) -> None:
    on = world.chance.choice((True, False))
    object_details.switch(the("catalog", "shop"), on=on, by=BY, authority=AUTHORITY)


def a_request(world: World) -> None:
    who = people.ensure("user", world.chance.choice(NAMES))
    wanted = WantedAction("table", f"demo/{TABLE}", world.chance.choice(("read", "write")))
    asked = submission.ask(Asking((wanted,), who, reason="Needed for the board"), by=Actor(who, "console"))
    act = world.chance.randrange(3)
    if act == 0:
        submission.withdraw(asked.pk, by=Actor(who, "console"))
    elif act == 1:
        decisions.approve(asked.pk, by=acting("marek"))
    else:
        decisions.refuse(asked.pk, "Not without a ticket", by=acting("marek"))


def a_separation(world: World) -> None:
    root = world.roots[0]
    rule = SeparationRule.objects.open().first()
    if rule is not None:
        separation.end(rule, root, by=acting("marek"))
        return
    first, second = world.chance.sample(world.roles[root.id], 2)
    separation.make(
        root, f"Apart {revisions()}", Side(role=first.id), Side(role=second.id), by=acting("marek")
    )


def an_emergency(world: World) -> None:
    who = people.ensure("user", world.chance.choice(NAMES))
    duties.give(world.roots[0], "break_glass", who, by=BY, authority=AUTHORITY)
    wanted = EmergencyRequest(the("table", TABLE), "read", 1, "The nightly load stopped")
    opened = emergency_access.open_for_oneself(wanted, by=Actor(who, "console"))
    if world.chance.random() < 0.5:
        emergency_access.end(opened.pk, by=Actor(who, "console"))
    else:
        emergency_access.finish_all(timezone.now() + timedelta(hours=5))
    emergency_access.close(opened.pk, "It was needed, and used for that", by=acting("marek"))


def an_undo(world: World) -> None:
    last = Change.objects.filter(via="console").order_by("-revision")[:20]
    row = world.chance.choice(list(last)) if last else None
    if row is not None:
        actor = Principal.objects.filter(pseudonym=row.actor).first()
        undo.undo(row.revision, by=Actor(actor, "console"))


def an_erasure(world: World) -> None:
    person = people.ensure("user", f"gone{revisions()}")
    people.make_account(person.name)
    tokens.make(person, days=3, scopes=(), by=Actor(person, "console"))
    erasure.erase(person, by=BY, authority=AUTHORITY)


def a_new_seal(world: World) -> None:
    assert not seals.seal_what_is_told().wrong


def revisions() -> int:
    return Change.objects.count()


WORK: tuple[Callable[[World], None], ...] = (
    *(
        a_window,
        a_window,
        a_beginning,
        a_duty,
        an_account,
        an_account,
        a_service,
        a_token,
        an_object,
        an_object,
    ),
    *(a_switch, a_request, a_request, a_separation, an_emergency, an_undo, an_undo, an_erasure),
)


def works(world: World, many: int) -> set[str]:
    """So many pieces of work; which kinds came about."""
    done = set()
    for _ in range(many):
        deed, before = world.chance.choice((*WORK, *DEEDS)), revisions()
        try:
            deed(world)
        except PolicyError:  # not now, as the law has it
            continue
        if revisions() > before:
            done.add(deed.__name__)
    return done


def nobody_complains() -> None:
    assert unsealed.sweep() == 0 and not UnsealedFact.objects.exists()
    verdict = verify()
    assert verdict, (verdict.broken, verdict.differing)


@pytest.mark.parametrize(
    ("seed", "many"),
    [(1, 60), *(pytest.param(seed, 400, marks=pytest.mark.slow) for seed in (2, 3, 4))],
)
def test_nobody_complains_of_ordinary_work(db: None, seed: int, many: int) -> None:
    world = make_world(seed)
    people.make_account("marek")
    done: set[str] = set()
    for _ in range(many // 20):
        done |= works(world, 20)
        nobody_complains()
    a_new_seal(world)
    assert seals.set_right() == []
    nobody_complains()
    kinds = {deed.__name__ for deed in (*WORK, *DEEDS)} - {"a_beginning"}
    assert many < 400 or done >= kinds, kinds - done
