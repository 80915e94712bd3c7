"""Accounts of people whom a trusted system names: made, brought up to date, or refused."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accounts import people
from accounts.identities import Identity
from accounts.models import Membership, Principal, User
from accounts.record import Origin
from accounts.text import recordable
from policies.authority import DIRECTORY, of_system
from policies.errors import AlreadyExists, Invalid, PolicyError
from policies.services import accounts, members

log = logging.getLogger(__name__)
MOST_GROUPS = 500
GROUND = "named by a trusted system"


def admit(identity: Identity) -> User:
    """The account that bears the name, made where there is none; its mail and groups follow what is said.

    Raises Invalid for those who stay out, with the reason.
    """
    if identity.groups is not None and len(identity.groups) > MOST_GROUPS:
        raise Invalid(f"You are in more than {MOST_GROUPS} groups; name fewer to the console.")
    account = _account_of(identity.name) or _made(identity)
    if not account.is_active:
        raise Invalid("Your account is disabled.")
    principal = account.principal
    if principal is None or principal.kind != Principal.Kind.USER:
        raise Invalid("This name belongs to no person.")
    bring_up_to_date(account, principal, identity)
    return account


def _account_of(name: str) -> User | None:
    return User.objects.select_related("principal").filter(username=name).first()


def _made(identity: Identity) -> User:
    known = people.find(Principal.Kind.USER, identity.name)
    if known is not None and User.objects.filter(principal=known).exists():
        raise Invalid("The person of this name signs in under another name.")
    authority = of_system(GROUND)
    try:
        return accounts.make_person(identity.name, identity.display_name, by=DIRECTORY, authority=authority)
    except AlreadyExists:  # by another request at the same moment
        return User.objects.select_related("principal").get(username=identity.name)


def bring_up_to_date(account: User, principal: Principal, identity: Identity) -> None:
    """Take over the mail, the name to show and the groups; what nothing is said about stays as it is."""
    shown = recordable(identity.display_name, 255)
    if shown and shown != principal.display_name:
        Principal.objects.filter(pk=principal.pk).update(display_name=shown)
        principal.display_name = shown
    if identity.mail and identity.mail != account.email and _is_mail(identity.mail):
        User.objects.filter(pk=account.pk).update(email=identity.mail)
        account.email = identity.mail
    if identity.groups is not None:
        _follow_groups(principal, identity.groups)


def _is_mail(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254


def _follow_groups(person: Principal, names: Sequence[str]) -> None:
    """Put them into the groups that are named and out of those that were and are no more.

    Whom somebody put into a group here stays in it.
    """
    held = {
        row.group.name: row for row in Membership.objects.open().filter(member=person).select_related("group")
    }
    for name, row in held.items():
        if row.origin == Origin.DIRECTORY and name not in names:
            members.leave_group(row.group, person, by=DIRECTORY, authority=of_system(GROUND))
    for name in names:
        if name not in held:
            _join(name, person)


def _join(name: str, person: Principal) -> None:
    by, authority = DIRECTORY, of_system(GROUND)
    try:
        group = people.find(Principal.Kind.GROUP, name) or members.make_group(
            name, by=by, authority=authority
        )
        members.join_group(group, person, by=by, authority=authority)
    except (
        PolicyError
    ) as problem:  # what rules keep apart, or no name for a group: they have less, never more
        log.warning("%s was not put into a group that the directory names: %s", person.pseudonym, problem)
