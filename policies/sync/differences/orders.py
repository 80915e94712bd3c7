"""What owners decided about foreign rights, as orders to the plan; and which of them are carried out."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

from lakewarden.backends.base import Foreign, Observation, Order, Right
from policies.models import Backend, ForeignOrder
from policies.record import newest_editions

log = logging.getLogger(__name__)
Open = dict[int, Order]


def open_orders(backend: Backend) -> Open:
    """The decisions that were not yet seen carried out, by their number; none that nobody made here."""
    rows = list(ForeignOrder.objects.filter(backend=backend, done__isnull=True))
    ours = {row.pk for row in newest_editions.among([row for row in rows if row.is_sealed])}
    if forged := [row.pk for row in rows if row.pk not in ours]:
        log.error("orders were written outside the console and are not carried out: %s", forged)
    return {row.pk: _order(row) for row in rows if row.pk in ours}


def carried_out(orders: Open, seen: Observation) -> list[int]:
    """The orders whose right is no longer there."""
    if not orders or not seen.complete:
        return []
    there = set(seen.foreign)
    return [pk for pk, order in orders.items() if order.foreign not in there]


def close(numbers: Collection[int], now: datetime) -> None:
    """Be done with those orders."""
    rows = ForeignOrder.objects.filter(pk__in=numbers, done__isnull=True)
    rows.update(done=now, error="", error_kind="")


def _order(row: ForeignOrder) -> Order:
    right = Right(row.type, tuple(row.path), row.right)
    return Order(Foreign(right, row.holder, row.grantor), row.replaced)
