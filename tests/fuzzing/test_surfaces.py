"""Calls made from each surface's own schema: never a failure, an error in its form, nothing changed by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from accounts import people, tokens
from policies.decisions import slices
from tests.console.conftest import BACKEND
from tests.console.site_pages import ADMIN, ROOMS, furnish
from tests.fuzzing.calls import CALLERS, SURFACES, Call, World
from tests.fuzzing.checks import Checker
from tests.fuzzing.database import digests
from tests.fuzzing.forms import Form, different, forms_of, submitted
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.scim.world import a_directory

FEW, MANY = 8, 1300
"""Examples of each surface in the fast suite and in the slow one; an example is one to three calls."""


def make_world() -> dict[str, int]:
    return furnish(make_shop())


numbers = kept(make_world)


@pytest.fixture
def clients(numbers: dict[str, int], settings: Any) -> dict[str, Client]:
    """By who calls; each has a token."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    callers = {"": Client(), "directory": a_directory(settings).client}
    for name in filter(None, CALLERS):
        kind, _, called = name.rpartition(":")
        token = tokens.create(people.ensure(kind or "user", called), scopes=())
        callers[name] = Client(headers={"Authorization": f"Bearer {token}"})
    for client in callers.values():
        client.raise_request_exception = False
    return callers


@contextmanager
def undone() -> Iterator[None]:
    """What is done within is rolled back, so that each example finds the same world."""
    atomic = transaction.atomic()
    atomic._from_testcase = True  # a change refuses to be part of anything but a test
    with atomic:
        yield
        transaction.set_rollback(True)
    slices.forget_all()


def run(
    surface: str, calls: st.SearchStrategy[Call], clients: dict[str, Client], examples: int, by: int
) -> None:
    world = digests()
    cookies = {name: deepcopy(client.cookies) for name, client in clients.items()}

    @seed(by)
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(calls, min_size=1, max_size=3))
    def holds(several: list[Call]) -> None:
        for name, client in clients.items():
            client.cookies = deepcopy(cookies[name])
        with undone():
            checker = Checker(surface, clients, world)
            for call in several:
                assert not checker.check(call)

    holds()


def ids(numbers: dict[str, Any]) -> list[int]:
    """What calls may name by number; a link's token is none."""
    return sorted({number for number in numbers.values() if isinstance(number, int)})


@pytest.mark.parametrize("surface", SURFACES)
def test_no_call_fails(surface: str, numbers: dict[str, int], clients: dict[str, Client]) -> None:
    run(surface, SURFACES[surface](World(ids(numbers))), clients, FEW, 1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("surface", SURFACES)
def test_no_call_fails_of_thousands(
    surface: str, numbers: dict[str, int], clients: dict[str, Client]
) -> None:
    run(surface, SURFACES[surface](World(ids(numbers))), clients, MANY, 2)


@pytest.fixture
def visitors(numbers: dict[str, int], settings: Any) -> dict[str, Client]:
    """By who looks; each is signed in."""
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({ADMIN})
    clients = {"": Client()}
    for name in sorted({who for _, who, _ in ROOMS if who}):
        clients[name] = Client()
        clients[name].force_login(people.make_account(name), backend=BACKEND)
    for client in clients.values():
        client.raise_request_exception = False
    return clients


def all_forms(numbers: dict[str, int], clients: dict[str, Client], pages: slice) -> list[Form]:
    forms = []
    for _, who, place in ROOMS[pages]:
        address = place.format(**numbers)
        answer = clients[who].get(address)
        if answer.status_code == 200:
            forms += forms_of(who, address, answer.content)
    return different(forms)


def test_no_form_fails(numbers: dict[str, int], visitors: dict[str, Client]) -> None:
    run("forms", submitted(all_forms(numbers, visitors, slice(None, None, 12))), visitors, FEW, 1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_form_fails_of_thousands(numbers: dict[str, int], visitors: dict[str, Client]) -> None:
    run("forms", submitted(all_forms(numbers, visitors, slice(None))), visitors, MANY, 2)
