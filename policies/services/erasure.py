"""Erasing a person: the name goes, the record stays and says "an erased person".

The record and the facts speak of people by pseudonym, so only the one map from pseudonyms to names, the
account, the names of ended personal roles, of whom the sync did something for and of whom a plan spoke are
changed; no seal covers these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from axes.models import AccessAttempt
from django.db import connection
from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext

from accounts import sessions
from accounts.models import DirectoryEntry, Keeping, Membership, Principal, Token, User
from catalog.models import Placement
from policies.authority import Actor, Authority
from policies.decisions import personal_role_names
from policies.errors import Conflict, Invalid
from policies.events import PERSON_ERASED
from policies.models import (
    Assignment,
    Calculation,
    Grant,
    Ownership,
    PlannedFile,
    RealmMember,
    SyncItem,
    UserDuty,
)
from policies.notices import inbox
from policies.record.change import change
from policies.record.event_drafts import make_event


def held(person: Principal) -> list[str]:
    """What must end before a person can be erased, in words; empty when nothing does."""
    return [f"{words} ({count})" for words, count in _counts(person) if count]


def _counts(person: Principal) -> Iterator[tuple[str, int]]:
    yield "realms", RealmMember.objects.open().filter(principal=person).count()
    yield "groups", Membership.objects.open().filter(member=person).count()
    yield "roles", Assignment.objects.open().filter(holder=person).count()
    yield "grants", Grant.objects.open().filter(holder=person).count()
    yield "objects owned", Ownership.objects.open().filter(owner=person).count()
    yield "duties", UserDuty.objects.filter(user__principal=person).count()
    yield "entries of the directory", DirectoryEntry.objects.filter(principal=person, ended=None).count()
    yield "service accounts to answer for", Keeping.objects.open().filter(keeper=person).count()


def erase(person: Principal, *, by: Actor, authority: Authority, reason: str = "") -> None:
    """Erase somebody who holds nothing any more.  Raises Conflict, Invalid."""
    if person.kind not in (Principal.Kind.USER, Principal.Kind.SERVICE):
        raise Invalid(gettext("Only a person or a service account can be erased."))
    if person.erased:
        raise Invalid(gettext("That person was erased before."))
    with change(PERSON_ERASED, realm=None, by=by, reason=reason) as current:
        if still := held(person):
            raise Conflict(
                gettext("%(person)s still has %(still)s; end these first")
                % {"person": person, "still": ", ".join(still)}
            )
        current.say(make_event(PERSON_ERASED, None, person), by=authority)
        _forget_account(person)
        _forget_roles(person)
        _forget_steps(person)
        _forget_plans(person)
        inbox.forget(person)
        name = f"erased-{person.pseudonym}"
        Principal.objects.filter(pk=person.pk).update(name=name, display_name="", erased=True)


def _forget_account(person: Principal) -> None:
    Token.objects.filter(Q(principal=person) | Q(starter=person)).delete()
    account = User.objects.filter(principal=person).first()
    if account is not None:
        sessions.end(account)
        AccessAttempt.objects.filter(username=account.username).delete()
        account.delete()


def _forget_steps(person: Principal) -> None:
    """Take the name out of what the sync did: steps tell of a person, and of their own role, by the name."""
    names = {person.name, personal_role_names.name_for(person), f"person:{person.name}"}
    condition = Q(person__in=names) | Q(role__in=names) | Q(label__in=names)
    for name in names:
        condition |= Q(what__joins__contains=[name]) | Q(what__leaves__contains=[name])
    rows = list(SyncItem.objects.filter(condition))
    for row in rows:
        row.person, row.role, row.label = (
            _without(names, text, person) for text in (row.person, row.role, row.label)
        )
        for moves in ("joins", "leaves"):
            row.what[moves] = [_without(names, text, person) for text in row.what.get(moves, ())]
    SyncItem.objects.bulk_update(rows, ["person", "role", "label", "what"], batch_size=500)


def _without(names: set[str], text: str, person: Principal) -> str:
    return f"erased-{person.pseudonym}" if text in names else text


def _forget_roles(person: Principal) -> None:
    """Take the name out of personal roles that have ended; a trigger lets this pass and nothing else."""
    name = personal_role_names.name_for(person)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lakewarden.redaction = 'on'")
    ended = Placement.objects.filter(type="role", name=name, closed__isnull=False)
    ended.update(name=personal_role_names.pseudonymous(person))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lakewarden.redaction = 'off'")


COMMENT = re.compile(r"(?<!\S)#.*")


def _forget_plans(person: Principal) -> None:
    """Take the name out of policy files that were to be approved, and of what they would have done.

    None of them can be applied any more, as a person was erased since; nor does any calculation count.
    """
    Calculation.objects.all().delete()
    rows = PlannedFile.objects.annotate(text=Cast("steps", TextField()))
    named = rows.filter(Q(file__icontains=person.name) | Q(text__icontains=person.name))
    if person.display_name:
        named |= rows.filter(file__icontains=person.display_name)
    without = _forgetting(person)
    for row in named:
        row.file = COMMENT.sub(lambda match: without(match[0], in_prose=True), without(row.file))
        row.steps = _each_text(row.steps, without)
        row.save(update_fields=["file", "steps"])


def _forgetting(person: Principal) -> Callable[..., str]:
    """Texts of a plan without the name: as `user:NAME` everywhere, by itself in prose alone."""
    with_kind = _whole(str(person))
    prose = [_whole(name) for name in (person.name, person.display_name) if name]

    def without(text: str, *, in_prose: bool = False) -> str:
        text = with_kind.sub(f"{person.kind}:erased-{person.pseudonym}", text)
        for name in prose if in_prose else ():
            text = name.sub(f"erased-{person.pseudonym}", text)
        return text

    return without


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?![\w@+-]|\.\w)", re.IGNORECASE)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
