"""What it takes that somebody may do what is asked: every lack, on the object where it can be given.

Worked out along what the asker may know, so that a hidden object needs what an absent one would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import END
from catalog.nodes import Node
from catalog.queries import realm_named, root
from catalog.resolve import spelled
from lakewarden.law import dialects, engine
from lakewarden.law.dialects.base import Dialect
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Explanation, explain
from lakewarden.law.facts import Key, Lineage, Slice
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.patterns import parts_of
from policies.decisions import ask, slices
from policies.decisions.lookups import resolve_path
from policies.errors import Invalid

HOLD = "hold"
"""What is asked of a role: to be given it."""
GIVABLE = ("privilege", "membership", "denied")
"""The lacks that a request can mend, and denials, which its decider has to see."""
MOST_WANTED = 50


class WantedAction(NamedTuple):
    """An action on the object of that type and id (`demo/shop.sales.orders`)."""

    type: str
    name: str
    action: str


@dataclass(frozen=True)
class Need:
    """One decision that is needed: `kind` as of `RequestPart`, where, and what for which of the wanted."""

    kind: str
    ref: ObjectRef
    needed: Mapping[str, tuple[int, ...]]

    @property
    def privileges(self) -> tuple[str, ...]:
        return tuple(filter(None, self.needed))


@dataclass(frozen=True)
class Denial:
    """A privilege that is denied on an object which may be spoken of; no grant helps while it is."""

    privilege: str
    ref: ObjectRef
    role: str


@dataclass(frozen=True)
class Worked:
    """What is needed, in the order in which it is given: membership first, then from the realm down.

    `shown` are the places along each wanted name that may be spoken of.  `already`: nothing is lacking.
    """

    refs: tuple[ObjectRef, ...]
    needs: tuple[Need, ...]
    denials: tuple[Denial, ...]
    shown: tuple[resolve_path.Places, ...]
    already: bool


def refs_of(wanted: Sequence[WantedAction]) -> tuple[ObjectRef, ...]:
    """The objects meant, as they were named, all of one realm.  Raises Invalid."""
    if not wanted or len(wanted) > MOST_WANTED:
        raise Invalid(gettext("Request at least one item and at most %(most)s.") % {"most": MOST_WANTED})
    try:
        refs = [ObjectRef.parse(item.type, item.name) for item in wanted]
    except BadName as problem:
        raise Invalid(f"{problem}.") from problem
    if len({ref.realm for ref in refs}) > 1:
        raise Invalid(gettext("Request access in each realm separately."))
    return tuple(refs)


def work_out(
    wanted: Sequence[WantedAction],
    holder: Principal,
    asker: Principal,
    *,
    now: datetime,
    end: datetime | None,
) -> Worked:
    """Everything that is lacking, now or when it would end.  Raises Invalid for what cannot be asked for."""
    named = refs_of(wanted)
    refs = spelled(named)
    by_ref = resolve_path.places(set(refs))
    realm = realm_named(refs[0].realm)
    top = (root(realm),) if realm else ()
    viewers = _viewers(holder, asker, top[0], now) if top else []
    moments = (now, end - timedelta(microseconds=1) if end else END)
    each = [
        _wanted(want, ref_asked, ref, by_ref[ref] or top, viewers, holder, moments)
        for want, ref_asked, ref in zip(wanted, named, refs, strict=True)
    ]
    needs = _joined((number, need) for number, result in enumerate(each) for need in result.needs)
    denials = tuple(dict.fromkeys(denial for result in each for denial in result.denials))
    shown = tuple(result.shown for result in each)
    wanted_refs = tuple(result.ref for result in each)
    return Worked(wanted_refs, needs, denials, shown, not needs and not denials)


def _viewers(holder: Principal, asker: Principal, top: Node, now: datetime) -> list[Slice]:
    slices_ = slices.currents(list(dict.fromkeys((holder, asker))), top, now=now)
    return [slices_[holder.pk], slices_[asker.pk]]


@dataclass(frozen=True)
class _One:
    ref: ObjectRef
    needs: list[tuple[str, ObjectRef, str]]
    denials: list[Denial]
    shown: resolve_path.Places


@dataclass(frozen=True)
class _Ground:
    """The law a question is put to, the way to the object, and the facts about the future holder."""

    law: Dialect
    lineage: Lineage
    names: Mapping[Key, ObjectRef]
    slice: Slice
    inside: list[Lineage] | None = None


def _wanted(
    wanted_action: WantedAction,
    ref_asked: ObjectRef,
    kept: ObjectRef,
    places: resolve_path.Places,
    viewers: Sequence[Slice],
    holder: Principal,
    moments: Sequence[datetime],
) -> _One:
    many = resolve_path.seen(places, viewers, now=moments[0])
    shown = places[:many]
    ref = _shown_ref(ref_asked, kept, shown)
    ground = _known(ref, places, shown, viewers[0]) if shown else _unheard(ref, holder, moments[0])
    if wanted_action.type == "role" and wanted_action.action == HOLD:
        root_ref = ground.names[ground.lineage[0].key]
        membership = [] if ground.slice.member else [("membership", root_ref, "")]
        return _One(ref, [*membership, ("role", ref, "")], [], shown)
    operation = ground.law.action(ref.type, wanted_action.action)
    if operation is None:
        raise Invalid(
            gettext("The action %(action)s does not exist on a %(type)s.")
            % {"action": wanted_action.action[:60], "type": ref.type[:30]}
        )
    ground = _with_inside(ground, operation, places, shown, ref)
    explanations = [_lacks(ground, operation, wanted_action, moment) for moment in moments]
    lacks = list(dict.fromkeys(lack for some in explanations for lack in some))
    needs = [(lack.kind, _place(lack, ground), lack.privilege) for lack in lacks if lack.kind != "denied"]
    denials = [_denial(lack, ground) for lack in lacks if lack.kind == "denied"]
    return _One(ref, needs, denials, shown)


def _shown_ref(ref_asked: ObjectRef, kept: ObjectRef, shown: resolve_path.Places) -> ObjectRef:
    """What an object is called to the asker: as it is kept if they may know of it, else as any would be.

    How a hidden one is spelled would tell them that it is there.
    """
    if not shown or resolve_path.named_by(kept, shown) is not None:
        return kept if shown else ref_asked
    if dialects.get(shown[0].kind).ignores_case:
        return ObjectRef(
            ref_asked.type, ref_asked.realm, tuple(part.strip().upper() for part in ref_asked.path)
        )
    return ref_asked


def _known(ref: ObjectRef, places: resolve_path.Places, shown: resolve_path.Places, held: Slice) -> _Ground:
    law = dialects.get(shown[0].kind)
    if law.steps_to(ref.type, ref.path) is None and ref.type != law.root_type:
        raise Invalid(
            gettext("There is no %(type)s %(object)s in %(realm)s. Check its full name.")
            % {"realm": shown[0].name, "type": ref.type[:30], "object": ref.full_name[:100]}
        )
    node = resolve_path.named_by(ref, places)
    lineage, names = resolve_path.way(ref, node, shown)
    return _Ground(law, lineage, names, held)


def _unheard(ref: ObjectRef, holder: Principal, now: datetime) -> _Ground:
    """As if nobody had given anything in a realm of that name."""
    refusal = resolve_path.unheard(ref)
    if refusal is None:
        raise Invalid(gettext("No realm has a %(type)s of such a name.") % {"type": ref.type[:30]})
    law, lineage, names = refusal
    bare = engine.build(holder.ref, ref.realm, law.code, 0, (), member=False, now=now.timestamp())
    return _Ground(law, lineage, names, bare)


def _with_inside(
    ground: _Ground, operation: str, places: resolve_path.Places, shown: resolve_path.Places, ref: ObjectRef
) -> _Ground:
    node = resolve_path.named_by(ref, places) if len(shown) == len(places) else None
    if node is None or not ask.asks_inside(node, operation):
        return ground
    inside = [item.levels for item in ask.inside_of(node)]
    return _Ground(ground.law, ground.lineage, ground.names, ground.slice, inside)


def _lacks(
    ground: _Ground, operation: str, wanted_action: WantedAction, moment: datetime
) -> tuple[Lack, ...]:
    """The way out that opens least among those that a request can go."""
    explanation = explain(
        ground.slice, operation, ground.lineage, now=moment.timestamp(), inside=ground.inside
    )
    if explanation.decision:
        return ()
    ways = [way for way in (explanation.missing, *explanation.alternatives) if way]
    for way in ways:
        if all(lack.kind in GIVABLE for lack in way):
            return way
    raise Invalid(_why_not(explanation, wanted_action, ways))


def _why_not(explanation: Explanation, wanted_action: WantedAction, ways: Sequence[Sequence[Lack]]) -> str:
    kinds = {lack.kind for lack in ways[0]} if ways else {explanation.decision.reason}
    if "ownership" in kinds:
        return gettext(
            "%(action)s on %(name)s is for owners alone. Ownership is transferred, not requested."
        ) % {"action": wanted_action.action, "name": wanted_action.name}
    if "mode" in kinds:
        return gettext("Authorization is switched off in this realm, so this cannot be granted there.")
    if "service_admin" in kinds:
        return gettext("%(action)s on %(name)s is for site admins alone.") % {
            "action": wanted_action.action,
            "name": wanted_action.name,
        }
    return gettext("%(action)s on %(name)s cannot be requested.") % {
        "action": wanted_action.action,
        "name": wanted_action.name,
    }


def _denial(lack: Lack, ground: _Ground) -> Denial:
    role = next((item.name for item in reversed(lack.via) if item.kind == "role"), "")
    return Denial(lack.privilege, _place(lack, ground), role)


def _place(lack: Lack, ground: _Ground) -> ObjectRef:
    name = ground.names.get(lack.object)
    if name is None and ":" in lack.name:
        return ObjectRef(lack.object_type, ground.names[ground.lineage[0].key].realm, parts_of(lack.name)[1])
    return name or ground.names[ground.lineage[-1].key]


def _joined(numbered: Iterable[tuple[int, tuple[str, ObjectRef, str]]]) -> tuple[Need, ...]:
    """One need for each object: all privileges that are lacking there, and what needs each of them."""
    joined: dict[tuple[str, ObjectRef], dict[str, tuple[int, ...]]] = {}
    for number, (kind, ref, code) in numbered:
        needed = joined.setdefault((kind, ref), {})
        needed[code] = tuple(dict.fromkeys((*needed.get(code, ()), number)))
    needs = [Need(kind, ref, needed) for (kind, ref), needed in joined.items()]
    return tuple(sorted(needs, key=lambda need: (need.kind != "membership", len(need.ref.path))))
