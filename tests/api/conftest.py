"""Callers of the API, and what they ask about."""

from __future__ import annotations

import pytest

from accounts import people, tokens
from policies.services import duties
from tests.admitted import admitted_service
from tests.api.world import BY, Caller, Shop, make_shop, token, user
from tests.kept import kept

shop = kept(make_shop)


@pytest.fixture
def caller(db: None) -> Caller:
    """Somebody with a token, where nothing is governed yet."""
    return Caller(token("user", "ana"))


@pytest.fixture
def ana(shop: Shop) -> Caller:
    return Caller(token("user", "ana"))


@pytest.fixture
def etl(shop: Shop) -> Caller:
    """A service account of the realm whose token may check."""
    return Caller(tokens.create(admitted_service("etl"), scopes=("check",)))


@pytest.fixture
def ada(shop: Shop) -> Caller:
    """A person with the duty to look at the history of schema shop.sales, and an account to hold it."""
    people.make_account("ada")
    duties.give(shop.sales, "view_history", user("ada"), **BY)
    return Caller(token("user", "ada"))
