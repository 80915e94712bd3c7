"""Tokens that people make for themselves or a service account of theirs; recorded, without their text."""

from __future__ import annotations

from accounts import tokens
from accounts.marks import token_mark
from accounts.models import Principal, Token
from policies.authority import Actor, Authority, of_system
from policies.decisions import site_permissions
from policies.errors import Invalid, NotFound, Refused
from policies.events import TOKEN_CREATED, TOKEN_REVOKED, EventDraft
from policies.record.change import change
from policies.record.event_drafts import make_event

LONGEST = 365  # days


def make(holder: Principal, *, days: int, scopes: tuple[str, ...], by: Actor) -> str:
    """Make a token for who acts, or for a service account; answers its text.  Raises Invalid, Refused."""
    if not 1 <= days <= LONGEST:
        raise Invalid(f"A token lasts 1 to {LONGEST} days.")
    with change(TOKEN_CREATED, realm=None, by=by) as current:
        authority = _authority(holder, by)
        try:
            text = tokens.create(holder, days=days, scopes=scopes)
        except tokens.UnknownScope as problem:
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
    )


def revoke(holder: Principal, number: int, *, by: Actor) -> bool:
    """Revoke the actor's own token or one of their service's; False when it was before.  Raises NotFound."""
    with change(TOKEN_REVOKED, realm=None, by=by) as current:
        row = Token.objects.filter(pk=number, principal=holder, run="").first()
        try:
            authority = _authority(holder, by)
        except (Invalid, Refused):
            row = None
        if row is None:
            raise NotFound("You have no such token.")
        if not tokens.revoke(row):
            return False
        current.say(make_event(TOKEN_REVOKED, None, holder, prefix=row.prefix), by=authority)
    return True


def _authority(holder: Principal, by: Actor) -> Authority:
    if by.principal == holder:
        return of_system("own token")
    if holder.kind != Principal.Kind.SERVICE:
        raise Invalid("A token is made for yourself.")
    return site_permissions.of_keeper(by, holder)
