"""Making, recognising and revoking tokens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES

PREFIX = "lw_"
# service accounts may have no account that could be closed; who started a run must not be disabled either
_ACTIVE = Q(principal__account__isnull=True) | Q(principal__account__is_active=True)
_STARTED = Q(starter__isnull=True) | Q(starter__account__isnull=True) | Q(starter__account__is_active=True)


class UnknownScope(ValueError):
    """A scope that no surface knows."""


RUN_SCOPES = ("check", "report")
READING_SCOPES = ("reading",)
"""No call asks for it, so that a token for a reading opens none but the views that know of readings."""


@dataclass(frozen=True)
class Run:
    """One run of a job: what it is known by, the number of its realm, and who started it."""

    id: str
    realm: int
    starter: Principal


@dataclass(frozen=True)
class Reading:
    """One view of one realm at one revision."""

    view: str
    realm: int
    revision: int


@dataclass(frozen=True)
class Bearer:
    """Who came with a valid token, and what the token lets them do."""

    principal: Principal
    scopes: frozenset[str]
    token: int
    run: Run | None = None
    reading: Reading | None = None

    def covers(self, scope: str) -> bool:
        """No scopes at all means all that the principal may."""
        return not self.scopes or scope in self.scopes


def create(principal: Principal, *, days: int | None = None, scopes: tuple[str, ...] = ()) -> str:
    """Make a token and return its text, which is shown this once and kept nowhere."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise UnknownScope(f"unknown scope `{unknown[0]}`; known are {', '.join(SCOPES)}")
    expires = timezone.now() + timedelta(days=days) if days is not None else None
    return _make(Token(principal=principal, scopes=list(scopes), expires=expires))


def create_for_run(principal: Principal, run: Run, *, expires: datetime) -> str:
    """Make the token a running job holds; it is decided as the principal, and may only ask and report."""
    row = Token(principal=principal, scopes=list(RUN_SCOPES), expires=expires)
    row.run, row.realm, row.starter = run.id, run.realm, run.starter
    return _make(row)


def create_for_reading(principal: Principal, reading: Reading, *, expires: datetime) -> str:
    """Make the token that the executors of a job hold: it reads one view, and is soon of no use."""
    row = Token(principal=principal, scopes=list(READING_SCOPES), expires=expires)
    row.run, row.starter = f"read-{secrets.token_hex(5)}", principal
    row.view, row.realm, row.revision = reading.view, reading.realm, reading.revision
    Token.objects.filter(principal=principal, expires__lte=timezone.now()).exclude(view="").delete()
    return _make(row)


def _make(row: Token) -> str:
    text = PREFIX + secrets.token_urlsafe(32)
    row.prefix, row.digest = text[:10], _digest(text)
    row.save(force_insert=True)
    return text


def recognise(text: str) -> Bearer | None:
    """The bearer of a known token, neither revoked nor expired nor of a closed account.  One query."""
    now = timezone.now()
    row = _row_of(_digest(text))
    if row is None or row.revoked or (row.expires and row.expires <= now):
        return None
    if row.run and (row.realm is None or row.starter is None):
        return None  # half a run must not pass for something wider
    # once a minute is enough to say when a token was last used, and keeps asking free of writes
    if row.last_used is None or now - row.last_used > timedelta(minutes=1):
        stale = Q(last_used__isnull=True) | Q(last_used__lt=now - timedelta(minutes=1))
        Token.objects.filter(stale, pk=row.pk).update(last_used=now)
    if row.view:
        return Bearer(row.principal, frozenset(row.scopes), row.pk, reading=_reading_of(row))
    return Bearer(row.principal, frozenset(row.scopes), row.pk, _run_of(row))


def _row_of(digest: str) -> Token | None:
    statement, values = _statement()
    with connection.cursor() as cursor:
        cursor.execute(statement, [digest if value == _ANY else value for value in values])
        columns = cursor.fetchone()
    if columns is None:
        return None
    own, rest = columns[: len(_OWN)], columns[len(_OWN) :]
    row = Token.from_db(connection.alias, _OWN, own)
    row.principal = Principal.from_db(connection.alias, _OF_PRINCIPAL, rest[: len(_OF_PRINCIPAL)])
    if row.starter_id is not None:
        row.starter = Principal.from_db(connection.alias, _OF_PRINCIPAL, rest[len(_OF_PRINCIPAL) :])
    return row


_ANY = "the digest asked for"
_OWN = [field.attname for field in Token._meta.concrete_fields]
_OF_PRINCIPAL = [field.attname for field in Principal._meta.concrete_fields]


@cache
def _statement() -> tuple[str, tuple[Any, ...]]:
    """The query as Django writes it, written once: every call of a program asks it first."""
    rows = Token.objects.select_related("principal", "starter").filter(_ACTIVE, _STARTED, digest=_ANY)
    return rows.query.sql_with_params()


def _run_of(row: Token) -> Run | None:
    if not row.run or row.realm is None or row.starter is None:
        return None
    return Run(row.run, row.realm, row.starter)


def _reading_of(row: Token) -> Reading:
    # revision 0 is that of no reading, so half a reading opens nothing
    return Reading(row.view, row.realm or 0, row.revision or 0)


def find(text: str) -> Token:
    """The row of a token that was made; raises Token.DoesNotExist."""
    return Token.objects.get(digest=_digest(text))


def revoke(token: Token) -> bool:
    """Revoke once; False when it was revoked before."""
    changed = Token.objects.filter(pk=token.pk, revoked__isnull=True).update(revoked=timezone.now())
    return changed == 1


def revoke_all(principal: Principal) -> list[Token]:
    """Revoke every token of a principal that is not revoked yet, those of runs too; answers them."""
    rows = list(Token.objects.select_for_update().filter(principal=principal, revoked__isnull=True))
    Token.objects.filter(pk__in=[row.pk for row in rows]).update(revoked=timezone.now())
    return rows


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
