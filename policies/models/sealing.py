"""Rows that are no facts and yet decide something: sealed as written, checked before they are acted on.

The seal is that of facts (adr 0026): writing past the console makes none.  A row without a good seal stays
without one, whatever is then written into it, until somebody answers for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction

from accounts.fact_content import content, plain
from accounts.seals import is_newest, is_sealed, seal

Row_co = TypeVar("Row_co", bound="Sealed", covariant=True)


class SealingQuerySet(models.QuerySet[Row_co]):
    """Writes seals with what they cover."""

    def update(self, **values: Any) -> int:
        if not self.model.covers(values):
            return super().update(**values)
        with transaction.atomic():
            good = [row.pk for row in self.select_for_update(of=("self",)) if row.is_sealed]
            many = super().update(**values)
            self._put(good)
        return many

    def bulk_create(self, objs: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        with transaction.atomic():
            made = super().bulk_create(objs, *args, **options)
            self._put([row.pk for row in made])
        return made

    update.alters_data = bulk_create.alters_data = True  # type: ignore[attr-defined]

    def _put(self, numbers: list[int]) -> None:
        """Seal those rows as they are now."""
        for row in self.model._base_manager.filter(pk__in=numbers):
            row.put_seal()


class Sealed(models.Model):
    """A row with a seal over the columns in `SEALED`."""

    SEALED: ClassVar[tuple[str, ...]] = ()
    seal = models.BinaryField(null=True, editable=False)

    objects = SealingQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        if update_fields is not None and not self.covers(update_fields):
            super().save(*args, update_fields=update_fields, **options)
            return
        with transaction.atomic():
            before = type(self)._base_manager.filter(pk=self.pk).select_for_update().first()
            super().save(*args, update_fields=update_fields, **options)
            if before is None or before.is_sealed:
                type(self)._base_manager.get(pk=self.pk).put_seal()
            self.seal = type(self)._base_manager.values_list("seal", flat=True).get(pk=self.pk)

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
        self.seal = seal(self._content())
        type(self)._base_manager.filter(pk=self.pk).update(seal=self.seal)

    def _content(self) -> bytes:
        values = (plain(getattr(self, name)) for name in self.SEALED)
        return content(str(self._meta.model_name), self.pk, 0, None, *values)
