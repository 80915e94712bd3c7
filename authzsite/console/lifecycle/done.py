"""The changes that a form just made, each to be taken back by itself."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Crumbs
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from policies.events import SENTENCES
from policies.models import Change
from policies.services.undo import UNDONE

SHOWN = 20


@dataclass(frozen=True)
class Done:
    """One change: what was done first in it, when, and whether it can be undone."""

    revision: int
    text: str
    when: str
    undo: bool


def done_by(asker: Principal, nonce: str) -> list[Done]:
    """What somebody did with one form, the newest last.  One query."""
    if not nonce or len(nonce) > 64:
        return []
    rows = Change.objects.filter(actor=asker.pseudonym, request_id=nonce).order_by("revision")
    return [
        Done(row.revision, _kind(row.kind), words.ago(row.at), row.kind in UNDONE) for row in rows[:SHOWN]
    ]


@reads
@login_required
def changes_made(request: Request, nonce: str) -> HttpResponse:
    """What the viewer just did, also when they may no longer know whom it was about."""
    circle = circle_of(request)
    done = done_by(circle.asker, nonce)
    if not done:
        raise Http404
    code = request.GET.get("who", "")
    about = circle.people().filter(pk=int(code)).first() if code.isdecimal() and len(code) < 18 else None
    context = {
        "crumbs": Crumbs(((_("People"), reverse("console:people")),)),
        "heading": ngettext("%(done)s change is saved", "%(done)s changes are saved", len(done))
        % {"done": words.spelled(len(done))},
        "lead": _("Each can be undone on its own, as long as nobody has changed the same thing since."),
        "done": done,
        "whom": about,
    }
    return page(request, "console/lifecycle/saved.html", context, section="people")


def _kind(code: str) -> str:
    """role.assigned -> Roles given, from the change's own kind."""
    return str(WORDS.get(code, SENTENCES.get(code, code)))


WORDS = {
    "owner.set": gettext_lazy("Handed over ownership"),
    "grant.added": gettext_lazy("Handed over direct grants"),
    "grant.removed": gettext_lazy("Revoked direct grants"),
    "role.assigned": gettext_lazy("Assigned roles"),
    "role.unassigned": gettext_lazy("Revoked roles"),
    "duty.given": gettext_lazy("Handed duties over"),
    "duty.taken": gettext_lazy("Revoked duties"),
    "group.joined": gettext_lazy("Added someone to a group"),
    "group.left": gettext_lazy("Removed them from groups"),
    "keeper.set": gettext_lazy("Named who is responsible for service accounts"),
    "token.revoked": gettext_lazy("Revoked tokens"),
    "member.removed": gettext_lazy("Removed them from a realm"),
    "member.added": gettext_lazy("Admitted them to a realm"),
    "account.closed": gettext_lazy("Disabled the account"),
    "request.refused": gettext_lazy("Ended open requests"),
    "review.passed": gettext_lazy("Reassigned review rows"),
}
