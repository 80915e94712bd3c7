"""In which language somebody is spoken to, on pages and in mails; programs are always answered in English."""

from __future__ import annotations

from django.conf import settings

from accounts.models import User

AS_THE_BROWSER = ""


def offered() -> tuple[tuple[str, str], ...]:
    """The languages that people may choose, each with its own name for itself."""
    return tuple(settings.LANGUAGES)


def chosen_by(account: User | None) -> str:
    """The code of the language they chose; "" while the browser says, or when it is offered no more."""
    code = account.language if account else AS_THE_BROWSER
    return code if code in dict(offered()) else AS_THE_BROWSER


def of_mail_to(account: User) -> str:
    """The language of a mail, which no browser can say."""
    return chosen_by(account) or str(settings.LANGUAGE_CODE)
