"""Telling people: one row for each person and key, written with what it tells of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.entering import able
from accounts.models import Keeping, Membership, Principal, User
from policies.models.notices import OPEN, How, Letter, Notice, NoticeChoice
from policies.notices.chat_hooks import configured
from policies.notices.kinds import KINDS
from policies.sentences import Said


def tell(
    people: Principal | Iterable[Principal],
    kind: str,
    said: Said | str,
    *,
    key: str,
    link: str = "",
    who: Principal | None = None,
    until: datetime | None = None,
    urgent: bool = False,
) -> int:
    """Tell people something once: a second call with the same key tells nobody twice.  Answers how many.

    To be called in the change or transaction that it tells of.  Each member of a group is told, and for a
    service account its keepers; people who cannot sign in are not.  What is `said` is a sentence that its
    reader gets in their language, or a text in no other; write `{who}` where the name of the person `who`
    goes, and no other names, so that an erased person is forgotten here too.  `link` is a path of the
    console (`/requests/12`).  What is `urgent` goes by mail at once, whatever its reader chose.
    """
    if kind not in KINDS:
        raise ValueError(f"kind of notice `{kind}` is not registered")
    now = timezone.now()
    words = _words(said)
    named = [people] if isinstance(people, Principal) else list(people)
    with transaction.atomic():
        ways = _ways(persons(named, now), kind, urgent=urgent)
        rows = [
            Notice(
                recipient_id=recipient,
                kind=kind,
                key=key,
                link=link,
                who=who,
                until=until,
                urgent=urgent,
                made=now,
                how=how,
                **words,
            )
            for recipient, how in ways.items()
            if how != How.NOTHING
        ]
        Notice.objects.bulk_create(rows, ignore_conflicts=True)
        _call(rows[:1] or [Notice(kind=kind, key=key, link=link, who=who, until=until, made=now, **words)])
        recount([row.recipient_id for row in rows])
    return len(rows)


def _words(text: Said | str) -> dict[str, Any]:
    """What is kept of it: a code with values, and the English text that programs read."""
    if isinstance(text, str):
        return {"text": text}
    kept = Said(text.code, {"who": "{who}", **text.values})
    return {"text": kept.english, "code": text.code, "data": text.as_data()["values"]}


def settle(*keys: str, person: Principal | None = None) -> int:
    """Say that nothing is left to do about these, for anybody or for one; answers how many were open."""
    with transaction.atomic():
        rows = Notice.objects.filter(key__in=keys, done__isnull=True)
        rows = rows.filter(recipient=person) if person else rows
        held = list(rows.select_for_update().values_list("pk", "recipient"))
        Notice.objects.filter(pk__in=[pk for pk, _ in held]).update(done=timezone.now())
        recount([recipient for _, recipient in held])
    return len(held)


def persons(named: Collection[Principal], now: datetime) -> list[int]:
    """The people behind these, groups and services unfolded, who can sign in.  Five queries at most."""
    services = [item.pk for item in named if item.kind == Principal.Kind.SERVICE]
    if services:
        kept = Keeping.objects.open().filter(service__in=services).select_related("keeper")
        named = [*named, *(row.keeper for row in kept)]
    groups = [item.pk for item in named if item.kind == Principal.Kind.GROUP]
    people = {item.pk for item in named if item.kind == Principal.Kind.USER}
    if groups:
        inside = Membership.objects.open().within(now).filter(group__in=groups, member__kind="user")
        people |= set(inside.values_list("member", flat=True))
    return sorted(able(people, now=now)) if people else []


def _ways(people: Collection[int], kind: str, *, urgent: bool) -> dict[int, str]:
    if urgent:
        return dict.fromkeys(people, How.MAIL)
    chosen = NoticeChoice.objects.filter(person__in=people, kind=kind).values_list("person", "how")
    return {**dict.fromkeys(people, KINDS[kind].how), **dict(chosen if people else ())}


def _call(rows: list[Notice]) -> None:
    """One call of each hook that wants to hear of it, however many people are told."""
    letters = [
        Letter(channel=hook.name, key=row.key, data=_plain(row), due=row.made, made=row.made)
        for row in rows
        for hook in configured(settings.LAKEWARDEN_CHAT_HOOKS)
        if hook.hears(row.kind)
    ]
    Letter.objects.bulk_create(letters, ignore_conflicts=True)


def _plain(row: Notice) -> dict[str, object]:
    return {
        "kind": row.kind,
        "text": row.text,
        "who": row.who.pseudonym if row.who else None,
        "until": row.until.isoformat() if row.until else None,
        "link": row.link,
        "urgent": row.urgent,
    }


def recount(people: Collection[int]) -> None:
    """Bring the number beside the bell up to date.  Two queries; the second sees what others committed."""
    accounts = User.objects.filter(principal__in=set(people))
    if not list(accounts.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)):
        return
    mine = Notice.objects.filter(OPEN, recipient=OuterRef("principal")).order_by()
    many = mine.values("recipient").annotate(many=Count("pk")).values("many")
    accounts.update(unread=Coalesce(Subquery(many), 0))
