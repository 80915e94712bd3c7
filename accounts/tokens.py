"""Making, recognising and revoking tokens."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from ipaddress import ip_network
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from accounts.addresses import is_within
from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES

log = logging.getLogger(__name__)
PREFIX = "lw_"
MOST_ADDRESSES = 50
# service accounts may have no account that could be closed; who started a run must not be disabled either
_ACTIVE = Q(principal__account__isnull=True) | Q(principal__account__is_active=True)
_STARTED = Q(starter__isnull=True) | Q(starter__account__isnull=True) | Q(starter__account__is_active=True)


class UnknownScope(ValueError):
    """A scope that no surface knows."""


class WrongAddress(ValueError):
    """No address or network."""


class NotRotatable(ValueError):
    """A token that opens nothing any more, or that was rotated before."""


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


def create(
    principal: Principal,
    *,
    days: int | None = None,
    scopes: tuple[str, ...] = (),
    addresses: Iterable[str] = (),
) -> str:
    """Make a token and return its text, which is shown this once and kept nowhere.

    With `addresses` it is good from these addresses and networks alone.  Raises UnknownScope, WrongAddress.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise UnknownScope(f"unknown scope `{unknown[0]}`; known are {', '.join(SCOPES)}")
    expires = timezone.now() + timedelta(days=days) if days is not None else None
    networks = checked_addresses(addresses)
    return _make(Token(principal=principal, scopes=list(scopes), addresses=networks, expires=expires))


def checked_addresses(texts: Iterable[str]) -> list[str]:
    """Networks as they are kept, each once.  Raises WrongAddress."""
    networks = []
    for text in texts:
        try:
            network = ip_network(text.strip(), strict=False)
        except ValueError:
            shown = text.strip()[:50]
            raise WrongAddress(f"`{shown}` is no address and no network such as 10.1.0.0/16") from None
        mapped = getattr(network.network_address, "ipv4_mapped", None)
        if mapped is not None and network.prefixlen >= 96:
            network = ip_network(f"{mapped}/{network.prefixlen - 96}")
        networks.append(str(network))
    if len(networks) > MOST_ADDRESSES:
        raise WrongAddress(f"a token is bound to at most {MOST_ADDRESSES} addresses")
    return list(dict.fromkeys(networks))


def rotate(row: Token, *, days: int | None, overlap: timedelta) -> str:
    """Make a token that may do what this one may; this one ends after the overlap.  Answers the text.

    To be called in a transaction.  Raises NotRotatable.
    """
    row, now = Token.objects.select_for_update().select_related(None).get(pk=row.pk), timezone.now()
    if row.run or row.revoked or row.successor_id or (row.expires and row.expires <= now):
        raise NotRotatable("It has ended or was rotated before; make a new token")
    fresh = Token(principal=row.principal, scopes=row.scopes, addresses=row.addresses)
    fresh.expires = now + timedelta(days=days) if days is not None else None
    text = _make(fresh)
    row.expires = min(row.expires or now + overlap, now + overlap)
    row.successor = fresh
    row.save(update_fields=["expires", "successor"])
    return text


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


def recognise(text: str, address: str = "") -> Bearer | None:
    """The bearer of a known token, neither revoked nor expired nor of a closed account.  One query.

    A token that is bound to addresses is good only where `address` is one of them.
    """
    now = timezone.now()
    row = _row_of(_digest(text))
    if row is None or row.revoked or (row.expires and row.expires <= now):
        return None
    if row.run and (row.realm is None or row.starter is None):
        return None  # half a run must not pass for something wider
    if row.addresses and not is_within(address, row.addresses):
        log.warning("token %s… came from %s, where it is not good", row.prefix, address or "no address")
        return None
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


def was_made(text: str) -> bool:
    """Whether there is or was such a token; one query."""
    return Token.objects.filter(digest=_digest(text)).exists()


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
