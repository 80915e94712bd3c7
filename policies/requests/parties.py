"""Whose request it is: those whom a yes would serve, none of whom may say it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models import Keeping, Membership, Principal
from lakewarden.law import dialects
from policies.models import AccessRequest, Change

OWN = gettext_lazy(
    "You cannot decide a request that you made or that gives you access. Another approver must."
)
LATELY = timedelta(days=90)
"""People who left a group, or stopped answering for a program, count for so long as if they had not: else
they would leave, decide, and come back."""


def holders(asker: Principal) -> list[Principal]:
    """For whom somebody may ask: themselves, their groups, service accounts they answer for, by name."""
    groups = Membership.objects.open().within(timezone.now()).filter(member=asker).values("group")
    kept = Keeping.objects.open().filter(Q(keeper=asker) | Q(keeper__in=groups)).values("service")
    others = Principal.objects.filter(Q(pk__in=groups) | Q(pk__in=kept)).exclude(pk=asker.pk)
    return [asker, *sorted(others, key=lambda other: (other.kind, other.label.casefold()))]


def of(request: AccessRequest) -> frozenset[int]:
    """Those whom a request concerns themselves, or did lately.  Four queries at most."""
    return _concerned(request, _lately())


def served_now(request: AccessRequest) -> frozenset[int]:
    """Those whom a yes would serve as things are: they may know of it.  Four queries at most."""
    return _concerned(request, Q(closed__isnull=True))


def _lately() -> Q:
    """Facts that are open, or ended a short while ago."""
    before = Change.objects.filter(at__lt=timezone.now() - LATELY).order_by("-at", "-revision")
    return Q(closed__isnull=True) | Q(closed__gt=Coalesce(Subquery(before.values("revision")[:1]), 0))


def _concerned(request: AccessRequest, when: Q) -> frozenset[int]:
    # with a service account those who answer for it, with a group everybody in it, now or later. A service
    # account in a group counts as one that is named.
    named = {request.asker_id, request.holder_id}
    among = Membership.objects.filter(when, group__in=named).values("member")
    kept = Keeping.objects.filter(when & (Q(service__in=named) | Q(service__in=among)))
    people = named | set(kept.values_list("keeper", flat=True))
    inside = Membership.objects.filter(when, group__in=people).values_list("member", flat=True)
    mine = people | set(inside)
    if request.realm is not None and dialects.get(request.realm.law).ignores_case:
        # holders of one of their names in other letters: in such a realm they are the same person
        names = Principal.objects.filter(pk__in=list(mine)).values_list("name", flat=True)
        same = Q(pk__in=[])
        for name in names:
            same |= Q(name__iexact=name.strip())
        mine |= set(Principal.objects.filter(same).values_list("pk", flat=True))
    return frozenset(mine)


def served_by_own(person: Principal) -> list[int]:
    """Those for whom a request concerns this person too, as `holder` or as who asks.  Two queries."""
    when = _lately()
    groups = Membership.objects.filter(when, member=person).values("group")
    kept = Keeping.objects.filter(when & (Q(keeper=person) | Q(keeper__in=groups))).values("service")
    theirs = Membership.objects.filter(when, member__in=kept).values("group")
    rows = Principal.objects.filter(Q(pk=person.pk) | Q(pk__in=groups) | Q(pk__in=kept) | Q(pk__in=theirs))
    return list(rows.values_list("pk", flat=True))
