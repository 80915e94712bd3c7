"""Who runs the site: the service admins, who they are, and what is told to everybody else."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Verdict
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.page import page
from policies.decisions.facts import is_service_admin
from policies.decisions.site_permissions import ADMIN
from policies.record import access_log


def may(request: Request) -> bool:
    """Whether the signed-in person is a service admin."""
    return is_service_admin(asker_of(request))


def named() -> list[Principal]:
    """The service admins whom the site knows, by name."""
    rows = Principal.objects.filter(kind="user", name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
    return list(rows.order_by("display_name", "name"))


def who_words() -> str:
    """olivia and sam; or that there is nobody."""
    names = [terms.spoken(one) for one in named()]
    return words.listed(names) or "nobody: LAKEWARDEN_SERVICE_ADMINS is empty"


def refused(request: Request, heading: str, *, back: str, back_words: str) -> HttpResponse:
    """The page for who is no service admin, recorded: what it takes and who has it."""
    access_log.refused(asker_of(request), ADMIN, None, name=request.path, via="console")
    text = f"It takes a service admin of this site: {who_words()}."
    context = {"verdict": Verdict("no", heading, text, level=1), "actions": (Action(back_words, back),)}
    return page(request, "errors/refused.html", context, room="accounts", status=403)
