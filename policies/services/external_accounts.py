"""Accounts of people whom a trusted system names: made, brought up to date, or refused."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext

from accounts import directory, people
from accounts.identities import Identity, Subject
from accounts.marks import subject_mark
from accounts.models import ExternalSignIn, Membership, Principal, User
from accounts.record import Origin
from accounts.text import recordable
from policies.authority import DIRECTORY, Actor, of_system
from policies.errors import AlreadyExists, Invalid, PolicyError
from policies.events import ACCOUNT_JOINED, ACCOUNT_PARTED
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import accounts, members

log = logging.getLogger(__name__)
MOST_GROUPS = 500
GROUND = "named by a trusted system"


def admit(identity: Identity) -> User:
    """The account that bears the name, made where there is none; its mail and groups follow what is said.

    Raises Invalid for those who stay out, with the reason.
    """
    account = _account_of(identity.name) or _made(identity)
    _bring_up_to_date(account, _person_of(account), identity)
    return account


def admit_subject(subject: Subject, identity: Identity, *, joins: bool) -> User:
    """The account that a provider's subject is joined to; at the first time it is joined by the name.

    An account that somebody can come into already is not joined by a name alone: another might have taken it
    there.  Its owner connects the two (`connect`), unless `joins` says that the settings trust the name.
    Raises Invalid for those who stay out, with the reason.
    """
    row = ExternalSignIn.objects.filter(issuer=subject.issuer, subject=subject.id).first()
    account = User.objects.select_related("principal").get(pk=row.account_id) if row else None
    if account is None:
        account = _account_of(identity.name) or _made(identity)
        _person_of(account)
        _refuse_the_taken(account, subject, joins=joins)
        _join(account, subject, by=DIRECTORY)
    _bring_up_to_date(account, _person_of(account), identity)
    return account


def _refuse_the_taken(account: User, subject: Subject, *, joins: bool) -> None:
    sign_ins = ExternalSignIn.objects.filter(account=account)
    if sign_ins.filter(issuer=subject.issuer).exists():
        raise Invalid(
            gettext("%(provider)s used this name for someone else before. A site admin can disconnect them.")
            % {"provider": subject.provider}
        )
    if not joins and (account.has_usable_password() or sign_ins.exists()):
        raise Invalid(
            gettext(
                "There is an account of this name already. If it is yours, sign in as before, then "
                "connect %(provider)s under Your settings."
            )
            % {"provider": subject.provider}
        )


def connect(account: User, subject: Subject, *, by: Actor) -> bool:
    """Join an account to a provider's subject by the word of who is signed in to both; False when it was.

    Raises Invalid.
    """
    row = ExternalSignIn.objects.filter(issuer=subject.issuer, subject=subject.id).first()
    if row is not None and row.account_id == account.pk:
        return False
    if row is not None:
        raise Invalid(
            gettext("Who you are at %(provider)s is connected to another account.")
            % {"provider": subject.provider}
        )
    if ExternalSignIn.objects.filter(account=account, issuer=subject.issuer).exists():
        raise Invalid(
            gettext("Your account is connected to someone else at %(provider)s; disconnect that first.")
            % {"provider": subject.provider}
        )
    _join(account, subject, by=by)
    return True


def disconnect(account: User, number: int, *, by: Actor) -> bool:
    """End that an account is signed in to so; False when it was not.  Raises Invalid for the only way in."""
    with change(ACCOUNT_PARTED, realm=None, by=by) as current:
        rows = ExternalSignIn.objects.filter(account=account)
        row = rows.filter(pk=number).first()
        if row is None:
            return False
        if not account.has_usable_password() and not rows.exclude(pk=number).exists():
            raise Invalid(gettext("This is your only way to sign in."))
        mark = subject_mark(row.issuer, row.subject)
        draft = make_event(ACCOUNT_PARTED, None, _person_of(account), provider=row.provider, mark=mark)
        current.say(draft, by=of_system("own sign-in"))
        row.delete()
    return True


def _join(account: User, subject: Subject, *, by: Actor) -> None:
    with change(ACCOUNT_JOINED, realm=None, by=by) as current:
        mark = subject_mark(subject.issuer, subject.id)
        draft = make_event(ACCOUNT_JOINED, None, _person_of(account), provider=subject.provider, mark=mark)
        current.say(draft, by=of_system(GROUND))
        ExternalSignIn.objects.create(
            account=account, provider=subject.provider, issuer=subject.issuer, subject=subject.id
        )


def _person_of(account: User) -> Principal:
    if not account.is_active:
        raise Invalid(gettext("Your account is disabled."))
    if account.principal is None or account.principal.kind != Principal.Kind.USER:
        raise Invalid(gettext("This name belongs to no person."))
    return account.principal


def _account_of(name: str) -> User | None:
    return User.objects.select_related("principal").filter(username=name).first()


def _made(identity: Identity) -> User:
    existing = people.find(Principal.Kind.USER, identity.name)
    if existing is not None and User.objects.filter(principal=existing).exists():
        raise Invalid(gettext("The person of this name signs in under another name."))
    authority = of_system(GROUND)
    try:
        return accounts.make_person(identity.name, identity.display_name, by=DIRECTORY, authority=authority)
    except AlreadyExists as problem:
        account = _account_of(identity.name)  # made by another request at the same moment
        if account is None:
            raise Invalid(str(problem)) from problem
        return account


def _bring_up_to_date(account: User, principal: Principal, identity: Identity) -> None:
    """Take over the mail, the name to show and the groups; what nothing is said about stays as it is."""
    shown = recordable(identity.display_name, 255)
    if shown and shown != principal.display_name:
        accounts.show_as(principal, shown, by=DIRECTORY, ground=GROUND)
    if identity.mail and identity.mail != account.email and _is_mail(identity.mail):
        User.objects.filter(pk=account.pk).update(email=identity.mail)
        account.email = identity.mail
    if identity.groups is not None:
        if len(identity.groups) > MOST_GROUPS:
            raise Invalid(
                gettext("You are in more than %(most)s groups; have fewer of them named to the console.")
                % {"most": MOST_GROUPS}
            )
        _follow_groups(principal, identity.groups)


def _is_mail(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254


def _follow_groups(person: Principal, names: Sequence[str]) -> None:
    """Put them into the groups that are named and out of those that were and are no more.

    Whom somebody put into a group here stays in it; of groups that the directory keeps by itself it says who
    is in them, and nobody else.
    """
    held = {
        row.group.name: row for row in Membership.objects.open().filter(member=person).select_related("group")
    }
    kept = directory.names_kept([*held, *names])
    for name, row in held.items():
        if name not in kept and row.origin == Origin.DIRECTORY and name not in names:
            members.leave_group(row.group, person, by=DIRECTORY, authority=of_system(GROUND))
    for name in names:
        if name not in held and name not in kept:
            by, authority = DIRECTORY, of_system(GROUND)
            try:
                group = people.find(Principal.Kind.GROUP, name) or members.make_group(
                    name, by=by, authority=authority
                )
                members.join_group(group, person, by=by, authority=authority)
            except (
                PolicyError
            ) as problem:  # what rules keep apart, or no name for a group: they have less, never more
                log.warning(
                    "%s was not put into a group that the directory names: %s", person.pseudonym, problem
                )
