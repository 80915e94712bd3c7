"""Catalog: the tree beside a list, both holding what one may see and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from authzsite.console import naming, sheet, words
from authzsite.console.door import signed_in
from authzsite.console.head import banner
from authzsite.console.lists import Leaf, Nodes, Pager, Toggle
from authzsite.console.methods import reads
from authzsite.console.outside import behind
from authzsite.console.parts import Action, Crumbs, Empty, Face, Fact, Facts, Who
from authzsite.console.place import Place, visit
from authzsite.console.requests import Request, asker_of
from authzsite.console.shell import page
from catalog.models import Detail, Placement
from catalog.nodes import Node
from catalog.queries import mode_of
from lakewarden import dialects
from lakewarden.facts import Level
from policies import decisions
from policies.models import Ownership
from policies.queries import children, owner_of, realms_of
from policies.services.grants import revision_now

SHOWN = 50
ASIDE = ("role", "tag", "policy", "job_template", "job", "user", "group", "column")


@dataclass(frozen=True)
class Row:
    what: Who
    owner: str
    you: str
    comment: str


def shown_types(node: Node) -> list[str]:
    """What can lie below an object and is browsed; roles, tags and the like have no page of their own."""
    return [one for one in dialects.get(node.kind).child_types(node.type) if one not in ASIDE]


def inside(place: Place, type_: str = "") -> QuerySet[Placement]:
    """What one may see directly below an object, by name across kinds."""
    types = [type_] if type_ in shown_types(place.node) else shown_types(place.node)
    found = Q(pk__in=[])
    for one in types:
        rows = children(place.slice, place.node, one, now=place.now)
        found |= Q(pk__in=rows.order_by().values("pk"))
    return Placement.objects.filter(found).order_by("name", "pk")


# The list


@reads
@signed_in
def top(request: Request) -> HttpResponse:
    """The realm one is in, or the choice among several."""
    realms = realms_of(asker_of(request))
    if len(realms) == 1:
        return redirect(naming.page_of(realms[0].id, realms[0].type))
    context = {
        "heading": "Catalog",
        "lead": "The realms you are a member of.",
        "tree": _forest(request, realms),
        "rows": [
            Row(
                Who(
                    one.name,
                    Face("thing", "lake"),
                    naming.kind_of(one.type),
                    naming.page_of(one.id, one.type),
                ),
                "",
                "Member",
                "",
            )
            for one in realms
        ],
        "count_words": words.count(len(realms), "realm"),
        "pager": None,
        "empty": Empty(
            "No realm has admitted you yet",
            "Whoever runs this Lakewarden, or the owner of a realm, can add you.",
        ),
    }
    return page(request, "console/catalog.html", context, room="catalog", revision=revision_now())


def _forest(request: Request, realms: Sequence[Node]) -> Nodes:
    leaves = tuple(_leaf(one.id, one.name, one.type, 1, at, len(realms)) for at, one in enumerate(realms, 1))
    return Nodes(leaves)


@reads
@signed_in
def browse(request: Request, id: int) -> HttpResponse:
    """What is in a metalake, a catalog or a schema."""
    place = visit(request, id)
    if place.node.type not in naming.CONTAINERS:
        return redirect(naming.page_of(id, place.node.type))
    text, type_ = request.GET.get("q", "").strip()[:255], request.GET.get("type", "")
    rows = inside(place, type_)
    if text:
        rows = rows.filter(name__icontains=text.replace("\0", "\N{SYMBOL FOR NULL}"))
    start = _after(request.GET.get("after", ""))
    found = list((rows.filter(start) if start is not None else rows)[: SHOWN + 1])
    context = {
        **_top(place),
        "tree": tree(place),
        "asked": text,
        "asked_type": type_,
        "kind_asked": bool(type_),
        "toggles": _toggles(place.node, text, type_),
        "rows": list_rows(place, found[:SHOWN]),
        "count_words": _count_words(rows, text, place.node),
        "csv": reverse("console:browse_csv", args=[id]),
        "pager": _pager(request, found),
        "empty": _empty(place.node, text or type_),
    }
    node = place.node
    return page(
        request,
        "console/catalog.html",
        context,
        room="catalog",
        realm=node.realm,
        revision=place.slice.revision,
        banner=banner(node.realm, mode_of(node.realm_id)),
    )


def _after(text: str) -> Q | None:
    """The place in the list that an address stands for: the last row's number and name."""
    number, colon, name = text.partition(":")
    if not colon or not number.isdecimal() or len(number) > 18 or "\0" in name:
        return None
    return Q(name__gt=name) | Q(name=name, pk__gt=int(number))


