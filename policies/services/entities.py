"""What exists in a CDAP realm: making, changing, reading and deleting entities as its generation orders it.

An operator at the site's shell may do it all; for everybody else the law decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from catalog.models import Detail, Placement
from catalog.nodes import Node, nodes
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import PROGRAM, PROGRAM_TYPES, Authorizable, matches, of
from lakewarden.law.facts import Lineage
from lakewarden.law.objects import ObjectRef
from lakewarden.law.patterns import parts_of
from policies.authority import SYSTEM, Actor, Authority, of_operator, of_system, require
from policies.decisions import ask
from policies.decisions.ask import entity_node
from policies.errors import AlreadyExists, Invalid, NotFound, Refused
from policies.events import OBJECT_ALTERED, OBJECT_DROPPED, OBJECT_REGISTERED
from policies.models import Grant
from policies.record.change import ChangeInProgress, change
from policies.services import object_details, objects, patterns, realm_of
from policies.services.object_names import check_described
from policies.services.objects import NewObject

PRINCIPAL = "principal"
"""The key of a principal's name, for an entity that has an owner or whose programs run as somebody."""
WITH_OWNER = {
    "namespace": "principal.create_namespace_with_owner",
    "dataset": "principal.create_dataset_with_owner",
    "stream": "principal.create_stream_with_owner",
    "application": "principal.deploy_app_impersonating",
}
RUN_AS = ("namespace", "application", PROGRAM)
"""Whom these name is whom their programs run as."""
MADE_WITH = {
    "application": ("deployed from an artifact", "using existing artifacts"),
    "dataset": ("custom dataset",),
}
"""The conditions under which making an entity also takes rights on what it is made with."""


def create(
    root: Node,
    entity: Authorizable,
    *,
    by: Actor,
    principal: str = "",
    made_with: Authorizable | None = None,
    comment: str = "",
    content: Mapping[str, Any] | None = None,
) -> Node:
    """Register an entity; up to generation 3.5 its maker gets ALL on it.

    `made_with` is the artifact of an application, or the type of a dataset that is no built-in one.
    Raises Refused, NotFound for what it would stand in, AlreadyExists, Invalid.
    """
    _check(root, entity)
    with change(OBJECT_REGISTERED, realm=realm_of(root), by=by) as current:
        authority = _may_create(root, entity, principal, made_with, by)
        if found(root, entity):
            raise AlreadyExists(gettext("'%(entity)s' already exists.") % {"entity": entity})
        parent = root if entity.parent is None else _there(root, entity.parent)
        if patterns.must_exist(root):
            _revoke_all(current, root, entity, authority)
            if by.decides_as is not None:
                given = of_system("what a maker gets")
                patterns.give(current, root, entity, by.decides_as, ("ALL",), by=by, authority=given)
        details = {**(content or {}), **({PRINCIPAL: principal} if principal else {})}
        new = NewObject(entity.type, entity_node(root, entity).name, comment=comment, content=details)
        [node] = objects.register(parent, [new], by=by, authority=authority)
    return node


def update(
    root: Node,
    entity: Authorizable,
    *,
    by: Actor,
    principal: str = "",
    made_with: Authorizable | None = None,
    comment: str | None = None,
    content: Mapping[str, Any] | None = None,
) -> Node:
    """Change what is said of an entity; `made_with` is the artifact that an application is deployed from.

    Raises Refused, then NotFound.
    """
    _check(root, entity)
    with change(OBJECT_ALTERED, realm=realm_of(root), by=by):
        authority = _may_alter(root, entity, made_with, by)
        _may_name_owner(root, entity, principal or _impersonated(root, entity), by)
        node = _there(root, entity)
        row = Detail.objects.filter(securable=node.id).first()
        before = row.content if row else {}
        details = {**before, **(content or {}), **({PRINCIPAL: principal} if principal else {})}
        check_described(comment or "", details)
        commented = {} if comment is None else {"comment": comment}
        object_details.describe(
            node, by=by, authority=authority, what="properties", content=details, **commented
        )
    return node


def get(root: Node, entity: Authorizable, *, by: Actor) -> Node:
    """Read an entity.  Raises Refused and NotFound, in the order of the generation."""
    _check(root, entity)
    if _inherits(root):
        _there(root, entity)
    _may(root, entity, operation_named(root, entity, ("get",)), by)
    return _there(root, entity)


