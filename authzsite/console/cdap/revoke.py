"""Taking back what somebody was given on a name, with who really loses and who keeps it by another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.cdap.context import InstanceContext, PatternGrant, desk_at, held_on
from authzsite.console.cdap.effects import PatternEffects
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.previews import patterns as previews_patterns
from policies.services import patterns
from policies.simulation import endings


@dataclass
class Removal:
    """What is to be taken from whom."""

    desk: InstanceContext
    target: Authorizable
    code: str

    @cached_property
    def held(self) -> PatternGrant | None:
        rows = patterns.open_on(self.desk.root, str(self.target)).order_by("privilege")
        return next((item for item in held_on(self.desk, rows) if item.code == self.code), None)

    @cached_property
    def holder(self) -> Principal | Node | None:
        kind, _, name = self.code.partition(":")
        if kind == "role":
            return find(ObjectRef("role", self.desk.root.name, (name,)))
        return Principal.objects.filter(kind=kind, name=name).first()

    @property
    def spoken(self) -> str:
        """Who has it, or as it was asked where nobody has it: a name that is nobody's reads alike."""
        if self.held is None:
            return self.code
        if isinstance(self.holder, Principal):
            return terms.principal_name(self.holder)
        return gettext("role %(partition)s") % {"partition": self.code.partition(":")[2]}


class RevokePatternView(ChangeView):
    """What it would take; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not revoked.")
    object: Removal

    def get_object(self) -> Removal:
        desk, code = desk_at(self.request, self.kwargs["id"]), self.request.GET.get("who", "")
        if "\0" in code:
            raise Http404
        return Removal(desk, desk.named(self.request.GET.get("text", "")), code)

    @property
    def desk(self) -> InstanceContext:
        return self.object.desk

    def refusal(self) -> HttpResponse | None:
        if self.desk.may_grant(self.object.target):
            return None
        return refused(self.request, self.desk.place, "grant")

    @cached_property
    def effects(self) -> PatternEffects | None:
        """What it takes from whom; None once there is nothing to take."""
        removal = self.object
        if removal.held is None or removal.holder is None:
            return None
        foretold = previews_patterns.of_removal(
            self.desk.root, removal.target, removal.holder, removal.held.rows
        )
        return PatternEffects(self.desk, removal.target, foretold, removal=True)

    def plan(self, form: ConfirmForm) -> Plan:
        if self.effects is None:
            strong = gettext("There is nothing to revoke: %(spoken)s holds nothing on exactly this name.") % {
                "spoken": self.object.spoken
            }
            note = Note("", strong, gettext("It may have ended, or someone revoked it before you."))
            return Plan(nothing=True, notes=(note,))
        return Plan(tally=self.effects.tally(), diff=self.effects.diff())

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        held = self.object.held
        yield self.desk.root, endings.of_grants(self.desk.root, held.rows) if held else ()

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        removal, reason = self.object, form.cleaned_data["reason"]
        if removal.held is not None and removal.holder is not None:
            patterns.revoke(
                self.desk.root, removal.target, removal.holder, removal.held.codes, by=actor, reason=reason
            )

    def success_message(self, form: ConfirmForm) -> str:
        target, spoken = self.object.target, self.object.spoken
        if self.revision is None:
            return gettext("Nothing changed: %(spoken)s had nothing on %(target)s") % {
                "spoken": spoken,
                "target": target,
            }
        return gettext("%(target)s: revoked from %(spoken)s") % {"target": target, "spoken": spoken}

    def heading(self, form: ConfirmForm) -> str:
        removal = self.object
        codes = removal.held.codes if removal.held else ()
        what = words.listed([terms.lower(self.desk.actions[code]) for code in codes])
        return gettext("Revoke %(rights)s on %(name)s from %(holder)s?") % {
            "rights": what or gettext("all access"),
            "name": removal.target,
            "holder": removal.spoken,
        }

    def lead(self) -> str:
        if self.effects and self.object.target.is_pattern:
            return self.effects.matches()
        return gettext("In %(name)s") % {"name": self.desk.root.name}

    def button(self, form: ConfirmForm) -> str:
        return gettext("Revoke from %(spoken)s") % {"spoken": self.object.spoken}

    def back(self) -> str:
        return self.desk.text_url(str(self.object.target))

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return self.desk.show(self.request, self.template_name, context, status=status)
