"""The four steps to a namespace that its data owner looks after: which are done, by whom, what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.herd.context import HerdContext, holders_of
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Reason
from lakewarden.law.dialects.herd.permissions import DATA_OWNER
from policies.models import Event, Grant

DONE, NEXT, OPEN = "done", "next", "open"


@dataclass(frozen=True)
class Step:
    """One step: `state` is done, next or open; `reason` stands where somebody else must do it."""

    title: str
    state: str
    text: str
    action: Action | None = None
    reason: Reason | None = None

    @property
    def mark(self) -> str:
        return {DONE: "yes", NEXT: "unsure"}.get(self.state, "na")

    @property
    def icon(self) -> str:
        return {DONE: "check", NEXT: "down"}.get(self.state, "minus")

    @property
    def word(self) -> str:
        return {DONE: _("Done"), NEXT: _("Next"), OPEN: _("Later")}[self.state]


@dataclass(frozen=True)
class Steps:
    """The steps of one namespace for one viewer, read with a constant number of queries."""

    desk: HerdContext

    @cached_property
    def owners(self) -> list[Principal]:
        return self.desk.own_data_owners

    @cached_property
    def candidates(self) -> list[Principal]:
        """Who was given GRANT here, whether or not the role came yet; patterns aside."""
        rows = Grant.objects.open().within(self.desk.place.now)
        holders = rows.filter(securable=self.desk.node.id, privilege="GRANT").values("holder")
        people = Principal.objects.filter(pk__in=holders).exclude(kind=Principal.Kind.PATTERN)
        return list(people.order_by("display_name", "name")[:5])

    @cached_property
    def role_holders(self) -> list[Principal]:
        role = self.desk.roles.get(DATA_OWNER)
        return holders_of(role, self.desk.place.now)[:5] if role else []

    @cached_property
    def granted_on(self) -> Event | None:
        """The latest time that a data owner granted here."""
        rows = Event.objects.filter(kind="grant.added", object_key=self.desk.node.id)
        mine = rows.filter(change__actor__in=[owner.pseudonym for owner in self.owners])
        return mine.select_related("change").order_by("-change").first()

    @property
    def done(self) -> bool:
        return bool(self.owners and self.granted_on)

    @cached_property
    def _facts(self) -> tuple[bool, bool, bool]:
        """Whether the role, the first GRANT and the first own grant are there."""
        if self.owners:
            return True, True, self.granted_on is not None
        return bool(self.role_holders) and not self._waiting_for_role, bool(self.candidates), False

    @property
    def _waiting_for_role(self) -> bool:
        """Somebody has GRANT here and nobody of them holds the role."""
        holder_ids = {holder.pk for holder in self.role_holders}
        return bool(self.candidates) and not any(candidate.pk in holder_ids for candidate in self.candidates)

    def rows(self) -> Sequence[Step]:
        role, first, on = self._facts
        states = [DONE, *(DONE if item else OPEN for item in (role, first, on))]
        if OPEN in states:
            states[states.index(OPEN)] = NEXT
        step = self._step_text("object.registered", self.desk.node.id)
        made = Step(
            _("Create namespace %(name)s") % {"name": self.desk.node.name}, DONE, step or _("It exists.")
        )
        return [made, self._role(states[1]), self._first(states[2]), self._on(states[3])]

    # Each step

    def _role(self, state: str) -> Step:
        title, holders = _("Make someone a data owner: assign the role DATA_OWNER"), self.role_holders
        shown = self.owners or holders
        if state == DONE and shown:
            role = self.desk.roles[DATA_OWNER]
            step = self._step_text("role.assigned", role.id, shown[0])
            return Step(
                title,
                state,
                step
                or _("Held by %(listed)s.") % {"listed": words.listed([item.label for item in shown], 3)},
            )
        who = self.candidates[0] if self.candidates else None
        text = (
            _("%(label)s has Grant here and cannot use it without the role.") % {"label": who.label}
            if who
            else (_("People who decide access need the role first."))
        )
        url = reverse("console:herd_roles", args=[self.desk.herd.id])
        query = {"role": DATA_OWNER, "next": str(self.desk.node.id)}
        query |= {"who": who.name} if who else {}
        return self._offered(title, state, text, Action(_("Assign the role"), f"{url}?{urlencode(query)}"))

    def _first(self, state: str) -> Step:
        title = _("Grant the data owner Grant and Read on %(name)s") % {"name": self.desk.node.name}
        if state == DONE:
            who = (self.owners or self.candidates)[0]
            step = self._step_text("grant.added", self.desk.node.id, who)
            return Step(title, state, step or _("%(label)s has it.") % {"label": who.label})
        query: list[tuple[str, str]] = [("add_may", "READ"), ("add_may", "GRANT")]
        query += [("add", holder.name) for holder in self.role_holders[:1]]
        url = f"{reverse('console:namespace', args=[self.desk.node.id])}?{urlencode(query)}#grid"
        return self._offered(
            title, state, _("Grant is needed to grant access, Read to review it."), Action(_("Grant it"), url)
        )

    def _on(self, state: str) -> Step:
        title = _("The data owner decides access")
        if state == DONE and self.granted_on is not None:
            return Step(title, state, self._by(self.granted_on))
        names = words.listed([owner.label for owner in self.owners], 3)
        text = (
            _("%(names)s can now do so, here or by API.") % {"names": names}
            if names
            else _("Here in the grid, or by API.")
        )
        if state == NEXT and self.desk.place.asker in self.owners:
            return Step(title, state, text, Action(_("Grant someone access"), "#grid"))
        return Step(title, state, text)

    def _offered(self, title: str, state: str, text: str, action: Action) -> Step:
        """A step of the administrator's: a button for them, for others who that is."""
        if state != NEXT:
            return Step(title, state, text)
        if self.desk.administers:
            return Step(title, state, text, action)
        who = self.desk.administrator
        name = who.label if who else _("nobody: the Herd has none")
        return Step(
            title,
            state,
            text,
            reason=Reason(
                f"why-step-{len(title)}", _("This is for the administrator, %(name)s.") % {"name": name}
            ),
        )

    # From the record

    def _step_text(self, kind: str, object_key: int, person: Principal | None = None) -> str:
        rows = Event.objects.filter(kind=kind, object_key=object_key)
        if person is not None:
            rows = rows.filter(people__contains=[person.pseudonym])
        event = rows.select_related("change").order_by("-change").first()
        if event is None:
            return ""
        return self._by(event, person)

    def _by(self, event: Event, person: Principal | None = None) -> str:
        row = Principal.objects.filter(pseudonym=event.change.actor).first()
        actor = (
            row.label if row else {"operator": _("the site's operator")}.get(event.change.actor, _("someone"))
        )
        text = _("Done by %(actor)s for %(label)s, %(at)s.") if person else _("Done by %(actor)s, %(at)s.")
        return text % {
            "actor": actor,
            "label": person.label if person else "",
            "at": words.moment(event.change.at, within=True),
        }
