"""Who can still come in: by signing in, by a token, or through somebody in the group."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Q
from django.utils import timezone

from accounts.models import Membership, Principal, User

FROM_OUTSIDE = ("simple", "proxy", "oidc")
"""Authenticators that let in names without an account of ours."""


def able(principals: Collection[int], *, now: datetime | None = None) -> frozenset[int]:
    """Of these principals those who can come in: people with an open account, services that are not disabled,
    groups with somebody in them who can.  Three queries."""
    return _with_groups(principals, _entering_alone, now or timezone.now())


def gone(principals: Collection[int], *, now: datetime | None = None) -> frozenset[int]:
    """Of these principals those who cannot come in any more: whose account was closed, who was erased,
    groups with nobody else in them.  Who never had an account is not gone: they may still be let in.
    Three queries."""
    return frozenset(principals) - _with_groups(principals, _not_closed, now or timezone.now())


def _with_groups(
    principals: Collection[int], alone: Callable[[Collection[int]], set[int]], now: datetime
) -> frozenset[int]:
    """Those of whom something is true by themselves, and the groups with somebody in them of whom it is."""
    inside = Membership.objects.open().within(now).filter(group__in=principals)
    members: dict[int, set[int]] = {}
    for group, member in inside.values_list("group", "member"):
        members.setdefault(group, set()).add(member)
    found = alone({*principals, *(member for some in members.values() for member in some)})
    return frozenset(
        key for key in principals if key in found or not found.isdisjoint(members.get(key, set()))
    )


def _entering_alone(principals: Collection[int]) -> set[int]:
    # a disabled account keeps its principal out, whatever else would let the name in
    closed = User.objects.filter(principal__in=principals, is_active=False).values("principal")
    known = User.objects.filter(principal__in=principals, is_active=True).values("principal")
    without = Q(kind=Principal.Kind.SERVICE)
    if any(item in settings.LAKEWARDEN_AUTHENTICATORS for item in FROM_OUTSIDE):
        without |= Q(kind=Principal.Kind.USER)
    rows = Principal.objects.filter(Q(pk__in=known) | without, pk__in=principals).exclude(pk__in=closed)
    return set(rows.values_list("pk", flat=True))


def _not_closed(principals: Collection[int]) -> set[int]:
    closed = User.objects.filter(principal__in=principals, is_active=False).values("principal")
    rows = Principal.objects.filter(pk__in=principals, erased=False).exclude(kind=Principal.Kind.GROUP)
    return set(rows.exclude(pk__in=closed).values_list("pk", flat=True))


def any_password() -> bool:
    """Whether anybody at all can sign in with a password."""
    unusable = Q(password__startswith=UNUSABLE_PASSWORD_PREFIX) | Q(password="")
    return User.objects.filter(is_active=True).exclude(unusable).exists()
