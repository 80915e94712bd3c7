"""All the requests that somebody may see: his own, those he may decide or decided, those he may read of."""

from __future__ import annotations

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import Membership, Principal
from policies import slices
from policies.deciders import APPROVE
from policies.models import AccessRequest, RequestPart
from policies.queries import realms_of
from policies.requests import mandates, places, seeing
from policies.services import duties

SIGNS = ("o", "m", "n", "r", "g")
"""What keys of places begin with where somebody decides by a fact on the object of their number."""
_USED = """
SELECT key FROM unnest(%s::text[]) AS key
 WHERE EXISTS (SELECT FROM policies_requestpart p WHERE p.places @> ARRAY[key])
"""


def visible_to(viewer: Principal) -> QuerySet[AccessRequest]:
    """A number of queries that depends on the realms he belongs to alone.

    Never one that its own page would hide; of those of whose objects he may read the history only where he
    may of all that it asks for.
    """
    groups = Membership.objects.open().within(timezone.now()).filter(member=viewer).values("group")
    parts = RequestPart.objects.filter(request=OuterRef("pk"))
    mine = Q(asker=viewer) | Q(holder=viewer) | Q(holder__in=groups)
    mine |= Q(Exists(parts.filter(Q(decided_by=viewer) | Q(decided_for=viewer))))
    if keys := decided_keys(viewer):
        mine |= Q(Exists(parts.filter(places__overlap=keys)))
    if read := [f"d{number}" for number in duties.held(viewer, seeing.HISTORY)]:
        covered = parts.filter(places__overlap=read)
        mine |= Q(Exists(covered)) & ~Q(Exists(parts.exclude(places__overlap=read)))
    return AccessRequest.objects.filter(mine)


def decided_keys(viewer: Principal) -> list[str]:
    """The places of requests, open or ended, on which somebody decides, himself or for who is away."""
    now = timezone.now()
    people = [viewer, *mandates.present(viewer, now)]
    return sorted({key for one in people for key in places.decided_by(one, now=now, among=_used(one))})


def _used(person: Principal) -> list[str]:
    """The keys of places of requests on which somebody has a fact or the duty."""
    numbers = {
        key for top in realms_of(person) for key in slices.current(person, top).bits if isinstance(key, int)
    }
    own = [f"{sign}{number}" for number in sorted(numbers) for sign in SIGNS]
    own += [f"d{number}" for number in duties.held(person, APPROVE)]
    with connection.cursor() as cursor:
        cursor.execute(_USED, [own])
        return [key for (key,) in cursor.fetchall()]
