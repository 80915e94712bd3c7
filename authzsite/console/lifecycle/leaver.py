"""A leaver: all they have and own, and what becomes of each, in one plan that is looked at before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Empty, Fact, Facts, Note, Who
from authzsite.console.kit.forms import ConsoleForm, PrincipalField, ReasonField
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.kit.replay import Proposal
from authzsite.console.lifecycle.effects import TITLES, LifecycleEffects, gives, what
from authzsite.console.lifecycle.lifecycle_change import LifecycleView
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.decisions.site import named
from policies.lifecycle.actions import HAND, TAKE, LifecycleAction, Outcome, carry_out
from policies.lifecycle.entitlements import HANDED, KINDS, SITE, TAKEN, Entitlement, Holdings, askable

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
class LeaverPlan:
    """What becomes of each thing of somebody, as a form says it."""

    circle: VisiblePrincipals
    person: Principal
    receivers: Sequence[Principal]
    data: QueryDict
    outcomes: Sequence[Outcome] = ()

    @cached_property
    def holdings(self) -> Holdings:
        circle, person = self.circle, self.person
        return Holdings(person, circle.asker, circle.realms, lambda node: circle.sees(person, node))

    @cached_property
    def by_kind(self) -> dict[str, list[Entitlement]]:
        entitlements: dict[str, list[Entitlement]] = {}
        for item in self.holdings.all:
            entitlements.setdefault(item.kind, []).append(item)
        return entitlements

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
        return [] if self.receivers else [item for item in mine if self._chosen(item) == HAND]

    def _deed(self, entitlement: Entitlement, chosen: str) -> LifecycleAction | None:
        how, _, code = chosen.partition(":")
        if how == HAND:
            to = self._named.get(code) or next(iter(self.receivers), None)
            return LifecycleAction(entitlement, HAND, to)
        return LifecycleAction(entitlement, TAKE) if how == TAKE else None

    @cached_property
    def _named(self) -> dict[str, Principal]:
        return {str(item): item for item in self.receivers}

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
            who = Who(
                gettext("%(more)s more") % {"more": words.number(more)},
                terms.avatar_of(self.person),
                gettext("all of them alike"),
            )
            options = self._options(kind, self.data.get(f"rest-{kind}", "") or self._usual(kind))
            rest = LeaverRow(f"rest-{kind}", who, "", None, options)
        return Section(kind, str(TITLES[kind]), words.number(len(some)), lines, rest)

    def _line(self, entitlement: Entitlement) -> LeaverRow:
        base = (
            f"do-{entitlement.code}",
            what(entitlement),
            gives(entitlement),
            terms.ends_chip(entitlement.until),
        )
        trouble = self._troubles.get(entitlement.code, "")
        if not entitlement.may_take:
            return LeaverRow(*base, reason=self._reason(entitlement), trouble=trouble)
        return LeaverRow(
            *base, options=self._options(entitlement.kind, self._chosen(entitlement)), trouble=trouble
        )

    def _options(self, kind: str, chosen: str) -> tuple[tuple[str, str, bool], ...]:
        options = []
        if kind in HANDED:
            takers = [item for item in self.receivers if kind not in PEOPLE or item.kind == "user"]
            to = [gettext("Hand over to %(label)s") % {"label": taker.label} for taker in takers[:6]]
            if len(takers) < 2:
                options.append((HAND, to[0] if to else gettext("Hand over")))
            else:
                options += [(f"{HAND}:{taker}", text) for taker, text in zip(takers, to, strict=False)]
        if kind in TAKEN:
            options.append((TAKE, str(TAKES.get(kind, gettext("Remove")))))
        options.append((LEAVE, gettext("Leave")))
        codes = [code for code, _ in options]
        chosen = chosen if chosen in codes else codes[0] if chosen.startswith(HAND) else LEAVE
        return tuple((code, word, code == chosen) for code, word in options)

    def _reason(self, entitlement: Entitlement) -> str:
        if entitlement.kind in SITE:
            if entitlement.kind == "account" and self.holdings.runs_the_site:
                return gettext("Nobody can disable their own account; ask another site admin.")
            return gettext("Ask a site admin. %(admin_names)s") % {"admin_names": site_admins.admin_names()}
        owner = self._askable.get(entitlement.code)
        if entitlement.kind == "duty":
            return gettext("Ask the realm's owner.")
        return (
            gettext("Ask %(label)s.") % {"label": owner.label} if owner else gettext("Ask the realm's owner.")
        )

    @cached_property
    def _askable(self) -> dict[str, Principal]:
        return askable(item for item in self.holdings.all if not item.may_take)

    @cached_property
    def _troubles(self) -> dict[str, str]:
        return {outcome.deed.holding.code: outcome.trouble for outcome in self.outcomes if outcome.trouble}

    @cached_property
    def effects(self) -> LifecycleEffects:
        realms = {realm.id: realm for realm in self.circle.realms}
        if self.circle.runs_the_site:
            realms |= {item.id: item for item in realms_of(self.person)}
        return LifecycleEffects(self.person, self.deeds, list(realms.values()))


TAKES = {
    "request": gettext_lazy("End it"),
    "token": gettext_lazy("Revoke"),
    "account": gettext_lazy("Disable"),
    "group": gettext_lazy("Take out"),
    "member": gettext_lazy("Remove from it"),
}


class LeaverForm(ConsoleForm):
    """To whom it is handed over, and why; what becomes of each line is read by its plan."""

    who = PrincipalField(
        label=gettext_lazy("Hand over to"),
        required=False,
        nobody=gettext_lazy("No person with that name can be chosen here."),
    )
    reason = ReasonField(
        help_text=gettext_lazy("Kept in the history permanently. Name the ticket or the last day.")
    )
    outcomes: Sequence[Outcome] = ()

    def __init__(self, data: Any, *, circle: VisiblePrincipals, person: Principal, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.circle, self.person = circle, person
        self.fields["who"].search = self._receivers

    def _receivers(self, text: str) -> QuerySet[Principal]:
        rows = named(("user", "group"), text) if self.circle.runs_the_site else self.circle.people(text)
        return rows.filter(Q(kind="user") | Q(kind="group")).exclude(pk=self.person.pk)

    @cached_property
    def plan(self) -> LeaverPlan:
        return LeaverPlan(self.circle, self.person, self["who"].chosen, self.data, self.outcomes)

    def clean(self) -> dict[str, Any]:
        if "who" in self.cleaned_data and self.plan.unnamed:
            many = words.count(len(self.plan.unnamed), "line")
            self.add_error("who", gettext("Enter the new holder; needed for %(many)s.") % {"many": many})
        return self.cleaned_data

    @property
    def deeds(self) -> list[LifecycleAction]:
        return self.plan.deeds

    @property
    def looked(self) -> bool:
        """Whether it is foretold what the lines would come to."""
        return self.data.get("step") in ("look", "save") or bool(self.plan.receivers)


class LeaverView(LifecycleView):
    """All of it, line by line; what the plan changes; then it is done, and what was not is left to resume."""

    template_name = "console/lifecycle/leaver.html"
    nothing = Note("", gettext_lazy("Nothing is chosen."), gettext_lazy("Every line is left as it is."))

    def make_form(self, data: Any) -> LeaverForm:
        return LeaverForm(data, circle=self.circle, person=self.object)

    @property
    def own(self) -> bool:
        return self.object.pk == self.asker.pk

    def plan(self, form: LeaverForm) -> Plan:
        if not form.looked:
            return Plan(
                empty=gettext(
                    "Enter the new holder and choose an action for each line. The preview shows who loses "
                    "what."
                )
            )
        foretold = form.plan.effects
        return Plan(
            tally=foretold.tally(),
            diff=foretold.diff() if form.deeds else None,
            sum=foretold.sum(),
            empty=gettext(
                "Enter the new holder and choose an action for each line. The preview shows who loses what."
            ),
        )

    def proposals(self, form: LeaverForm) -> Iterable[Proposal]:
        return form.plan.effects.proposals()

    def carry_out(self, form: LeaverForm, actor: Actor) -> list[Outcome]:
        return carry_out(self.object, form.deeds, by=actor, reason=form.cleaned_data["reason"])

    def note_of_failed(self, outcomes: Sequence[Outcome], failed: Sequence[Outcome]) -> Note:
        done = words.count(len(outcomes) - len(failed), "line")
        text = gettext(
            "Lines that failed are below with their reasons; nothing else was changed. Continue from here."
        )
        return Note(
            "bad",
            gettext("%(done)s done, %(failed)s not.")
            % {"done": done, "failed": words.count(len(failed), "line")},
            text,
        )

    def success_message(self, form: LeaverForm) -> str:
        return gettext("%(label)s: %(len)s done") % {
            "label": self.object.label,
            "len": words.count(len(self.result or ()), "line"),
        }

    def heading(self, form: LeaverForm) -> str:
        if self.own:
            return gettext("What you leave behind")
        return gettext("What %(name)s leaves behind") % {"name": self.object.label}

    def lead(self) -> str:
        return str(LEAD)

    def button(self, form: LeaverForm) -> str:
        return gettext("Carry out %(deeds)s") % {"deeds": words.count(len(form.deeds), "line")}

    def page_context(self, form: LeaverForm) -> dict[str, Any]:
        label = self.object.label
        return {
            **super().page_context(form),
            "kind": str(self.object.get_kind_display()).capitalize(),
            "facts": Facts(tuple(_facts(form.plan))),
            "sections": form.plan.sections(),
            "empty": Empty(
                gettext("You have nothing here")
                if self.own
                else gettext("%(label)s has nothing left that you can see") % {"label": label},
                gettext("Other owners handle their objects on this same page."),
                level=2,
            ),
        }


LEAD = gettext_lazy(
    "Each line is handed over, removed or left, as you choose; nothing is saved until you carry it out. "
    "Items that you don’t own show whom to ask; they stay listed here."
)


def _facts(plan: LeaverPlan) -> Iterable[Fact]:
    for kind in ("own", "give", "role", "group", "keep", "token"):
        if kind in plan.by_kind:
            yield Fact(TITLES[kind], words.number(len(plan.by_kind[kind])))
    waits = sum(not item.may_take for item in plan.holdings.all)
    if waits:
        yield Fact(gettext("Not yours"), words.count(waits, "line"))
