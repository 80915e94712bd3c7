"""Rows that are no facts and yet decide something: sealed as written, checked before they are acted on.

The seal is that of facts (adr 0026): writing past the console makes none.  A row without a good seal stays
without one, whatever is then written into it, until somebody answers for it.  Each time that the console
writes what the seal covers the row gets its next edition (adr 0056).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar

from django.db import connection, models, transaction

from accounts import editions
from accounts.fact_content import content, plain
from accounts.seals import is_newest, is_sealed, seal

Row_co = TypeVar("Row_co", bound="Sealed", covariant=True)


class SealingQuerySet(models.QuerySet[Row_co]):
    """Writes seals with what they cover."""

    def update(self, **values: Any) -> int:
        if not self.model.covers(values):
            return super().update(**values)
        with transaction.atomic():
            before = {row.pk: row for row in self.select_for_update(of=("self",)) if row.is_sealed}
            many = super().update(**values)
            for row in self.model._base_manager.filter(pk__in=before):
                row.put_next_seal(before[row.pk])
        return many

    def bulk_create(self, objs: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        rows = list(objs)
        number([row for row in rows if row.pk is None])
        for row in rows:
            row.seal = row.seal_as_it_is()
        return super().bulk_create(rows, *args, **options)

    update.alters_data = bulk_create.alters_data = True  # type: ignore[attr-defined]


class Sealed(models.Model):
    """A row with a seal over the columns in `SEALED`."""

    SEALED: ClassVar[tuple[str, ...]] = ()
    seal = models.BinaryField(null=True, editable=False)
    edition = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """How often what the seal covers was written since the row was made."""

    objects = SealingQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        if update_fields is not None and not self.covers(update_fields):
            super().save(*args, update_fields=update_fields, **options)
            return
        if self.pk is None:
            number([self])
            self.seal = self.seal_as_it_is()
            super().save(*args, **{**options, "force_insert": True})
            return
        with transaction.atomic():
            before = type(self)._base_manager.filter(pk=self.pk).select_for_update().first()
            super().save(*args, update_fields=update_fields, **options)
            if before is None or before.is_sealed:
                type(self)._base_manager.get(pk=self.pk).put_next_seal(before)
            kept = type(self)._base_manager.values_list("seal", "edition")
            self.seal, self.edition = kept.get(pk=self.pk)

    @classmethod
    def covers(cls, names: Iterable[str]) -> bool:
        """Whether the seal is over one of those fields."""
        columns = {field.name: field.attname for field in cls._meta.concrete_fields}
        return any(columns.get(name, name) in cls.SEALED for name in names)

    @property
    def is_sealed(self) -> bool:
        """Whether the row is as the console wrote it."""
        return is_sealed(self._content(), self.seal)

    @property
    def has_newest_seal(self) -> bool:
        return is_newest(self.seal) and self.is_sealed

    def put_seal(self) -> None:
        """Seal the row as it stands here: for who wrote it, or answers for it."""
        self.seal = self.seal_as_it_is()
        type(self)._base_manager.filter(pk=self.pk).update(seal=self.seal, edition=self.edition)

    def put_next_seal(self, before: Self | None) -> None:
        """Seal the row as it was just written; a state that differs from the one before is a new edition."""
        if before is not None:
            self.edition = before.edition
            if self._content() != before._content():
                self.edition += 1
                editions.note(type(self), self.pk, self.edition)
        self.put_seal()

    def seal_as_it_is(self) -> bytes:
        """The seal of the row as it stands here, by the newest key."""
        return seal(self._content())

    def _content(self) -> bytes:
        values = (_as_kept(self, self._meta.get_field(name)) for name in self.SEALED)
        return content(str(self._meta.model_name), self.pk, self.edition, None, *values)


def _as_kept(row: Sealed, field: Any) -> Any:
    """A value as the database gives it back, whatever it was set from."""
    value = getattr(row, field.attname)
    if isinstance(field, models.JSONField):
        return json.loads(json.dumps(value, sort_keys=True))  # the database keeps no order of keys
    return plain(field.to_python(value))


def number(rows: Sequence[models.Model]) -> None:
    """Give new rows their numbers, which seals cover, before they are written.  One query."""
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [rows[0]._meta.db_table, len(rows)],
        )
        for row, (number,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = number
