"""Who sees the runs and figures of which realm, and who starts them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display.parts import Action, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.settings.realm import RealmAccess, realm_at, show
from catalog.nodes import Node
from catalog.queries import root as root_of
from policies.analytics.pipelines import control, overview
from policies.authority import Actor
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import realms_of
from policies.models import PipelineRun
from policies.record import access_log
from policies.sync.actions import operations

STARTERS = gettext_lazy(
    "The realm's owner, the operators of its sync and site admins can start a pipeline over it."
)


@dataclass(frozen=True)
class Watched:
    """A realm, or the whole site (`root` None), whose runs somebody may see; `starts`: and begin and stop."""

    root: Node | None
    starts: bool

    @property
    def realm_id(self) -> int | None:
        return self.root.realm_id if self.root else None

    @property
    def name(self) -> str:
        return self.root.name if self.root else _("The whole site")


def actor(asker: Principal) -> Actor:
    return Actor(asker, "console")


def watched(asker: Principal) -> list[Watched]:
    """The realms whose runs somebody may see, the site itself last.  A few queries for each realm."""
    by, every = actor(asker), is_service_admin(asker)
    roots = [root_of(realm) for realm in control.open_realms()] if every else realms_of(asker)
    seen = [Watched(root, control.may_run(by, root)) for root in roots if overview.may_look(by, root)]
    return [*seen, Watched(None, starts=True)] if every else seen


def watched_run(asker: Principal, number: int) -> tuple[Watched, PipelineRun]:
    """A run with its realm; the same Http404 where it is not there and where they may not see it."""
    row = PipelineRun.objects.select_related("realm").filter(pk=number).first()
    if row is None:
        raise Http404
    by, root = actor(asker), root_of(row.realm) if row.realm else None
    starts = control.may_run(by, root)
    if not starts and not (root and overview.may_look(by, root)):
        raise Http404
    return Watched(root, starts), row


def place(request: Request, number: int | None) -> RealmAccess | None:
    """The realm that a form names; None for the whole site."""
    return realm_at(request, number) if number is not None else None


def refused(request: Request, ward: RealmAccess, heading: str, text: str) -> HttpResponse:
    access_log.refused(ward.asker, operations.DUTY, ward.root, via="console")
    verdict = Verdict("no", heading, text, level=1)
    context = {
        "verdict": verdict,
        "actions": (Action(_("Back to %(name)s") % {"name": ward.root.name}, ward.url),),
    }
    return show(request, "errors/refused.html", ward, context, status=403)
