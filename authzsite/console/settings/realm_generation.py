"""Raising the rules of a CDAP realm to a later generation: what becomes of policies, who gains and loses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.forms import HiddenInput
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.forms import ConfirmForm, TextField
from authzsite.console.kit.replay import ReplaySection, section_of
from authzsite.console.settings.realm_settings import RealmChangeView, not_yours
from policies.authority import Actor, Authority
from policies.decisions import site_permissions
from policies.errors import PolicyError
from policies.simulation.generations import Policy, Raise, carry_out, later_than
from policies.simulation.replay import Replay

MOST = 200
"""So many gains and losses are listed; how many there are is said above."""


class RaiseForm(ConfirmForm):
    """Why, and which plan was looked at."""

    plan = TextField(required=False, widget=HiddenInput())


class RaiseView(RealmChangeView):
    """What a later generation of rules does to all that is given, then it is done."""

    form_class = RaiseForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not moved to other rules.")

    @property
    def policy(self) -> str:
        return self.request.GET.get("to", "")

    def refusal(self) -> HttpResponseBase | None:
        realm = self.object.realm
        if self.policy not in later_than(str(realm.settings.get("policy", ""))):
            raise Http404
        if not self.object.owns:
            heading = _("You cannot change the rules of %(name)s") % {"name": self.object.root.name}
            return not_yours(self.request, self.object, heading)
        return None

    def get_form_arguments(self) -> dict[str, Any]:
        looks = self.request.method == "GET" and self.raising
        return {"initial": {"plan": looks.digest}} if looks else {}

    @cached_property
    def raising(self) -> Raise | None:
        """The plan; None where it cannot be made, which `problem` says."""
        try:
            return Raise(self.object.root, self.policy)
        except PolicyError as problem:
            self.problem = str(problem)
            return None

    def plan(self, form: RaiseForm) -> Plan:
        if self.raising is None:
            return Plan(nothing=True, notes=(Note("bad", _("This cannot be done now."), self.problem),))
        stays = sum(item.stays for item in self.raising.policies)
        same = DiffLine("same", words.count(stays, "policy", "policies"), _("as before"))
        return Plan(diff=Diff((same, *_changed(self.raising.policies), *self._people(self.raising))))

    def replay(self, form: RaiseForm) -> ReplaySection | None:
        """Uses under the later rules; whoever may raise the realm sees everybody's."""
        return section_of([Replay(self.raising.difference).outcome]) if self.raising else None

    def _people(self, raising: Raise) -> Iterable[DiffLine]:
        for item in raising.difference.page(limit=MOST):
            for kind, acts in (("lose", item.loses), ("gain", item.gains)):
                if acts:
                    named = sorted(terms.action(act, item.node.type) for act in acts)
                    parts = {
                        "acts": words.listed(named),
                        "object": ".".join(item.node.path) or item.node.name,
                    }
                    loses, gains = _("loses on %(object)s: %(acts)s"), _("gains on %(object)s: %(acts)s")
                    yield DiffLine(kind, item.person.label, (loses if kind == "lose" else gains) % parts)

    def save(self, form: RaiseForm, actor: Actor) -> None:
        def authority() -> Authority:
            return site_permissions.of_switch(actor, self.object.root, enforced=False)

        seen, reason = form.cleaned_data["plan"], form.cleaned_data["reason"]
        carry_out(self.object.root, self.policy, seen=seen, by=actor, authority=authority, reason=reason)

    def form_refused(self, form: RaiseForm, problem: Exception) -> HttpResponse:
        """The page shows the plan as it is by now, so that is the one to agree to."""
        if self.raising:
            form.data = form.data.copy()
            form.data["plan"] = self.raising.digest
        return super().form_refused(form, problem)

    def success_message(self, form: RaiseForm) -> str:
        return _("%(name)s has the rules of CDAP %(policy)s") % self._named()

    def heading(self, form: RaiseForm) -> str:
        return _("Raise %(name)s to CDAP %(policy)s?") % self._named()

    def lead(self) -> str:
        return _("This cannot be undone. Afterwards it is not known what people could do before.")

    def button(self, form: RaiseForm) -> str:
        return _("Raise to CDAP %(policy)s") % self._named()

    def _named(self) -> dict[str, str]:
        return {"name": self.object.root.name, "policy": self.policy}


def _changed(policies: Iterable[Policy]) -> Iterable[DiffLine]:
    """Each privilege that does not stay as it is, with what it becomes."""
    for item in policies:
        about = _("%(privilege)s on %(name)s") % {"privilege": item.row.privilege, "name": item.row.pattern}
        if not item.after:
            yield DiffLine("lose", item.name, _("%(policy)s ends") % {"policy": about})
        elif not item.stays:
            after = ", ".join(item.after)
            text = _("%(policy)s becomes %(after)s") % {"policy": about, "after": after}
            yield DiffLine("same", item.name, text)
