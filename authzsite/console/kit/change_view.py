"""The flow of every change: look, plan, save once, say so with an undo, resume after a lost session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.generic import FormView

from accounts.models import Principal
from accounts.people import BadName
from authzsite.console.kit import form_resume, step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display.parts import Diff, Note, StrOrPromise, Tally
from authzsite.console.kit.forms import ConsoleForm
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes, writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.replay import Proposal, ReplaySection, section
from policies.authority import Actor
from policies.errors import Conflict, PolicyError
from policies.separation import Separated

if TYPE_CHECKING:
    View = FormView[Any]
else:
    View = FormView  # has no type arguments at run time

RESUMED = Note(
    "warn",
    gettext_lazy("Your form is kept, and nothing was saved."),
    gettext_lazy("Check it again, then save."),
)


LONG = 12
"""Behind a list of more lines nobody looks for the uses that would be refused, so they come before it."""


@dataclass(frozen=True)
class Plan:
    """What saving a form would do, as the page shows it beforehand."""

    diff: Diff | None = None
    tally: Tally | None = None
    sum: str = ""
    """In one line, beside the buttons."""
    warnings: tuple[Note, ...] = ()
    backend: str = ""
    """What becomes of it in the systems that are kept in step."""
    begins: str = ""
    subject: str = ""
    """What is changed, as it is now, in one line."""
    empty: StrOrPromise = ""
    """Said while too little is filled in to foretell anything."""
    nothing: bool = False
    """There is nothing to change; then there is no form, only `notes`."""
    notes: tuple[Note, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether so many are listed that what follows the list would not be seen."""
        return self.diff is not None and len(self.diff.lines) > LONG


