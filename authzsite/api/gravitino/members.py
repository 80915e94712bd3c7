"""Users and groups of a metalake, and the roles they hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from accounts import people
from accounts.models import Principal
from authzsite.api.gravitino import path_objects
from authzsite.api.gravitino.bodies import filled, required, shape, some
from authzsite.api.gravitino.call import Call, Handler, Route
from authzsite.api.gravitino.errors import OURS, Problem, exists, illegal, of_policy
from authzsite.api.gravitino.wire import Later, Wire, audits
from catalog.models import Placement
from catalog.nodes import Node
from policies.decisions.cache_versions import principal_key
from policies.models import Assignment, RealmMember
from policies.services import members

ADD = shape({"name": required(filled)})
KINDS = {"user": ("user", "service"), "group": ("group",)}


def roles_of(root: Node, holders: Iterable[int]) -> dict[int, list[str]]:
    """The names of the roles that each holds, by name.  One query."""
    rows = Assignment.objects.open().filter(holder__in=list(holders), role__realm=root.realm_id)
    pairs = rows.values_list("holder", "role")
    places_ = Placement.objects.open().filter(securable__in=rows.values("role"), type="role")
    names = dict(places_.values_list("securable", "name"))
    roles: dict[int, set[str]] = defaultdict(set)
    for holder, role in pairs:
        if role in names:
            roles[holder].add(names[role])
    return {holder: sorted(some_) for holder, some_ in roles.items()}


def shown(root: Node, rows: Iterable[RealmMember]) -> list[Wire]:
    """Members with their roles.  Four queries, however many."""
    admitted = {row.principal_id: row for row in rows}
    roles = roles_of(root, admitted)
    when = audits({pk: (row.opened, None) for pk, row in admitted.items()})
    return [
        {"name": row.principal.name, "roles": roles.get(pk, []), "audit": when[pk]}
        for pk, row in admitted.items()
    ]


def wire_of(root: Node, person: Principal) -> Wire:
    """One member as they are now."""
    rows = RealmMember.objects.open().filter(realm=root.realm_id, principal=person)
    return shown(root, rows.select_related("principal"))[0]


def person_of(call: Call) -> Principal:
    """The member that the path names, who is there once the call is admitted."""
    assert call.place.person is not None  # noqa: S101
    return call.place.person


def listed(kind: str) -> Handler:
    def handle(call: Call) -> Wire:
        rows = visible(call, kind).select_related("principal").order_by("principal__name")
        if call.asks("details"):
            return {f"{kind}s": shown(call.root, rows)}
        return {"names": [row.principal.name for row in rows]}

    return handle


def visible(call: Call, kind: str) -> Any:
    """The members of a kind that the caller may see: all of them, or themselves and their own groups."""
    rows = RealmMember.objects.open().filter(realm=call.root.realm_id, principal__kind__in=KINDS[kind])
    operation = {"user": "User.getUser", "group": "Group.getGroup"}[kind]
    if call.may(operation, call.root):
        return rows
    own = [pk for pk in _selves(call) if pk]
    return rows.filter(principal__in=own)


def _selves(call: Call) -> Iterable[int]:
    prefix = principal_key(0)[:-1]
    for key in call.slice.selves:
        if isinstance(key, str) and key.startswith(prefix):
            yield int(key.removeprefix(prefix))


def loaded(kind: str) -> Handler:
    return lambda call: {kind: wire_of(call.root, person_of(call))}


def added(kind: str) -> Handler:
    def handle(call: Call) -> Later:
        person = _add(call, kind, call.body["name"])
        return lambda: {kind: wire_of(call.root, person)}

    return handle


def _add(call: Call, kind: str, name: str) -> Principal:
    place = path_objects.of_person(call.root, kind, name)
    if place.person is not None:
        raise exists(kind, f"{kind.capitalize()} {name} already exists in the metalake {call.root.name}")
    try:
        person = people.ensure(kind, name)
    except people.BadName as problem:
        raise illegal(str(problem)) from None
    members.add(call.root, person, **call.by)
    return person


def removed(kind: str) -> Handler:
    def handle(call: Call) -> Wire:
        if call.absent:
            return {"removed": False}
        return {"removed": members.remove(call.root, person_of(call), **call.by)}

    return handle


# many at once


def bulk_added(kind: str) -> Handler:
    """Each one that can be added is; the others are named with why."""

    def handle(call: Call) -> Later:
        made, errors = [], []
        for at, entry in enumerate(call.body[f"{kind}s"]):
            try:
                made.append(_add(call, kind, entry["name"]))
            except (Problem, *OURS) as error:
                errors.append(_failed(at, entry["name"], kind, error))
        rows = RealmMember.objects.open().filter(realm=call.root.realm_id, principal__in=made)
        rows = rows.select_related("principal").order_by("pk")
        return lambda: {f"{kind}s": shown(call.root, rows), "errors": errors}

    return handle


def bulk_removed(kind: str) -> Handler:
    def handle(call: Call) -> Wire:
        deleted, errors = [], []
        for at, name in enumerate(call.body["names"]):
            person = path_objects.of_person(call.root, kind, name).person
            try:
                if person is not None and members.remove(call.root, person, **call.by):
                    deleted.append(name)
            except OURS as error:
                errors.append(_failed(at, name, kind, error))
        return {"names": deleted, "errors": errors}

    return handle


def _failed(at: int, name: str, kind: str, error: Exception) -> Mapping[str, Any]:
    body = getattr(error, "body", None) or of_policy(error, kind, "IllegalArgumentException").body
    return {"index": at, "name": name, **body}


def routes(kind: str) -> Iterable[Route]:
    noun = kind.capitalize()
    every, single = f"metalakes/{{metalake}}/{kind}s", f"metalakes/{{metalake}}/{kind}s/{{{kind}}}"
    bulk = f"bulk/metalakes/{{metalake}}/{kind}s"
    many = shape({f"{kind}s": required(some(ADD))})
    names = shape({"names": required(some(filled))})
    yield Route("GET", every, f"{noun}.list{noun}s", listed(kind))
    yield Route("POST", every, f"{noun}.add{noun}", added(kind), ADD)
    yield Route("GET", single, f"{noun}.get{noun}", loaded(kind))
    yield Route("DELETE", single, f"{noun}.remove{noun}", removed(kind), absent_ok=True)
    yield Route("POST", f"{bulk}/add", f"{noun}.add{noun}", bulk_added(kind), many)
    yield Route("POST", f"{bulk}/remove", f"{noun}.remove{noun}", bulk_removed(kind), names)


ROUTES = (*routes("user"), *routes("group"))
