"""Catalog: the tree beside a list, both holding what the viewer may see and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.catalog.catalog_list import CatalogList
from authzsite.console.catalog.tree import leaf, tree
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Nodes
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Fact, Facts, Who
from authzsite.console.kit.display.tables import Column, Table, Text, Tick
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.object_selection import ticking
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.settings.modes import banner
from authzsite.console.sync.backend_state import behind
from authzsite.downloads import csv_file
from catalog.models import Detail, Placement
from catalog.nodes import Node
from catalog.queries import mode_of
from lakewarden.law.facts import Level
from policies.decisions import ask
from policies.decisions.lookups.visible_objects import owners_along, realms_of
from policies.models import Ownership
from policies.services.grants import revision_now

ASIDE = ("role", "tag", "policy", "job_template", "job", "user", "group", "column")


@dataclass(frozen=True)
class CatalogRow:
    what: Who
    owner: str
    you: str
    comment: str
    id: int = 0
    may_grant: bool = False
    full_name: str = ""
    above: str = ""
    """Who owns it for being the owner of what is above it."""

    @property
    def owned_by(self) -> Text:
        return Text(self.owner or self.above or _("No owner"), muted=not self.owner)


_COLUMNS: tuple[Column[CatalogRow], ...] = (
    Column(gettext_lazy("Name"), lambda row: row.what, sort=("folded",)),
    Column(gettext_lazy("Owner"), lambda row: row.owned_by, width="w-owner", term="owner", code="owner"),
    Column(gettext_lazy("You"), lambda row: Text(row.you, muted=row.you == _("Nothing")), code="you"),
    Column(
        gettext_lazy("Comment"), lambda row: row.comment and Text(row.comment, muted=True), code="comment"
    ),
    Column(gettext_lazy("Full name"), lambda row: row.full_name, code="full_name", at_first=False),
)
TABLE: Table[CatalogRow] = Table(
    gettext_lazy("What is in it, by name"),
    (
        Column(gettext_lazy("Choose"), lambda row: Tick("on", row.id, row.what.name), width="tick"),
        *_COLUMNS,
    ),
    code="catalog",
)
REALMS: Table[CatalogRow] = Table(gettext_lazy("Realms, by name"), _COLUMNS)


# The list


@reads
@login_required
def top(request: Request) -> HttpResponse:
    """The realm one is in, or the choice among several."""
    realms = realms_of(asker_of(request))
    if len(realms) == 1:
        return redirect(terms.page_of(realms[0].id, realms[0].type))
    owners = _owners_of([root.id for root in realms])
    context = {
        "heading": _("Catalog"),
        "lead": _("The realms you are a member of."),
        "tree": _forest(request, realms),
        "table": REALMS.page(
            CatalogRow(
                Who(
                    root.name,
                    Face("thing", "lake"),
                    terms.kind_of(root.type),
                    terms.page_of(root.id, root.type),
                ),
                owners[root.id].label if root.id in owners else "",
                _("Member"),
                "",
            )
            for root in realms
        ),
        "count_words": words.count(len(realms), "realm"),
        "pager": None,
        "empty": Empty(
            _("No realm has admitted you yet"),
            _("The operator of this Lakewarden, or the owner of a realm, can add you."),
        ),
    }
    return page(request, "console/catalog/catalog.html", context, section="catalog", revision=revision_now())


def _forest(request: Request, realms: Sequence[Node]) -> Nodes:
    leaves = tuple(
        leaf(realm.id, realm.name, realm.type, 1, at, len(realms)) for at, realm in enumerate(realms, 1)
    )
    return Nodes(leaves)


@reads
@login_required
def browse(request: Request, id: int) -> HttpResponse:
    """What is in a metalake, a catalog or a schema."""
    place = get_object_or_404(request, id)
    if place.node.type not in terms.CONTAINERS:
        return redirect(terms.page_of(id, place.node.type))
    listed = ShownList.of(request, TABLE)
    shelf = CatalogList(place, request.GET, listed)
    level, owner = _nearest(place)
    above = _("Owner of %(level)s") % {"level": level} if owner else ""
    rows = list_rows(place, shelf.shown, above)
    context = {
        **_top(place, level, owner),
        "tree": tree(place, None if shelf.filtered else shelf.count),
        "shelf": shelf,
        "toggles": list(shelf.toggles()),
        "letters": shelf.letters(),
        **ticking(rows),
        "table": listed.page(rows),
        "options": listed.options(),
        "kept": listed.kept,
        "count_words": shelf.count_words(),
        "csv": reverse("console:browse_csv", args=[id]) + shelf.url(),
        "pager": shelf.pager(),
        "empty": _empty(place.node, filtered=shelf.filtered),
    }
    node = place.node
    return page(
        request,
        "console/catalog/catalog.html",
        context,
        section="catalog",
        realm=node.realm,
        revision=place.slice.revision,
        banner=banner(node.realm, mode_of(node.realm_id)),
    )


def _empty(node: Node, *, filtered: bool) -> Empty:
    if filtered:
        everything = Action(_("Show everything"), reverse("console:browse", args=[node.id]))
        return Empty(
            _("Nothing matches"),
            _("Lists show what you may see. Clear the filter to see all of it."),
            drawn=False,
            actions=(everything,),
        )
    return Empty(
        _("Nothing you may see is in %(name)s") % {"name": node.name},
        _("Lists show what you may see; ask its owner for more."),
    )


def list_rows(place: ObjectAccess, found: Sequence[Placement], above: str) -> list[CatalogRow]:
    """Rows with owner, what the viewer can do, and the comment.  Two queries, however many rows."""
    keys = [row.securable_id for row in found]
    owners = _owners_of(keys)
    comments = dict(Detail.objects.filter(securable__in=keys).values_list("securable", "comment"))
    return [
        _row(place, row, owners.get(row.securable_id), comments.get(row.securable_id, ""), above)
        for row in found
    ]


def _owners_of(keys: Sequence[int]) -> dict[int, Principal]:
    """Who owns each of the securables of those keys, where somebody does."""
    rows = Ownership.objects.open().filter(securable__in=keys).select_related("owner")
    return {row.securable_id: row.owner for row in rows}


def _row(
    place: ObjectAccess, row: Placement, owner: Principal | None, comment: str, above: str
) -> CatalogRow:
    node = child_of(place.node, row)
    able = [
        name
        for name in ("use", "read", "write", "drop", "grant")
        if ask.answer(place.slice, name, node, now=place.now)
    ]
    url, icon = terms.page_of(row.securable_id, row.type), terms.icon_of(row.type)
    return CatalogRow(
        what=Who(row.name, Face("thing", icon), terms.kind_of(row.type), url),
        owner=owner.label if owner else "",
        you=_("Own") if "drop" in able else terms.can(able, row.type, owns=False),
        comment=comment[:200],
        id=row.securable_id,
        may_grant="grant" in able,
        full_name=node.ref.full_name,
        above=above,
    )


def child_of(node: Node, row: Placement) -> Node:
    return Node(
        row.securable_id,
        node.realm_id,
        node.kind,
        (*node.levels, Level(row.type, row.securable_id)),
        (*node.names, row.name),
    )


def _top(place: ObjectAccess, level: str, owner: Principal | None) -> dict[str, Any]:
    node = place.node
    detail = Detail.objects.filter(securable=node.id).first()
    crumbs = [(item.name, reverse("console:browse", args=[item.id])) for item in node.above()]
    reach = Action(
        _("Who has access to %(name)s") % {"name": node.name}, reverse("console:object", args=[node.id])
    )
    reason = None if place.may_grant else ObjectHeader(place, "object").grant_reason()
    grant = Action(
        _("Grant on %(name)s") % {"name": node.name},
        reverse("console:grant", args=[node.id]),
        "primary",
        reason=reason.id if reason else "",
        opens="layer",
        key="a",
    )
    return {
        "crumbs": Crumbs(tuple(crumbs)) if crumbs else None,
        "heading": node.name,
        "kind": terms.kind_of(node.type),
        "lead": (detail.comment if detail else "") or _("Lists and counts show what you may see."),
        "actions": [*_settings(node), reach, grant],
        "reason": reason,
        "facts": Facts(tuple(_facts(place, level, owner))),
    }


def _settings(node: Node) -> Iterable[Action]:
    if node.type == "metalake":
        yield Action(_("Settings"), reverse("console:realm", args=[node.id]), "plain")


def _nearest(place: ObjectAccess) -> tuple[str, Principal | None]:
    """Who owns it, or the nearest above that has an owner; and that one's name."""
    owners, node = owners_along(place.node), place.node
    key = next((key for key in reversed(node.lineage) if key in owners), None)
    return (terms.level_of(node, key)[-1], owners[key]) if key is not None else ("", None)


def _facts(place: ObjectAccess, level: str, owner: Principal | None) -> Iterable[Fact]:
    note = _("of %(level)s") % {"level": level} if level != place.node.name else ""
    yield Fact(_("Owner"), owner.label, note=note) if owner else Fact(_("Owner"), _("No owner"))
    able = [name for name in ("use", "drop", "grant") if place.may(name)]
    yield Fact(_("You can"), terms.can(able, place.node.type, owns="drop" in able))
    backend_state = behind(place.node)
    if backend_state:
        yield Fact(_("In %(system)s") % {"system": backend_state.system}, state=backend_state.state())


@reads
@login_required
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """Everything the viewer may see directly below an object, as a file."""
    place = get_object_or_404(request, id)
    rows = CatalogList(place, request.GET, ShownList.of(request, TABLE)).rows
    lines = ([f"{place.node.ref.id}", row.type, row.name] for row in rows.iterator(2000))
    return csv_file.answer(f"catalog-{id}", ["in", "type", "name"], lines)