def delete(root: Node, entity: Authorizable, *, by: Actor, reason: str = "") -> int:
    """Delete an entity with what is in it; answers how many went.  Raises Refused, then NotFound.

    Up to generation 3.5 all privileges on them go, too.
    """
    _check(root, entity)
    with change(OBJECT_DROPPED, realm=realm_of(root), by=by, reason=reason) as current:
        authority = _may(root, entity, "drop", by)
        node = _there(root, entity)
        count = objects.drop(node, by=by, authority=authority)
        if patterns.must_exist(root):
            _revoke_all(current, root, entity, authority)
    return count


@dataclass(frozen=True)
class Cleared:
    """What went, and what was left with the reason why."""

    gone: tuple[Authorizable, ...]
    left: tuple[tuple[Authorizable, str], ...]


def delete_all(root: Node, pattern: Authorizable, *, by: Actor) -> Cleared:
    """Delete every entity that is like the pattern.

    Up to generation 3.5 what one may delete goes and the rest is left; from 4.3 on all of it goes, or none.
    """
    listed = registered(root, pattern)
    left = [(entity, why) for entity in listed if (why := _refusal(root, entity, by))]
    if left and not patterns.must_exist(root):
        return Cleared((), tuple(left))
    kept = {entity for entity, _ in left}
    deleted = [entity for entity in listed if entity not in kept]
    with change(OBJECT_DROPPED, realm=realm_of(root), by=by):
        for entity in deleted:
            delete(root, entity, by=by)
    return Cleared(tuple(deleted), tuple(left))


def require_may(root: Node, entity: Authorizable, action: str, *, by: Actor) -> Node:
    """The entity, when an action is allowed on it.  Raises Refused, then NotFound."""
    _check(root, entity)
    _may(root, entity, action, by)
    return _there(root, entity)


def registered(root: Node, pattern: Authorizable) -> dict[Authorizable, Node]:
    """The entities there are that are like a pattern, by name.  Three queries."""
    rows = Placement.objects.open().filter(ancestors__contains=[root.id], type=pattern.type)
    every = nodes(rows.values_list("securable", flat=True)).values()
    like = {entity_of(node): node for node in every if matches(pattern, entity_of(node))}
    return {entity: like[entity] for entity in sorted(like, key=str)}


def entity_of(node: Node) -> Authorizable:
    """The text's entity that an object of a CDAP realm is."""
    return of(node.type, *(node.path or (node.name,)))


# the order of checks


def _may_create(
    root: Node, entity: Authorizable, principal: str, made_with: Authorizable | None, by: Actor
) -> Authority:
    if by.decides_as is None:
        return _unasked(by)
    if _inherits(root) and found(root, entity):
        if not _has_access(root, entity, by):
            raise Refused(
                gettext("Principal '%(who)s' is not authorized to access '%(entity)s'.")
                % {"who": by.decides_as.name, "entity": entity}
            )
        raise AlreadyExists(gettext("'%(entity)s' already exists.") % {"entity": entity})
    _may_name_owner(root, entity, principal or _impersonated(root, entity), by)
    return _may_make(root, entity, made_with, by)


def _may_make(root: Node, entity: Authorizable, made_with: Authorizable | None, by: Actor) -> Authority:
    """To make an entity takes more where it is made of an artifact or of a type, and the law says so."""
    law, action = patterns.law_of(root), f"create_{entity.type}"
    conditions = law.conditional.get(law.action(entity.type, action) or "", {}) if made_with else {}
    picked = [conditions[when, ""] for when in MADE_WITH.get(entity.type, ()) if (when, "") in conditions]
    if made_with is None or not picked:
        return _may(root, entity, action, by)
    also = law.lineage(root.levels[0], made_with.type, made_with.parts)
    return _may(root, entity, picked[0].operation, by, also=also)


def _may_alter(root: Node, entity: Authorizable, made_with: Authorizable | None, by: Actor) -> Authority:
    """To deploy an application over itself takes what deploying it takes, where the law has no other word.

    A CDAP 4.3 reads the artifact again in the name of who updates an application of it.
    """
    has_word = operation_named(root, entity, ("update",)) != "update"
    if has_word or made_with is None or entity.type != "application":
        return _may(root, entity, "alter", by)
    return _may_make(root, entity, made_with, by)


def _impersonated(root: Node, entity: Authorizable) -> str:
    """From 4.3 on whom an application or program runs as where it names nobody; empty where nobody is named.

    Whoever deploys one decides what is done in that name, so CDAP asks them as if they had named it.
    """
    if patterns.must_exist(root) or entity.type not in ("application", PROGRAM):
        return ""
    places = list[int]()
    place: Authorizable | None = entity
    while place is not None:
        if node := found(root, place):
            places.append(node.id)
        place = place.parent
    rows = {row.pk: row for row in Detail.objects.filter(securable__in=places)}
    object_details.check_written_here(rows.values())
    named = (str(rows[key].content.get(PRINCIPAL, "")) for key in places if key in rows)
    return next(filter(None, named), "")


