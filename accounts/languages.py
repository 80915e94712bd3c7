"""In which language somebody is spoken to, on pages and in mails; programs are always answered in English."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation

from accounts.models import User

AS_THE_BROWSER = ""


def offered() -> tuple[tuple[str, str], ...]:
    """The languages that people may choose, each with its own name for itself."""
    return tuple(settings.LANGUAGES)


def chosen_by(account: User | None) -> str:
    """The code of the language they chose; "" while the browser says, or when it is offered no more."""
    return _if_offered(account.language) if account else AS_THE_BROWSER


def of_mail_to(account: User) -> str:
    """The language of a mail: the one they chose, else that of their browser when they last signed in."""
    return chosen_by(account) or _if_offered(account.browser_language) or str(settings.LANGUAGE_CODE)


def note_browser_language(sender: object, request: HttpRequest | None, user: User, **_: object) -> None:
    """Keep which of our languages a browser asks for, at a sign-in; no word changes nothing."""
    if request is None or "Accept-Language" not in request.headers:
        return
    code = _if_offered(translation.get_language_from_request(request))
    if code != user.browser_language:
        user.browser_language = code
        user.save(update_fields=["browser_language"])


def _if_offered(code: str) -> str:
    return code if code in dict(offered()) else AS_THE_BROWSER
