"""A role as it was at a moment: what it gave on which objects, and who held it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.as_of.objects import a_month_ago, moment_of
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Crumbs, Face, Note, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.roles.role import VisibleRole, rights, visit_role
from catalog.nodes import Node
from catalog.past import nodes_at
from policies.decisions import ask, live_history
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.record import access_log, history, revisions
from policies.record.history import Sight
from policies.record.revisions import Past

WRONG = gettext_lazy("Enter a day, a day with a time, or an existing revision.")
SIGNS = {"": "", "gain": "+", "lose": "−", "change": "~"}
HELD = {
    "": gettext_lazy("Then and now"),
    "lose": gettext_lazy("No longer holds it"),
    "gain": gettext_lazy("Holds it since"),
}


@dataclass(frozen=True)
class RoleContents:
    """One object: what was allowed on it then and what denied, beside what is given now.

    `kind` says how the two differ, empty where they do not.
    """

    what: Who
    allowed: str
    denied: Chip | None
    now: str
    kind: str
    sign: str


@dataclass(frozen=True)
class HolderThen:
    """Somebody who held it then or holds it now, and how the two differ; empty where they do not."""

    who: Who
    kind: str
    text: str


@reads
@login_required
def role_as_of(request: Request, id: int) -> HttpResponse:
    """The role's past beside now; it opens on a month ago, where the live history reaches back so far."""
    seen = visit_role(request, id, past=True)
    at = request.GET.get("at", "").strip()[:40]
    then = moment_of(at) if at else None
    if not at and (first := a_month_ago([seen.node.realm_id])):
        at, then = first
    name = seen.node.name
    context = {
        "crumbs": Crumbs(
            ((_("Roles"), reverse("console:roles")), (name, reverse("console:role", args=[id])))
        ),
        "heading": _("The past of %(name)s") % {"name": name},
        "kind": _("Role"),
        "at": at,
        "zone": words.zone(),
        "problem": WRONG if at and then is None else "",
    }
    if then is not None:
        live_history.must_be_live(seen.node.realm_id, then.revision)
        access_log.looked(seen.place.asker, "access in the past", seen.node, via="console")
        sheet = f"{reverse('console:role_then_csv', args=[id])}?{urlencode({'at': at})}"
        context |= {
            "past": _moment_note(then, reverse("console:role", args=[id])),
            "gave": _gave_beside(seen, then),
            "held": _held_beside(seen, then),
        }
        context |= {"gave_csv": sheet, "held_csv": f"{sheet}&show=held"}
    return page(request, "console/roles/as_of.html", context, section="roles", realm=seen.node.realm)


def _moment_note(then: Past, now_url: str) -> Note:
    text = _("%(moment)s, revision %(revision)s") % {
        "moment": words.moment(then.moment),
        "revision": words.number(then.revision),
    }
    return Note("warn", _("This is the past"), text, now_url, _("See it as it is now"))


def gave_then(seen: VisibleRole, then: Past) -> list[tuple[Node, list[Grant]]]:
    """What it gave on each object that the viewer may know of, by name."""
    rows: dict[int, list[Grant]] = {}
    facts = Grant.objects.as_of(then.revision).within(then.moment)
    for row in facts.filter(role=seen.node.id, securable__isnull=False):
        rows.setdefault(row.securable_id or 0, []).append(row)
    places = nodes_at(rows, then.revision).values()
    sight = history.sight(seen.place.asker, [seen.root])
    shown = (place for place in places if _may_know(seen, sight, place))
    return [(node, rows[node.id]) for node in sorted(shown, key=lambda item: (item.names, item.type))]


def _may_know(seen: VisibleRole, sight: Sight, node: Node) -> bool:
    """Whether the viewer may see the object now, or may view its history."""
    place = seen.place
    return sight.sees(node) or bool(ask.may_see(place.slice, node, now=place.now))


def _gave_beside(seen: VisibleRole, then: Past) -> list[RoleContents]:
    """What it gave then and gives now, by object."""
    before, now = (
        {node.id: (node, rows) for node, rows in gave_then(seen, past)} for past in (then, revisions.latest())
    )
    nodes = {key: node for key, (node, _rows) in {**now, **before}.items()}
    places = sorted(nodes.values(), key=lambda node: (node.names, node.type))
    return [
        _row(node, before.get(node.id, (node, []))[1], now.get(node.id, (node, []))[1]) for node in places
    ]


def _row(node: Node, before: list[Grant], now: list[Grant]) -> RoleContents:
    above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    face, url = Face("thing", terms.icon_of(node.type)), terms.page_of(node.id, node.type)
    then, today = _rights(node, before), _rights(node, now)
    chip = Chip("denied", then[1]) if then[1] else None
    kind = _difference(then if before else None, today if now else None)
    words_now = "; ".join(filter(None, today)) or _("Nothing")
    return RoleContents(Who(node.name, face, above, url), then[0], chip, words_now, kind, SIGNS[kind])


def _rights(node: Node, rows: list[Grant]) -> tuple[str, str]:
    """What is allowed and what is denied, in words."""
    denied = rights(node, rows, Effect.DENY)
    return rights(node, rows, Effect.ALLOW), _("%(denied)s denied") % {"denied": denied} if denied else ""


def _difference(before: object, now: object) -> str:
    """Whether it came, went or changed; empty for what is as it was."""
    if before == now:
        return ""
    return "gain" if before is None else "lose" if now is None else "change"


def _held_beside(seen: VisibleRole, then: Past) -> list[HolderThen]:
    """Who held it then and who holds it now, by name."""
    before, now = (
        {row.holder_id: row.holder for row in held_then(seen, past)} for past in (then, revisions.latest())
    )
    everybody = sorted({**before, **now}.values(), key=lambda holder: (holder.label.casefold(), holder.pk))
    kinds = [_difference(before.get(holder.pk), now.get(holder.pk)) for holder in everybody]
    return [
        HolderThen(_holder(holder), kind, str(HELD[kind]))
        for holder, kind in zip(everybody, kinds, strict=True)
    ]


def held_then(seen: VisibleRole, then: Past) -> QuerySet[Assignment]:
    """Who held it, by name, as far as the viewer may know."""
    rows = Assignment.objects.as_of(then.revision).within(then.moment).filter(role=seen.node.id)
    if not seen.all_holders:
        rows = rows.filter(holder=seen.place.asker)
    return rows.select_related("holder").order_by("holder__display_name", "holder__name")


def _holder(principal: Principal) -> Who:
    return terms.who(principal, str(principal), reverse("console:person", args=[principal.pk]))
