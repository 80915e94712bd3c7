"""A table on which so many hold rights that its list will soon not fit into its row."""

from __future__ import annotations

import pytest

from lakewarden.backends.errors import Rejected
from lakewarden.backends.testing.kit import look, settle, wanted
from policies.sync.backends.postgresql import crowd
from tests.backends.tries import errors_of, findings, newest_only
from tests.backends.worlds import READ


@newest_only
def test_a_table_with_many_holders_is_told_before_it_is_full(shop, ana, monkeypatch):
    settle(shop, wanted({f"r{number}": READ for number in range(3)}, r0={ana}))
    assert look(shop).unknown == ()
    monkeypatch.setattr(crowd, "CROWDED", 3)
    [unknown] = look(shop).unknown
    assert unknown.startswith("table sales.orders has rights for 3 holders, and has room for about 2,300")
    assert unknown in [finding.text for finding in findings(shop)]


@pytest.mark.slow
@pytest.mark.timeout(600)
@newest_only
def test_a_full_table_refuses_the_next_holder_in_the_servers_words_and_keeps_the_others(shop, ana):
    for number in range(2500):
        shop.do(f"CREATE ROLE crowd_{shop.database}_{number}")
    for start in range(0, 2300, 100):
        names = ", ".join(f"crowd_{shop.database}_{number}" for number in range(start, start + 100))
        shop.do(f"GRANT SELECT ON sales.orders TO {names}")
    assert len(look(shop).unknown) == 1
    errors = errors_of(settle(shop, wanted({f"r{number}": READ for number in range(300)}, r0={ana})))
    assert errors
    assert all(isinstance(error, Rejected) for error in errors)
    assert "row is too big" in str(errors[0])
    assert shop.may(ana, "SELECT", "sales", "orders")
