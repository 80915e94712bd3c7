"""`GET /currentUser`: what the caller may do, where, and by which entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from authzsite.api.herd import bodies
from authzsite.api.herd.authorizations import ordered
from authzsite.api.herd.call import HerdCall
from authzsite.api.herd.context import Office
from catalog.queries import below
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, ON_NAMESPACE
from lakewarden.law.engine import permitted


class CurrentUser(HerdCall):
    def get(self, request: Request) -> HttpResponse:
        office = self.looking()
        names = dict(below(office.herd, "namespace").values_list("securable", "name"))
        everywhere = [(name, "", ON_NAMESPACE) for name in names.values()]
        rows = everywhere if office.administers else list(_own(office, names))
        return self.respond(
            bodies.CURRENT_USER,
            {
                "userId": office.caller.name,
                "namespaceAuthorizations": [
                    {"namespace": name, "namespacePermissions": ordered(codes)}
                    for name, _, codes in sorted(rows)
                ],
                "securityRoles": [DATA_OWNER] if _is_data_owner(office) else [],
                "securityFunctions": [],
            },
        )


def _is_data_owner(office: Office) -> bool:
    return permitted(office.slice, DATA_OWNER, office.herd.levels, now=office.now.timestamp())


def _own(office: Office, names: dict[int, str]) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """One row for each entry about the caller: their own before patterns that their name matches."""
    permissions: dict[tuple[Any, str], list[str]] = {}
    for rule in office.slice.rules:
        if rule.object in names and rule.holds_at(office.now.timestamp()):
            permissions.setdefault((rule.object, rule.via[0].name if rule.via else ""), []).append(
                rule.privilege
            )
    for (key, through), codes in permissions.items():
        yield names[key], through, tuple(codes)
