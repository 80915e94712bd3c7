"""Sealed rows that are an earlier state of themselves: put back in the database, with their old seals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db.models import Model, Q, Value

from accounts.models import DirectoryMember
from accounts.models.sealing import Sealed
from policies.models import (
    RequestPart,
    Review,
    ReviewDesk,
    ReviewRow,
    ReviewSeat,
    Substitute,
    review_seals,
)
from policies.record.newest_editions import Editions, has_editions
from policies.record.replay.differences import Difference

BATCH = 2000


def differences(known: Editions) -> Iterator[Difference]:
    """Every row of use that has not the newest edition, or that was gone on from such a row."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for code in sorted(known.newest):
        name, _, number = code.partition(":")
        numbers[name].append(int(number))
    sealed = [model for model in apps.get_models() if issubclass(model, Sealed)]
    models: list[type[Model]] = [*sealed, DirectoryMember, ReviewRow, RequestPart]
    for model in models:
        name = str(model._meta.model_name)
        mine = numbers.get(name, [])
        for start in range(0, len(mine), BATCH):
            yield from _differing(name, model, mine[start : start + BATCH], known)


def _over() -> dict[type[Model], Q]:
    """The rows by which nothing is done any more."""
    over = review_seals.OVER
    return {
        Substitute: Q(ended_at__isnull=False),
        RequestPart: Q(seal__isnull=True),
        Review: Q(state__in=over),
        ReviewRow: Q(review__state__in=over),
        ReviewDesk: Q(review__state__in=over),
        ReviewSeat: Q(desk__review__state__in=over),
    }


def _differing(name: str, model: type[Model], numbers: list[int], editions: Editions) -> Iterator[Difference]:
    rows: Any = (
        model._base_manager.filter(pk__in=numbers).exclude(_over().get(model, Q(pk__in=()))).order_by("pk")
    )
    if not has_editions(model):
        rows = rows.annotate(edition=Value(0))
    for pk, edition in rows.values_list("pk", "edition"):
        code, what = f"{name}:{pk}", f"{name} {pk}"
        if code in editions.forked:
            yield Difference(what, "two states after one", f"edition {edition}", model._meta.db_table)
        elif not editions.is_newest(code, edition):
            claim = f"an earlier state, edition {edition}"
            yield Difference(what, f"edition {editions.newest[code]}", claim, model._meta.db_table)
