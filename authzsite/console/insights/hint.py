"""One hint: mended after a look at what that does, dismissed with a reason, brought back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.access.effects import Shown, out_there
from authzsite.console.insights.hint_rows import about_words, found_words, ground, mend_url, mends, what
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Note, StrOrPromise, Tally, Verdict
from authzsite.console.kit.form_resume import is_own
from authzsite.console.kit.forms import ConfirmForm, ConsoleForm, ReasonField
from authzsite.console.kit.http import Request, asker_of, nonce_in
from authzsite.console.kit.methods import writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.replay import Proposal, root_of
from authzsite.console.roles.effects import Foretold
from authzsite.console.sync.backend_state import behind
from policies.analytics import hints
from policies.analytics.hint_kinds import REMOVE
from policies.analytics.hints import HintView
from policies.authority import Actor
from policies.decisions import ask
from policies.decisions.personal_role_names import is_personal
from policies.errors import Conflict, NotFound, Refused
from policies.models import Grant
from policies.previews import grants as previews
from policies.previews.roles import RoleChange, of_role_change
from policies.record import access_log
from policies.services.grants import GRANT, revision_now
from policies.services.roles import Privilege
from policies.simulation import endings


def _hint(request: Request, number: int) -> HintView:
    try:
        return hints.hint(number, Actor(asker_of(request), "console"))
    except NotFound as absent:
        raise Http404 from absent


def _origin(request: Request) -> str:
    """The page that one comes from and goes back to: an object, a role, a person, or the list of hints."""
    page = request.GET.get("back", "")
    return page if page and is_own(request, page) else reverse("console:hints")


def _locked(request: Request, hint: HintView, cannot: StrOrPromise) -> HttpResponse | None:
    """The refusal of who may see a hint and not act on it; `cannot` says what, with the object's `name`."""
    asker, node = asker_of(request), hint.node
    if ask.ask(asker, GRANT, node):
        return None
    access_log.refused(asker, ask.operation_for(node, GRANT), node, via="console")
    text = _("Only people who may grant access to its object can do that.")
    verdict = Verdict("no", str(cannot) % {"name": node.name}, text, level=1)
    context = {"verdict": verdict, "actions": (Action(_("Back"), _origin(request)),)}
    return page(request, "errors/refused.html", context, section="hints", realm=node.realm, status=403)


class HintChangeView(ChangeView):
    """`self.object` is the hint, for people who may give access to what it is about."""

    cannot: ClassVar[StrOrPromise]
    object: HintView

    def get_object(self) -> HintView:
        return _hint(self.request, self.kwargs["id"])

    def refusal(self) -> HttpResponse | None:
        return _locked(self.request, self.object, self.cannot)

    def success_message(self, form: Any) -> str:
        return self.result or self.done()

    def done(self) -> str:
        raise NotImplementedError

    def back(self) -> str:
        return _origin(self.request)

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request,
            self.template_name,
            context,
            section="hints",
            realm=self.object.node.realm,
            revision=revision_now(),
            status=status,
        )


