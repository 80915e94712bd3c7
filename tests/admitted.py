"""Service accounts that realms admit: only there may they ask about others."""

from __future__ import annotations

from accounts import people
from accounts.models import Principal
from catalog.models import Placement
from catalog.queries import root
from policies.authority import OPERATOR, of_operator
from policies.services import members


def admitted_service(name: str) -> Principal:
    """A service account, admitted to every realm that there is."""
    service = people.ensure("service", name)
    for place in Placement.objects.open().filter(parent__isnull=True).select_related("securable__realm"):
        members.add(root(place.securable.realm), service, by=OPERATOR, authority=of_operator(OPERATOR))
    return service
