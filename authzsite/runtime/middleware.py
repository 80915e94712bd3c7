"""Headers that every answer carries, beside those of Django and django-csp."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.sign_in_limits import Busy
from accounts.sign_in_rate import NotNow

BUSY = gettext_lazy("Many people are signing in. Nothing was changed. Try again in a few seconds.")
Answer = Callable[[HttpRequest], HttpResponse]

FEATURES_OFF = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


def page_headers(get_response: Answer) -> Answer:
    """Keep what a person saw out of shared caches and of the back button after signing out."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Permissions-Policy", FEATURES_OFF)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return answer


class BusyAnswers:
    """A password sent while too many are checked or tried is answered with "try again", on any page."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Busy):
            text: str | Promise = BUSY
            status, seconds = 503, 5
        elif isinstance(exception, NotNow):
            text, status, seconds = exception.text, exception.status, exception.seconds
        else:
            return None
        from authzsite.console.kit.error_pages import show  # loads models, which this module must not

        answer = show(request, status, heading=gettext_lazy("Try again in a moment"), text=text)  # type: ignore[arg-type]
        answer.headers["Retry-After"] = str(seconds)
        return answer
