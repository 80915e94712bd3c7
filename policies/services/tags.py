"""Putting tags and policies on objects and columns, and taking them off."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.utils.translation import gettext

from catalog.models import Mark
from catalog.nodes import Node
from policies.authority import Actor, Authority
from policies.errors import AlreadyExists
from policies.events import MARK_PUT, MARK_TAKEN
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of


def put(node: Node, marks: Sequence[Node], *, column: str = "", by: Actor, authority: Authority) -> None:
    """Put tags or policies on an object or one of its columns.  Raises AlreadyExists when one is there."""
    with change(MARK_PUT, realm=realm_of(node), by=by) as current:
        earlier = _on(node, column, marks)
        for mark in marks:
            if mark.id in earlier:
                raise AlreadyExists(
                    gettext("%(tag)s is already on %(object)s.")
                    % {"tag": mark.name, "object": node.ref.full_name}
                )
            row = Mark(mark_id=mark.id, securable_id=node.id, column=column, made=current.revision)
            row.save(force_insert=True)
            current.say(make_event(MARK_PUT, node, type=mark.type, mark=mark.name), by=authority)


def take(node: Node, marks: Sequence[Node], *, column: str = "", by: Actor, authority: Authority) -> int:
    """Take tags or policies off; answers how many were there."""
    with change(MARK_TAKEN, realm=realm_of(node), by=by) as current:
        earlier = _on(node, column, marks)
        for mark in marks:
            if mark.id in earlier:
                current.say(make_event(MARK_TAKEN, node, type=mark.type, mark=mark.name), by=authority)
        Mark.objects.filter(securable=node.id, column=column, mark__in=earlier).delete()
    return len(earlier)


def _on(node: Node, column: str, marks: Sequence[Node]) -> Collection[int]:
    wanted = [mark.id for mark in marks]
    rows = Mark.objects.filter(securable=node.id, column=column, mark__in=wanted)
    return set(rows.values_list("mark", flat=True))
