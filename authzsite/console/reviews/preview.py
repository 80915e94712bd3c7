"""What a choice about one row does, told as everywhere in the console; on tables in a schema, too.

Worked out for one row when it is looked at.  The list tells of its rows by `policies.reviews.consequences`,
which is one reading for a whole page and asks of the objects alone that a row names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from authzsite.console.access.effects import Shown
from authzsite.console.kit.display.parts import DiffLine
from catalog.nodes import Node, nodes
from policies.models import ReviewRow
from policies.previews.grants import Preview, of_removal
from policies.previews.groups import of_membership
from policies.previews.roles import RoleChange, of_role_change
from policies.services.roles import Privilege

Kind, Choice = ReviewRow.Kind, ReviewRow.Choice
Parts = Sequence[tuple[Node, Preview]]
ORDER = ("lose", "gain", "same", "lack", "stop")
SAID = 2


def lines(row: ReviewRow, takes: Sequence[str] = ()) -> list[DiffLine]:
    """Losses first, then who keeps it by another path; nothing where that cannot be worked out so."""
    shown = (Shown(preview, node, removal=True).diff().lines for node, preview in _parts(row, takes))
    every = {line: None for some in shown for line in some}
    return sorted(every, key=lambda line: ORDER.index(line.kind))


def text(row: ReviewRow, takes: Sequence[str] = ()) -> str:
    """The same in a sentence or two."""
    lines_ = lines(row, takes)
    sentences = " ".join(f"{line.subject} {line.text}. {line.note}".strip() for line in lines_[:SAID])
    more = len(lines_) - SAID
    return _("%(said)s And %(more)s more.") % {"said": sentences, "more": more} if more > 0 else sentences


def _parts(row: ReviewRow, takes: Sequence[str]) -> Parts:
    codes = list(takes or row.privileges)
    if row.kind == Kind.MEMBER and row.group and row.holder:
        return _in_scope(row, of_membership(row.group, [row.holder], joins=False).parts)
    by_id = nodes(key for key in (row.role_id, row.securable_id) if key)
    node, role = by_id.get(row.securable_id or 0), by_id.get(row.role_id or 0)
    if row.kind == Kind.GRANT and row.effect == "allow" and node and row.holder:
        return [(node, of_removal(node, [row.holder], codes))]
    if row.kind == Kind.ROLE and role and row.holder:
        return _in_scope(row, of_role_change(role, RoleChange(leaves=(row.holder,))).parts)
    if row.kind == Kind.RULE and role and node:
        removals = tuple((node, Privilege(code, row.effect)) for code in codes)
        return of_role_change(role, RoleChange(removes=removals)).parts
    return []


def _in_scope(row: ReviewRow, parts: Iterable[tuple[Node, Preview]]) -> Parts:
    """Of what a role or group gives elsewhere this review tells nothing."""
    gift_objects = {gift[0] for gift in row.gives}
    return [(node, preview) for node, preview in parts if node.id in gift_objects]
