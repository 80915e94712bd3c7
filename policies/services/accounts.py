"""Accounts: made, bound to principals, opened and closed by site admins; each on the record."""

from __future__ import annotations

import re

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from accounts import people, sessions, tokens
from accounts.marks import password_mark
from accounts.models import DirectoryEntry, Keeping, Principal, User
from accounts.text import recordable
from policies.authority import SYSTEM, Actor, Authority, of_system, origin_of
from policies.errors import AlreadyExists, Invalid
from policies.events import (
    ACCOUNT_BOUND,
    ACCOUNT_CLOSED,
    ACCOUNT_MADE,
    ACCOUNT_NAMED,
    ACCOUNT_OPENED,
    ACCOUNT_UNBOUND,
    KEEPER_ENDED,
    KEEPER_SET,
    PASSWORD_LINK,
    PASSWORD_SET,
    TOKEN_REVOKED,
)
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import scheduled_grants

LONGEST = 150
_OF_SERVICES = re.compile(r"\s*service:[0-9]+\s*$", re.IGNORECASE)
"""As the accounts by which they are disabled are called: of another's there could be none."""


def show_as(principal: Principal, name: str, *, by: Actor = SYSTEM, ground: str = "manage.py") -> None:
    """Have somebody shown by another name; the console says so by itself, on the ground of what told it."""
    with change(ACCOUNT_NAMED, realm=None, by=by) as current:
        principal.display_name = name
        principal.save(update_fields=["display_name"])
        current.say(make_event(ACCOUNT_NAMED, None, principal), by=of_system(ground))


def make_person(name: str, display_name: str, *, by: Actor, authority: Authority, reason: str = "") -> User:
    """An account that signs in as user `name`, which may be known to realms already; it has no password yet.

    Raises AlreadyExists, also for a name that a law takes for that of somebody who can come in; Invalid.
    """
    with change(ACCOUNT_MADE, realm=None, by=by, reason=reason) as current:
        if len(name) > LONGEST:
            raise Invalid(
                gettext("A name to sign in with has at most %(most)s characters.") % {"most": LONGEST}
            )
        try:
            people.checked_name(name)
        except people.BadName as problem:
            raise Invalid(f"{str(problem).capitalize()}.") from problem
        if name != name.strip(" "):
            raise Invalid(gettext("A sign-in name cannot begin or end with a space."))
        if _OF_SERVICES.match(name):
            raise Invalid(gettext("%(name)s is a name of service accounts.") % {"name": name})
        if owner_of_name := people.taken_name(name):
            raise AlreadyExists(gettext("There is an account %(name)s already.") % {"name": owner_of_name})
        account = people.make_account(name, display_name=recordable(display_name.strip(), 255))
        account.set_unusable_password()
        account.save(update_fields=["password"])
        if account.principal is None:
            raise Invalid(
                gettext("Account %(username)s is not linked to a person.") % {"username": account.username}
            )
        current.say(make_event(ACCOUNT_MADE, None, account.principal), by=authority)
    return account


def make_service(
    name: str, keeper: Principal, *, by: Actor, authority: Authority, reason: str = ""
) -> Principal:
    """A service account that somebody answers for.  Raises AlreadyExists, Invalid."""
    with change(ACCOUNT_MADE, realm=None, by=by, reason=reason) as current:
        if people.find(Principal.Kind.SERVICE, name) is not None:
            raise AlreadyExists(gettext("Service account %(name)s already exists.") % {"name": name})
        try:
            service = people.ensure(Principal.Kind.SERVICE, name)
        except people.BadName as problem:
            raise Invalid(f"{str(problem).capitalize()}.") from problem
        current.say(make_event(ACCOUNT_MADE, None, service), by=authority)
        set_keeper(service, keeper, by=by, authority=authority)
    return service


def set_keeper(
    service: Principal, keeper: Principal, *, by: Actor, authority: Authority, reason: str = ""
) -> bool:
    """Say who answers for a service account; False when it is so already.  Raises Invalid."""
    if service.kind != Principal.Kind.SERVICE or keeper.kind not in ("user", "group"):
        raise Invalid(gettext("A person or a group is responsible for a service account."))
    with change(KEEPER_SET, realm=None, by=by, reason=reason) as current:
        before = Keeping.objects.open().filter(service=service).select_related("keeper").first()
        if before is not None and before.keeper_id == keeper.pk:
            return False
        if before is not None:
            ended = make_event(KEEPER_ENDED, None, before.keeper, service, service=service.pseudonym)
            current.end(before, ended, by=authority)
        row = Keeping(service=service, keeper=keeper, origin=origin_of(by))
        begun = make_event(KEEPER_SET, None, keeper, service, service=service.pseudonym)
        current.begin(row, begun, by=authority)
    return True


