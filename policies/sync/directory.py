"""Who has to do with a realm, as backends are told."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from accounts.models import Membership, Principal
from catalog.models import Realm
from lakewarden.backends.console import PEOPLE
from policies.models import Assignment, Grant, RealmMember


class RealmDirectory:
    """`lakewarden.backends.console.Directory` of one realm; of none, nobody is in it."""

    def __init__(self, realm: int | None, now: datetime | None = None) -> None:
        self._realm, self._now = realm, now

    def admitted(self, *kinds: str) -> list[Principal]:
        """Whom the realm admits now, of these kinds, in the order of their numbers."""
        if self._realm is None:
            return []
        rows = RealmMember.objects.open().within(self._now or timezone.now())
        rows = rows.filter(realm=self._realm, principal__kind__in=kinds)
        return [row.principal for row in rows.select_related("principal").order_by("principal")]

    def holders(self) -> list[Principal]:
        """People, services and patterns that something was given to, by themselves or by a group."""
        if self._realm is None:
            return []
        given = Grant.objects.open().filter(
            Q(securable__realm=self._realm) | Q(realm=self._realm), holder__isnull=False
        )
        assigned = Assignment.objects.open().filter(role__realm=self._realm)
        admitted = RealmMember.objects.open().filter(realm=self._realm)
        direct = {
            *given.values_list("holder", flat=True),
            *assigned.values_list("holder", flat=True),
            *admitted.values_list("principal", flat=True),
        }
        members = Membership.objects.open().filter(group__in=direct).values_list("member", flat=True)
        kinds = (*PEOPLE, Principal.Kind.PATTERN)
        return list(Principal.objects.filter(pk__in=direct | set(members), kind__in=kinds).order_by("pk"))

    def settings(self) -> dict[str, Any]:
        """The realm's own settings."""
        row = Realm.objects.filter(pk=self._realm).first() if self._realm else None
        return row.settings if row else {}
