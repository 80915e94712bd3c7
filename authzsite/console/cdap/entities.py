"""The entities of a CDAP, namespace by namespace: of those that are there what exists for the viewer."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from authzsite.console.cdap.context import InstanceContext, desk_at
from authzsite.console.cdap.links import text_of
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Empty, Face, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import below
from lakewarden.law.dialects.cdap.authorizable import TYPES
from policies.decisions import ask
from policies.decisions.lookups import pattern_matches

SHOWN = 50
HOLDING = ("namespace", "application")
"""What has entities in it."""


@dataclass(frozen=True)
class EntityRow:
    what: Who
    kind: str
    you: str


@dataclass(frozen=True)
class EntityFilter:
    """What the address asks for: what is in an object, with a text in the name."""

    desk: InstanceContext
    node: Node
    inside: str
    text: str

    @property
    def rows(self) -> QuerySet[Placement]:
        rows = below(self.node).filter(type__in=TYPES).order_by("type", "name", "pk")
        return rows.filter(name__icontains=self.text) if self.text else rows

    def url(self, name: str = "cdap_entities", **changed: str) -> str:
        kept = {"in": self.inside, "q": self.text, **changed}
        return self.desk.url(name, **{name: value for name, value in kept.items() if value})


def asked_in(request: Request, desk: InstanceContext) -> EntityFilter:
    """Raises Http404 for what is no namespace or application, or not to be seen."""
    inside, text = request.GET.get("in", ""), request.GET.get("q", "").strip()[:255].replace("\0", "")
    return EntityFilter(desk, _container(desk, inside) if inside else desk.root, inside, text)


@reads
@login_required
def entity_list(request: Request, id: int) -> HttpResponse:
    """What is in the instance, in a namespace or in an application."""
    filter_ = asked_in(request, desk_at(request, id))
    desk, node, inside, text = filter_.desk, filter_.node, filter_.inside, filter_.text
    start = number_in(request.GET.get("after", "")) or 0
    window = list(filter_.rows[start : start + SHOWN + 1])
    more = filter_.url(after=str(start + SHOWN)) if len(window) > SHOWN else ""
    begun = f"dataset:{node.names[1]}." if inside else ""
    register = Action(
        _("Register an entity"), desk.url("cdap_register", **({"entity": begun} if begun else {}))
    )
    actions = [register, *([Action(_("Who has access"), desk.text_url(text_of(node)))] if inside else [])]
    context = {
        "heading": node.name if inside else _("Entities of %(name)s") % {"name": node.name},
        "kind": terms.kind_of(node.type) if inside else "",
        "crumbs": desk.crumbs(*_way(desk, node)),
        "lead": _("All entities that exist.") if desk.looks else _("Lists show what you may see."),
        "actions": actions,
        "asked": text,
        "inside": inside,
        "rows": [_row(desk, entity) for entity in desk.entities(window[:SHOWN])],
        "pager": Pager(
            _("By kind and name"), filter_.url() if start else "", more, filter_.url("cdap_entities_csv")
        ),
        "empty": _empty(node, text),
    }
    return desk.show(request, "console/cdap/entities.html", context)


def _container(desk: InstanceContext, text: str) -> Node:
    """The namespace or application of that name, which the viewer may see.  Raises Http404."""
    target = desk.named(text)
    entities = desk.entities(pattern_matches.entities(desk.root, target)[:1])
    if target.is_pattern or target.type not in HOLDING or not entities:
        raise Http404
    return entities[0]


def _way(desk: InstanceContext, node: Node) -> list[tuple[str, str]]:
    if node.id == desk.root.id:
        return []
    above = [item for item in node.above() if item.id != desk.root.id]
    entities = (_("Entities"), desk.url("cdap_entities"))
    return [entities, *((item.name, desk.url("cdap_entities", **{"in": text_of(item)})) for item in above)]


def _row(desk: InstanceContext, node: Node) -> EntityRow:
    text = text_of(node)
    url = desk.url("cdap_entities", **{"in": text}) if node.type in HOLDING else desk.text_url(text)
    what = Who(node.name, Face("thing", terms.icon_of(node.type)), url=url)
    return EntityRow(what, terms.kind_of(node.type), able(desk, node))


def able(desk: InstanceContext, node: Node) -> str:
    """What the viewer may do with an entity, in words."""
    slice_, now = desk.place.slice, desk.place.now
    held = [code for code in desk.actions if ask.answer(slice_, code, node, now=now)]
    return desk.labels(held) or _("Nothing")


def _empty(node: Node, text: str) -> Empty:
    if text:
        return Empty(_("Nothing matches “%(text)s”") % {"text": text}, drawn=False)
    return Empty(
        _("Nothing you may see is in %(name)s") % {"name": node.name},
        _("Entities are registered here, by CDAP's own calls under /v3/namespaces, or by manage.py entity."),
    )
