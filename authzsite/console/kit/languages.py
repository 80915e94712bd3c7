"""Pages in the language of whoever reads them; answers to programs stay in English, as clients parse them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from accounts import languages
from accounts.models import User
from authzsite.console.kit.display import formats

Answer = Callable[[HttpRequest], HttpResponse]
CONSOLE = "console"
"""The namespace of the console's addresses; all others belong to programs."""


class PageLanguage:
    """Begin a page of the console in the browser's language, and end every request in none.

    Who reads it is known only to the view: `speak` goes on in the language they chose.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            response = self.get_response(request)
            if getattr(request, "LANGUAGE_CODE", None):
                response.headers.setdefault("Content-Language", translation.get_language() or "en")
                patch_vary_headers(response, ("Accept-Language", "Cookie"))
            return response
        finally:
            translation.deactivate()

    def process_view(self, request: HttpRequest, *_: object) -> None:
        match = request.resolver_match
        if match is not None and match.namespace == CONSOLE:
            speak(request, None)


def speak(request: HttpRequest, reader: User | None) -> None:
    """From here on in the reader's language, or in that of their browser."""
    code = languages.chosen_by(reader) or translation.get_language_from_request(request)
    translation.activate(code)
    request.LANGUAGE_CODE = code


def described(written: str) -> dict[str, str]:
    """For the page's element: its language, with the region whose formats are used, and its direction."""
    code = translation.get_language() or "en"
    return {
        "lang": formats.known(written).language if code == "en" else code,
        "dir": "rtl" if translation.get_language_bidi() else "ltr",
    }
