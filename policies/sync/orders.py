"""What owners decided about foreign rights, as orders to the plan; and which of them are carried out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lakewarden.backends.base import Foreign, Observation, Order, Outcome, Right
from policies.models import Backend, ForeignOrder

Open = dict[int, Order]


def open_orders(backend: Backend) -> Open:
    """The decisions that were not yet seen carried out, by their number."""
    return {row.pk: _order(row) for row in ForeignOrder.objects.filter(backend=backend, done__isnull=True)}


def settle(orders: Open, seen: Observation, outcomes: Iterable[Outcome], now: datetime) -> None:
    """Close the orders whose right is no longer there; keep the backend's words for those that failed."""
    if not orders or not seen.complete:
        return
    there = set(seen.foreign)
    gone = [pk for pk, order in orders.items() if order.foreign not in there]
    ForeignOrder.objects.filter(pk__in=gone).update(done=now, error="")
    failed = {
        (one.step.person, one.step.rights, one.step.grantor): str(one.error)
        for one in outcomes
        if one.error and one.step.kind == "take_foreign"
    }
    for pk, order in orders.items():
        foreign = order.foreign
        error = failed.get((foreign.holder, (foreign.right,), foreign.grantor))
        if error and pk not in gone:
            ForeignOrder.objects.filter(pk=pk).update(error=error)


def _order(row: ForeignOrder) -> Order:
    right = Right(row.type, tuple(row.path), row.right)
    return Order(Foreign(right, row.holder, row.grantor), row.replaced)
