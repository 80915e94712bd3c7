"""What a request would come to, before it is sent: each decision it needs, and who makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Face, Note
from authzsite.console.requests.form import RequestForm
from authzsite.console.requests.links import ask
from catalog.nodes import Node
from lakewarden.law.objects import ObjectRef
from policies.decisions.approvers import APPROVE, Approver
from policies.requests import decision_places, role_proposals
from policies.requests.needs import HOLD, Need
from policies.requests.submission import Foresight
from policies.sentences import either

NAMED = 3
"""So many deciders are named; the rest are counted."""
GROUNDS = {
    "owner": gettext_lazy("%(who)s owns %(place)s"),
    "service_admin": gettext_lazy("%(who)s runs this site"),
    APPROVE: gettext_lazy("%(who)s decides requests on %(place)s"),
}


@dataclass(frozen=True)
class Step:
    """One decision that is needed, and who can make it."""

    text: str
    note: str
    who: str
    face: Face
    nobody: bool = False


def shown(form: RequestForm, seen: Foresight | None, problem: str) -> dict[str, Any]:
    """What `console/requests/preview.html` draws."""
    if seen is None:
        empty = problem or _("Name what you need and choose the access; the preview shows who is asked.")
        return {"foreseen_empty": empty, "foreseen_problem": bool(problem)}
    # where each decision is made, as far as that may be spoken of
    ways = [_way(need.ref, seen) for need in seen.needs]
    places = [
        decision_places.of(need.kind, need.ref, form.holder.kind, way) if _is_whole(need, way) else None
        for need, way in zip(seen.needs, ways, strict=True)
    ]
    steps = _steps(form, seen, places)
    many = len(steps)
    return {
        "steps": steps,
        "steps_heading": ngettext("%(many)s decision", "%(many)s decisions", many)
        % {"many": words.spelled(many)},
        "for_whom": "" if form.holder == form.asker else terms.principal_name(form.holder),
        "role": _role(form, seen, places),
        "denied": _denied(seen),
        "ends": _ends(form, seen),
        "lapses": _("If nobody decides, it lapses %(lapses)s.") % {"lapses": words.on(seen.lapses)},
    }


def _role(
    form: RequestForm, seen: Foresight, places: Sequence[decision_places.DecisionPlace | None]
) -> Action | None:
    """The smallest role that gives exactly this, if whoever asks may know of all of it."""
    whole = [
        (place, need.privileges) for need, place in zip(seen.needs, places, strict=True) if place is not None
    ]
    if len(whole) < len(seen.needs) or any(need.kind != "privilege" for need in seen.needs):
        return None
    roles = role_proposals.for_asker(whole, form.asker)
    wish = [(role.type, role.ref.id, HOLD) for role in roles[:1]]
    return (
        Action(_("Request role %(name)s instead") % {"name": roles[0].name}, ask(wish, form.holder))
        if roles
        else None
    )


def _steps(
    form: RequestForm, seen: Foresight, places: Sequence[decision_places.DecisionPlace | None]
) -> list[Step]:
    """Each decision with those who come first: on the nearest level on which anybody but who asks decides."""
    ways = [_way(need.ref, seen) for need in seen.needs]
    every = iter(
        decision_places.deciders_of([item for item in places if item], {form.asker.pk, form.holder.pk})
    )
    deciders = [_first(next(every)) if place else [] for place in places]
    return [_step(*item, form) for item in zip(seen.needs, ways, deciders, strict=True)]


def _first(approvers: Sequence[Approver]) -> list[Approver]:
    nearest = max((len(item.where.levels) for item in approvers), default=0)
    return [item for item in approvers if len(item.where.levels) == nearest]


def _step(need: Need, way: tuple[Node, ...], approvers: Sequence[Approver], form: RequestForm) -> Step:
    text = need_words(need, form.kinds.get(need.ref.realm, "gravitino"))
    face = Face("thing", terms.icon_of(need.ref.type))
    if not _is_whole(need, way):
        return Step(text, "", _("an approver"), face)
    if not approvers:
        return Step(text, "", _("Nobody can approve it yet; it waits until someone can"), face, nobody=True)
    first = [item.principal.label for item in approvers[:NAMED]]
    more = (
        [_("%(number)s more") % {"number": words.number(len(approvers) - NAMED)}]
        if len(approvers) > NAMED
        else []
    )
    return Step(text, _ground(approvers[0]), either([*first, *more]), face)


def _ground(approver: Approver) -> str:
    text = GROUNDS.get(approver.ground, _("%(who)s may grant access to %(place)s"))
    place = approver.where.ref.full_name or approver.where.name
    return str(text) % {"who": approver.principal.label, "place": place}


def _is_whole(need: Need, way: tuple[Node, ...]) -> bool:
    """Whether the very object may be spoken of; a hidden one reads like one that is not there."""
    return len(way) > len(need.ref.path)


def _way(ref: ObjectRef, seen: Foresight) -> tuple[Node, ...]:
    """The places along a name that may be spoken of, the realm first."""
    by_id = {place.id: place for way in seen.shown for place in way}
    mine = [item for item in by_id.values() if item.ref.realm == ref.realm]
    along = [item for item in mine if item.ref.path == ref.path[: len(item.ref.path)]]
    return tuple(sorted(along, key=lambda place: len(place.levels)))


def need_words(need: Need, law: str) -> str:
    """Use schema sales; Read on orders; Membership of demo; Role sales_read."""
    name = need.ref.path[-1] if need.ref.path else need.ref.realm
    return words_of(need.kind, need.ref.type, name, need.privileges, law)


def words_of(kind: str, type_: str, name: str, privileges: Sequence[str], law: str) -> str:
    if kind == "membership":
        return _("Membership of %(name)s") % {"name": name}
    if kind == "role":
        return _("Role %(name)s") % {"name": name}
    if kind == "plan":
        return _("The plan of a policy file for %(name)s") % {"name": name}
    return terms.rights_on(privileges, type_, name, law)


def _denied(seen: Foresight) -> Note | None:
    if not seen.denials:
        return None
    sentences = [
        _("%(privilege)s on %(part)s")
        % {
            "privilege": terms.right(denial.privilege, denial.ref.type),
            "part": denial.ref.full_name or denial.ref.realm,
        }
        for denial in seen.denials
    ]
    return Note(
        "warn",
        _("%(told)s is denied.") % {"told": words.listed(sentences, 3)},
        _("A grant does not lift a denial; the approver sees the denial."),
    )


def _ends(form: RequestForm, seen: Foresight) -> str:
    begin = form.when.begin
    sentences = [_("It begins %(begin)s.") % {"begin": words.on(begin)}] if begin else []
    if seen.end is None:
        return " ".join((*sentences, _("It has no end.")))
    if form.lasting == "date":
        ends = _("It ends by itself %(end)s, %(zone)s.")
    else:
        ends = _("It ends %(end)s, %(zone)s.") if begin else _("If granted now, it ends %(end)s, %(zone)s.")
    return " ".join((*sentences, ends % {"end": words.on(seen.end), "zone": words.zone()}))