class MendHintView(HintChangeView):
    """What it takes from whom; then the one grant is ended, and can be given back by Undo."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    cannot = gettext_lazy("You cannot act on hints about %(name)s")

    def site_refusal(self) -> HttpResponse | None:
        if self.request.method != "POST":
            return None
        before = done_before(Actor(self.asker, "console", request_id=ConfirmForm(self.data).nonce))
        if before is None:
            return None
        say(self.request, _("It is revoked"), undo=before)  # sent twice: the hint is gone by now
        return redirect(self.back())

    def refusal(self) -> HttpResponse | None:
        return redirect(mend_url(self.object)) if self.object.kind.deed != REMOVE else super().refusal()

    def get_form_arguments(self) -> dict[str, Any]:
        return {"initial": {"reason": f"{_(self.object.label)}: {ground(self.object)}"}}

    def plan(self, form: ConfirmForm) -> Plan:
        if not Grant.objects.open().filter(pk=self.object.row.grant or 0).exists():
            note = Note("", _("It has ended meanwhile."), _("The next run removes the hint."))
            return Plan(nothing=True, notes=(note,))
        tally, diff = _foretold(self.object)
        return Plan(tally=tally, diff=diff, backend=out_there(behind(self.object.node), removal=True))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        root = root_of(self.object.node)
        yield root, endings.of_grants(root, Grant.objects.open().filter(pk=self.object.row.grant or 0))

    def save(self, form: ConfirmForm, actor: Actor) -> str:
        try:
            hints.mend(self.object.row.pk, by=actor, reason=form.cleaned_data["reason"])
        except Conflict as late:
            return _("Nothing changed. %(late)s") % {"late": late}
        return ""

    def done(self) -> str:
        return _("%(object)s on %(name)s is revoked") % {
            "object": about_words(self.object),
            "name": what(self.object).name,
        }

    def heading(self, form: ConfirmForm) -> str:
        return _("%(mends)s on %(name)s?") % {
            "mends": mends(self.object).partition(";")[0],
            "name": what(self.object).name,
        }

    def lead(self) -> str:
        seen = found_words(self.object)
        return f"{about_words(self.object)}. {ground(self.object)} {seen.removesuffix('.')}."

    def button(self, form: ConfirmForm) -> str:
        return _("Revoke")


def _foretold(hint: HintView) -> tuple[Tally | None, Diff]:
    row, node = hint.row, hint.node
    if row.pattern:
        text = _("ends on this name; access through another name stays")
        return None, Diff((DiffLine("change", about_words(hint), text),))
    if row.holder is not None and (hint.role is None or is_personal(hint.role.name)):
        shown = Shown(previews.of_removal(node, (row.holder,), (row.privilege,)), node, removal=True)
        return shown.tally(), shown.diff()
    if hint.role is None:
        return None, Diff((DiffLine("change", about_words(hint), "ends"),))
    effect = Grant.objects.values_list("effect", flat=True).get(pk=row.grant or 0)
    change = RoleChange(removes=((node, Privilege(row.privilege, effect)),))
    foretold = Foretold.of_role(of_role_change(hint.role, change), removal=True)
    return (foretold.tally() if foretold.parts else None), foretold.diff()


class DismissForm(ConsoleForm):
    """Why it stays as it is."""

    reason = ReasonField(
        required=True,
        label=gettext_lazy("Why it stays"),
        help_text=gettext_lazy("Kept in the history permanently."),
        error_messages={"required": hints.NO_REASON},
    )


class DismissHintView(HintChangeView):
    """Why it stays as it is; then it does not come back."""

    form_class = DismissForm
    template_name = "console/insights/dismiss.html"
    cannot = gettext_lazy("You cannot dismiss hints about %(name)s")

    def save(self, form: DismissForm, actor: Actor) -> str:
        try:
            hints.dismiss(self.object.row.pk, by=actor, reason=form.cleaned_data["reason"])
        except Conflict as late:
            return str(late)
        return ""

    def done(self) -> str:
        return _("Dismissed: %(label)s, %(name)s") % {
            "label": terms.lower(_(self.object.label)),
            "name": what(self.object).name,
        }

    def may_undo(self) -> bool:
        return False

    def heading(self, form: DismissForm) -> str:
        return _("Leave %(name)s as it is?") % {"name": what(self.object).name}

    def lead(self) -> str:
        return f"{_(self.object.label)}. {about_words(self.object)}"

    def button(self, form: DismissForm) -> str:
        return _("Dismiss the hint")

    def page_context(self, form: DismissForm) -> dict[str, Any]:
        return {"ground": ground(self.object), "found": found_words(self.object)}


@writes
@login_required
def back(request: Request, id: int) -> HttpResponse:
    """Take a dismissal back."""
    hint, by = _hint(request, id), Actor(asker_of(request), "console", request_id=nonce_in(request.POST))
    if (answer := _locked(request, hint, _("You cannot restore hints about %(name)s"))) is not None:
        return answer
    try:
        hints.bring_back(id, by=by)
    except (Conflict, Refused) as problem:
        say(request, str(problem))
    else:
        say(
            request,
            _("Restored: %(label)s, %(name)s")
            % {"label": terms.lower(_(hint.label)), "name": what(hint).name},
        )
    return redirect("console:hints")