def bind(account: User, principal: Principal, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Let an account act as a person; its sessions end, and the tokens of whom it acted as are revoked.

    Their former holder is not that person any more.  False when it was bound to them before.  Raises Invalid.
    """
    if principal.kind != Principal.Kind.USER:
        raise Invalid(gettext("An account must be linked to a person."))
    with change(ACCOUNT_BOUND, realm=None, by=by, reason=reason) as current:
        if account.principal_id == principal.pk:
            return False
        bound_user = User.objects.filter(principal=principal).first()
        if bound_user is not None:
            raise Invalid(
                gettext("%(principal)s has an account already: %(username)s.")
                % {"principal": principal.label, "username": bound_user.username}
            )
        if account.principal is not None:
            current.say(make_event(ACCOUNT_UNBOUND, None, account.principal), by=authority)
            for token in tokens.revoke_all(account.principal):
                said_of = make_event(TOKEN_REVOKED, None, account.principal, prefix=token.prefix)
                current.say(said_of, by=authority)
        current.say(make_event(ACCOUNT_BOUND, None, principal, account=account.pk), by=authority)
        account.principal = principal
        account.save(update_fields=["principal"])
        sessions.end(account)
    return True


def close(account: User, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Disable an account: its sessions end, its tokens open nothing; False when it was so already."""
    if by.principal is not None and account.principal_id == by.principal.pk:
        raise Invalid(gettext("Nobody can disable their own account; another site admin can."))
    with change(ACCOUNT_CLOSED, realm=None, by=by, reason=reason) as current:
        if User.objects.filter(pk=account.pk, is_active=True).update(is_active=False) != 1:
            return False
        sessions.end(account)
        current.say(make_event(ACCOUNT_CLOSED, None, *_concerned(account)), by=authority)
        if account.principal is not None:
            scheduled_grants.end_not_begun(current, [account.principal], by=authority)
        return True


def open_again(account: User, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Enable a disabled account; False when it was enabled."""
    with change(ACCOUNT_OPENED, realm=None, by=by, reason=reason) as current:
        if User.objects.filter(pk=account.pk, is_active=False).update(is_active=True) != 1:
            return False
        # whoever disables it next, it was not the directory's leaver
        DirectoryEntry.objects.filter(principal=account.principal).update(disabled_account=False)
        current.say(make_event(ACCOUNT_OPENED, None, *_concerned(account)), by=authority)
    return True


def of_service(service: Principal) -> User:
    """The account by which a service account is disabled; made when absent, and nobody signs in with it."""
    made = User(username=f"service:{service.pk}", principal=service)
    made.set_unusable_password()
    row, _ = User.objects.get_or_create(
        principal=service, defaults={"username": made.username, "password": made.password}
    )
    return row


# Passwords


def begin_password(account: User, *, by: Actor, authority: Authority, reason: str = "") -> None:
    """Forget an account's password, so that the person sets a new one by a link; ends its sessions."""
    with change(PASSWORD_LINK, realm=None, by=by, reason=reason) as current:
        account.set_unusable_password()
        account.save(update_fields=["password"])
        sessions.end(account)
        current.say(make_event(PASSWORD_LINK, None, *_concerned(account)), by=authority)


def set_password(account: User, password: str, *, by: Actor) -> None:
    """Set a password that the rules take.  Raises Invalid."""
    try:
        validate_password(password, account)
    except ValidationError as problem:
        raise Invalid(" ".join(problem.messages)) from problem
    keep_password(account, password, by=by, authority=of_system("own password"))


def keep_password(account: User, password: str, *, by: Actor, authority: Authority) -> None:
    """Set a password as it is; the record keeps a mark of it, which shows another in its place."""
    with change(PASSWORD_SET, realm=None, by=by) as current:
        account.set_password(password)
        account.save(update_fields=["password"])
        sessions.end(account)
        event = make_event(PASSWORD_SET, None, *_concerned(account), mark=password_mark(account.password))
        current.say(event, by=authority)


def _concerned(account: User) -> list[Principal]:
    return [account.principal] if account.principal else []
