"""The form of every fact: true from one revision to another, and within a window of the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Self, TypeVar

from django.db import models
from django.db.models import DateTimeField, Q, UniqueConstraint, Value
from django.db.models.functions import Coalesce

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
END = datetime(9999, 1, 1, tzinfo=UTC)


class Origin(models.TextChoices):
    """How a fact came about."""

    HAND = "hand", "by hand"
    API = "api", "through an API"
    COMMAND = "command", "by command"
    DISCOVERED = "discovered", "read from the source"
    ADOPTED = "adopted", "adopted from a backend"
    REQUEST = "request", "asked for and approved"
    EMERGENCY = "emergency", "taken in an emergency"
    SYSTEM = "system", "by the system"
    DIRECTORY = "directory", "from the directory"


FactRow = TypeVar("FactRow", bound=models.Model, covariant=True)


class FactQuerySet(models.QuerySet[FactRow]):
    """Facts by when they are true."""

    def open(self) -> Self:
        """Those no change has closed."""
        return self.filter(closed__isnull=True)

    def as_of(self, revision: int | None) -> Self:
        """Those that were open at a revision; None is now."""
        if revision is None:
            return self.open()
        return self.filter(Q(closed__isnull=True) | Q(closed__gt=revision), opened__lte=revision)

    def within(self, now: datetime) -> Self:
        """Those whose window holds at a moment."""
        return self.filter(
            Q(valid_from__isnull=True) | Q(valid_from__lte=now),
            Q(valid_until__isnull=True) | Q(valid_until__gt=now),
        )


class Fact(models.Model):
    """True from revision `opened` until `closed` (null while true); a trigger forbids any other change."""

    opened = models.BigIntegerField()
    closed = models.BigIntegerField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    origin = models.CharField(max_length=16, choices=Origin, default=Origin.HAND)
    seal = models.BinaryField(max_length=36, null=True)
    """Put on by the writer, over all the rest of the row; a row without a good one is not decided on."""

    objects = FactQuerySet.as_manager()

    class Meta:
        abstract = True


BESIDE = frozenset({"id", "opened", "closed", "seal"})
"""The columns of a fact that are not part of what it states, but of when it did and of how that is proved."""


@cache
def fact_columns(model: type[models.Model]) -> tuple[str, ...]:
    """The columns that say what a fact states, in the order of their names."""
    return tuple(sorted(field.attname for field in model._meta.concrete_fields if field.name not in BESIDE))


RowOfFact = TypeVar("RowOfFact", bound=Fact)


def again(row: RowOfFact) -> RowOfFact:
    """The same fact, to be begun anew."""
    return type(row)(**{name: getattr(row, name) for name in fact_columns(type(row))})


def _edge(field: str, default: datetime) -> Coalesce:
    return Coalesce(field, Value(default, output_field=DateTimeField()))


def one_open(name: str, *fields: str, where: Q | None = None) -> UniqueConstraint:
    """At most one open row for each fact, origin and window; others may live beside it and end apart."""
    return UniqueConstraint(
        *fields,
        "origin",
        _edge("valid_from", BEGINNING),
        _edge("valid_until", END),
        name=name,
        condition=Q(closed__isnull=True) if where is None else Q(closed__isnull=True) & where,
    )
