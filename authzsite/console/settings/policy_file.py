"""A realm's policy file on a page: uploaded or pasted, its plan looked at with its replay, then applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit import change_view, large_effect
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import plan_steps, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, Note
from authzsite.console.kit.forms import PLAIN, REASON_HELP, ConsoleForm, ReasonField, TextField
from authzsite.console.kit.http import Request
from authzsite.console.kit.large_effect import EffectSection
from authzsite.console.kit.methods import reads
from authzsite.console.kit.replay import Proposal
from authzsite.console.settings.realm import RealmAccess, realm_at, realm_tabs
from authzsite.console.settings.realm_settings import RealmChangeView, not_yours
from catalog.nodes import Node
from policies import events
from policies.authority import Actor
from policies.data_views.visibility import sees_all_access
from policies.errors import Conflict, PolicyError
from policies.models import AccessRequest, Change
from policies.policy_files import document, drift
from policies.policy_files.applying import apply_or_ask, needs_approval
from policies.policy_files.effects import Effects
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm
from policies.record import access_log
from policies.requests import rules

LONGEST = 1_000_000
"""Longer files are planned by the command, which needs no page to hold them."""
NOTHING_YET = gettext_lazy("Choose a file or paste its text, and the preview shows what it changes.")


APPROVED = {
    "never": "",
    "removals": gettext_lazy("Another person approves a plan that removes or changes something."),
    "always": gettext_lazy("Another person approves each plan."),
}


class PolicyFileForm(ConsoleForm):
    """A file, or its text; `plan` names the plan that was looked at."""

    upload = forms.FileField(
        label=gettext_lazy("File"),
        required=False,
        help_text=gettext_lazy("A policy file in YAML, at most one megabyte. It replaces the text below."),
        widget=forms.ClearableFileInput(attrs={"class": "input", "accept": ".yaml,.yml"}),
    )
    file = TextField(
        label=gettext_lazy("Text of the file"),
        max_length=LONGEST,
        error_messages={"required": gettext_lazy("Choose a file or paste its text.")},
        widget=forms.Textarea(attrs={**PLAIN, "rows": 14}),
    )
    reason = ReasonField(help_text=REASON_HELP)
    plan = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput())

    def __init__(self, data: Any = None, *, files: Any = None, **kwargs: Any) -> None:
        super().__init__(data, files=files, **kwargs)
        self.data = self.data.copy()
        sent = files.get("upload") if files else None
        self.unreadable = ""
        if sent is not None and sent.size <= LONGEST:
            try:
                self.data["file"] = sent.read().decode()
            except UnicodeDecodeError:
                self.unreadable = _("This file is not UTF-8 text.")
        elif sent is not None:
            self.unreadable = _("This file is too large for this page. Use the command.")


class PolicyFileView(RealmChangeView):
    """Upload, look at the plan, apply the very plan that was looked at."""

    template_name = "console/kit/planned.html"
    looks_first = True
    not_saved = gettext_lazy("Nothing was applied.")
    planned: Plan | None = None
    waits: AccessRequest | None = None
    effect: EffectSection | None = None

    def refusal(self) -> HttpResponse | None:
        if sees_all_access(self.object.asker, self.object.root):
            return None
        heading = _("You cannot plan access in %(name)s") % {"name": self.object.root.name}
        return not_yours(self.request, self.object, heading)

    def make_form(self, data: Any) -> PolicyFileForm:
        form = PolicyFileForm(data, files=self.request.FILES or None)
        if self.request.method == "GET" and (scope := self.request.GET.get("applied", "")):
            form.data["file"] = applied_text(self.object.root, scope)
        return form

    def plan(self, form: PolicyFileForm) -> change_view.Plan:
        if form.unreadable:
            return change_view.Plan(empty=form.unreadable, notes=(Note("bad", form.unreadable),))
        text = form.cleaned_data.get("file", "")
        if not text:
            return change_view.Plan(empty=str(NOTHING_YET), notes=tuple(by_hand(self.object)))
        try:
            self.planned = Plan(self.object.root, document.read(text))
        except PolicyError as problem:
            return change_view.Plan(empty=str(problem), notes=(Note("bad", str(problem)),))
        form.data["plan"] = self.planned.digest
        steps = [(step.action, step.words) for step in self.planned.steps]
        return change_view.Plan(
            diff=Diff(tuple(plan_steps.lines(steps))) if steps else None,
            tally=plan_steps.tally(steps),
            empty=_("Nothing to do: the realm already matches the file."),
        )

    def proposals(self, form: PolicyFileForm) -> Iterable[Proposal]:
        effects = Effects(self.planned) if self.planned is not None else None
        if effects is not None and effects.is_long:
            self.effect = large_effect.ask(effects, self.asker)
        elif effects is not None:
            yield self.object.root, effects.changes

    def save(self, form: PolicyFileForm, actor: Actor) -> None:
        reason, seen = form.cleaned_data["reason"], form.cleaned_data["plan"]
        file = document.read(form.cleaned_data["file"])
        self.waits = apply_or_ask(self.object.root, file, seen=seen, by=actor, reason=reason).waits

    def note_of(self, form: PolicyFileForm, problem: Exception) -> Note:
        form.look_again = isinstance(problem, Conflict)
        return super().note_of(form, problem)

    def success_message(self, form: PolicyFileForm) -> str:
        name = self.object.root.name
        if self.waits is not None:
            return _("The plan waits for approval: request %(number)s") % {"number": self.waits.pk}
        if self.revision is None:
            return _("Nothing changed: %(name)s already matches the file") % {"name": name}
        return _("The policy file is applied to %(name)s") % {"name": name}

    def get_success_url(self) -> str:
        return reverse("console:request", args=[self.waits.pk]) if self.waits is not None else self.back()

    def heading(self, form: PolicyFileForm) -> str:
        return _("Policy file of %(name)s") % {"name": self.object.root.name}

    def lead(self) -> str:
        return " ".join((_("A file only removes what it claims to own."), str(APPROVED[self.needed])))

    @property
    def needed(self) -> str:
        return rules.rules_along([self.object.root]).plan_approval

    def button(self, form: PolicyFileForm) -> str:
        many = len(self.planned.steps) if self.planned is not None else 0
        if self.planned is not None and needs_approval(self.planned):
            return _("Request approval of %(steps)s") % {"steps": words.count(many, "step")}
        return _("Apply %(steps)s") % {"steps": words.count(many, "step")} if many else _("Apply the file")

    def page_context(self, form: PolicyFileForm) -> dict[str, Any]:
        root = self.object.root
        return {
            "crumbs": Crumbs(((root.name, self.back()),)),
            "tabs": realm_tabs(self.object, "policy_file"),
            "effect": self.effect,
            "here": reverse("console:policy_file", args=[root.id]),
            "actions": [Action(_("Download"), reverse("console:policy_file_text", args=[root.id]))],
        }


@reads
@login_required
def download(request: Request, id: int) -> HttpResponse:
    """The realm as a policy file."""
    ward = realm_at(request, id)
    if not sees_all_access(ward.asker, ward.root):
        raise Http404
    access_log.looked(ward.asker, "all access as a policy file", ward.root, via="console")
    text = document.write(ward.root, of_realm(ward.root))
    answer = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="access-{ward.root.id}.yaml"'
    return answer


def applied_text(root: Node, scope: str) -> str:
    """What the file said that was applied last of those that own the same; empty for none."""
    texts = (file.text for file in drift.of_root(root) if file.kept.scope == scope)
    return next(texts, "")


def by_hand(ward: RealmAccess) -> Iterator[Note]:
    """Since a file was applied last: how many changes were made beside it, and where they are told apart."""
    mine = Change.objects.filter(realm=ward.root.realm_id)
    last = mine.filter(kind=events.POLICY_APPLIED).order_by("-revision").first()
    if last is None:
        return
    many = mine.filter(revision__gt=last.revision, kind__in=OF_ACCESS).count()
    when = words.ago(last.at)
    if many:
        strong = _("%(many)s made by hand since the last file.") % {"many": words.count(many, "change")}
        text = _("It was applied %(when)s.") % {"when": when}
        url = reverse("console:policy_drift", args=[ward.root.id])
        shown = sees_all_access(ward.asker, ward.root)
        yield Note("warn", strong, text, url if shown else "", _("See what differs") if shown else "")
    else:
        yield Note("", _("Nothing was changed by hand."), _("A file was applied %(when)s.") % {"when": when})


OF_ACCESS = (
    *(events.GRANT_ADDED, events.GRANT_REMOVED, events.ROLE_CREATED, events.ROLE_DELETED),
    *(events.ROLE_ASSIGNED, events.ROLE_UNASSIGNED, events.OWNER_SET),
    *(events.MEMBER_ADDED, events.MEMBER_REMOVED),
)
"""The kinds of changes that a file could have made too."""
