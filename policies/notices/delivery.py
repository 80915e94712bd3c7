"""Carrying letters out: each is claimed before it goes, so that none goes twice, whichever worker dies.

A mail server cannot be asked what it took.  So a letter is marked as handed over once the server listens, and
one whose worker died after that is left alone: it may have arrived, and its notice stands in the inbox.  A
hook is called again with the number it was called with before, by which it knows what it had.
"""

from __future__ import annotations

import json
import smtplib
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F, QuerySet
from django.utils import timezone

from policies import http as policies_http
from policies.errors import Conflict
from policies.http import NotTaken
from policies.models.notices import LETTER, OPEN, Letter, Notice
from policies.notices import mail as notices_mail
from policies.notices.chat_hooks import Hook, configured

LEASE = timedelta(minutes=5)
FIRST_DELAY, LONGEST_DELAY = timedelta(minutes=1), timedelta(hours=6)
TRIES = 16  # a little over two days
SOME = 200
KEPT = timedelta(days=400)
GONE = "the worker died on the way; it is not sent a second time"


def post(now: datetime | None = None) -> list[str]:
    """Send what is due; answers what went wrong, in words."""
    now = now or timezone.now()
    notices_mail.gather(now)
    under_way = Letter.objects.filter(state__in=("due", "claimed", "handing"))
    if not under_way.filter(due__lte=now).exists():
        return []
    hooks = configured(settings.LAKEWARDEN_CHAT_HOOKS)
    _recover(under_way.filter(lease__lt=now), now)
    with suppress(Conflict):  # a hook that was taken away hears nothing any more
        LETTER.move(
            under_way.exclude(channel__in=[notices_mail.MAIL, *(item.name for item in hooks)]), "drop"
        )
    wrong = _mail(_due(notices_mail.MAIL, now), now)
    for hook in hooks:
        wrong += _calls(hook, _due(hook.name, now), now)
    return wrong


def _due(channel: str, now: datetime) -> QuerySet[Letter]:
    rows = Letter.objects.filter(channel=channel, state="due", due__lte=now)
    return rows.order_by("due", "pk")[:SOME]


def _recover(dead: QuerySet[Letter], now: datetime) -> None:
    """What a worker had that is gone: what had not begun begins anew, what had begun is left alone."""
    with suppress(Conflict):
        LETTER.move(dead.filter(state="claimed"), "again", lease=None, due=now)
    with suppress(Conflict):
        LETTER.move(dead.filter(state="handing"), "lost", lease=None, trouble=GONE)


def _letter_row(letter: Letter) -> QuerySet[Letter]:
    return Letter.objects.filter(pk=letter.pk)


def _claimed(letter: Letter, now: datetime) -> bool:
    """Whether this worker has it for itself now; another may have been quicker."""
    with suppress(Conflict):
        LETTER.move(_letter_row(letter), "claim", lease=now + LEASE, tries=F("tries") + 1)
        letter.tries += 1
        return True
    return False


def _again(letter: Letter, trouble: str, now: datetime) -> str:
    """Later, each time twice as late; given up after many times."""
    if letter.tries >= TRIES:
        LETTER.move(_letter_row(letter), "give_up", lease=None, trouble=trouble)
    else:
        delay = min(FIRST_DELAY * 2 ** (letter.tries - 1), LONGEST_DELAY)
        LETTER.move(_letter_row(letter), "again", lease=None, due=now + delay, trouble=trouble)
    return f"{letter.channel}: {trouble}"


# Mail


def _mail(rows: Iterable[Letter], now: datetime) -> list[str]:
    server, wrong = mail.get_connection(), []
    for letter in rows:
        if not _claimed(letter, now):
            continue
        message = notices_mail.mail_of(letter)
        if message is None:
            LETTER.move(_letter_row(letter), "drop", lease=None)
            continue
        try:
            server.open()
        except (OSError, smtplib.SMTPException) as error:
            wrong.append(_again(letter, _words(error), now))
            break  # the others find the server away as well
        if trouble := _hand(server, letter, message, now):
            server.close()
            wrong.append(trouble)
    server.close()
    return wrong


def _hand(server: BaseEmailBackend, letter: Letter, message: mail.EmailMessage, now: datetime) -> str:
    LETTER.move(_letter_row(letter), "hand")
    try:
        server.send_messages([message])
    except (smtplib.SMTPRecipientsRefused, smtplib.SMTPResponseException) as error:
        if _code(error) < 500:
            return _again(letter, _words(error), now)
        LETTER.move(_letter_row(letter), "give_up", lease=None, trouble=_words(error))
        return f"{letter.channel}: {_words(error)}"
    except (OSError, smtplib.SMTPException) as error:
        LETTER.move(_letter_row(letter), "lost", lease=None, trouble=f"{_words(error)}; {GONE}")
        return f"{letter.channel}: {_words(error)}"
    LETTER.move(_letter_row(letter), "sent", lease=None, trouble="")
    return ""


def _code(error: smtplib.SMTPException) -> int:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return max(code for code, _ in error.recipients.values())
    return error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0


def _words(error: Exception) -> str:
    """What went wrong without a name or a password in it."""
    if isinstance(error, smtplib.SMTPRecipientsRefused | smtplib.SMTPResponseException):
        return f"the mail server answered {_code(error)}"
    if isinstance(error, smtplib.SMTPException):
        return f"the mail server broke off ({type(error).__name__})"
    return f"the mail server cannot be reached ({getattr(error, 'strerror', None) or type(error).__name__})"


# Hooks


def _calls(hook: Hook, rows: Iterable[Letter], now: datetime) -> list[str]:
    for letter in rows:
        if not _claimed(letter, now):
            continue
        body = json.dumps(notices_mail.call_of(letter))
        headers = policies_http.signed(
            f"notice-{letter.pk}", body, settings.LAKEWARDEN_CHAT_SECRET, timezone.now()
        )
        try:
            policies_http.send(hook.url, body, headers)
        except NotTaken as error:
            return [_again(letter, str(error), now)]  # the others find it away as well
        LETTER.move(_letter_row(letter), "sent", lease=None, trouble="")
    return []


# What is over


def forget_old(now: datetime) -> int:
    """Delete what was read or settled a year and more ago, and letters that went then; answers how many."""
    old = now - KEPT
    deleted, _ = Notice.objects.filter(made__lt=old).exclude(OPEN).delete()
    ended, _ = Letter.objects.filter(state__in=LETTER.ends, made__lt=old).delete()
    return deleted + ended
