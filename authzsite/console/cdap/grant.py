"""Giving access on a name, exact or with * and ?: what it matches and who gains, before it is saved."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from accounts.text import holdable
from authzsite.console.access.reasons import GivingForm
from authzsite.console.cdap.context import InstanceContext, desk_at
from authzsite.console.cdap.effects import PatternEffects
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.forms import (
    PLAIN,
    REASON_HELP,
    ChoicesField,
    PrincipalField,
    ReasonField,
    TextField,
)
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.nodes import Node
from catalog.queries import below, find
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity, parse
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import givable
from policies.errors import PolicyError
from policies.events import GRANT_ADDED
from policies.previews import patterns as previews_patterns
from policies.record.change import change
from policies.requests.rules import Rules, rules_of_grants
from policies.services import patterns, realm_of
from policies.services.entities import found
from policies.simulation.changes import AddToRole, Change, GrantAccess, Target

ROLES = 200
NO_NAME = gettext_lazy("Enter a name, and the preview shows what it matches, who gains and who loses.")
NO_HOLDER = gettext_lazy("Enter a person, a group or a role, and the preview shows who gains.")


class RecipientForm(GivingForm):
    """To whom something in a CDAP is to be given."""

    who = PrincipalField(
        required=False,
        nobody=gettext_lazy("No person here has that name."),
        help_text=gettext_lazy(
            "Type a name and press Enter. Choose a person for a short need, a group for a lasting one."
        ),
    )

    def __init__(self, data: Any = None, *, desk: InstanceContext, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.desk = desk
        self.fields["who"].search = lambda text: givable(desk.root, text)


class EntityNameField(TextField):
    """The name of an entity, or a pattern; what is too long for either is judged by the service."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(str(value or "").replace("\0", "")))[: patterns.LONGEST + 1]


class PatternGrantForm(RecipientForm):
    """On which name, to whom, which rights and why."""

    text = EntityNameField(
        label=gettext_lazy("On"),
        max_length=patterns.LONGEST + 1,
        error_messages={"required": gettext_lazy("Enter the name of an entity, or a pattern.")},
    )
    role = TextField(label=gettext_lazy("Or a role"), required=False)
    may = ChoicesField(
        label=gettext_lazy("May"), error_messages={"required": gettext_lazy("Choose at least one right.")}
    )
    reason = ReasonField(help_text=REASON_HELP)
    field_order = ("text", "who", "role", "may", "reason")

    target: Authorizable | None = None
    """The name, once it is one on which the viewer may give something."""
    no_target = ""
    """Why it is none."""

    def __init__(self, data: Any = None, *, desk: InstanceContext, **kwargs: Any) -> None:
        super().__init__(data, desk=desk, **kwargs)
        text, about = self.fields["text"], patterns.law_of(desk.root).privileges
        example = "dataset:ns1.*" if desk.by_pattern else "dataset:ns1.orders"
        text.widget = forms.TextInput(attrs={**PLAIN, "placeholder": example, "maxlength": patterns.LONGEST})
        text.help_text = (
            _("The name of an entity, existing or future, or a pattern: * for any characters, ? for one.")
            if desk.by_pattern
            else _("The name of an existing entity.")
        )
        roles = forms.Select(attrs={"class": "input"})
        roles.choices = cast("Any", lambda: self.role_choices)  # asked for only when they are drawn
        self.fields["role"].widget = roles
        self.fields["may"].offer(
            (code, label, _(about[code].description)) for code, label in desk.actions.items()
        )
        self.fields["may"].initial = list(desk.actions)[:1]
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        """Of the entity of that name; of the realm where the name is none yet, or matches several."""
        try:
            named = patterns.named(self.desk.root, self.data.get("text", "").strip())
        except PolicyError:
            return rules_of_grants([self.desk.root])
        return rules_of_grants([found(self.desk.root, named) or self.desk.root])

    @cached_property
    def role_choices(self) -> list[tuple[str, str]]:
        roles = below(self.desk.root, "role").order_by("name").values_list("name", flat=True)[:ROLES]
        return [("", _("No role")), *((name, name) for name in roles)]

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        root, by = self.desk.root, self.desk.place.actor
        try:
            target = patterns.named(root, text)
            patterns.checked(root, target, None)
            patterns.authority(root, target, by=by)
        except PolicyError as problem:
            self.no_target = str(problem)
            raise ValidationError(str(problem)) from problem
        self.target = target
        return text

    def clean_role(self) -> Node | None:
        name = self.cleaned_data["role"]
        named = ObjectRef("role", self.desk.root.name, (name,))
        return find(named) if name and holdable(name) else None

    def clean(self) -> dict[str, Any]:
        if "who" in self.cleaned_data and not self.holders:
            self.add_error("who", ValidationError(_("Enter at least one person, group or role.")))
        return self.cleaned_data

    @property
    def holders(self) -> list[Principal | Node]:
        role = self.cleaned_data.get("role")
        return [*self["who"].chosen, *([role] if role else [])]

    @property
    def privileges(self) -> list[str]:
        codes: list[str] = self.cleaned_data.get("may", [])
        return codes


