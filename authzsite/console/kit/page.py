"""What surrounds every page: the navigation, the person, the theme, the toast, the revision."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as noop

from accounts.models import User
from authzsite.console.kit import languages, navigation
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.settings.modes import banner_of

TOAST = "toast"
KINDS = {"metalake": noop("Metalake"), "herd": noop("Herd"), "instance": noop("CDAP instance")}
"""What a realm is called in its own kind's words, by the type of its root."""
KEYS_OFF = "keys_off"


def page(
    request: Request,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    section: str = "",
    realm: str = "",
    kind: str = "metalake",
    revision: int | None = None,
    banner: Note | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render a page with the shell around it."""
    shell = surroundings(request, revision) | {
        "section": section,
        "place": navigation.place_of(section),
        "realm": f"{_(KINDS[kind])} {realm}" if realm else "",
        "revision": words.number(revision),
        "banner": banner or banner_of(realm, revision),
    }
    return render(request, template, {"shell": shell, **(context or {})}, status=status)


def note(
    request: Request, template: str, context: dict[str, Any] | None = None, *, status: int
) -> HttpResponse:
    """What went wrong, in the place of the part of a page that was asked for, whichever that is."""
    answer = render(request, template, context, status=status)
    answer["HX-Reselect"] = "unset"
    return answer


def surroundings(request: Request, revision: int | None = None) -> dict[str, Any]:
    """The shell: the signed-in person's own row, and what is open to them as of a revision."""
    user: User | None = getattr(request, "user", None)
    account = user if user is not None and user.is_authenticated else None
    languages.speak(request, account)
    principal = account.principal if account else None
    name = (principal.label if principal else account.get_username()) if account else ""
    doors, match = navigation.doors_of(principal, revision), request.resolver_match
    return {
        "nav": doors.shown(),
        "settings": doors.settings(),
        "tabs": doors.tabs(match.url_name) if match is not None and match.url_name else None,
        "signed_in": account is not None,
        "person": name,
        "initials": words.initials(name),
        "unread": words.number(account.unread) if account and account.unread else "",
        "alarm": _alarm(account) if account else None,
        "by_name": _BY_NAME if "simple" in settings.LAKEWARDEN_AUTHENTICATORS else None,
        "principal": str(principal) if principal else "",
        **languages.described(account.formats if account else ""),
        "theme": account.theme if account and account.theme != "system" else "",
        "compact": account.compact_lists if account else False,
        "here": request.get_full_path(),
        "asked": request.GET.get("q", "") if match is not None and match.url_name == "search" else "",
        "keys_off": account and request.session.get(KEYS_OFF, False),
        "toast": request.session.pop(TOAST, None)
        if account and request.method == "GET" and not request.htmx
        else None,
    }


_BY_NAME = Note(
    "bad",
    gettext_lazy("Programs can sign in with a name alone."),
    gettext_lazy("This is for development and tests only. An operator can turn it off."),
)


def _alarm(account: User) -> Note | None:
    """What is open to them in an emergency, on every page while it is."""
    until = account.emergency_until
    if until is None or until <= timezone.now():
        return None
    strong = _("Emergency access is open until %(until)s.") % {"until": words.moment(until, within=True)}
    return Note(
        "warn", strong, _("Everything you do with it is listed."), reverse("console:emergencies"), _("See it")
    )


def say(request: Request, text: str, *, undo: int | None = None) -> None:
    """Put a toast on the next page, with Undo when the change of that revision can be undone."""
    url = reverse("console:undo", args=[undo]) if undo is not None else ""
    request.session[TOAST] = {"text": text, "undo": url}
