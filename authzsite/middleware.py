"""Headers that every answer carries, beside those of Django and django-csp."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

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
