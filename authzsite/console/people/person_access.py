"""One viewer looking at one person, group or service account: what every tab of its page shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import pgettext

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Fact, Facts, Reason, StrOrPromise, Tab
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, realm_words
from authzsite.console.kit.navigation import grouped
from authzsite.console.kit.page import page
from authzsite.console.people.reach import ReachFilter
from authzsite.console.people.reach_pages import PagedReach
from authzsite.console.requests.links import asking
from catalog.queries import nodes
from policies.analytics.uses import last_uses
from policies.decisions import ask, slices
from policies.decisions.lookups.readable import count_readable
from policies.models import RealmMember
from policies.record import access_log
from policies.services.grants import revision_now

NO_GIVING, NO_REMOVING = "why-not-give", "why-not-remove"
TABS = (
    (noop("Access"), (("person", noop("Rights")), ("person_sees", noop("Check as")))),
    (noop("Groups and roles"), (("person_groups", noop("Groups and roles")),)),
    (noop("History"), (("person_history", noop("Changes")), ("person_then", noop("Past")))),
)
"""Each with the pages inside it; the first is where it leads."""


@dataclass(frozen=True)
class PersonAccess:
    """One viewer looking at one person, with what every tab of the page shows."""

    circle: VisiblePrincipals
    person: Principal
    reach: PagedReach
    tab: str

    def page(self, request: Request, template: str, context: dict[str, Any]) -> HttpResponse:
        actions = self.actions()
        groups = TABS
        if self.person.kind == Principal.Kind.GROUP:
            groups = (TABS[0], (noop("People and roles"), TABS[1][1]), TABS[2])
        named = tuple((_(label), tuple((code, _(name)) for code, name in pages)) for label, pages in groups)
        tabs = grouped(named, self.tab, self._tab)
        frame = {
            "crumbs": Crumbs(((_("People"), reverse("console:people")),)),
            "heading": self.person.label,
            "kind": _("You") if self.own else self.person.get_kind_display().capitalize(),
            "lead": self._lead(),
            "actions": actions,
            "reasons": self.reasons(actions),
            "facts": self.facts(),
            "tabs": tabs,
            "person": self.person,
            "own": self.own,
        }
        return page(
            request,
            template,
            {**frame, **context},
            section="people",
            realm=realm_words(self.circle),
            revision=revision_now(),
        )

    @property
    def own(self) -> bool:
        return self.person.pk == self.circle.asker.pk

    def _lead(self) -> str:
        realms = words.listed([realm.name for realm in self.circle.realms])
        if self.circle.is_own(self.person):
            return _("%(person)s; all access in %(realms)s.") % {"person": self.person, "realms": realms}
        return _("%(person)s; access in %(realms)s to what you may know of.") % {
            "person": self.person,
            "realms": realms,
        }

    def actions(self) -> list[Action]:
        query = urlencode({"who": str(self.person)})
        first = [Action(_("Ask why"), f"{reverse('console:why')}?{query}", "plain", "why")]
        first += asking(self.circle.asker, self.person)
        if self.own:
            return [*first, Action(_("Your settings"), reverse("console:profile"))]
        give, circle = reverse("console:person_grant", args=[self.person.pk]), self.circle
        reason = "" if circle.gives_access else NO_GIVING
        return [
            *first,
            *(self._coming_and_going() if circle.gives_access or circle.runs_the_site else ()),
            *self._removing(),
            *self._handing_over(),
            Action(
                _("Grant to %(label)s") % {"label": self.person.label},
                give,
                "primary",
                reason=reason,
                key="a",
            ),
        ]

    def reasons(self, actions: list[Action]) -> list[Reason]:
        """Why some of the buttons are locked, each reason once."""
        values = {
            NO_GIVING: _(
                "Only the owner of an object, or a holder of Manage grants, can grant access to it."
            ),
            NO_REMOVING: _("Only the owner of the realm, or a holder of Manage users, can remove members."),
        }
        off = dict.fromkeys(action.reason for action in actions if action.reason in values)
        return [
            Reason(code, values[code], reverse("console:catalog"), _("Find what to request")) for code in off
        ]

    def _coming_and_going(self) -> Iterable[Action]:
        if self.person.kind != Principal.Kind.GROUP:
            number = [self.person.pk]
            yield Action(_("Same as a colleague"), reverse("console:person_same", args=number), "plain")
            yield Action(_("Leaving"), reverse("console:person_leaving", args=number), "plain")

    def _removing(self) -> Iterable[Action]:
        """From each realm; disabled where the viewer does not manage its members."""
        operation = "Group.removeGroup" if self.person.kind == "group" else "User.removeUser"
        member = RealmMember.objects.open().filter(principal=self.person).values_list("realm", flat=True)
        inside = set(member)
        for realm in self.circle.realms:
            if realm.realm_id in inside:
                url = reverse("console:member_remove", args=[realm.id])
                query = urlencode({"who": str(self.person)})
                reason = "" if ask.ask(self.circle.asker, operation, realm) else NO_REMOVING
                yield Action(
                    _("Remove from %(name)s") % {"name": realm.name},
                    f"{url}?{query}",
                    "danger",
                    reason=reason,
                )

    def _handing_over(self) -> Iterable[Action]:
        if self.reach.counts["owned"]:
            url = f"{reverse('console:owners')}?{urlencode({'of': str(self.person)})}"
            yield Action(_("Hand over what is owned"), url)

    def facts(self) -> Facts:
        counted = self.reach.counts
        groups = self.reach.through
        facts = [
            *self._reads(),
            Fact(_("Has rights on"), words.count(self.reach.many, "object"), term="rights-on"),
            Fact(_("Owns"), words.count(counted["owned"], "object") if counted["owned"] else _("Nothing")),
            Fact(
                _("May grant on"),
                words.count(counted["grant"], "object") if counted["grant"] else _("Nothing"),
            ),
            Fact(
                _("Denied on"),
                words.count(counted["denied"], "object") if counted["denied"] else _("Nothing"),
            ),
            Fact(_("Ends soon"), words.count(counted["soon"], "object") if counted["soon"] else _("Nothing")),
        ]
        if groups and self.person.kind != Principal.Kind.GROUP:
            facts.append(Fact(_("Through"), words.count(len(groups), "group")))
        if self.person.kind != Principal.Kind.GROUP:
            facts.append(self._used())
        return Facts(tuple(facts))

    def _reads(self) -> Iterable[Fact]:
        """On how many objects with data they can read, of those whose access the viewer may know."""
        if self.person.kind == Principal.Kind.GROUP:
            return
        now, within = timezone.now(), None if self.circle.is_own(self.person) else self.circle.sight.inside
        slices_ = ((slices.current(self.person, realm, now=now), realm) for realm in self.circle.realms)
        many = [count_readable(slice_, realm, now=now, within=within) for slice_, realm in slices_]
        yield Fact(_("Can read"), words.count(sum(filter(None, many)), "object"), term="reads-count")

    def _used(self) -> Fact:
        """What a job last told that was used under this name, as far as the viewer may know of it."""
        uses = last_uses(self.person, [realm.realm_id for realm in self.circle.realms])
        places = nodes([use.securable_id for use in uses]) if uses else {}
        visible = {key: node for key, node in places.items() if self.circle.sees(self.person, node)}
        for use in uses:
            if use.securable_id in visible:
                verb = pgettext("to do", use.action)
                note = _("%(verbs)s %(names)s") % {"verbs": verb, "names": visible[use.securable_id].name}
                return Fact(_("Last used"), words.ago(use.at), note=note)
        return Fact(_("Last used"), _("No usage data"))

    def _tab(self, code: str, label: StrOrPromise) -> Tab:
        label = _("What you see") if code == "person_sees" and self.own else label
        count = words.number(self.reach.many) if code == "person" else ""
        return Tab(label, reverse(f"console:{code}", args=[self.person.pk]), code == self.tab, count)


def get_person_or_404(request: Request, id: int, tab: str) -> PersonAccess:
    circle = circle_of(request)
    person = circle.meet(id)
    filter_ = ReachFilter(
        text=request.GET.get("q", "").strip()[:255],
        how=request.GET.get("how", ""),
        pick=number_in(request.GET.get("pick", "")) or 0,
        after=number_in(request.GET.get("after", "")) or 0,
    )
    if not circle.is_own(person):
        for realm in circle.realms:
            access_log.looked(circle.asker, f"access of {person.pseudonym}", realm, via="console")
    return PersonAccess(circle, person, PagedReach(circle, person, filter_), tab)
