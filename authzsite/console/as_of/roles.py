"""A role as it was at a moment, beside now or another moment: what it gave on which objects, who held it."""

from __future__ import annotations

from collections.abc import Mapping
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
from authzsite.console.kit.display.parts import Chip, Crumbs, Face, Note, StrOrPromise, Who
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
HELD_BETWEEN = {
    "": gettext_lazy("At both times"),
    "lose": gettext_lazy("At the first time alone"),
    "gain": gettext_lazy("At the second time alone"),
}
"""The same where both times are past."""


@dataclass(frozen=True)
class RoleContents:
    """One object: what was allowed on it then and what denied, beside what is given at the other time.

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
    """Somebody who held it at one time or the other, and how the two differ; empty where they do not."""

    who: Who
    kind: str
    text: str


@reads
@login_required
def role_as_of(request: Request, id: int) -> HttpResponse:
    """The role's past beside now or `to`; it opens on a month ago, if that is live history."""
    seen = visit_role(request, id, past=True)
    at, to = (request.GET.get(name, "").strip()[:40] for name in ("at", "to"))
    then, other = moment_of(at) if at else None, moment_of(to) if to else revisions.latest()
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
        "to": to,
        "zone": words.zone(),
        "problem": WRONG if at and then is None else "",
        "problem_of_other": WRONG if other is None else "",
    }
    if then is not None and other is not None:
        live_history.must_be_live(seen.node.realm_id, min(then.revision, other.revision))
        access_log.looked(seen.place.asker, "access in the past", seen.node, via="console")
        sheet = f"{reverse('console:role_then_csv', args=[id])}?{urlencode({'at': at})}"
        context |= {
            "past": _moment_note(then, other if to else None, reverse("console:role", args=[id])),
            "gave": _gave_beside(seen, then, other),
            "held": _held_beside(seen, then, other, HELD_BETWEEN if to else HELD),
            "other": words.moment(other.moment) if to else _("Now"),
        }
        context |= {"gave_csv": sheet, "held_csv": f"{sheet}&show=held"}
    return page(request, "console/roles/as_of.html", context, section="roles", realm=seen.node.realm)


def _moment_note(then: Past, other: Past | None, now_url: str) -> Note:
    text = "; ".join(
        _("%(moment)s, revision %(revision)s")
        % {"moment": words.moment(past.moment), "revision": words.number(past.revision)}
        for past in (then, other)
        if past is not None
    )
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


def _gave_beside(seen: VisibleRole, then: Past, other: Past) -> list[RoleContents]:
    """What it gave at the one time and at the other, by object."""
    before, now = ({node.id: (node, rows) for node, rows in gave_then(seen, past)} for past in (then, other))
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


def _held_beside(
    seen: VisibleRole, then: Past, other: Past, texts: Mapping[str, StrOrPromise]
) -> list[HolderThen]:
    """Who held it at the one time and who at the other, by name."""
    before, now = ({row.holder_id: row.holder for row in held_then(seen, past)} for past in (then, other))
    everybody = sorted({**before, **now}.values(), key=lambda holder: (holder.label.casefold(), holder.pk))
    kinds = [_difference(before.get(holder.pk), now.get(holder.pk)) for holder in everybody]
    return [
        HolderThen(_holder(holder), kind, str(texts[kind]))
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
