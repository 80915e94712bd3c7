"""Owners: what belongs to whom, to nobody, or to who cannot sign in; handing over many objects at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import ordered, told
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Count, Diff, DiffLine, Empty, Face, Note, Tally, Who
from authzsite.console.kit.http import Request, number_in, numbers_in
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import Circle, circle_of
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from catalog.nodes import Node
from policies.authority import Actor
from policies.decisions import ownership
from policies.decisions.lookups.visible_objects import admitted
from policies.decisions.ownership import GONE, NOBODY, OwnershipFilter
from policies.errors import PolicyError
from policies.services import owners
from policies.services.grants import revision_now

LISTED, BATCH, LOOKED = 100, 200, 5000
TYPES = ("catalog", "schema", "table", "view", "topic", "fileset", "model", "function", "role")
HOWS = (("", "All with an owner"), (NOBODY, "Nobody's"), (GONE, "Owner cannot sign in"))


@dataclass(frozen=True)
class Chosen:
    """The objects that an address asks for, in one realm of the viewer's."""

    circle: Circle
    data: QueryDict

    @cached_property
    def realms(self) -> list[Node]:
        return [one for one in self.circle.realms if one.type == "metalake"]

    @cached_property
    def root(self) -> Node | None:
        wanted = self.data.get("in", "")
        named = [one for one in self.realms if str(one.id) == wanted]
        return next(iter([*named, *([] if wanted else self.realms)]), None)

    @cached_property
    def of(self) -> Principal | None:
        text = self.data.get("of", "").strip()[:300]
        return somebody(text) if text else None

    @cached_property
    def asked(self) -> OwnershipFilter | None:
        how, type_ = self.data.get("how", ""), self.data.get("type", "")
        if self.root is None or (self.data.get("of", "").strip() and self.of is None):
            return None
        return OwnershipFilter(
            self.root,
            self.of,
            how if how in dict(HOWS) else "",
            type_ if type_ in TYPES else "",
            self.data.get("q", "").strip()[:255],
            tuple(numbers_in(self.data.getlist("o")[:1000])),
        )

    @cached_property
    def rows(self) -> Any:
        if self.asked is None:
            return []
        return ownership.places(self.asked, self.circle.sight.objects)

    def after(self, number: int | None) -> Any:
        """Those that stand behind the one of that number in the list, or all."""
        return ordered(self.rows, ownership.ORDER, number) if self.asked else []

    def url(self, **changed: object) -> str:
        kept = {name: self.data.get(name, "") for name in ("in", "of", "how", "type", "q")} | changed
        return "?" + urlencode({name: value for name, value in kept.items() if value})

    def words(self) -> str:
        """What is listed, as a sentence's subject."""
        if self.of is not None:
            return f"of {self.of.label}"
        return {NOBODY: "without an owner", GONE: "whose owner cannot sign in"}.get(
            self.data.get("how", ""), ""
        )


@dataclass(frozen=True)
class Line:
    id: int
    who: Who
    owner: Who | None
    note: str


# The list


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """The objects that the viewer may know of, by owner."""
    chosen = Chosen(circle_of(request), request.GET)
    after = number_in(request.GET.get("after", ""))
    found = list(chosen.after(after)[: LISTED + 1])
    shown = ownership.in_order(found[:LISTED])
    next_ = chosen.url(after=found[LISTED - 1].pk) if len(found) > LISTED else ""
    context = {
        "heading": "Owners",
        "lead": "Owners give access to their objects and everything inside. Each object needs an active one.",
        "actions": [],
        "asked": chosen.asked,
        "of": chosen.data.get("of", "")[:300],
        "of_problem": "" if chosen.of or not chosen.data.get("of", "").strip() else "Nobody is called so.",
        "realms": chosen.realms,
        "types": TYPES,
        "toggles": _toggles(chosen),
        "rows": _lines(chosen, shown),
        "hand_over_url": reverse("console:owners_hand_over"),
        "kept": [(name, chosen.data.get(name, "")) for name in ("of", "how", "type", "q")],
        "pager": Pager(
            _span(shown), chosen.url() if after else "", next_, reverse("console:owners_csv") + chosen.url()
        ),
        "empty": _empty(chosen),
    }
    realm = chosen.root.name if chosen.root else ""
    return page(
        request, "console/objects/owners.html", context, room="people", realm=realm, revision=revision_now()
    )


def _span(shown: Sequence[Node]) -> str:
    return f"The highest first: {told(shown[0].name, shown[-1].name)}" if shown else ""


