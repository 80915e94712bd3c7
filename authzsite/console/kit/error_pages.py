"""Pages for what went wrong: what happened, what became of the work, what to do."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop

from authzsite.console.kit import form_resume
from authzsite.console.kit.display.parts import StrOrPromise
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import note, surroundings
from authzsite.console.kit.sign_in import SignInForm, sign_in_page

NOT_FOUND = (
    noop("Page not found"),
    noop("This page does not exist, or you may not see it. Nothing was changed."),
)
WORDS = {
    400: (
        noop("This request could not be read"),
        noop("Nothing was changed. Go back and send the form again."),
    ),
    403: (noop("You cannot do this"), noop("Nothing was changed.")),
    404: NOT_FOUND,
    405: (
        noop("This page does not accept this request"),
        noop("Nothing was changed. Open the page first, then use its form."),
    ),
    500: (
        noop("Something went wrong on our side"),
        noop("If you were saving, either everything or nothing was saved. History shows which."),
    ),
}

UNUSUAL = (noop("This did not work"), noop("Nothing was changed."))


def show(
    request: Request, status: int, *, heading: StrOrPromise = "", text: StrOrPromise = ""
) -> HttpResponse:
    """An error page in the shell; only its note when a part of a page had asked."""
    shell = _bare(request)  # first: of an address that leads nowhere, only this finds who reads it
    usual = WORDS.get(status, UNUSUAL)
    shown = (heading or _(usual[0]), text or _(usual[1]))
    context = {"heading": shown[0], "text": shown[1], "status": status}
    if getattr(request, "htmx", False):
        return note(request, "errors/part.html", context, status=status)
    return render(request, "errors/page.html", {"shell": shell, **context}, status=status)


def _bare(request: Request) -> dict[str, object]:
    # a failure of the session or the database must not break the page that says so
    try:
        return surroundings(request)
    except Exception:  # noqa: BLE001
        return {"signed_in": False}


def bad_request(request: Request, exception: Exception | None = None) -> HttpResponse:
    return show(request, 400)


def forbidden(request: Request, exception: Exception | None = None) -> HttpResponse:
    return show(request, 403)


def not_found(request: Request, exception: Exception | None = None) -> HttpResponse:
    return show(request, 404)


def server_error(request: Request) -> HttpResponse:
    return show(request, 500)


def out_of_order(request: Request) -> HttpResponse:
    """The database does not answer, so the page is made without asking it anything."""
    heading = _("The console cannot answer now")
    text = _(
        "The database does not answer. Try again in a moment. If you were saving, check whether it was saved."
    )
    context = {
        "heading": heading,
        "text": text,
        "status": 503,
        "shell": {"signed_in": False},
    }
    if getattr(request, "htmx", False):
        return note(request, "errors/part.html", context, status=503)
    return HttpResponse(render_to_string("errors/page.html", context), status=503)


def csrf_failure(request: Request, reason: str = "") -> HttpResponse:
    """A form older than the session: nothing was done, and what was typed is kept."""
    if request.htmx and not form_resume.is_whole(request):
        return note(request, "errors/part_signed_out.html", status=403)
    own = request.path != reverse("console:sign_in")
    packed = form_resume.pack(request) if own else form_resume.earlier(request)
    if isinstance(request.user, AnonymousUser):
        problem = "" if own else _("This page was open too long to sign in. Try again.")
        return sign_in_page(
            request,
            SignInForm(),
            next_=request.get_full_path() if own else "",
            packed=packed,
            problem=problem,
            status=403,
        )
    context = {"shell": surroundings(request), "kept": packed}
    return form_resume.in_place_of_the_page(request, render(request, "errors/csrf.html", context, status=403))
