"""Who is let into the pages; who is not signed in gets the page that asks for a password."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import sessions
from accounts.models import User
from authzsite.console.kit import form_resume, languages
from authzsite.console.kit.display import formats
from authzsite.console.kit.error_pages import show
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import note, page
from authzsite.console.kit.sign_in import SignInForm, sign_in_page
from authzsite.console.objects.access import SeeHistory
from policies.errors import Archived

View = Callable[..., HttpResponseBase]


def login_required(view: View) -> View:
    """Let in who is signed in and bound to a principal; keep the form of anybody whose session ended."""

    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user: User | AnonymousUser = request.user
        if not isinstance(user, User):
            return _let_sign_in(request)
        languages.speak(request, user)
        if user.principal_id is None:
            return page(request, "errors/unbound.html", status=403)
        sessions.seen(request, user)
        with timezone.override(_zone(user.time_zone)), formats.written(user.formats):
            try:
                return view(request, *args, **kwargs)
            except Archived as past:
                # a page of the past that can no longer be told from what is live says so
                return show(request, 410, heading=_("Only the archive has this"), text=str(past))
            except SeeHistory as past:
                return redirect("console:object_history", id=past.id)

    return guarded


def _let_sign_in(request: Request) -> HttpResponseBase:
    """A note in a part of a page; a sign-in page that keeps a form; else the way there and back."""
    path = request.get_full_path()
    if request.htmx and not form_resume.is_whole(request):
        return note(request, "errors/part_signed_out.html", _on_from_here(request), status=401)
    if request.method == "POST":
        packed = form_resume.pack(request)
        return sign_in_page(request, SignInForm(), next_=path, packed=packed, status=401)
    return redirect(f"{reverse('console:sign_in')}?{urlencode({'next': path})}")


def _zone(name: str) -> Any:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def _on_from_here(request: Request) -> dict[str, object]:
    """Where a part of a page that was only read goes on once they are in again; of a form, nothing.

    A search that goes on by itself asks for the page it stands on, from where it has come to.
    """
    if request.method != "GET":
        return {}
    page_ = request.htmx.current_url_abs_path or reverse("console:home")
    searching = page_.partition("?")[0] == request.path
    further = urlencode({"next": request.get_full_path() if searching else page_})
    return {"further": f"{reverse('console:sign_in')}?{further}", "searching": searching}
