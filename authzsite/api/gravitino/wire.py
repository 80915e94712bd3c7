"""Objects as Gravitino's clients read them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from accounts.models import Principal
from authzsite.api.gravitino.call import Call
from catalog.models import Detail, Placement, Securable
from catalog.nodes import Node
from policies.decisions.lookups import visible_objects
from policies.models import Change
from policies.services import object_details

Key = TypeVar("Key", bound=Hashable)
Audit = dict[str, str]
Wire = dict[str, Any]
Later = Callable[[], Wire]
"""Told once the change is committed, as only then it has a time and a number."""


def audits(revisions: Mapping[Key, tuple[int, int | None]]) -> dict[Key, Audit]:
    """Who made each thing and who changed it last, from the revisions of both.  Two queries."""
    wanted = {number for pair in revisions.values() for number in pair if number}
    changes = {row.revision: row for row in Change.objects.filter(revision__in=wanted)}
    actors = {row.actor for row in changes.values()}
    names = dict(Principal.objects.filter(pseudonym__in=actors).values_list("pseudonym", "name"))
    return {key: _audit(pair, changes, names) for key, pair in revisions.items()}


def _audit(pair: tuple[int, int | None], changes: Mapping[int, Change], names: Mapping[str, str]) -> Audit:
    audit: Audit = {}
    words = (("creator", "createTime"), ("lastModifier", "lastModifiedTime"))
    for revision, (who, when) in zip(pair, words, strict=True):
        row = changes.get(revision) if revision else None
        if row is not None:
            audit[who] = names.get(row.actor, row.actor)
            audit[when] = row.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return audit


def audits_of(ids: Iterable[int]) -> dict[int, Audit]:
    """The audits of objects.  Three queries."""
    rows = Securable.objects.filter(pk__in=list(ids)).values_list("pk", "opened", "detail__altered")
    return audits({pk: (opened, altered) for pk, opened, altered in rows})


def audit_of(node: Node) -> Audit:
    return audits_of([node.id]).get(node.id, {})


def properties_of(detail: Detail) -> dict[str, str]:
    """What a client said, without secrets."""
    return object_details.shown(detail.content.get("properties", {}))


def described(name: str, detail: Detail, audit: Audit) -> Wire:
    """What every object tells of itself."""
    return {
        "name": name,
        "comment": detail.comment,
        "properties": properties_of(detail),
        "audit": audit,
    }


def identifier(container: Node, name: str) -> Wire:
    return {"namespace": [container.realm, *container.path], "name": name}


def listed(type: str) -> Callable[[Call], Wire]:
    """A list of the identifiers of what the viewer may see in a container."""

    def handle(call: Call) -> Wire:
        rows = visible_objects.children(call.slice, call.node, type, now=call.now)
        names = rows.values_list("name", flat=True)
        return {"identifiers": [identifier(call.node, name) for name in names]}

    return handle


def with_details(rows: Iterable[Placement], show: Callable[[str, Detail, Audit], Wire]) -> list[Wire]:
    """Objects in full, from their placements.  Four queries, however many."""
    places = list(rows)
    ids = [row.securable_id for row in places]
    details = {row.securable_id: row for row in Detail.objects.filter(securable__in=ids)}
    when = audits_of(ids)
    return [
        show(row.name, details.get(row.securable_id) or Detail(), when.get(row.securable_id, {}))
        for row in places
    ]
