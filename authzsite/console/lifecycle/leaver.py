"""A leaver: all they have and own, and what becomes of each, in one plan that is looked at before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Crumbs, Empty, Fact, Facts, Note, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, realm_words
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.lifecycle import effects
from authzsite.console.lifecycle.done import done_by
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.decisions.site import named
from policies.lifecycle.actions import HAND, TAKE, LifecycleAction, Outcome, carry_out
from policies.lifecycle.entitlements import HANDED, KINDS, SITE, TAKEN, Entitlement, Holdings, askable
from policies.record import access_log
from policies.services.grants import revision_now

SHOWN = 25
"""So many things of a kind have a line of their own; what is chosen for the rest is chosen at once."""
LEAVE = "leave"
PEOPLE = ("group", "seat")
"""What only a person takes over."""


@dataclass(frozen=True)
class LeaverRow:
    """One thing, and what can become of it; `reason` says why that is not the viewer's to say."""

    name: str
    what: Who
    gives: str
    ends: Chip | None
    options: tuple[tuple[str, str, bool], ...] = ()
    reason: str = ""
    trouble: str = ""


@dataclass(frozen=True)
class Section:
    code: str
    title: str
    many: str
    lines: tuple[LeaverRow, ...]
    rest: LeaverRow | None = None


@dataclass
class Plan:
    """What becomes of each thing of somebody, as a form says it."""

    circle: VisiblePrincipals
    person: Principal
    data: QueryDict
    outcomes: Sequence[Outcome] = ()
    notes: list[Note] = field(default_factory=list)

    @cached_property
    def holdings(self) -> Holdings:
        circle, person = self.circle, self.person
        return Holdings(person, circle.asker, circle.realms, lambda node: circle.sees(person, node))

    @cached_property
    def asked(self) -> Among:
        words_ = "Nobody of that name can be named here."
        return Among(self.data, search=self._receivers, nobody_words=words_)

    def _receivers(self, text: str) -> QuerySet[Principal]:
        rows = named(("user", "group"), text) if self.circle.runs_the_site else self.circle.people(text)
        return rows.filter(Q(kind="user") | Q(kind="group")).exclude(pk=self.person.pk)

    @cached_property
    def by_kind(self) -> dict[str, list[Entitlement]]:
        found: dict[str, list[Entitlement]] = {}
        for item in self.holdings.all:
            found.setdefault(item.kind, []).append(item)
        return found

    @property
    def here(self) -> str:
        return reverse("console:person_leaving", args=[self.person.pk])

    # What is chosen

    @cached_property
    def deeds(self) -> list[LifecycleAction]:
        """What is to be done and may be, in the order in which it is shown."""
        made = (self._deed(item, self._chosen(item)) for some in self.by_kind.values() for item in some)
        return [item for item in made if item is not None and item.allowed and item.possible]

    @cached_property
    def unnamed(self) -> list[Entitlement]:
        """What is to be handed over, and nobody is named to whom."""
        mine = (item for item in self.holdings.all if item.may_take)
        return [] if self.asked.chosen else [item for item in mine if self._chosen(item) == HAND]

    def _deed(self, entitlement: Entitlement, chosen: str) -> LifecycleAction | None:
        what, _, code = chosen.partition(":")
        if what == HAND:
            to = self._named.get(code) or next(iter(self.asked.chosen), None)
            return LifecycleAction(entitlement, HAND, to)
        return LifecycleAction(entitlement, TAKE) if what == TAKE else None

    @cached_property
    def _named(self) -> dict[str, Principal]:
        return {str(item): item for item in self.asked.chosen}

    def _chosen(self, entitlement: Entitlement) -> str:
        some = self.by_kind[entitlement.kind]
        drawn = some.index(entitlement) < SHOWN if len(some) > SHOWN else True
        name = f"do-{entitlement.code}" if drawn else f"rest-{entitlement.kind}"
        return self.data.get(name, "") or self._usual(entitlement.kind)

    def _usual(self, kind: str) -> str:
        return HAND if kind in ("own", "keep", "seat") else TAKE

    # What is shown

    def sections(self) -> list[Section]:
        return [self._section(kind, self.by_kind[kind]) for kind in KINDS if kind in self.by_kind]

    def _section(self, kind: str, some: list[Entitlement]) -> Section:
        lines = tuple(self._line(item) for item in some[:SHOWN])
        more = len(some) - SHOWN
        rest = None
        if more > 0:
            who = Who(f"{words.number(more)} more", terms.avatar_of(self.person), "all of them alike")
            options = self._options(kind, self.data.get(f"rest-{kind}", "") or self._usual(kind))
            rest = LeaverRow(f"rest-{kind}", who, "", None, options)
        return Section(kind, effects.TITLES[kind], words.number(len(some)), lines, rest)

    def _line(self, entitlement: Entitlement) -> LeaverRow:
        base = (
            f"do-{entitlement.code}",
            effects.what(entitlement),
            effects.gives(entitlement),
            terms.ends_chip(entitlement.until),
        )
        trouble = self._troubles.get(entitlement.code, "")
        if not entitlement.may_take:
            return LeaverRow(*base, reason=self._reason(entitlement), trouble=trouble)
        return LeaverRow(
            *base, options=self._options(entitlement.kind, self._chosen(entitlement)), trouble=trouble
        )

    def _options(self, kind: str, chosen: str) -> tuple[tuple[str, str, bool], ...]:
        found = []
        if kind in HANDED:
            receivers = [item for item in self.asked.chosen if kind not in PEOPLE or item.kind == "user"]
            if len(receivers) < 2:
                to = f" to {receivers[0].label}" if receivers else ""
                found.append((HAND, f"Hand over{to}"))
            found += [
                (f"{HAND}:{receiver}", f"Hand over to {receiver.label}") for receiver in receivers[:6]
            ] * (len(receivers) > 1)
        if kind in TAKEN:
            found.append((TAKE, TAKES.get(kind, "Remove")))
        found.append((LEAVE, "Leave"))
        codes = [code for code, _ in found]
        chosen = chosen if chosen in codes else codes[0] if chosen.startswith(HAND) else LEAVE
        return tuple((code, word, code == chosen) for code, word in found)

    def _reason(self, entitlement: Entitlement) -> str:
        if entitlement.kind in SITE:
            if entitlement.kind == "account" and self.holdings.runs_the_site:
                return "Nobody can disable their own account; ask another site admin."
            return f"Ask a site admin. {site_admins.admin_names()}"
        owner = self._askable.get(entitlement.code)
        if entitlement.kind == "duty":
            return "Ask the realm's owner."
        return f"Ask {owner.label}." if owner else "Ask the realm's owner."

    @cached_property
    def _askable(self) -> dict[str, Principal]:
        return askable(item for item in self.holdings.all if not item.may_take)

    @cached_property
    def _troubles(self) -> dict[str, str]:
        return {outcome.deed.holding.code: outcome.trouble for outcome in self.outcomes if outcome.trouble}

    @cached_property
    def told(self) -> effects.LifecycleEffects:
        realms = {realm.id: realm for realm in self.circle.realms}
        if self.circle.runs_the_site:
            realms |= {item.id: item for item in realms_of(self.person)}
        return effects.LifecycleEffects(self.person, self.deeds, list(realms.values()))


