"""Running a backend's sync: pause, resume, repair or report, let a held plan go on, check now, try again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs, Note
from authzsite.console.kit.forms import (
    ConsoleForm,
    ReasonField,
    TextField,
    WholeNumberField,
)
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.moment_fields import (
    MomentField,
)
from authzsite.console.kit.page import page, say
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.console.sync.runs import run_or_404, run_page, steps_of
from policies.authority import Actor
from policies.models import Backend, SyncItem, SyncRun
from policies.record import access_log
from policies.services.grants import revision_now
from policies.sync.actions import operations
from policies.sync.safeguards import loss_limit

ASKED = ("pause", "repair", "confirm", "rate", "share")
AT_ONCE = ("resume", "report", "retry", "look")
DONE = {
    "pause": gettext_lazy("is paused"),
    "resume": gettext_lazy("is resumed"),
    "repair": gettext_lazy("repairs from now on"),
    "report": gettext_lazy("only reports from now on"),
    "confirm": gettext_lazy("goes on with its plan"),
    "retry": gettext_lazy("is tried again"),
    "look": gettext_lazy("is checked now"),
    "rate": gettext_lazy("keeps to its rate"),
    "share": gettext_lazy("holds plans that revoke from more people than that"),
}


class ShareField(WholeNumberField):
    """A share per cent, with or without its sign."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).removesuffix("%").strip()


def _until(row: Backend) -> forms.Field:
    return MomentField(
        label=_("Until"),
        required=False,
        help_text=_("In %(zone)s. Leave empty to pause until someone resumes it.") % {"zone": words.zone()},
        error_messages={"required": _("Enter a date and a time, or leave both empty.")},
    )


def _rate(row: Backend) -> forms.Field:
    return WholeNumberField(
        label=_("Most changes a second"),
        max_length=9,
        required=False,
        empty=0,
        wrong=_("Enter a whole number of changes a second, or leave it empty."),
        initial=row.rate or "",
        help_text=_("Rights and memberships, such as 50. Empty for no limit."),
    )


def _share(row: Backend) -> forms.Field:
    never_held = _("A plan that affects %(few)s people or fewer is never held; at 100, no plan is held.") % {
        "few": loss_limit.FEW
    }
    return ShareField(
        label=_("People losing rights, in percent"),
        max_length=4,
        most=100,
        wrong=_("Enter a share of people from 0 to 100 percent."),
        initial=row.share,
        help_text=_("Of all people with access there through Lakewarden. %(few)s") % {"few": never_held},
    )


FIELDS = {"pause": ("until", _until), "rate": ("rate", _rate), "share": ("share", _share)}
"""What each operation asks for beside a reason: the field's name, and the field for a backend."""


