"""Revoking access, with who really loses it and who keeps it by another path."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.access.effects import Shown, out_there
from authzsite.console.cdap.links import page_of_name
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.conflicts import changed_meanwhile
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import MANY, ConfirmForm
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, somebody
from authzsite.console.kit.object_change import ConfirmObjectView
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal, root_of
from authzsite.console.sync.backend_state import behind
from policies.authority import Actor
from policies.errors import Conflict
from policies.previews import grants as previews
from policies.previews.grants import Preview
from policies.services import grants
from policies.simulation.changes import RevokeAccess, Target


class RevokeView(ConfirmObjectView):
    """Which direct grants of whom are to end, and what that takes from whom."""

    form_class = ConfirmForm

    def refusal(self) -> HttpResponseBase | None:
        node = self.object.node
        if named := page_of_name(node):
            return redirect(named)
        if node.type == "namespace":  # it is taken there, entry by entry
            return redirect("console:namespace", id=node.id)
        return None if self.object.may_grant else refused(self.request, self.object, "grant")

    @cached_property
    def holder(self) -> Principal:
        typed = self.request.GET.get("who", "")
        principal = somebody(typed) if ":" in typed else None
        if principal is None:
            raise Http404
        self.held = set(grants.direct(self.object.node, principal).values_list("privilege", flat=True))
        if not self.held and not VisiblePrincipals(self.asker).people().filter(pk=principal.pk).exists():
            raise Http404
        return principal

    @cached_property
    def codes(self) -> tuple[str, ...]:
        typed, holder = self.request.GET.getlist("may"), self.holder
        return tuple(sorted(code for code in self.held if holder and (not typed or code in typed)))

    @cached_property
    def preview(self) -> Preview:
        return previews.of_removal(self.object.node, (self.holder,), self.codes)

    @property
    def losing(self) -> int:
        return self.preview.count("lose")

    @cached_property
    def rights(self) -> str:
        """What is taken, in words; nothing once it was taken."""
        node = self.object.node
        return words.listed([terms.lower(terms.right(code, node.type, node.kind)) for code in self.codes])

    def get_form_arguments(self) -> dict[str, Any]:
        return {"typed": self.object.node.name if self.losing > MANY else ""}

    def plan(self, form: ConfirmForm) -> Plan:
        shown = Shown(self.preview, self.object.node, removal=True)
        notes: tuple[Note, ...] = ()
        if not self.codes:
            name = self.object.node.name
            strong = _("There is nothing to revoke: %(label)s has no direct access to %(name)s.") % {
                "label": self.holder.label,
                "name": name,
            }
            notes = (Note("", strong, _("It may have ended, or someone revoked it before you.")),)
        return Plan(
            diff=shown.diff(),
            tally=shown.tally(),
            backend=out_there(behind(self.object.node), removal=True),
            nothing=not self.codes,
            notes=notes,
        )

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        node = self.object.node
        yield root_of(node), [RevokeAccess(Target(node), self.holder, self.codes)]

    def save(self, form: ConfirmForm, actor: Actor) -> str:
        rights, node, reason = self.rights, self.object.node, form.cleaned_data["reason"]
        grants.remove(node, (self.holder,), self.codes, by=actor, reason=reason, seen=form.sent_seen)
        return rights

    def note_of(self, form: ConfirmForm, problem: Exception) -> Note:
        if not isinstance(problem, Conflict):
            return super().note_of(form, problem)
        form.look_again = True
        return changed_meanwhile(self.object.node, form.sent_seen or 0)

    def success_message(self, form: ConfirmForm) -> str:
        name, who = self.object.node.name, self.holder.label
        if self.revision is None:
            return _("Nothing changed: %(who)s had no direct access to %(name)s") % {"who": who, "name": name}
        what = self.result[:1].upper() + self.result[1:] if self.result else _("Access")
        return _("%(what)s on %(name)s revoked from %(who)s") % {"what": what, "name": name, "who": who}

    def heading(self, form: ConfirmForm) -> str:
        holder = terms.principal_name(self.holder)
        return _("Revoke %(rights)s on %(name)s from %(holder)s?") % {
            "rights": self.rights or _("all access"),
            "name": self.object.node.name,
            "holder": holder,
        }

    def button(self, form: ConfirmForm) -> str:
        if self.holder.kind == Principal.Kind.GROUP:
            return _("Revoke from %(losing)s") % {"losing": words.count(self.losing, "person", "people")}
        return _("Revoke %(rights)s from %(label)s") % {"rights": self.rights, "label": self.holder.label}

    def back(self) -> str:
        return reverse("console:object", args=[self.object.node.id])