TAKES = {
    "request": "End it",
    "token": "Take back",
    "account": "Disable",
    "group": "Take out",
    "member": "Remove from it",
}


def leaver_or_404(request: Request, id: int) -> tuple[VisiblePrincipals, Principal]:
    """The person or service account of that number, whose access is looked at on the record."""
    circle = circle_of(request)
    person = circle.meet(id)
    if person.kind not in (Principal.Kind.USER, Principal.Kind.SERVICE):
        raise Http404
    if not circle.is_own(person):
        for realm in circle.realms:
            access_log.looked(circle.asker, f"access of {person.pseudonym}", realm, via="console")
    return circle, person


def crumbs_of(person: Principal) -> Crumbs:
    own = reverse("console:person", args=[person.pk])
    return Crumbs((("People", reverse("console:people")), (person.label, own)))


@reads_and_writes
@login_required
def leaver_form(request: Request, id: int) -> HttpResponse:
    """All of it, line by line; what the plan changes; then it is done, and what was not is left to resume."""
    circle, person = leaver_or_404(request, id)
    plan = Plan(circle, person, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or not plan.asked.saving:
        plan.asked.tell_nobody()
        return _show(request, plan)
    if plan.asked.find:
        plan.asked.problems["who"] = "Choose one of these, or clear the field."
    elif plan.unnamed:
        many = words.count(len(plan.unnamed), "line")
        plan.asked.problems["who"] = f"Name the new holder: {many} say so."
    if plan.asked.problems:
        return _show(request, plan)
    return _carry_out(request, plan)


def _carry_out(request: Request, plan: Plan) -> HttpResponse:
    asked = plan.asked
    actor = Actor(plan.circle.asker, "console", request_id=asked.nonce)
    outcomes = carry_out(plan.person, plan.deeds, by=actor, reason=asked.reason)
    failed = [outcome for outcome in outcomes if outcome.trouble]
    if failed:
        done = words.count(len(outcomes) - len(failed), "line")
        text = "Lines that failed are below with their reasons; nothing else was changed. Continue from here."
        strong = f"{done} done, {words.count(len(failed), 'line')} not."
        again = Plan(plan.circle, plan.person, plan.data, outcomes, [Note("bad", strong, text)])
        return _show(request, again)
    say(request, f"{plan.person.label}: {words.count(len(outcomes), 'line')} done")
    url = reverse("console:person_done", args=[asked.nonce])
    return redirect(f"{url}?{urlencode({'who': plan.person.pk})}" if outcomes else plan.here)


def _show(request: Request, plan: Plan) -> HttpResponse:
    asked, person, sections = plan.asked, plan.person, plan.sections()
    looked = asked.data.get("step") in ("look", "save") or bool(asked.chosen)
    own = person.pk == plan.circle.asker.pk
    name = "you" if own else person.label
    done = done_by(plan.circle.asker, asked.nonce if plan.outcomes else "")
    context: dict[str, Any] = {
        "crumbs": crumbs_of(person),
        "heading": f"What {name} {'leave' if own else 'leaves'} behind",
        "kind": str(person.get_kind_display()).capitalize(),
        "lead": LEAD,
        "facts": Facts(tuple(_facts(plan))),
        "notes": plan.notes,
        "person": person,
        "sections": sections,
        "here": plan.here,
        "back": reverse("console:person", args=[person.pk]),
        "nonce": asked.nonce,
        **asked.fields(),
        "who_label": "Hand over to",
        "reason": asked.reason,
        "problems": asked.problems,
        "tally": plan.told.tally() if looked else None,
        "diff": plan.told.diff() if looked and plan.deeds else None,
        "sum": plan.told.sum() if looked else "",
        "preview_empty": "Name who gets it, choose, then look: the preview shows who loses what.",
        "button": f"Carry out {words.count(len(plan.deeds), 'line')}",
        "done": done,
        "empty": Empty(
            f"{person.label} has nothing left that you can see" if not own else "You have nothing here",
            "Other owners handle their objects on this same page.",
            level=2,
        ),
    }
    failed = bool(asked.problems) and asked.data.get("step") == "save"
    status = 422 if failed or plan.notes else 200
    realm, revision = realm_words(plan.circle), revision_now()
    template = "console/lifecycle/leaver.html"
    return page(request, template, context, section="people", realm=realm, revision=revision, status=status)


LEAD = (
    "Each line is handed over, removed or left, as you choose; nothing is saved until you carry it out. "
    "Items that you don’t own show whom to ask; they stay listed here."
)


def _facts(plan: Plan) -> Iterable[Fact]:
    for kind in ("own", "give", "role", "group", "keep", "token"):
        if kind in plan.by_kind:
            yield Fact(effects.TITLES[kind], words.number(len(plan.by_kind[kind])))
    waits = sum(not item.may_take for item in plan.holdings.all)
    if waits:
        yield Fact("Not yours", words.count(waits, "line"))


__all__ = ["Plan", "crumbs_of", "leaver_form", "leaver_or_404"]