def given_to(holder: Principal | Node, target: Target, codes: tuple[str, ...]) -> Change:
    """What giving privileges to somebody, or to a role, is as a change."""
    if isinstance(holder, Principal):
        return GrantAccess(target, holder, codes)
    return AddToRole(holder, target, codes)


def may_begin(desk: InstanceContext, text: str) -> bool:
    """Whether the viewer may give anything here: everything, or on the name they came with."""
    if desk.administers:
        return True
    try:
        return desk.may_grant(parse(text.strip().replace("\0", ""), others=True))
    except BadEntity:
        return False


class PatternGrantView(ChangeView):
    """The form: filled from the address, from a kept form, or from itself."""

    template_name = "console/cdap/grant.html"
    looks_first = True
    object: InstanceContext

    def get_object(self) -> InstanceContext:
        return desk_at(self.request, self.kwargs["id"])

    def refusal(self) -> HttpResponse | None:
        if may_begin(self.object, self.data.get("text", "")):
            return None
        return refused(self.request, self.object.place, "grant")

    def make_form(self, data: Any) -> PatternGrantForm:
        self.form = PatternGrantForm(data, desk=self.object)
        return self.form

    def plan(self, form: PatternGrantForm) -> Plan:
        if form.target is None:
            return Plan(empty=form.no_target or NO_NAME)
        foretold = previews_patterns.of_grant(self.object.root, form.target, form.holders, form.privileges)
        effects = PatternEffects(self.object, form.target, foretold)
        diff = effects.diff()
        return Plan(
            subject=effects.matches(),
            diff=diff if diff.lines else None,
            tally=effects.tally(),
            sum=effects.sum(),
            empty=NO_HOLDER,
        )

    def proposals(self, form: PatternGrantForm) -> Iterable[Proposal]:
        if form.target is not None and form.privileges:
            target, codes = Target.of_text(self.object.root, form.target), tuple(form.privileges)
            yield self.object.root, [given_to(item, target, codes) for item in form.holders]

    def save(self, form: PatternGrantForm, actor: Actor) -> None:
        root, reason, may = self.object.root, form.cleaned_data["reason"], form.privileges
        if form.target is None:
            raise TypeError("a form without a name is not saved")
        with change(GRANT_ADDED, realm=realm_of(root), by=actor, reason=reason):
            for holder in form.holders:
                patterns.grant(root, form.target, holder, may, by=actor, reason=reason)

    def success_message(self, form: PatternGrantForm) -> str:
        labels = [item.label if isinstance(item, Principal) else item.name for item in form.holders]
        names = words.listed(labels, 3)
        if self.revision is None:
            return _("Nothing changed: %(names)s had this already") % {"names": names}
        return _("%(names)s: %(privileges)s on %(target)s") % {
            "names": names,
            "privileges": terms.lower(self.object.labels(form.privileges)),
            "target": form.target,
        }

    def heading(self, form: PatternGrantForm) -> str:
        return _("Grant access in %(name)s") % {"name": self.object.root.name}

    def button(self, form: PatternGrantForm) -> str:
        labels = [terms.lower(self.object.actions[code]) for code in form.privileges]
        return _("Grant %(labels)s") % {"labels": words.listed(labels, 3)} if labels else _("Grant access")

    def back(self) -> str:
        return self.object.text_url(str(self.form.target)) if self.form.target else self.object.url()

    def page_context(self, form: PatternGrantForm) -> dict[str, Any]:
        return {
            "here": self.object.url("cdap_grant"),
            "picker_url": self.object.url("cdap_grant_people"),
            "preview_url": self.object.url("cdap_grant_preview"),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return self.object.show(self.request, self.template_name, context, status=status)


@reads
@login_required
def people(request: Request, id: int) -> HttpResponse:
    """People and groups that match what is being typed, for a script."""
    desk = desk_at(request, id)
    if not may_begin(desk, request.GET.get("text", "")):
        return refused(request, desk.place, "grant")
    who = RecipientForm(request.GET, desk=desk)["who"]
    context = {"options": who.options, "nobody": who.nobody}
    return render(request, "console/kit/options.html", context)
