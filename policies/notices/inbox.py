"""A person's inbox: its notices, which of them were read, and how notices are delivered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal, User
from policies.errors import Invalid
from policies.models.notices import OPEN, How, Letter, Notice, NoticeChoice
from policies.notices.kinds import KINDS, Kind
from policies.notices.notify import recount

PAGE = 50


@dataclass(frozen=True)
class Page:
    """Some notices, the newest first; `before` continues the list, 0 where it ends."""

    rows: tuple[Notice, ...]
    before: int = 0


def page(person: Principal, *, unread: bool, before: int = 0) -> Page:
    """A page of somebody's notices, all of them or those that wait, older than one.  One query."""
    mine = Notice.objects.filter(recipient=person).select_related("who")
    if unread:
        mine = mine.filter(OPEN)
    if before:
        mine = mine.filter(pk__lt=before)
    notice_rows = list(mine.order_by("-pk")[: PAGE + 1])
    rows = notice_rows[:PAGE]
    return Page(tuple(rows), rows[-1].pk if len(notice_rows) > PAGE else 0)


def mark_read(person: Principal, numbers: Collection[int] | None = None) -> int:
    """Say that these notices were read, or all of them; answers how many were not before."""
    mine = Notice.objects.filter(recipient=person, read__isnull=True)
    return _marked(person, mine if numbers is None else mine.filter(pk__in=numbers), read=True)


def mark_unread(person: Principal, numbers: Collection[int]) -> int:
    """Have these notices stand as new again; answers how many were read before."""
    mine = Notice.objects.filter(recipient=person, read__isnull=False)
    return _marked(person, mine.filter(pk__in=numbers), read=False)


def _marked(person: Principal, rows: QuerySet[Notice], *, read: bool) -> int:
    with transaction.atomic():
        many = rows.update(read=timezone.now() if read else None)
        if many:
            recount([person.pk])
    return many


# How somebody wants to be told


def choices_of(person: Principal) -> list[tuple[Kind, How]]:
    """Every kind with how they are told of it, in the order of their headings.  One query."""
    chosen = dict(NoticeChoice.objects.filter(person=person).values_list("kind", "how"))
    kinds = sorted(KINDS.values(), key=lambda kind: kind.heading)
    return [(kind, How(chosen.get(kind.code, kind.how))) for kind in kinds]


def choose(person: Principal, wanted: Mapping[str, str]) -> None:
    """Set how somebody is told of some kinds.  Raises Invalid."""
    for code, how in wanted.items():
        if code not in KINDS or how not in How.values:
            raise Invalid(gettext("That choice does not exist."))
    rows = [NoticeChoice(person=person, kind=code, how=how) for code, how in wanted.items()]
    NoticeChoice.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["person", "kind"], update_fields=["how"]
    )


def forget(person: Principal) -> None:
    """Delete all that somebody was told; notices to others stop naming them without further work."""
    Notice.objects.filter(recipient=person).delete()
    Letter.objects.filter(recipient=person).delete()
    NoticeChoice.objects.filter(person=person).delete()
    User.objects.filter(principal=person).update(unread=0)


__all__ = ["Page", "choices_of", "choose", "forget", "mark_read", "mark_unread", "page"]
