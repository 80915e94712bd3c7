"""What a joiner's and a leaver's page share: lines that are carried out, each realm as one change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit import step_up
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display.parts import Crumbs, Note
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, realm_words
from authzsite.console.kit.page import page, say
from authzsite.console.lifecycle.done import done_by
from policies.authority import Actor
from policies.lifecycle.actions import Outcome
from policies.record import access_log
from policies.services.grants import revision_now


class LifecycleView(ChangeView):
    """Lines about a person: looked at, carried out, and those that failed shown again to go on from there.

    The form has `deeds`; hooks beside those of every change: `carry_out`, `nothing`, `note_of_failed`.
    """

    looks_first = True
    object: Principal
    """The person or service account whose access is looked at, on the record where the page is shown."""
    nothing: Note
    """Said where the form asks for nothing."""

    def get_object(self) -> Principal:
        person = self.circle.meet(self.kwargs["id"])
        if person.kind not in (Principal.Kind.USER, Principal.Kind.SERVICE):
            raise Http404
        return person

    @cached_property
    def circle(self) -> VisiblePrincipals:
        return circle_of(self.request)

    def show(self, form: Any, status: int = 200) -> HttpResponse:
        """The page, on the record: it tells what they have.  Names to choose from tell nothing of it."""
        self.record_look(self.object)
        return super().show(form, status)

    def record_look(self, person: Principal) -> None:
        """Put on the record that somebody's access is looked at."""
        for realm in () if self.circle.is_own(person) else self.circle.realms:
            access_log.looked(self.asker, f"access of {person.pseudonym}", realm, via="console")

    def carry_out(self, form: Any, actor: Actor) -> list[Outcome]:
        raise NotImplementedError

    def note_of_failed(self, outcomes: Sequence[Outcome], failed: Sequence[Outcome]) -> Note:
        raise NotImplementedError

    def form_valid(self, form: Any) -> HttpResponse:
        if any(deed.gives_a_duty for deed in form.deeds) and (answer := step_up.asked(self.request)):
            return answer
        if form.deeds:
            outcomes = self.carry_out(form, self.actor)
            failed = [outcome for outcome in outcomes if outcome.trouble]
            if failed:
                self.notes.append(self.note_of_failed(outcomes, failed))
                return self._show_again(outcomes)
            self.result = outcomes
        elif done_before(self.actor) is None:
            self.notes.append(self.nothing)
            return self.show(form, 422)
        say(self.request, self.success_message(form))
        made = reverse("console:person_done", args=[form.nonce])
        return self.leave(f"{made}?{urlencode({'who': self.object.pk})}")

    def _show_again(self, outcomes: Sequence[Outcome]) -> HttpResponse:
        """The same form over what is left, with what was done and why the rest was not."""
        form = self.make_form(self.request.POST)
        form.outcomes = outcomes
        form.look()
        return self.show(form, 422)

    def back(self) -> str:
        return reverse("console:person", args=[self.object.pk])

    def page_context(self, form: Any) -> dict[str, Any]:
        return {
            "crumbs": Crumbs(((_("People"), reverse("console:people")), (self.object.label, self.back()))),
            "person": self.object,
            "done": done_by(self.asker, form.nonce if form.outcomes else ""),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        realm, revision = realm_words(self.circle), revision_now()
        return page(
            self.request,
            self.template_name,
            context,
            section="people",
            realm=realm,
            revision=revision,
            status=status,
        )
