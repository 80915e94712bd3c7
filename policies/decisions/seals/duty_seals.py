"""The seals of duties: who has a duty by a row that was written past the console has none."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import CharField, F, QuerySet, Value

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
    name: str
    """Of the group, as groups of the facts are found by their names; "" of a person."""
    seal: bytes | memoryview | None

    @property
    def content(self) -> bytes:
        named = (self.name,) if self.name else ()
        return content(self.model, self.pk, 0, None, self.holder, self.duty, self.on, *named)

    @property
    def is_sealed(self) -> bool:
        return is_sealed(self.content, self.seal)


def sealed_columns(rows: QuerySet[Any], holder: str) -> QuerySet[Any, Any]:
    """The columns of `Told`; `holder` is `user` or `group`."""
    model = Value(f"{holder}duty", output_field=CharField())
    name: Any = F("group__name") if holder == "group" else Value("", output_field=CharField())
    return rows.order_by().values_list(
        model, "pk", f"{holder}_id", "permission__codename", "content_object_id", name, "seal"
    )


def told_of(row: Duty) -> SealedDuty:
    """The same of a row at hand, whose permission was read with it."""
    about = row.permission.codename, row.content_object_id
    if isinstance(row, UserDuty):
        return SealedDuty("userduty", row.pk, row.user_id, *about, "", row.seal)
    return SealedDuty("groupduty", row.pk, row.group_id, *about, row.group.name, row.seal)


def is_row_sealed(row: Duty) -> bool:
    """Whether a duty was given by the console."""
    return told_of(row).is_sealed


def seal_row(row: Duty) -> None:
    """Seal a duty that the writer has just given, or that the record bears out."""
    row.seal = seal(told_of(row).content)
    row.save(update_fields=["seal"])