class ChangeView(View):
    """One change behind one form.  A page says what is its own in the hooks; the order of things is here.

    Hooks, in the order in which they are asked: `site_refusal`, `get_object`, `refusal`, `make_form`, `plan`,
    `save`, `success_message`, `get_success_url`; for the page `heading`, `lead`, `button`, `back`, `draw`.
    """

    form_class: Any = ConsoleForm
    template_name = "console/kit/form.html"
    htmx_template_name = ""
    """What is drawn when a script asks for the form alone."""
    preview_template_name = "console/kit/live.html"
    """What is drawn where the view is routed a second time with `preview_only=True`."""
    preview_only = False
    looks_first: ClassVar[bool] = False
    """Whether the form has a button to look at the plan; then only the `saving_steps` save."""
    saving_steps: ClassVar[frozenset[str]] = frozenset({"save"})
    naming_buttons: ClassVar[frozenset[str]] = frozenset({"add", "drop"})
    """Buttons that change who or what is named; they never save."""
    steps_up: ClassVar[bool] = False
    """Whether it is saved only when the viewer proved a short time ago who they are."""
    shows_all_uses: ClassVar[bool] = False
    """Whether its plan tells of everybody in the realms, and the uses beside it are those of everybody."""
    not_saved: ClassVar[StrOrPromise] = gettext_lazy("Not saved.")
    fields_of_errors: ClassVar[Mapping[type[Exception], str]] = {BadName: "name"}
    """Errors of services that belong to one field of the form."""

    request: Request
    object: Any

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        allowed = writes if initkwargs.get("preview_only") else reads_and_writes
        return allowed(login_required(super().as_view(**initkwargs)))

    # What a page says for itself

    def site_refusal(self) -> HttpResponseBase | None:
        """The answer for viewers who may never do such a thing, before anything is looked up."""
        return None

    def get_object(self) -> Any:
        """What is changed, as the asker meets it.  Raises Http404."""
        return None

    def refusal(self) -> HttpResponseBase | None:
        """The refusal of a change that is not allowed here, or made elsewhere; None lets in."""
        return None

    def plan(self, form: Any) -> Plan | None:
        """What the form would do with what is valid in it so far; None where there is nothing to foretell."""
        return Plan()

    def proposals(self, form: Any) -> Iterable[Proposal]:
        """The changes of access that saving the form would make, realm by realm: held against what was
        used."""
        return ()

    def save(self, form: Any, actor: Actor) -> Any:
        """Make the change, through a service, under the writers' lock.  Raises PolicyError, BadName."""
        raise NotImplementedError

    def success_message(self, form: Any) -> str:
        """What the toast says; `self.result` is what `save` answered, None for a form sent twice."""
        return ""

    def may_undo(self) -> bool:
        """Whether the toast offers to take the change back."""
        return True

    def get_success_url(self) -> str:
        return self.back()

    def heading(self, form: Any) -> str:
        raise NotImplementedError

    def lead(self) -> str:
        return ""

    def button(self, form: Any) -> str:
        raise NotImplementedError

    def back(self) -> str:
        """The page that the form was opened from."""
        raise NotImplementedError

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        """The page, with the shell around it."""
        return page(self.request, self.get_template_names()[0], context, status=status)

    # The order of things

    def dispatch(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        self.notes: list[Note] = []
        self.result: Any = None
        self.asker: Principal = asker_of(request)
        self.resumed = form_resume.take(request) if request.method == "GET" else None
        self.data = request.POST if request.method == "POST" else self.resumed or request.GET
        if refusal := self.site_refusal():
            return refusal
        self.object = self.get_object()
        return self.refusal() or super().dispatch(request, *args, **kwargs)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if "choices" in request.GET:
            return self.choices(request.GET["choices"])
        if self.resumed is not None:
            self.notes.append(RESUMED)
        return self.look(self.make_form(self.data), begin=self.resumed is None)

    def choices(self, name: str) -> HttpResponse:
        """Who or what a field offers for the text that is being typed, for a script."""
        form = self.make_form(self.request.GET)
        field: Any = form[name] if name in form.fields else None
        if not hasattr(field, "options"):
            raise Http404
        context = {"options": field.options, "nobody": field.nobody}
        return render(self.request, "console/kit/options.html", context)

    def post(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        form = self.make_form(request.POST)
        self.actor = Actor(self.asker, "console", request_id=form.nonce)
        if self.preview_only or (self.looks_first and self.only_looks(form)):
            return self.look(form, begin="nonce" not in request.POST)
        if self.steps_up and (page := step_up.asked(request)):
            return page
        return self.form_valid(form) if form.is_valid() else self.form_invalid(form)

    def only_looks(self, form: Any) -> bool:
        """Whether a form that was sent is to be looked at and not yet saved."""
        sent = self.request.POST
        return sent.get("step") not in self.saving_steps or bool(self.naming_buttons & set(sent))

    def make_form(self, data: Any) -> Any:
        """The form over what was sent, over an address, or over a form that was kept."""
        return self.form_class(data, **self.get_form_arguments())

    def get_form_arguments(self) -> dict[str, Any]:
        """What the form is told beside the data."""
        return {}

    def look(self, form: Any, *, begin: bool = False) -> HttpResponse:
        """Show the form and its plan; nothing is saved."""
        form.look(begin=begin)
        return self.show(form)

    def form_valid(self, form: Any) -> HttpResponse:
        """Save once: a form that comes again is answered like the first time."""
        if done_before(self.actor) is None:
            try:
                self.result = self.save(form, self.actor)
            except (PolicyError, BadName) as problem:
                meanwhile = isinstance(problem, Conflict) and not isinstance(problem, Separated)
                if not meanwhile or done_before(self.actor) is None:  # else sent twice at the same time
                    return self.form_refused(form, problem)
        message = self.success_message(form)
        if message:
            say(self.request, message, undo=self.revision if self.may_undo() else None)
        return self.leave(self.get_success_url())

    def sent_before(self) -> bool:
        """Whether this very form was saved before, where what it asked for may be gone by that."""
        nonce = self.request.POST.get("nonce", "")
        return bool(nonce) and done_before(Actor(self.asker, "console", request_id=nonce)) is not None

    @cached_property
    def revision(self) -> int | None:
        """The change that this form made; None when it changed nothing."""
        return done_before(self.actor)

    def form_refused(self, form: Any, problem: Exception) -> HttpResponse:
        """A service said no: beside the field that it is about, else above the form."""
        field = next((name for kind, name in self.fields_of_errors.items() if isinstance(problem, kind)), "")
        if field:
            form.add_error(field, f"{str(problem)[:1].upper()}{str(problem)[1:].removesuffix('.')}.")
            return self.form_invalid(form)
        self.notes.append(self.note_of(form, problem))
        return self.show(form, 422)

    def note_of(self, form: Any, problem: Exception) -> Note:
        """What is said above the form when a service said no."""
        return Note("bad", self.not_saved, _("%(problem)s Your form is kept.") % {"problem": problem})

    def form_invalid(self, form: Any) -> HttpResponse:
        """What is wrong stands beside its field; above the form stands that nothing was saved.

        A form that comes again is led on, also when what it asks for cannot be asked any more.
        """
        if done_before(self.actor) is not None:
            say(self.request, _("It was saved already"), undo=self.revision if self.may_undo() else None)
            return self.leave(self.get_success_url())
        self.notes.append(Note("bad", self.not_saved, _("See what is marked below.")))
        return self.show(form, 422)

    def show(self, form: Any, status: int = 200) -> HttpResponse:
        context = self.get_context_data(form=form)
        if self.preview_only:
            return render(self.request, self.preview_template_name, context)
        if self.request.htmx and self.htmx_template_name:
            return render(self.request, self.htmx_template_name, context, status=status)
        return self.draw(context, status)

    def page_context(self, form: Any) -> dict[str, Any]:
        """What the template of a page draws beside what every change has."""
        return {}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        form = kwargs["form"]
        plan = self.plan(form)
        return {
            "form": form,
            "plan": plan,
            "replay": self.replay(form) if plan and plan.diff else None,
            "notes": [*self.notes, *(plan.notes if plan else ())],
            "heading": self.heading(form),
            "lead": self.lead(),
            "button": self.button(form),
            "back": self.back(),
            "here": self.request.get_full_path() if self.request.htmx else self.request.path,
            **self.page_context(form),
        }

    def replay(self, form: Any) -> ReplaySection | None:
        """Which uses of the last days the changes would refuse, or newly allow."""
        return section(self.asker, self.proposals(form), whole=self.shows_all_uses)

    def leave(self, address: str) -> HttpResponse:
        """On to the next page, also for a script."""
        if not self.request.htmx:
            return redirect(address)
        response = HttpResponse(status=204)
        response["HX-Redirect"] = address
        return response