class OperateForm(ConsoleForm):
    """What an operation asks for beside a reason, and the plan that was looked at."""

    digest = TextField(required=False, widget=forms.HiddenInput)
    reason = ReasonField()
    field_order = ("until", "rate", "share", "reason")

    def __init__(self, data: Any = None, *, operation: str, row: Backend, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        if operation in FIELDS:
            name, field_of = FIELDS[operation]
            self.fields[name] = field_of(row)
            self.order_fields(self.field_order)


class OperateView(ChangeView):
    """Ask back where it matters, then do it."""

    template_name = "console/sync/operate.html"
    not_saved = gettext_lazy("Not done.")

    def get_object(self) -> BackendAccess:
        if self.operation not in (*ASKED, *AT_ONCE):
            raise Http404
        return there(self.request, self.kwargs["id"])

    @property
    def operation(self) -> str:
        return str(self.kwargs["deed"])

    def refusal(self) -> HttpResponse | None:
        if not self.object.may_operate:
            return refused(self.request, self.object)
        at_once = self.operation in AT_ONCE and self.request.method != "POST"
        return redirect(self.back()) if at_once else None

    def make_form(self, data: Any) -> OperateForm:
        return OperateForm(data, operation=self.operation, row=self.object.row)

    def save(self, form: OperateForm, actor: Actor) -> None:
        row, typed, reason = self.object.row, form.cleaned_data, form.cleaned_data["reason"]
        if self.operation == "pause":
            operations.pause(row, by=actor, reason=reason, until=typed["until"])
        elif self.operation == "resume":
            operations.resume(row, by=actor)
        elif self.operation in ("repair", "report"):
            operations.set_policy(row, self.operation, by=actor, reason=reason)
        elif self.operation == "rate":
            operations.set_rate(row, typed["rate"], by=actor, reason=reason)
        elif self.operation == "share":
            operations.set_share(row, typed["share"], by=actor, reason=reason)
        elif self.operation == "confirm":
            operations.confirm(row, typed["digest"], by=actor, reason=reason)
        else:
            operations.retry(row, by=actor)

    def form_refused(self, form: OperateForm, problem: Exception) -> HttpResponse:
        if self.operation in ASKED:
            return super().form_refused(form, problem)
        say(self.request, _("Not done. %(problem)s") % {"problem": problem})
        return redirect(self.back())

    def note_of(self, form: OperateForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: OperateForm) -> str:
        return f"{self.object.name} {DONE[self.operation]}"

    def may_undo(self) -> bool:
        return False

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        run = self.object.latest
        has_plan = run and self.operation in ("repair", "confirm")
        return {
            "form": kwargs["form"],
            "notes": self.notes,
            "back": self.back(),
            "keep": _("Leave it as it is"),
            "steps": steps_of(run, self.object.row) if run and has_plan else [],
            "digest": run.digest if run else "",
            **_words(self.object, self.operation, run),
        }

    def back(self) -> str:
        return str(self.object.url)

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        realm = self.object.place.node.realm
        return page(self.request, self.template_name, context, section="sync", realm=realm, status=status)


def refused(request: Request, backend_access: BackendAccess) -> HttpResponse:
    """Somebody who does not run the sync wanted to."""
    access_log.refused(backend_access.place.asker, operations.DUTY, backend_access.place.node, via="console")
    context = {
        "heading": _("You cannot run sync for %(name)s") % {"name": backend_access.place.node.name},
        "text": _("The owner of %(name)s or a holder of the sync duty can.")
        % {"name": backend_access.place.node.name},
        "status": 403,
    }
    return page(
        request,
        "errors/page.html",
        context,
        section="sync",
        realm=backend_access.place.node.realm,
        status=403,
    )


def _words(backend_access: BackendAccess, deed: str, run: SyncRun | None) -> dict[str, str]:
    if deed == "pause":
        text = _("Nothing is changed or read there until it is resumed: revocations wait too.")
        return {
            "heading": _("Pause %(name)s?") % {"name": backend_access.name},
            "text": text,
            "button": _("Pause it"),
            "look": "danger primary",
        }
    if deed == "rate":
        text = _("A server that others use too is changed no faster than this, by all workers together.")
        heading = _("How fast may %(name)s be changed?") % {"name": backend_access.name}
        return {"heading": heading, "text": text, "button": _("Keep to this rate"), "look": "primary"}
    if deed == "share":
        text = _(
            "A mistake here would be applied there at once; a plan with many removals waits for a review."
        )
        heading = _("When is a plan for %(name)s held?") % {"name": backend_access.name}
        return {"heading": heading, "text": text, "button": _("Hold it above this share"), "look": "primary"}
    losing = words.count(run.losing if run else 0, "person", "people")
    takes = words.count(run.removals if run else 0, "right or membership", "rights and memberships")
    look = "danger primary" if run and run.removals else "primary"
    if deed == "repair":
        text = _("The last plan removes %(takes)s, affecting %(losing)s.") % {
            "takes": takes,
            "losing": losing,
        }
        return {
            "heading": _("Repair %(name)s from now on?") % {"name": backend_access.name},
            "text": text,
            "button": _("Repair it"),
            "look": look,
        }
    text = _("It removes %(takes)s. Removals come first.") % {"takes": takes}
    button = _("Revoke them from %(losing)s") % {"losing": losing}
    return {
        "heading": _("Release the plan for %(name)s?") % {"name": backend_access.name},
        "text": text,
        "button": button,
        "look": look,
    }


@reads
@login_required
def run(request: Request, id: int) -> HttpResponse:
    """One run with its steps."""
    row = run_or_404(id)
    backend_access = there(request, row.backend_id)
    if not backend_access.may_look:
        raise Http404
    context = run_page(row, row.backend, may_retry=backend_access.may_operate) | {
        "crumbs": Crumbs(((_("Sync"), reverse("console:sync")), (backend_access.name, backend_access.url))),
    }
    realm = backend_access.place.node.realm
    return page(
        request, "console/sync/run.html", context, section="sync", realm=realm, revision=revision_now()
    )


@writes
@login_required
def retry(request: Request, id: int, item: int) -> HttpResponse:
    """Try one failed step again, alone."""
    backend_access = there(request, run_or_404(id).backend_id)
    if not backend_access.may_operate:
        return refused(request, backend_access)
    step = SyncItem.objects.filter(pk=item, run=id).first()
    if step is None:
        raise Http404
    operations.retry(backend_access.row, by=backend_access.place.actor, item=step)
    say(request, _("That step is tried again"))
    return redirect("console:sync_backend", id=backend_access.row.pk)
