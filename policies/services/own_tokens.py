"""Tokens somebody makes for himself and takes back; each on the record, its text nowhere."""

from __future__ import annotations

from accounts import tokens
from accounts.models import Principal, Token
from policies.authority import Actor, of_system
from policies.changes import change
from policies.errors import Invalid, NotFound
from policies.events import TOKEN_CREATED, TOKEN_REVOKED
from policies.saying import said

LONGEST = 365  # days


def make(holder: Principal, *, days: int, scopes: tuple[str, ...], by: Actor) -> str:
    """Make a token for who acts; answers its text, which is kept nowhere.  Raises Invalid."""
    if by.principal != holder:
        raise Invalid("A token is made for oneself.")
    if not 1 <= days <= LONGEST:
        raise Invalid(f"A token lasts 1 to {LONGEST} days.")
    with change(TOKEN_CREATED, realm=None, by=by) as current:
        try:
            text = tokens.create(holder, days=days, scopes=scopes)
        except tokens.UnknownScope as problem:
            raise Invalid(str(problem)) from problem
        event = said(TOKEN_CREATED, None, holder, scopes=list(scopes), prefix=text[:10])
        current.say(event, by=of_system("own token"))
    return text


def revoke(holder: Principal, number: int, *, by: Actor) -> bool:
    """Take a token of one's own back; False when it was revoked before.  Raises NotFound."""
    with change(TOKEN_REVOKED, realm=None, by=by) as current:
        row = Token.objects.filter(pk=number, principal=holder, run="").first()
        if row is None or by.principal != holder:
            raise NotFound("There is no such token of yours.")
        if not tokens.revoke(row):
            return False
        current.say(said(TOKEN_REVOKED, None, holder, prefix=row.prefix), by=of_system("own token"))
    return True