def _unasked(by: Actor) -> Authority:
    return of_system("bootstrap") if by == SYSTEM else of_operator(by)


def _may_name_owner(root: Node, entity: Authorizable, principal: str, by: Actor) -> None:
    """From 4.3 on it takes ADMIN on the principal that is to own an entity or to be impersonated.

    Before, no right speaks of principals.  A run is decided as who is named, though, so that takes ADMIN on
    the instance there, as making a namespace does anyway.
    """
    if not principal or by.decides_as is None:
        return
    if not patterns.must_exist(root):
        _may(root, of("kerberosprincipal", principal), WITH_OWNER.get(entity.type, "ADMIN"), by)
    elif entity.type in RUN_AS:
        _may(root, of("instance", root.name), "ADMIN", by)


def _has_access(root: Node, entity: Authorizable, by: Actor) -> bool:
    codes = patterns.law_of(root).privileges
    node = entity_node(root, entity)
    return any(ask.ask(by.decides_as, code, node) for code in codes) if by.decides_as else True


def _may(root: Node, entity: Authorizable, action: str, by: Actor, also: Lineage = ()) -> Authority:
    if by.decides_as is None:
        return _unasked(by)
    answer = ask.ask_entity(by.decides_as, action, root, entity, also=also)
    return require(answer.decision, by, otherwise="" if answer else _why_not(answer, by.decides_as.name))


def _why_not(answer: ask.Answer, who: str) -> str:
    lacks = answer.explained().missing
    names = ", ".join(f"'{lack.privilege}' on '{lack.name}'" for lack in lacks if lack.privilege)
    text = f"Principal '{who}' is not authorized to perform {answer.operation}"
    return f"{text}; missing is {names}." if names else f"{text}."


def _refusal(root: Node, entity: Authorizable, by: Actor) -> str:
    try:
        _may(root, entity, "drop", by)
    except Refused as refusal:
        return str(refusal)
    return ""


def _inherits(root: Node) -> bool:
    return patterns.law_of(root).inherits


def operation_named(root: Node, entity: Authorizable, words: Sequence[str]) -> str:
    """The first of the words that the generation has an operation of; the first, which is no, if none."""
    law = patterns.law_of(root)
    names = (f"{entity.type}.{word}" for word in words)
    return next((name for name in names if law.action(entity.type, name)), words[0])


def _check(root: Node, entity: Authorizable) -> None:
    patterns.named(root, str(entity))
    if entity.is_pattern or len(entity.whole) != len(entity.parts):
        raise Invalid(gettext("'%(entity)s' names no single entity.") % {"entity": entity})
    if entity.type == "instance":
        raise Invalid(gettext("The instance is what the realm itself is."))
    if entity.type == PROGRAM and entity.parts[2] not in PROGRAM_TYPES:
        raise Invalid(
            gettext("'%(parts)s' is no type of program; known are %(program_types)s.")
            % {"parts": entity.parts[2], "program_types": ", ".join(PROGRAM_TYPES)}
        )


def found(root: Node, entity: Authorizable) -> Node | None:
    """The entity, if it is there."""
    return find(ObjectRef(entity.type, root.name, entity.parts))


def _there(root: Node, entity: Authorizable) -> Node:
    node = found(root, entity)
    if node is None:
        raise NotFound(gettext("'%(entity)s' was not found.") % {"entity": entity})
    return node


# privileges that come and go with an entity


def _revoke_all(current: ChangeInProgress, root: Node, entity: Authorizable, authority: Authority) -> None:
    """End every grant on the entity and on what is, or was, in it."""
    inside = Q(pattern=str(entity)) | Q(pattern__contains=f":{'.'.join(entity.parts)}.")
    rows = Grant.objects.open().filter(inside, realm=root.realm_id).select_related("holder", "role")
    patterns.end(current, root, [row for row in rows if is_in(row.pattern, entity)], by=authority)


def is_in(text: str, entity: Authorizable) -> bool:
    """Whether a text names the entity or something in it."""
    type_, parts = parts_of(text)
    if type_ == entity.type:
        return parts == entity.whole
    deeper = entity.type == "namespace" or (entity.type == "application" and type_ == PROGRAM)
    return deeper and parts[: len(entity.parts)] == entity.parts and len(parts) > len(entity.parts)
