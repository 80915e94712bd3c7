"""Tokens that people make for themselves or a service account of theirs; recorded, without their text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import F, Q
from django.utils.translation import gettext

from accounts import tokens
from accounts.marks import token_mark
from accounts.models import Principal, Token, User
from policies import notices
from policies.authority import Actor, Authority, of_system
from policies.decisions import site_permissions
from policies.errors import Invalid, NotFound, Refused
from policies.events import TOKEN_CREATED, TOKEN_REVOKED, TOKEN_ROTATED, EventDraft
from policies.models import Notice
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.sentences import say, sentence

LONGEST = 365  # days
LONGEST_OVERLAP = 30 * 24  # hours
ENDS = notices.kind("token.ends", "your tokens that end soon")
TOKEN_OF = sentence("token.of", "A token of {who} ends by itself: {prefix}….")
YOUR_TOKEN = sentence("token.yours", "Your token {prefix}… ends by itself.")
REMINDED = (timedelta(days=7), timedelta(days=1))
"""So long before its end a token is told of, where it was made before that."""


def make(
    holder: Principal, *, days: int, scopes: tuple[str, ...], by: Actor, addresses: Iterable[str] = ()
) -> str:
    """Make a token for who acts, or for a service account; answers its text.  Raises Invalid, Refused."""
    if not 1 <= days <= LONGEST:
        raise Invalid(gettext("A token lasts 1 to %(most)s days.") % {"most": LONGEST})
    with change(TOKEN_CREATED, realm=None, by=by) as current:
        authority = _authority(holder, by)
        try:
            text = tokens.create(holder, days=days, scopes=scopes, addresses=addresses)
        except (tokens.UnknownScope, tokens.WrongAddress) as problem:
            raise Invalid(str(problem)) from problem
        current.say(made(holder, text), by=authority)
    return text


def made(holder: Principal, text: str) -> EventDraft:
    """The event of a token that was just made: what it opens and until when, and a mark that no other has."""
    row = tokens.find(text)
    expires = row.expires.isoformat() if row.expires else None
    return make_event(
        *(TOKEN_CREATED, None, holder),
        scopes=row.scopes,
        prefix=row.prefix,
        mark=token_mark(row),
        expires=expires,
        addresses=row.addresses,
    )


def rotate(holder: Principal, number: int, *, days: int, overlap: int, by: Actor) -> str:
    """Make a token in the place of one, which is good for so many hours more; answers the new one's text.

    It may do what the old one may, from the same addresses.  Raises Invalid, NotFound, Refused.
    """
    if not 1 <= days <= LONGEST:
        raise Invalid(gettext("A token lasts 1 to %(most)s days.") % {"most": LONGEST})
    with change(TOKEN_ROTATED, realm=None, by=by) as current:
        authority = _authority(holder, by)
        row = Token.objects.filter(pk=number, principal=holder, run="").first()
        if row is None:
            raise NotFound(gettext("You have no such token."))
        text, events = replaced(row, days=days, overlap=overlap)
        for event in events:
            current.say(event, by=authority)
    return text


def replaced(row: Token, *, days: int | None, overlap: int) -> tuple[str, tuple[EventDraft, EventDraft]]:
    """Replace a token inside a change; answers the new one's text, and what to say.  Raises Invalid."""
    if not 0 <= overlap <= LONGEST_OVERLAP:
        raise Invalid(
            gettext("The old token can stay valid for 0 to %(most)s more hours.") % {"most": LONGEST_OVERLAP}
        )
    try:
        text = tokens.rotate(row, days=days, overlap=timedelta(hours=overlap))
    except tokens.NotRotatable as problem:
        raise Invalid(f"{problem}.") from problem
    row.refresh_from_db()
    until = row.expires.isoformat() if row.expires else None
    ended = make_event(TOKEN_ROTATED, None, row.principal, prefix=row.prefix, until=until)
    return text, (made(row.principal, text), ended)


def remind(now: datetime) -> int:
    """Tell people, and those who answer for service accounts, of tokens that end soon, each once."""
    _settle_what_ended(now)
    lasting = Token.objects.filter(run="", revoked__isnull=True, successor__isnull=True)
    many = 0
    for ahead in REMINDED:
        due = Q(expires__gt=now + ahead - timedelta(days=1), expires__lte=now + ahead)
        for row in lasting.filter(due, created__lt=F("expires") - ahead).select_related("principal"):
            holder, key = row.principal, f"token-ends:{row.pk}:{ahead.days}"
            if holder.kind == Principal.Kind.SERVICE:
                code, link = TOKEN_OF, f"/services/{holder.pk}"
            else:
                code, link = YOUR_TOKEN, "/profile"
            text = say(code, prefix=row.prefix)
            tell = notices.tell(holder, ENDS, text, key=key, link=link, who=holder, until=row.expires)
            many += bool(tell)
    return many


def _settle_what_ended(now: datetime) -> None:
    open_notices = Notice.objects.filter(key__startswith="token-ends:", done__isnull=True)
    numbers = {key: int(key.split(":")[1]) for key in open_notices.values_list("key", flat=True)}
    lasting = Token.objects.filter(
        pk__in=numbers.values(), revoked__isnull=True, successor__isnull=True, expires__gt=now
    )
    still = set(lasting.values_list("pk", flat=True))
    if over := [key for key, number in numbers.items() if number not in still]:
        notices.settle(*over)


def revoke(holder: Principal, number: int, *, by: Actor) -> bool:
    """Revoke the actor's own token or one of their service's; False when it was before.  Raises NotFound."""
    with change(TOKEN_REVOKED, realm=None, by=by) as current:
        row = Token.objects.filter(pk=number, principal=holder, run="").first()
        try:
            authority = _authority(holder, by)
        except (Invalid, Refused):
            row = None
        if row is None:
            raise NotFound(gettext("You have no such token."))
        if not tokens.revoke(row):
            return False
        current.say(make_event(TOKEN_REVOKED, None, holder, prefix=row.prefix), by=authority)
    return True


def _authority(holder: Principal, by: Actor) -> Authority:
    closed = User.objects.filter(principal=by.principal, is_active=False)
    if by.principal is not None and closed.exists():
        # it was disabled while this was on its way, and with it all tokens ended that there were
        raise Refused(gettext("Your account is disabled."))
    if by.principal == holder:
        return of_system("own token")
    if holder.kind != Principal.Kind.SERVICE:
        raise Invalid(gettext("You can only create tokens for yourself."))
    return site_permissions.of_keeper(by, holder)
