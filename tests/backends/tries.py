"""What the tests of PostgreSQL share."""

from __future__ import annotations

import pytest

from lakewarden.backends.base import Plan, Right

SELECT = Right("table", ("sales", "orders"), "SELECT")
newest_only = pytest.mark.parametrize(
    "server_url", [18], indirect=True, ids=["postgresql-18"]
)  # the server's age plays no part


def errors_of(outcomes):
    return [outcome.error for outcome in outcomes if outcome.error]


def try_step(shop, step):
    backend = shop.backend()
    [outcome] = backend.apply(Plan((step,), 0, 0, 0))
    backend.close()
    return outcome.error


def findings(shop):
    backend = shop.backend()
    findings_ = list(backend.check())
    backend.close()
    return findings_


def at_least_16(shop):
    if shop.admin.info.server_version < 160000:
        pytest.skip("memberships have options since 16")
