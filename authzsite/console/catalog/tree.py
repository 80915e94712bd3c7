"""The catalog's tree: the way down to where one is, and fifty children at a time below what is unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Collate, Upper
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Leaf, Nodes
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from catalog.models import Placement
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.decisions.lookups.visible_objects import children_of

SHOWN = 50
ASIDE = ("role", "tag", "policy", "job_template", "job", "user", "group", "column")


def shown_types(node: Node) -> list[str]:
    """What can lie below an object and is browsed; roles, tags and the like have no page of their own."""
    return [type_ for type_ in dialects.get(node.kind).child_types(node.type) if type_ not in ASIDE]


def inside(place: ObjectAccess, type_: str = "") -> QuerySet[Any]:
    """What the viewer may see directly below an object, by name across kinds."""
    types = [type_] if type_ in shown_types(place.node) else shown_types(place.node)
    return children_of(place.slice, place.node, types, now=place.now)


def after(text: str) -> Q:
    """What comes after the place in a list that an address stands for: the last row's number and name."""
    key, colon, name = text.partition(":")
    number = number_in(key)
    if not colon or number is None or "\0" in name:
        return Q()
    last = Collate(Upper(Value(name)), "C")
    return Q(folded__gt=last) | Q(folded=last, pk__gt=number)


def mark_of(row: Placement) -> str:
    """The place of a row in its list, for the address of what follows."""
    return f"{row.pk}:{row.name}"


def tree(place: ObjectAccess, count: int | None = None) -> Nodes:
    """The way down to where one is, open; each level with its first children.

    One list of children for each level, so as many queries as the lineage has levels.  `count`: how many
    lie in the last, where that is known.
    """
    chain = [*place.node.above(), place.node]
    return Nodes((_branch(place, chain, 0, 1, 1, count),))


def _branch(
    place: ObjectAccess, chain: Sequence[Node], depth: int, at: int, of: int, known_count: int | None
) -> Leaf:
    node = chain[depth]
    below = chain[depth + 1] if depth + 1 < len(chain) else None
    rows = inside(ObjectAccess(place.asker, node, place.slice, place.now))
    rows_ = list(rows[:SHOWN])
    count = rows.count() if below or known_count is None else known_count
    if below and below.id not in {row.securable_id for row in rows_}:
        rows_ = [*rows_, Placement.objects.open().get(securable=below.id)]
    leaves = tuple(
        _branch(place, chain, depth + 1, place_, count, known_count)
        if below and row.securable_id == below.id
        else leaf(row.securable_id, row.name, row.type, depth + 2, place_, count)
        for place_, row in enumerate(rows_, 1)
    )
    last = rows_[SHOWN - 1] if count > SHOWN else None
    return Leaf(
        id=f"n{node.id}",
        name=node.name,
        icon=terms.icon_of(node.type),
        url=terms.page_of(node.id, node.type),
        level=depth + 1,
        place=at,
        of=of,
        count=words.number(count),
        opens=reverse("console:nodes", args=[node.id]),
        open=True,
        here=node.id == place.node.id,
        children=leaves,
        more=_more(node.id, last, depth + 2, SHOWN) if last else "",
        more_words=_("%(number)s more") % {"number": words.number(count - SHOWN)} if last else "",
    )


def leaf(id_: int, name: str, type_: str, level: int, at: int, of: int) -> Leaf:
    """One object in the tree, folded."""
    opens = f"{reverse('console:nodes', args=[id_])}?level={level + 1}" if type_ in terms.CONTAINERS else ""
    return Leaf(f"n{id_}", name, terms.icon_of(type_), terms.page_of(id_, type_), level, at, of, opens=opens)


def _more(id_: int, last: Placement, level: int, at: int) -> str:
    query = {"level": level, "after": mark_of(last), "at": at}
    return f"{reverse('console:nodes', args=[id_])}?{urlencode(query)}"


@reads
@login_required
def nodes(request: Request, id: int) -> HttpResponse:
    """Fifty children of the tree, for a script that unfolds it."""
    place = get_object_or_404(request, id)
    level, at = number_in(request.GET.get("level", "")) or 2, number_in(request.GET.get("at", "")) or 0
    rows = inside(place)
    count = rows.count()
    rows_ = list(rows.filter(after(request.GET.get("after", "")))[: SHOWN + 1])
    leaves = tuple(
        leaf(row.securable_id, row.name, row.type, level, at + n, count)
        for n, row in enumerate(rows_[:SHOWN], 1)
    )
    last = rows_[SHOWN - 1] if len(rows_) > SHOWN else None
    more = _more(id, last, level, at + SHOWN) if last else ""
    shown = Nodes(
        leaves,
        level,
        more,
        _("%(number)s more") % {"number": words.number(count - at - SHOWN)} if last else "",
    )
    return render(request, "parts/nodes.html", {"it": shown, "url": terms.page_of(id, place.node.type)})
