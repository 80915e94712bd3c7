"""A joiner: what a colleague has and they do not, picked line by line, foretold, and given at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.access.reasons import GivingForm
from authzsite.console.accounts import site_admins
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Empty, Fact, Facts, Note, Who
from authzsite.console.kit.forms import REASON_HELP, PrincipalField, ReasonField
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.kit.replay import Proposal
from authzsite.console.lifecycle.effects import LifecycleEffects, gives, what
from authzsite.console.lifecycle.lifecycle_change import LifecycleView
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.lifecycle.actions import COPY, LifecycleAction, Outcome, copy_all
from policies.lifecycle.entitlements import COPIED, SITE, Entitlement, Holdings, askable
from policies.models import Grant
from policies.requests.rules import Rules, rules_of_grants, rules_of_roles, strictest

SHOWN = 60
FAR = ("write", "manage")


@dataclass(frozen=True)
class JoinerRow:
    """One thing that the colleague has and the other has not."""

    code: str
    what: Who
    gives: str
    ends: Chip | None
    picked: bool = False
    far: bool = False
    needed: bool = False
    reason: str = ""
    trouble: str = ""


@dataclass
class Comparison:
    """Two people, and what of the one is picked for the other; `picks` is None until somebody looked."""

    circle: VisiblePrincipals
    person: Principal
    like: Principal | None
    picks: frozenset[str] | None = None

    def _of(self, principal: Principal) -> Holdings:
        circle = self.circle
        return Holdings(principal, circle.asker, circle.realms, lambda node: circle.sees(principal, node))

    @cached_property
    def theirs(self) -> tuple[Entitlement, ...]:
        return self._of(self.like).all if self.like else ()

    @cached_property
    def has(self) -> dict[tuple[object, ...], Entitlement]:
        return {_key(item): item for item in self._of(self.person).all}

    @cached_property
    def lacking(self) -> list[Entitlement]:
        """What the colleague has and this one has not, as far as it can be given at all."""
        rows = (self._rest(item) for item in self.theirs if item.kind in COPIED)
        return [row for row in rows if row is not None]

    def _rest(self, entitlement: Entitlement) -> Entitlement | None:
        mine = self.has.get(_key(entitlement))
        if mine is None:
            return entitlement
        grants = tuple(row for row in entitlement.grants if row.privilege not in mine.privileges)
        return replace(entitlement, grants=grants) if grants else None

    @property
    def same(self) -> int:
        return sum(item.kind in COPIED for item in self.theirs) - len(self.lacking)

    @property
    def owned(self) -> int:
        return sum(item.kind == "own" for item in self.theirs)

    # What is picked

    @cached_property
    def may(self) -> list[Entitlement]:
        """What of it the viewer may give; where the joiner is no member yet, only if they may admit."""
        shut = {item.realm_id for item in self.lacking if item.kind == "member" and not item.may_give}
        return [item for item in self.lacking if item.may_give and item.realm_id not in shut]

    @cached_property
    def picked(self) -> list[Entitlement]:
        chosen = self._chosen
        mine = [item for item in self.may if item.code in chosen and item.kind != "member"]
        needed = {item.realm_id for item in mine if item.realm_id}
        alone = [item for item in self.may if item.kind == "member"]
        admitted = [item for item in alone if item.realm_id in needed or item.code in chosen]
        return [*admitted, *mine]

    @cached_property
    def _chosen(self) -> frozenset[str]:
        if self.picks is not None:
            return self.picks
        return frozenset(item.code for item in self.may if item.code not in self.far)

    @cached_property
    def far(self) -> frozenset[str]:
        """Codes of what lets one write or manage; it is not ticked by itself."""
        roles = [item.node.id for item in self.lacking if item.kind == "role" and item.node]
        rows = Grant.objects.open().filter(role__in=roles, effect="allow").values_list("role", "privilege")
        by_role: dict[int, set[str]] = {}
        for role, privilege in rows:
            by_role.setdefault(role or 0, set()).add(privilege)
        return frozenset(item.code for item in self.lacking if self._far(item, by_role))

    def _far(self, entitlement: Entitlement, by_role: dict[int, set[str]]) -> bool:
        if entitlement.node is None or entitlement.kind == "duty":
            return entitlement.kind == "duty"
        codes = (
            by_role.get(entitlement.node.id, set())
            if entitlement.kind == "role"
            else set(entitlement.privileges)
        )
        privileges = (dialects.get(entitlement.node.kind).privilege(code) for code in codes)
        return any(privilege is not None and privilege.category in FAR for privilege in privileges)

    @cached_property
    def deeds(self) -> list[LifecycleAction]:
        return [LifecycleAction(item, COPY, self.person) for item in self.picked]

    @cached_property
    def effects(self) -> LifecycleEffects | None:
        if self.like is None or not self.deeds:
            return None
        realms = {realm.id: realm for realm in self.circle.realms}
        if self.circle.runs_the_site:
            realms |= {item.id: item for item in realms_of(self.like)}
        return LifecycleEffects(self.like, self.deeds, list(realms.values()))

    # What is shown

    def rows(self, outcomes: Sequence[Outcome]) -> list[JoinerRow]:
        return [self._row(item, outcomes) for item in self.lacking[:SHOWN]]

    def _row(self, entitlement: Entitlement, outcomes: Sequence[Outcome]) -> JoinerRow:
        base = (
            entitlement.code,
            what(entitlement),
            gives(entitlement),
            terms.ends_chip(entitlement.until),
        )
        far = entitlement.code in self.far
        if entitlement not in self.may:
            return JoinerRow(*base, far=far, reason=self._reason(entitlement))
        needed = entitlement.kind == "member" and any(
            it.realm_id == entitlement.realm_id for it in self.picked if it != entitlement
        )
        trouble = next((it.trouble for it in outcomes if it.deed.holding.code == entitlement.code), "")
        return JoinerRow(*base, entitlement in self.picked, far, needed, "", trouble)

    def _reason(self, entitlement: Entitlement) -> str:
        if entitlement.kind in SITE:
            return _("Ask a site admin. %(admin_names)s") % {"admin_names": site_admins.admin_names()}
        if entitlement.may_give:
            return _("%(label)s is not a member there yet. Ask the realm's owner.") % {
                "label": self.person.label
            }
        owner = self._askable.get(entitlement.code)
        return _("Ask %(label)s.") % {"label": owner.label} if owner else _("Ask the realm's owner.")

    @cached_property
    def _askable(self) -> dict[str, Principal]:
        return askable(item for item in self.lacking if not item.may_give)


def _key(entitlement: Entitlement) -> tuple[object, ...]:
    if entitlement.kind in ("text", "duty"):
        return (entitlement.kind, entitlement.node and entitlement.node.id, entitlement.text)
    return (entitlement.kind, entitlement.code)


class JoinerForm(GivingForm):
    """As whom, which of it, and why.  An address says `as`, a form `who`."""

    who = PrincipalField(
        label=gettext_lazy("The same as"),
        required=False,
        at_most=1,
        nobody=gettext_lazy("No person with that name is visible to you."),
    )
    reason = ReasonField(help_text=REASON_HELP)
    outcomes: Sequence[Outcome] = ()

    def __init__(self, data: Any, *, circle: VisiblePrincipals, person: Principal, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        if "as" in self.data and "who" not in self.data:
            self.data = self.data.copy()
            self.data.setlist("who", self.data.getlist("as"))
        colleagues = Q(kind="user") | Q(kind="service")
        self.fields["who"].search = lambda text: circle.people(text).exclude(pk=person.pk).filter(colleagues)
        picks = frozenset(self.data.getlist("pick")) if self.data.get("step") else None
        self.comparison = Comparison(circle, person, next(iter(self["who"].chosen), None), picks)
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        picked = [item for item in self.comparison.picked if item.node is not None]
        given = [item.node for item in picked if item.kind in ("give", "text") and item.node]
        roles = [item.node for item in picked if item.kind == "role" and item.node]
        return strictest([rules_of_grants(given), rules_of_roles(roles)])

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("who") == []:
            self.add_error("who", _("Enter the colleague to copy from."))
        return self.cleaned_data

    @property
    def deeds(self) -> list[LifecycleAction]:
        return self.comparison.deeds


class JoinerView(LifecycleView):
    """As whom; what differs; what it changes; then it is given, each realm as one change."""

    template_name = "console/lifecycle/joiner.html"
    nothing = Note("", gettext_lazy("Nothing is selected."), gettext_lazy("Select what to grant."))

    def make_form(self, data: Any) -> JoinerForm:
        return JoinerForm(data, circle=self.circle, person=self.object)

    def show(self, form: Any, status: int = 200) -> HttpResponse:
        if form.comparison.like is not None:
            self.record_look(form.comparison.like)
        return super().show(form, status)

    def plan(self, form: JoinerForm) -> Plan:
        foretold = form.comparison.effects
        if foretold is None:
            return Plan(empty=_("Enter a colleague: the preview shows what it allows, object by object."))
        return Plan(tally=foretold.tally(), diff=foretold.diff(), sum=foretold.sum())

    def proposals(self, form: JoinerForm) -> Iterable[Proposal]:
        foretold = form.comparison.effects
        return foretold.proposals() if foretold is not None else ()

    def carry_out(self, form: JoinerForm, actor: Actor) -> list[Outcome]:
        return copy_all(self.object, form.deeds, by=actor, reason=form.cleaned_data["reason"])

    def note_of_failed(self, outcomes: Sequence[Outcome], failed: Sequence[Outcome]) -> Note:
        strong = _("%(failed)s not granted.") % {"failed": words.count(len(failed), "line")}
        why = _("%(trouble)s The rest of that realm was left out with it. Your form is kept.") % {
            "trouble": failed[0].trouble
        }
        return Note("bad", strong, why)

    def success_message(self, form: JoinerForm) -> str:
        like, many = form.comparison.like, words.count(len(self.result or form.deeds), "line")
        if self.result is None or like is None:
            return _("%(label)s already has it") % {"label": self.object.label}
        return _("%(label)s has %(many)s more of what %(label2)s has") % {
            "label": self.object.label,
            "many": many,
            "label2": like.label,
        }

    def heading(self, form: JoinerForm) -> str:
        like = form.comparison.like
        return _("Grant %(label)s the same as %(label2)s") % {
            "label": self.object.label,
            "label2": like.label if like else _("a colleague"),
        }

    def lead(self) -> str:
        return str(LEAD)

    def button(self, form: JoinerForm) -> str:
        if not form.deeds:
            return _("Grant it")
        return _("Grant %(deeds)s to %(label)s") % {
            "deeds": words.count(len(form.deeds), "line"),
            "label": self.object.label,
        }

    def page_context(self, form: JoinerForm) -> dict[str, Any]:
        comparison = form.comparison
        more = len(comparison.lacking) - SHOWN
        return {
            **super().page_context(form),
            "facts": Facts(tuple(_facts(comparison))) if comparison.like else None,
            "like": comparison.like,
            "lines": comparison.rows(form.outcomes),
            "more": words.number(more) if more > 0 else "",
            "empty": _empty(comparison),
        }


LEAD = gettext_lazy(
    "Access of the colleague that you can give is listed; write and manage rights are not preselected. "
    "An object has one owner, so ownership is not copied."
)


def _facts(comparison: Comparison) -> Iterable[Fact]:
    yield Fact(_("Has already"), words.count(comparison.same, "line") if comparison.same else _("None of it"))
    yield Fact(
        _("Lacks"), words.count(len(comparison.lacking), "line") if comparison.lacking else _("Nothing")
    )
    waits = len(comparison.lacking) - len(comparison.may)
    if waits:
        yield Fact(_("You cannot grant this"), words.count(waits, "line"))
    if comparison.owned:
        yield Fact(_("Owned by the colleague"), words.count(comparison.owned, "object"), note=_("stays so"))


def _empty(comparison: Comparison) -> Empty | None:
    if comparison.like is None:
        return None
    text = _("They may still differ in access that you cannot see.")
    heading = _("%(label)s has all that %(label2)s has, as far as you can see") % {
        "label": comparison.person.label,
        "label2": comparison.like.label,
    }
    return Empty(heading, text, level=2)
