"""What somebody does with a request of their own: withdraw it, answer a question, apply an approved plan."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import ConsoleForm
from authzsite.console.requests.request import AnswerForm, WithdrawForm, seen_by, shown
from catalog.nodes import node as node_of
from policies.authority import Actor
from policies.errors import Conflict
from policies.policy_files import document
from policies.policy_files.applying import apply
from policies.requests import submission
from policies.requests.visibility import VisibleRequest


class OwnRequestView(ChangeView):
    """What somebody does with a request of their own, on its page."""

    object: VisibleRequest
    form_name: ClassVar[str]

    def get_object(self) -> VisibleRequest:
        seen = seen_by(self.request, self.kwargs["id"])
        if not seen.mine:
            raise Http404
        return seen

    def form_refused(self, form: Any, problem: Exception) -> HttpResponse:
        self.object = self.get_object()  # as it stands now
        self.notes.append(self.note_of(form, problem))
        return self.show(form, 409 if isinstance(problem, Conflict) else 422)

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:request", args=[self.object.request.pk])

    def show(self, form: Any, status: int = 200) -> HttpResponse:
        return shown(self.request, self.object, self.notes, status=status, **{self.form_name: form})


class WithdrawView(OwnRequestView):
    """Take it back."""

    form_class = WithdrawForm
    form_name = "withdraw"
    not_saved = gettext_lazy("Not revoked.")

    def save(self, form: WithdrawForm, actor: Actor) -> None:
        submission.withdraw(self.object.request.pk, by=actor, reason=form.cleaned_data["reason"])

    def note_of(self, form: WithdrawForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: WithdrawForm) -> str:
        return _("Request %(pk)s is withdrawn") % {"pk": self.object.request.pk}


class AnswerView(OwnRequestView):
    """Answer what was asked back."""

    form_class = AnswerForm
    form_name = "answer"
    not_saved = gettext_lazy("Not sent.")

    def save(self, form: AnswerForm, actor: Actor) -> None:
        submission.answer(self.object.request.pk, form.cleaned_data["answer"], by=actor)

    def note_of(self, form: AnswerForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, _("%(problem)s Your text is kept.") % {"problem": problem})

    def success_message(self, form: AnswerForm) -> str:
        return _("Your answer is sent; it waits for a decision again")


class ApplyForm(ConsoleForm):
    """Nothing is asked: the plan is the one that was approved."""


class ApplyView(OwnRequestView):
    """Carry out the very plan that was approved, by the right of its author."""

    form_class = ApplyForm
    form_name = "applying"
    not_saved = gettext_lazy("Nothing was applied.")

    def save(self, form: ApplyForm, actor: Actor) -> None:
        planned = self.object.planned
        root = node_of(self.object.request.lineage[0]) if planned is not None else None
        if planned is None or root is None:
            raise Http404
        apply(
            root, document.read(planned.file), seen=planned.plan, by=actor, reason=self.object.request.reason
        )

    def success_message(self, form: ApplyForm) -> str:
        return _("The policy file is applied to %(name)s") % {"name": self.object.request.realm_name}
