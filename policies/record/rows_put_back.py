"""Duties, settings of realms, places of data and what the directory said of groups, that somebody put back or
altered in the database.

None is a fact, so no event names its row when it ends.  A duty is over where the last event about it took it,
a row of the directory where the record tells that it was removed, and a state of the others where the record
tells of a later edition.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from accounts import directory
from accounts.models import DirectoryMember, Principal
from accounts.people import django_group_name
from catalog.models import Detail, Realm
from policies.decisions.seals import duty_seals, opened_again, unsealed
from policies.decisions.seals.duty_seals import Duty
from policies.events import ACCOUNT_BOUND, DUTY_GIVEN, DUTY_TAKEN
from policies.models import Event, GroupDuty, UserDuty
from policies.record import newest_editions

log = logging.getLogger(__name__)
CHUNK = 2000
NOBODY = ""
"""No answer about access follows from such a row, so it closes nobody."""


def said_by_directory(rows: Iterable[DirectoryMember]) -> list[DirectoryMember]:
    """Those of some rows that the console wrote and has not removed.  One query; none for no rows."""
    return newest_editions.among([row for row in rows if directory.is_sealed(row)])


def take_seals(*, since: int | None = None) -> int:
    """Take the seal of each such row that is over by the record, and tell of it and of those without a good
    one; how many there are.

    With `since`, of those alone that this transaction or a later one wrote.  Nobody decides on a row without
    its seal.
    """
    many = _take(DirectoryMember, not_said_by_directory(since), no_seal=b"")
    many += _take(Realm, _earlier_states(_late(Realm.objects.all(), since)), no_seal=None)
    if since is not None:  # of all of them the replay tells, each hour
        many += _take_details(_earlier_states(_late(Detail.objects.defer("comment", "columns"), since)))
    people = UserDuty.objects.select_related("permission", "user__principal")
    groups = GroupDuty.objects.select_related("permission", "group")
    for model, duties in ((UserDuty, people), (GroupDuty, groups)):
        for rows in _parts(_late(duties, since)):
            over = _taken(rows)
            bad = [row.pk for row in rows if row.pk in over or not duty_seals.is_row_sealed(row)]
            many += _take(model, bad, no_seal=None)
    return many


def not_said_by_directory(since: int | None = None) -> list[int]:
    """The numbers of the other rows, of those that this transaction or a later one wrote."""
    wrong: list[int] = []
    for rows in _parts(_late(DirectoryMember.objects.all(), since)):
        ours = {row.pk for row in said_by_directory(rows)}
        wrong += [row.pk for row in rows if row.pk not in ours]
    return wrong


def _earlier_states(rows: QuerySet[Any]) -> list[int]:
    """The numbers of rows with a good seal of which the record tells a later edition."""
    earlier: list[int] = []
    for part in _parts(rows):
        sealed = [row for row in part if row.is_sealed]
        newest = {row.pk for row in newest_editions.among(sealed)}
        earlier += [row.pk for row in sealed if row.pk not in newest]
    return earlier


def _take_details(numbers: Sequence[int]) -> int:
    """No snapshot of the realm is made, nor its data opened, until an operator answers for them."""
    if numbers:
        log.error("what was said before of objects was put back: %s", ", ".join(map(str, numbers[:100])))
        Detail._base_manager.filter(pk__in=numbers).update(seal=None)
    return len(numbers)


def _late(rows: QuerySet[Any], since: int | None) -> QuerySet[Any]:
    return rows if since is None else opened_again.written_since(rows, since)


def _parts(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    held = rows.order_by("pk").iterator(chunk_size=CHUNK)
    while part := list(islice(held, CHUNK)):
        yield part


def _take(model: type[Any], numbers: Sequence[int], *, no_seal: bytes | None) -> int:
    name = str(model._meta.model_name)
    unsealed.keep([(name, number, NOBODY) for number in numbers], unsealed.NO_REALM)
    if numbers:
        model.objects.filter(pk__in=numbers).update(seal=no_seal)
    return len(numbers)


def _taken(rows: Sequence[Duty]) -> set[int]:
    """Those of some duties that were taken last.  At most three queries.

    An account that somebody else got since has the duties of who had it before: those only the replay tells.
    """
    holders = _holders(rows)
    spoken = Event.objects.filter(
        kind__in=(DUTY_GIVEN, DUTY_TAKEN), object_key__in={row.content_object_id for row in rows}
    )
    last: dict[tuple[int | None, str, str], tuple[str, int]] = {}
    for kind, on, duty, people, revision in spoken.order_by("change", "number").values_list(
        "kind", "object_key", "data__duty", "people", "change"
    ):
        last[on, duty, people[0]] = kind, revision
    bound = Event.objects.filter(kind=ACCOUNT_BOUND, people__overlap=sorted(set(holders.values())))
    since = {
        people[0]: revision for people, revision in bound.order_by("change").values_list("people", "change")
    }
    over = set()
    for row in rows:
        who = holders.get(row.pk, "")
        kind, revision = last.get((row.content_object_id, row.permission.codename, who), ("", 0))
        if kind == DUTY_TAKEN and since.get(who, 0) < revision:
            over.add(row.pk)
    return over


def _holders(rows: Sequence[Duty]) -> dict[int, str]:
    """Who has each duty, by pseudonym."""
    groups = any(isinstance(row, GroupDuty) for row in rows)
    groups_ = Principal.objects.filter(kind=Principal.Kind.GROUP) if groups else Principal.objects.none()
    named = {django_group_name(name): who for name, who in groups_.values_list("name", "pseudonym")}
    holders = {}
    for row in rows:
        if isinstance(row, UserDuty):
            holders[row.pk] = row.user.principal.pseudonym if row.user.principal else ""
        else:
            holders[row.pk] = named.get(row.group.name, "")
    return holders