def _toggles(chosen: Chosen) -> tuple[Toggle, ...]:
    if chosen.asked is None or not chosen.circle.gives_access:
        return ()
    offered = []
    for code, word in HOWS:
        current = chosen.asked.how == code and chosen.of is None
        if not code:
            offered.append(Toggle(word, chosen.url(how="", of=""), current))
            continue
        many = ownership.places(
            OwnershipFilter(chosen.asked.root, how=code), chosen.circle.sight.objects
        ).count()
        if many or current:
            offered.append(Toggle(word, chosen.url(how=code, of=""), current, words.number(many)))
    return tuple(offered)


def _lines(chosen: Chosen, shown: Sequence[Node]) -> list[Line]:
    owned_by = ownership.owners_of([node.id for node in shown])
    may = owners.settable(shown, chosen.circle.asker)
    return [_line(node, owned_by.get(node.id), settable=yes) for node, yes in zip(shown, may, strict=True)]


def _line(node: Node, owner: Principal | None, *, settable: bool) -> Line:
    place = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    thing = Who(node.name, Face("thing", terms.icon_of(node.type)), place, terms.page_of(node.id, node.type))
    who = terms.who(owner, owner.name, reverse("console:person", args=[owner.pk])) if owner else None
    return Line(node.id, thing, who, "" if settable else "not yours to hand over")


def _empty(chosen: Chosen) -> Empty:
    if not chosen.circle.gives_access:
        return Empty(
            "Nothing here is yours to hand over", "Owners are shown to those who own something.", level=2
        )
    if chosen.data.get("how") in (NOBODY, GONE):
        return Empty("Everything has an owner who is there", level=2)
    return Empty("Nothing fits", drawn=False, actions=(Action("Show all", "?"),), level=2)


# Handing over


@dataclass(frozen=True)
class Plan:
    """What is to be handed over to whom, and what of it is not the viewer's to hand over."""

    chosen: Chosen
    to: Principal | None

    @cached_property
    def all(self) -> list[Node]:
        return ownership.in_order(list(self.chosen.rows[:LOOKED]))

    @cached_property
    def before(self) -> dict[int, Principal]:
        return ownership.owners_of([node.id for node in self.all])

    @cached_property
    def _may(self) -> list[bool]:
        return owners.settable(self.all, self.chosen.circle.asker)

    @cached_property
    def mine(self) -> list[Node]:
        """Those that would get another owner by it."""
        new = self.to.pk if self.to else None
        pairs = zip(self.all, self._may, strict=True)
        return [node for node, yes in pairs if yes and _owner(self.before, node) != new]

    @cached_property
    def not_mine(self) -> list[Node]:
        return [node for node, yes in zip(self.all, self._may, strict=True) if not yes]

    @property
    def many(self) -> str:
        return words.count(len(self.mine), "object")

    def tally(self) -> Tally:
        counts = [Count(words.number(len(self.mine)), f"change{'s' * (len(self.mine) == 1)} owner", "gain")]
        if self.not_mine:
            counts.append(Count(words.number(len(self.not_mine)), "are not yours to hand over"))
        return Tally(tuple(counts))

    def diff(self) -> Diff | None:
        if self.to is None:
            return None
        lines = []
        for owner, some in self._by_owner():
            text = f"no longer owns {words.count(len(some), 'object')}"
            lines.append(DiffLine("lose", owner.label, text, _names(some)))
        if self.mine:
            rest = "May do everything with them and all below them, give access, and hand them on."
            lines.append(DiffLine("gain", self.to.label, f"becomes the owner of {self.many}", rest))
            unowned = [node for node in self.mine if node.id not in self.before]
            if unowned:
                what = words.count(len(unowned), "object")
                lines.append(DiffLine("same", what, "had no owner of their own", _names(unowned)))
        if self.not_mine:
            what = f"{words.count(len(self.not_mine), 'object')}"
            lines.append(
                DiffLine("same", what, "stay as they are: not yours to hand over", _names(self.not_mine))
            )
        return Diff(tuple(lines) or (DiffLine("same", self.to.label, "owns all of this already"),))

    def _by_owner(self) -> list[tuple[Principal, list[Node]]]:
        found: dict[int, tuple[Principal, list[Node]]] = {}
        for node in self.mine:
            owner = self.before.get(node.id)
            if owner is not None:
                found.setdefault(owner.pk, (owner, []))[1].append(node)
        return sorted(found.values(), key=lambda pair: -len(pair[1]))


