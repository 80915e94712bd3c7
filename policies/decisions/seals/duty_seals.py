"""The seals of duties: who has a duty by a row that was written past the console has none."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import CharField, QuerySet, Value

from accounts.fact_content import content
from accounts.seals import is_sealed, seal
from policies.models import GroupDuty, UserDuty

Duty = UserDuty | GroupDuty


class SealedDuty(NamedTuple):
    """A row of duties, of people or of groups, as far as its seal covers it."""

    model: str
    pk: int
    holder: int
    duty: str
    on: int
    seal: bytes | memoryview | None

    @property
    def content(self) -> bytes:
        return content(self.model, self.pk, 0, None, self.holder, self.duty, self.on)

    @property
    def is_sealed(self) -> bool:
        return is_sealed(self.content, self.seal)


def sealed_columns(rows: QuerySet[Any], holder: str) -> QuerySet[Any, Any]:
    """The columns of `Told`; `holder` is `user` or `group`."""
    model = Value(f"{holder}duty", output_field=CharField())
    return rows.order_by().values_list(
        model, "pk", f"{holder}_id", "permission__codename", "content_object_id", "seal"
    )


def told_of(row: Duty) -> SealedDuty:
    """The same of a row at hand, whose permission was read with it."""
    kind, holder = ("userduty", row.user_id) if isinstance(row, UserDuty) else ("groupduty", row.group_id)
    return SealedDuty(kind, row.pk, holder, row.permission.codename, row.content_object_id, row.seal)


def is_row_sealed(row: Duty) -> bool:
    """Whether a duty was given by the console."""
    return told_of(row).is_sealed


def seal_row(row: Duty) -> None:
    """Seal a duty that the writer has just given, or that the record bears out."""
    row.seal = seal(told_of(row).content)
    row.save(update_fields=["seal"])
