"""`GET /authz/v1/access`: everybody who can do something to an object, or all that somebody can reach."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import evidence, named
from authzsite.api.v1.describing import PAGED, described
from authzsite.api.v1.named import Asked
from authzsite.api.v1.query_serializers import AccessPage
from authzsite.api.v1.ranges import GONE, PART, Ranged
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from catalog.queries import realm_named, root
from lakewarden.law import dialects
from policies.data_views.visibility import governed
from policies.decisions import ask, duties
from policies.decisions.lookups import access as lookups_access
from policies.decisions.lookups.access import AccessMap
from policies.decisions.lookups.access_report import Reached, reachable, slice_at
from policies.record import access_log

MAY_NOT = "you may not see others' access here; you need the right to grant, view_history or review_access"
SALT = "access"
DUTIES = ("view_history", "review_access")


class Access(Ranged):
    view = "access"

    @described(
        "Everyone with access to an object, or everything a principal can access",
        "check",
        AccessPage,
        query=("resource", "type", "principal", "realm", "as_of", *PART, *PAGED),
        others=GONE,
    )
    def get(self, request: Request) -> HttpResponse:
        if part := self.part(request._request):
            return part
        viewer, now = self.require_scope("check").principal, timezone.now()
        query = request._request.GET.dict()
        if ("resource" in query) == ("principal" in query):
            raise BadBody("either resource or principal must be given")
        if "resource" in query:
            node = named.the_object(query)
            if node is None or not _may_look(viewer, node, now):
                raise Forbidden(MAY_NOT)
            access_log.looked(viewer, "access", node, via="api")
            people = AccessMap(node, now=now, as_of=named.whole(query, "as_of"))
            after, limit = _after(query), named.limit(query)
            rows = (people.access_of(person) for pk, person in sorted(people.people.items()) if pk > after)
            able = [row for row in rows if row.can]
            more = [able[limit - 1].principal.pk] if len(able) > limit else None
            of_object = named.listed([_holder(row, node) for row in able[:limit]], more, SALT)
            return respond(of_object)
        return respond(_of_somebody(viewer, query, now))


def _may_look(viewer: Principal, node: Node, now: datetime) -> bool:
    if ask.ask(viewer, "grant", node, now=now):
        return True
    return any(duties.has(viewer, duty, node, now=now) for duty in DUTIES)


def _holder(row: lookups_access.Access, node: Node) -> dict[str, Any]:
    names = evidence.names_of(node)
    order = dialects.get(node.kind).actions_for(node.type)
    paths = [{**evidence.rule(path.rule, names), "direct": path.direct} for path in row.paths]
    return {
        "principal": str(row.principal),
        "actions": [name for name in order if name in row.can],
        "owner": row.owns,
        "paths": paths,
    }


def _of_somebody(viewer: Principal, query: Asked, now: datetime) -> dict[str, Any]:
    realm = realm_named(named.needed(query, "realm"))
    person = named.somebody(query["principal"])
    top = root(realm) if realm else None
    within = None if person == viewer else _governed(viewer, top)
    if top is None or person is None or not _knows(viewer, person, top):
        return named.listed([], None, SALT)
    if within is not None:
        access_log.looked(viewer, f"access of {person.pseudonym}", top, via="api")
    slice_ = slice_at(person, top, now=now, as_of=named.whole(query, "as_of"))
    page = reachable(slice_, top, after=_after(query), limit=named.limit(query), now=now, within=within)
    return named.listed(
        [_reached(item) for item in page.found], None if page.next is None else [page.next], SALT
    )


def _knows(viewer: Principal, person: Principal, top: Node) -> bool:
    """Whether the viewer may know that there is such a person; of others nothing is asked, nor recorded."""
    return VisiblePrincipals(viewer).ever_in(top).filter(pk=person.pk).exists()


def _governed(viewer: Principal, top: Node | None) -> Collection[int]:
    """Where the viewer may grant or review.  Raises Forbidden when that is nowhere."""
    governed_nodes = governed(viewer, top) if top is not None else None
    if not governed_nodes:
        raise Forbidden(MAY_NOT)
    return governed_nodes


def _reached(reached: Reached) -> dict[str, Any]:
    names = evidence.names_of(reached.node)
    resource = {"type": reached.node.type, "id": reached.node.ref.id}
    return {"resource": resource, "actions": list(reached.can), "paths": evidence.rules(reached.rules, names)}


def _after(query: Asked) -> int:
    cursor = named.cursor(query, SALT)
    return cursor[0] if cursor and isinstance(cursor[0], int) else 0
