"""Deciding about several foreign grants together: one plan of all that follows, and only what can work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs, Diff, DiffLine, Note
from authzsite.console.kit.http import numbers_in
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.sync.drift.foreign_grants import (
    DEEDS,
    ForeignGrantForm,
    adopted,
    given_besides,
    place_of,
    rights_words,
)
from policies.authority import Actor
from policies.decisions import slices
from policies.errors import Conflict, Invalid
from policies.services.grants import revision_now
from policies.sync.actions import bulk_foreign_rights
from policies.sync.actions.bulk_foreign_rights import MOST, BulkDecision
from policies.sync.actions.foreign_rights import Foreign

WORDS = {
    "adopt": (
        gettext_lazy("Adopt {grants} of {holders}?"),
        gettext_lazy("Adopt {grants}"),
        gettext_lazy("{grants} adopted"),
    ),
    "revoke": (
        gettext_lazy("Revoke {grants} from {holders}?"),
        gettext_lazy("Revoke {grants} from {holders}"),
        gettext_lazy("{grants} revoked"),
    ),
    "accept": (
        gettext_lazy("Accept {grants} of {holders}?"),
        gettext_lazy("Accept {grants}"),
        gettext_lazy("{grants} accepted"),
    ),
}
"""The heading, the button, and what is said when it is done."""
ORDER = ("lose", "gain", "change", "same", "stop")


class BulkForeignGrantsView(ChangeView):
    """The plan; then all of them are decided about as one change, or none."""

    template_name = "console/sync/bulk_decide.html"
    not_saved = gettext_lazy("None of them was decided.")
    object: BulkDecision

    @property
    def code(self) -> str:
        return str(self.kwargs["code"])

    def get_object(self) -> BulkDecision:
        if self.code not in WORDS:
            raise Http404
        self.numbers = numbers_in(self.data.getlist("on"))
        chosen = bulk_foreign_rights.chosen(self.numbers[: MOST * 20])
        return BulkDecision.of(self._grantable(chosen), self.code, Actor(self.asker, "console"))

    def _grantable(self, some: Sequence[Foreign]) -> list[Foreign]:
        """Those of objects on which the asker may grant.  One query for each realm, where facts are held."""
        now = timezone.now()
        roots = {about.node.realm_id: about.node for about in some}
        held = {realm: slices.current(self.asker, node, now=now) for realm, node in roots.items()}
        return [
            about
            for about in some
            if ObjectAccess(self.asker, about.node, held[about.node.realm_id], now).may_grant
        ]

    def make_form(self, data: Any) -> ForeignGrantForm:
        return ForeignGrantForm(data, code=self.code)

    def plan(self, form: ForeignGrantForm) -> Plan:
        fit, left = self.object.grants, self.object.left_out
        if not fit and not left:
            text = _("Select outside grants in the list of differences, then choose what to do with them.")
            return Plan(nothing=True, notes=(Note("warn", _("Nothing is chosen."), text),))
        lines = (*self._effects(), *(_left_out(about, problem) for about, problem in left))
        values = {"left": words.number(len(left)), "all": words.number(len(fit) + len(left))}
        strong = _("%(left)s of %(all)s left out.") % values
        note = Note("warn", strong, _("They stay as they are; the list says why."))
        return Plan(diff=Diff(lines), notes=(note,) if left else ())

    def _effects(self) -> list[DiffLine]:
        """All that follows, each thing once, losses first."""
        actor = Actor(self.asker, "console")
        lines = [
            line
            for about in self.object.grants
            for line in (adopted(about) if self.code == "adopt" else DEEDS[self.code].diff(about, actor))
        ]
        if self.code == "adopt":
            lines += [given_besides(gift, needed_for) for gift, needed_for in self.object.gifts(actor)]
        return sorted(dict.fromkeys(lines), key=lambda line: ORDER.index(line.kind))

    def save(self, form: ForeignGrantForm, actor: Actor) -> None:
        """Exactly what the page showed: what appeared or went since then is looked at again first."""
        if not self.object.grants:
            raise Invalid(_("None of it can be decided."))
        if {row.pk for about in self.object.grants for row in about.rows} != set(self.numbers):
            raise Conflict(_("The differences have changed since you opened the page."))
        values = form.cleaned_data
        bulk_foreign_rights.decide(
            self.object.grants, self.code, by=actor, reason=values["reason"], until=values.get("until")
        )

    def success_message(self, form: ForeignGrantForm) -> str:
        return self._worded(2) if self.object.grants else _("It was saved already")

    def may_undo(self) -> bool:
        return False

    def _worded(self, which: int) -> str:
        grants = self.object.grants
        holders = {(about.backend.pk, about.first.holder) for about in grants}
        return str(WORDS[self.code][which]).format(
            grants=words.count(len(grants), "grant"), holders=words.count(len(holders), "holder")
        )

    def heading(self, form: ForeignGrantForm) -> str:
        return self._worded(0) if self.object.grants else _("Nothing to decide together")

    def lead(self) -> str:
        return words.listed(list(dict.fromkeys(str(about.backend) for about in self.object.grants)))

    def button(self, form: ForeignGrantForm) -> str:
        return self._worded(1)

    def back(self) -> str:
        return reverse("console:sync")

    def page_context(self, form: ForeignGrantForm) -> dict[str, Any]:
        return {
            "crumbs": Crumbs(((_("Sync"), self.back()),)),
            "looked_at": [row.pk for about in self.object.grants for row in about.rows],
            "look": DEEDS[self.code].look,
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request, self.template_name, context, section="sync", revision=revision_now(), status=status
        )


def _left_out(about: Foreign, problem: str) -> DiffLine:
    values = {"rights": rights_words(about), "place": place_of(about)}
    return DiffLine("same", about.first.holder, _("left out: %(rights)s on %(place)s") % values, problem)