def _pager(request: Request, found: list[Placement]) -> Pager | None:
    last = found[SHOWN - 1] if len(found) > SHOWN else None
    asked = {name: request.GET[name] for name in ("q", "type") if request.GET.get(name)}
    start = "?" + urlencode(asked) if request.GET.get("after") else ""
    next_ = "?" + urlencode({**asked, "after": f"{last.pk}:{last.name}"}) if last else ""
    shown = found[:SHOWN]
    text = f"{shown[0].name} to {shown[-1].name}, by name" if shown else "Nothing comes after this"
    return Pager(text, start, next_) if start or next_ else None


def _count_words(rows: QuerySet[Placement], text: str, node: Node) -> str:
    many = rows.count()
    if text:
        return f"{words.number(many)} {'matches' if many == 1 else 'match'} “{text}”"
    return f"{words.count(many, 'object')} in {node.name}"


def _empty(node: Node, filtered: str) -> Empty:
    if filtered:
        everything = Action("Show everything", reverse("console:browse", args=[node.id]))
        return Empty(
            "Nothing matches",
            "Lists hold what you may see. Drop the filter to see all of it.",
            drawn=False,
            actions=(everything,),
        )
    return Empty(
        f"Nothing you may see is in {node.name}", "Lists hold what you may see; ask its owner for more."
    )


def _toggles(node: Node, text: str, type_: str) -> list[Toggle]:
    types = shown_types(node)
    if len(types) < 2:
        return []
    q = {"q": text} if text else {}
    every = Toggle("All kinds", "?" + urlencode(q), type_ not in types)
    return [
        every,
        *(
            Toggle(naming.kind_of(one) + "s", "?" + urlencode({**q, "type": one}), one == type_)
            for one in types
            if one in ("schema", "table", "view")
        ),
    ]


def list_rows(place: Place, found: Sequence[Placement]) -> list[Row]:
    """Rows with owner, what one can do oneself, and the comment.  Two queries, however many rows."""
    keys = [row.securable_id for row in found]
    owners = {
        one.securable_id: one.owner
        for one in Ownership.objects.open().filter(securable__in=keys).select_related("owner")
    }
    comments = dict(Detail.objects.filter(securable__in=keys).values_list("securable", "comment"))
    return [
        Row(
            what=Who(
                row.name,
                Face("thing", naming.icon_of(row.type)),
                naming.kind_of(row.type),
                naming.page_of(row.securable_id, row.type),
            ),
            owner=owners[row.securable_id].label if row.securable_id in owners else "",
            you=_you(place, row),
            comment=comments.get(row.securable_id, "")[:200],
        )
        for row in found
    ]


def _you(place: Place, row: Placement) -> str:
    node = child_of(place.node, row)
    able = [
        name
        for name in ("use", "read", "write", "drop", "grant")
        if decisions.answer(place.slice, name, node, now=place.now)
    ]
    return naming.can(able, row.type, owns="drop" in able).replace("Everything", "Own")


def child_of(node: Node, row: Placement) -> Node:
    return Node(
        row.securable_id,
        node.realm_id,
        node.kind,
        (*node.levels, Level(row.type, row.securable_id)),
        (*node.names, row.name),
    )


def _top(place: Place) -> dict[str, Any]:
    node = place.node
    detail = Detail.objects.filter(securable=node.id).first()
    crumbs = [(one.name, reverse("console:browse", args=[one.id])) for one in node.above()]
    reach = Action(f"Who reaches {node.name}", reverse("console:object", args=[node.id]))
    grant = Action(
        f"Grant on {node.name}", reverse("console:grant", args=[node.id]), "primary", opens="layer", key="a"
    )
    return {
        "crumbs": Crumbs(tuple(crumbs)) if crumbs else None,
        "heading": node.name,
        "kind": naming.kind_of(node.type),
        "lead": (detail.comment if detail else "") or "Lists and counts hold what you may see.",
        "actions": [reach, grant] if place.may_grant else [reach],
        "facts": Facts(tuple(_facts(place))),
    }


