"""From notices to letters: which are due, what they say, and when a day's digest is."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import groupby
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Min
from django.utils import dateformat, timezone, translation
from django.utils.translation import gettext, ngettext, pgettext

from accounts import languages
from accounts.models import Principal, User
from policies.models.notices import OPEN, How, Letter, Notice
from policies.notices.kinds import KINDS

MAIL = "mail"
DIGEST_AT = 8  # o'clock, where the reader is
LONGEST_SUBJECT = 150
AT_ONCE = 500


def gather(now: datetime) -> int:
    """Make a letter of each notice that goes by mail at once, and of each digest that is due; how many."""
    return _single(now) + sum(_digest(reader, begun, now) for reader, begun in _digests(now))


def _single(now: datetime) -> int:
    with transaction.atomic():
        waiting = Notice.objects.filter(OPEN, how=How.MAIL, letter__isnull=True)
        rows = list(waiting.order_by("pk").select_for_update(skip_locked=True)[:AT_ONCE])
        letters = [
            Letter(channel=MAIL, key=f"notice-{row.pk}", recipient_id=row.recipient_id, due=now, made=now)
            for row in rows
        ]
        for row, letter in zip(rows, Letter.objects.bulk_create(letters), strict=True):
            row.letter = letter
        Notice.objects.bulk_update(rows, ["letter"])
    return len(rows)


def _digests(now: datetime) -> Iterator[tuple[int, datetime]]:
    """People with notices that waited for their hour, and when that was.  One query."""
    waiting = Notice.objects.filter(OPEN, how=How.DIGEST, letter__isnull=True)
    rows = waiting.order_by().values_list("recipient", "recipient__account__time_zone")
    for reader, zone, first in rows.annotate(Min("made")):
        begun = digest_hour(zone_called(zone or ""), now)
        if first < begun:
            yield reader, begun


def _digest(reader: int, begun: datetime, now: datetime) -> int:
    """One letter a day with what was told before its hour; the key keeps a second one away."""
    with transaction.atomic():
        letter, new = Letter.objects.get_or_create(
            channel=MAIL,
            key=f"digest-{reader}-{begun:%Y-%m-%d}",
            defaults={"recipient_id": reader, "due": now, "made": now},
        )
        if new:
            mine = Notice.objects.filter(OPEN, recipient=reader, how=How.DIGEST, letter__isnull=True)
            mine.filter(made__lt=begun).update(letter=letter)
    return int(new)


def digest_hour(zone: tzinfo, now: datetime) -> datetime:
    """The last moment, in that zone, at which a digest was due."""
    local = now.astimezone(zone)
    begun = local.replace(hour=DIGEST_AT, minute=0, second=0, microsecond=0)
    return begun if begun <= local else begun - timedelta(days=1)


def zone_called(name: str) -> tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def mail_of(letter: Letter) -> EmailMessage | None:
    """What the letter says now; None when nobody needs it or nobody may have it any more."""
    account = User.objects.filter(principal=letter.recipient_id, is_active=True).first()
    rows = list(letter.notices.filter(OPEN).select_related("who").order_by("pk"))
    if account is None or not account.email or not rows:
        return None
    # in the language of who reads it, whoever caused it
    with translation.override(languages.of_mail_to(account)):
        subject, body = (_single_mail if len(rows) == 1 else _many)(rows, zone_called(account.time_zone))
    headers = {"Message-ID": message_id(letter), "Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, body, None, [account.email], headers=headers)


def message_id(letter: Letter) -> str:
    """The same whenever the letter is sent."""
    host = urlsplit(settings.LAKEWARDEN_URL).hostname
    return f"<{letter.pk}.{int(letter.made.timestamp() * 1_000_000)}@{host}>"


def _single_mail(rows: Sequence[Notice], zone: tzinfo) -> tuple[str, str]:
    [row] = rows
    return _subject(row), f"{_notice_text(row, zone)}\n{_foot()}"


def _many(rows: Sequence[Notice], zone: tzinfo) -> tuple[str, str]:
    parts = []
    for code, some in groupby(sorted(rows, key=lambda row: row.kind), key=lambda row: row.kind):
        text = "\n".join(_notice_text(row, zone) for row in some)
        kind = KINDS.get(code)
        parts.append(f"{gettext(kind.heading) if kind else code}\n\n{text}")
    subject = ngettext("%(many)s notice of %(site)s", "%(many)s notices of %(site)s", len(rows))
    return subject % {"many": len(rows), "site": settings.LAKEWARDEN_URL}, "\n".join([*parts, _foot()])


def _subject(row: Notice) -> str:
    sentence = gettext("Urgent: %(sentence)s") % {"sentence": row.sentence} if row.urgent else row.sentence
    text = " ".join(sentence.split())
    return text if len(text) <= LONGEST_SUBJECT else f"{text[: LONGEST_SUBJECT - 1]}…"


def _notice_text(row: Notice, zone: tzinfo) -> str:
    """The sentence, its end and its one link."""
    lines = [row.sentence]
    if row.until:
        until = dateformat.format(row.until.astimezone(zone), pgettext("a moment in a mail", "D j M Y, H:i"))
        lines.append(gettext("Until %(time)s (%(zone)s).") % {"time": until, "zone": zone})
    return "\n".join([*lines, link_of(row.link), ""])


def link_of(path: str) -> str:
    return f"{settings.LAKEWARDEN_URL}{path or '/inbox'}"


def _foot() -> str:
    settings_link = gettext("Notification settings: %(link)s") % {"link": link_of("/inbox/settings")}
    return f"-- \n{settings_link}\n"


def call_of(letter: Letter) -> dict[str, object]:
    """What a hook is told: a `text` that chat systems show as it is, and its parts for others."""
    data = letter.data
    who = Principal.objects.filter(pseudonym=data["who"]).first() if data["who"] else None
    sentence = data["text"].replace("{who}", who.label if who else "somebody")
    until = (
        f" Until {datetime.fromisoformat(data['until']):%a %-d %b %Y, %H:%M} (UTC)." if data["until"] else ""
    )
    urgent = "Urgent: " if data["urgent"] else ""
    return {
        "text": f"{urgent}{sentence}{until} {link_of(data['link'])}",
        "kind": data["kind"],
        "sentence": sentence,
        "who": str(who) if who else None,
        "until": data["until"],
        "link": link_of(data["link"]),
        "urgent": data["urgent"],
    }
