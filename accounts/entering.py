"""Who can still come in: by signing in, by a token, or through somebody in the group."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal, User

FROM_OUTSIDE = ("simple", "proxy", "oidc")
"""Authenticators that let in names without an account of ours."""


def able(principals: Collection[int], *, now: datetime | None = None) -> frozenset[int]:
    """Of these principals those who can come in: people with an open account, services that are not disabled,
    groups with somebody in them who can.  One query."""
    return _of(able_principals(now), principals)


def gone(principals: Collection[int], *, now: datetime | None = None) -> frozenset[int]:
    """Of these principals those who cannot come in any more: whose account was closed, who was erased,
    groups with nobody else in them.  Who never had an account is not gone: they may still be let in.
    One query."""
    people = Q(erased=False) & ~Q(kind=Principal.Kind.GROUP) & ~_has_account(is_active=False)
    return frozenset(principals) - _of(_with_groups(people, now), principals)


def able_principals(now: datetime | None = None) -> QuerySet[Principal]:
    """Everybody who can come in, as a query."""
    without = Q(kind=Principal.Kind.SERVICE)
    if any(item in settings.LAKEWARDEN_AUTHENTICATORS for item in FROM_OUTSIDE):
        without |= Q(kind=Principal.Kind.USER)
    # a disabled account keeps its principal out, whatever else would let the name in
    return _with_groups((_has_account(is_active=True) | without) & ~_has_account(is_active=False), now)


def _has_account(*, is_active: bool) -> Q:
    return Q(Exists(User.objects.filter(principal=OuterRef("pk"), is_active=is_active)))


def _with_groups(people: Q, now: datetime | None) -> QuerySet[Principal]:
    """Those of whom something is true by themselves, and the groups with somebody in them of whom it is."""
    inside = Membership.objects.open().within(now or timezone.now()).filter(group=OuterRef("pk"))
    member = Principal.objects.filter(people, pk=OuterRef("member"))
    return Principal.objects.filter(people | Q(Exists(inside.filter(Exists(member)))))


def _of(people: QuerySet[Principal], principals: Collection[int]) -> frozenset[int]:
    return frozenset(people.filter(pk__in=principals).values_list("pk", flat=True))


def any_password() -> bool:
    """Whether anybody at all can sign in with a password."""
    unusable = Q(password__startswith=UNUSABLE_PASSWORD_PREFIX) | Q(password="")
    return User.objects.filter(is_active=True).exclude(unusable).exists()
