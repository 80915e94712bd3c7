"""The decisions about foreign grants that are still to be carried out, and the findings they are about."""

from __future__ import annotations

from collections.abc import Iterable

from policies.models import BackendFinding, ForeignOrder


def ordered(rows: Iterable[BackendFinding]) -> dict[int, ForeignOrder]:
    """The decisions about these findings that are still to be carried out, by finding.  One query."""
    rows = list(rows)
    waiting = ForeignOrder.objects.filter(
        backend__in={row.backend_id for row in rows}, done__isnull=True
    ).select_related("by")
    by_right = {_key(finding, finding.right): finding for finding in waiting}
    findings = {row.pk: by_right.get(_key(row, row.what)) for row in rows}
    return {pk: order for pk, order in findings.items() if order is not None}


def findings_of(orders: Iterable[ForeignOrder]) -> dict[int, int]:
    """The finding that each decision is about, by their numbers.  One query."""
    orders = list(orders)
    rows = BackendFinding.objects.filter(
        backend__in={order.backend_id for order in orders},
        kind="foreign",
        holder__in={order.holder for order in orders},
    )
    by_key = {_key(row, row.what): row.pk for row in rows} if orders else {}
    mine = {order.pk: by_key.get(_key(order, order.right)) for order in orders}
    return {pk: at for pk, at in mine.items() if at is not None}


def _key(row: BackendFinding | ForeignOrder, what: str) -> tuple[object, ...]:
    return row.backend_id, row.holder, row.grantor, row.type, tuple(row.path), what