def _facts(place: Place) -> Iterable[Fact]:
    owner = owner_of(place.node)
    yield Fact("Owner", owner.label if owner else "No owner")
    able = [name for name in ("use", "drop", "grant") if place.may(name)]
    yield Fact("You can", naming.can(able, place.node.type, owns="drop" in able))
    there = behind(place.node)
    if there:
        yield Fact(f"In {there.system}", state=there.state())


@reads
@signed_in
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """Everything one may see directly below an object, as a file."""
    place = visit(request, id)
    lines = (
        [f"{place.node.ref.id}", row.type, row.name]
        for row in inside(place, request.GET.get("type", "")).iterator(2000)
    )
    return sheet.answer(f"catalog-{id}", ["in", "type", "name"], lines)


# The tree


def tree(place: Place) -> Nodes:
    """The way down to where one is, open; each level with its first children.

    One list of children for each level, so as many queries as the lineage has levels.
    """
    chain = [*place.node.above(), place.node]
    return Nodes((_branch(place, chain, 0, 1, 1),))


def _branch(place: Place, chain: Sequence[Node], depth: int, at: int, of: int) -> Leaf:
    node = chain[depth]
    here = Place(place.asker, node, place.slice, place.now)
    rows = inside(here)
    found, count = list(rows[:SHOWN]), rows.count()
    below = chain[depth + 1] if depth + 1 < len(chain) else None
    if below and below.id not in {row.securable_id for row in found}:
        found = [*found, Placement.objects.open().get(securable=below.id)]
    leaves = tuple(
        _branch(place, chain, depth + 1, place_, count)
        if below and row.securable_id == below.id
        else _leaf(row.securable_id, row.name, row.type, depth + 2, place_, count)
        for place_, row in enumerate(found, 1)
    )
    last = found[SHOWN - 1] if count > SHOWN else None
    return Leaf(
        id=f"n{node.id}",
        name=node.name,
        icon=naming.icon_of(node.type),
        url=naming.page_of(node.id, node.type),
        level=depth + 1,
        place=at,
        of=of,
        count=words.number(count),
        opens=reverse("console:nodes", args=[node.id]),
        open=True,
        here=node.id == place.node.id,
        children=leaves,
        more=_more(node.id, last, depth + 2, SHOWN) if last else "",
        more_words=f"{words.number(count - SHOWN)} more" if last else "",
    )


def _leaf(id_: int, name: str, type_: str, level: int, at: int, of: int) -> Leaf:
    opens = f"{reverse('console:nodes', args=[id_])}?level={level + 1}" if type_ in naming.CONTAINERS else ""
    return Leaf(
        f"n{id_}", name, naming.icon_of(type_), naming.page_of(id_, type_), level, at, of, opens=opens
    )


def _more(id_: int, last: Placement, level: int, at: int) -> str:
    asked = {"level": level, "after": f"{last.pk}:{last.name}", "at": at}
    return f"{reverse('console:nodes', args=[id_])}?{urlencode(asked)}"


@reads
@signed_in
def nodes(request: Request, id: int) -> HttpResponse:
    """Fifty children of the tree, for a script that unfolds it."""
    place = visit(request, id)
    level, at = _small(request.GET.get("level", ""), 2), _small(request.GET.get("at", ""), 0)
    rows = inside(place)
    count = rows.count()
    start = _after(request.GET.get("after", ""))
    found = list((rows.filter(start) if start is not None else rows)[: SHOWN + 1])
    leaves = tuple(
        _leaf(row.securable_id, row.name, row.type, level, at + n, count)
        for n, row in enumerate(found[:SHOWN], 1)
    )
    last = found[SHOWN - 1] if len(found) > SHOWN else None
    more = _more(id, last, level, at + SHOWN) if last else ""
    shown = Nodes(leaves, level, more, f"{words.number(count - at - SHOWN)} more" if last else "")
    return render(request, "parts/nodes.html", {"it": shown, "url": naming.page_of(id, place.node.type)})


def _small(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else otherwise
