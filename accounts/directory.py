"""What the company's directory keeps here, and what it says of who is in which group."""

from __future__ import annotations

from collections.abc import Collection

from accounts import seals
from accounts.models import DirectoryEntry, DirectoryMember, Principal


def keeps(principal: Principal) -> bool:
    """Whether the directory keeps this person or group now.  One query."""
    return DirectoryEntry.objects.filter(principal=principal, ended__isnull=True).exists()


def names_kept(groups: Collection[str]) -> set[str]:
    """Those of some names of groups that the directory keeps.  One query."""
    rows = DirectoryEntry.objects.filter(principal__kind=Principal.Kind.GROUP, ended__isnull=True)
    return set(rows.filter(principal__name__in=groups).values_list("principal__name", flat=True))


def note(group: Principal, members: Collection[Principal]) -> None:
    """Keep that the directory says these are in a group."""
    rows = [
        DirectoryMember(group=group, member=member, seal=seals.seal(_content(group.pk, member.pk)))
        for member in members
    ]
    DirectoryMember.objects.bulk_create(rows, batch_size=1000)


def is_sealed(row: DirectoryMember) -> bool:
    """Whether the console wrote the row."""
    return seals.is_sealed(_content(row.group_id, row.member_id), row.seal)


def _content(group: int, member: int) -> bytes:
    return f"directorymember {group} {member}".encode()
