"""What the company's directory keeps here, and what it says of who is in which group."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from accounts import editions, seals
from accounts.fact_content import content
from accounts.models import DirectoryEntry, DirectoryMember, Principal
from accounts.models.sealing import number


def keeps(principal: Principal) -> bool:
    """Whether the directory keeps this person or group now.  One query."""
    return DirectoryEntry.objects.filter(principal=principal, ended__isnull=True).exists()


def names_kept(groups: Collection[str]) -> set[str]:
    """Those of some names of groups that the directory keeps.  One query."""
    rows = DirectoryEntry.objects.filter(principal__kind=Principal.Kind.GROUP, ended__isnull=True)
    return set(rows.filter(principal__name__in=groups).values_list("principal__name", flat=True))


def note(group: Principal, members: Collection[Principal]) -> None:
    """Keep that the directory says these are in a group."""
    rows = [DirectoryMember(group=group, member=member) for member in members]
    number(rows)
    for row in rows:
        row.seal = seals.seal(_content(row))
    DirectoryMember.objects.bulk_create(rows, batch_size=1000)


def remove(rows: QuerySet[DirectoryMember]) -> None:
    """Keep no longer that the directory says so, within a change that tells of it."""
    for pk in rows.values_list("pk", flat=True):
        editions.note(DirectoryMember, pk, DirectoryMember.edition + 1)
    rows.delete()


def is_sealed(row: DirectoryMember) -> bool:
    """Whether the console wrote the row."""
    return seals.is_sealed(_content(row), row.seal)


def seal_anew(row: DirectoryMember) -> bool:
    """Give a row with a good seal one of the newest key; whether that was needed."""
    if seals.is_newest(row.seal) or not is_sealed(row):
        return False
    row.seal = seals.seal(_content(row))
    row.save(update_fields=["seal"])
    return True


def _content(row: DirectoryMember) -> bytes:
    return content("directorymember", row.pk, 0, None, row.group_id, row.member_id)
