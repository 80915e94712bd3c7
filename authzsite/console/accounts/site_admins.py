"""Who runs the site: the site admins, who they are, and what is told to everybody else."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Verdict
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.page import page
from policies.decisions.facts import is_service_admin
from policies.decisions.site_permissions import ADMIN
from policies.record import access_log


def may(request: Request) -> bool:
    """Whether the signed-in person is a site admin."""
    return is_service_admin(asker_of(request))


def named() -> list[Principal]:
    """The site admins whom the site knows, by name."""
    rows = Principal.objects.filter(kind="user", name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
    return list(rows.order_by("display_name", "name"))


def admin_names() -> str:
    """Site admins: olivia and sam.  Or a sentence that there is none."""
    names = [terms.principal_name(item) for item in named()]
    if not names:
        return _("No site admin is set up yet.")
    return ngettext("Site admin: %(names)s.", "Site admins: %(names)s.", len(names)) % {
        "names": words.listed(names)
    }


def refused(request: Request, heading: str, *, back: str, back_words: str) -> HttpResponse:
    """The page for everybody but site admins, recorded: what it takes and who can do it."""
    access_log.refused(asker_of(request), ADMIN, None, name=request.path, via="console")
    text = _("Only a site admin can do this. %(admin_names)s") % {"admin_names": admin_names()}
    context = {"verdict": Verdict("no", heading, text, level=1), "actions": (Action(back_words, back),)}
    return page(request, "errors/refused.html", context, section="accounts", status=403)