def _owner(before: dict[int, Principal], node: Node) -> int | None:
    return before[node.id].pk if node.id in before else None


def _names(some: Sequence[Node]) -> str:
    return words.listed([node.ref.full_name or node.name for node in some], 12)


@reads_and_writes
@signed_in
def hand_over(request: Request) -> HttpResponse:
    """To whom, what changes, why; then it is done, so many objects a change, with how far it is."""
    chosen = Chosen(circle_of(request), request.GET)
    if chosen.root is None or not chosen.circle.gives_access:
        raise Http404
    root, data = chosen.root, request.POST if request.method == "POST" else request.GET
    nobody = f"Nobody of that name is in {root.name}. Its owner can add them first."
    asked = Among(data, search=lambda text: admitted(root, text), nobody_words=nobody, at_most=1)
    plan = Plan(chosen, asked.chosen[0] if asked.chosen else None)
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _show(request, plan, asked, [])
    if not asked.check_who():
        return _show(request, plan, asked, [])
    return _save(request, plan, asked)


def _save(request: Request, plan: Plan, asked: Among) -> HttpResponse:
    to, actor = plan.to, Actor(plan.chosen.circle.asker, "console", request_id=asked.nonce)
    if to is None:
        raise Http404
    batch, rest = plan.mine[:BATCH], plan.mine[BATCH:]
    if done_before(actor) is None:
        try:
            owners.hand_over(batch, to, by=actor, reason=asked.reason, now_owned_by=plan.chosen.of)
        except PolicyError as problem:
            return _show(request, plan, asked, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    earlier = number_in(request.POST.get("done", "")) or 0
    done = earlier + len(batch)
    if rest:
        return _progress(request, plan, asked, done, len(rest))
    return _finish(request, plan, to, actor, batch if not earlier else [], done)


def _finish(
    request: Request, plan: Plan, to: Principal, actor: Actor, only: Sequence[Node], done: int
) -> HttpResponse:
    """Say how many; what was one change and may be taken back is offered for it."""
    many, asker = words.count(done, "object"), plan.chosen.circle.asker
    # who gave it away can seldom take it back: then no Undo is promised
    undo = done_before(actor) if only and all(owners.settable(only, asker)) else None
    say(request, f"{to.label} owns {many} more" if done else f"Nothing changed for {to.label}", undo=undo)
    asked = {"of": str(to), "in": plan.chosen.root.id if plan.chosen.root else ""}
    back = f"{reverse('console:owners')}?{urlencode(asked)}"
    if request.htmx:
        answer = HttpResponse()
        answer["HX-Redirect"] = back
        return answer
    return redirect(back)


def _progress(request: Request, plan: Plan, asked: Among, done: int, left: int) -> HttpResponse:
    context = {
        "heading": f"{words.number(done)} of {words.count(done + left, 'object')} handed over",
        "text": f"{words.number(left)} are left. It goes on by itself; without scripts, with the button.",
        "done": done,
        "total": done + left,
        "here": request.get_full_path(),
        "to": str(plan.to),
        "reason": asked.reason,
        "nonce": Among(QueryDict()).nonce,
        "next": words.number(min(left, BATCH)),
    }
    return page(request, "console/objects/owners_progress.html", context, room="people")


def _show(request: Request, plan: Plan, asked: Among, notes: list[Note]) -> HttpResponse:
    root, back = plan.chosen.root, f"{reverse('console:owners')}{plan.chosen.url()}"
    over = len(plan.all) >= LOOKED
    if over:
        text = f"It goes by {words.number(LOOKED)}; come back for the rest."
        notes = [*notes, Note("warn", "These are very many objects.", text)]
    to = terms.spoken(plan.to) if plan.to else ""
    context = {
        "heading": f"Hand over {words.count(len(plan.all), 'object')} {plan.chosen.words()}".strip(),
        "place": f"In {root.name}." if root else "",
        "notes": notes,
        "here": request.get_full_path(),
        "back": back,
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "reason": asked.reason,
        "problems": asked.problems,
        "button": f"Make {to} the owner of {plan.many}" if to else "Hand over",
        "tally": plan.tally() if plan.to else None,
        "diff": plan.diff(),
        "preview_empty": "Name a person or a group of the realm. A group outlives the people in it.",
        "sum": "",
    }
    status = 422 if (notes and not over) or (asked.problems and asked.data.get("step") == "save") else 200
    return page(request, "console/roles/assign.html", context, room="people", status=status)
