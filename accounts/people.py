"""Making principals and the accounts bound to them."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Q

from accounts import editions
from accounts.models import Membership, Principal, User
from accounts.seals import is_fact_sealed
from accounts.text import holdable

NAME_LENGTH = 255
GROUP_NAME_LENGTH = 150


class BadName(ValueError):
    """A name that no principal can bear."""


def checked_name(name: str) -> str:
    """The name unchanged, or BadName: it must be 1 to 255 characters without control characters.

    Nor may it hold letters that nobody sees or that turn the order of others round (category Cf): with them
    two names look alike.  Those there are already stay as they are.
    """
    if not name or len(name) > NAME_LENGTH:
        raise BadName(f"a name has 1 to {NAME_LENGTH} characters")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise BadName("a name has no control characters")
    if any(unicodedata.category(letter) in ("Cf", "Zl", "Zp") for letter in name):
        raise BadName("a name has no invisible characters and none that turn the writing round")
    return name


def find(kind: str, name: str) -> Principal | None:
    """The principal of that kind and exact name."""
    if not holdable(name):
        return None
    return Principal.objects.filter(kind=kind, name=name).first()


def ensure(kind: str, name: str, *, display_name: str = "") -> Principal:
    """The principal of that name, made when absent."""
    row, _ = Principal.objects.get_or_create(
        kind=kind, name=checked_name(name), defaults={"display_name": display_name}
    )
    return row


def _not_registered(principal: Principal, name: str) -> None:
    raise ImproperlyConfigured("nothing puts on record by which name somebody is shown: register_naming")


_show_as: Callable[[Principal, str], None] = _not_registered


def register_naming(show_as: Callable[[Principal, str], None]) -> None:
    """How the name that somebody is shown by changes on record."""
    global _show_as
    _show_as = show_as


def make_account(name: str, *, display_name: str = "", password: str | None = None) -> User:
    """An account that signs in as user `name`, bound to that principal; made or brought up to date.

    Outside a change, another name to be shown by becomes one of the record.
    """
    principal = ensure(Principal.Kind.USER, name, display_name=display_name)
    if display_name and principal.display_name != display_name:
        if editions.are_gathered():
            principal.display_name = display_name
            principal.save(update_fields=["display_name"])
        else:
            _show_as(principal, display_name)
    with transaction.atomic():
        return _account_of(principal, password)


def _account_of(principal: Principal, password: str | None) -> User:
    name = principal.name
    account, _ = User.objects.get_or_create(username=name, defaults={"principal": principal})
    if account.principal_id != principal.pk:
        raise BadName(f"account `{name}` is bound to another principal")
    if password is not None and not account.check_password(password):
        account.set_password(password)
        account.save(update_fields=["password"])
    return account


def taken_name(name: str) -> str | None:
    """The name of an account, or of a service, that is this one where case counts for nothing.

    A Herd takes all of them for one user id, so a second one would have what the first was given.
    """
    can_come_in = Q(kind=Principal.Kind.SERVICE) | Q(kind=Principal.Kind.USER, account__isnull=False)
    accounts = User.objects.filter(username__iexact=name).values_list("username", flat=True)
    named = Principal.objects.filter(can_come_in, name__iexact=name).values_list("name", flat=True)
    return accounts.order_by("pk").first() or named.order_by("pk").first()


def django_group(group: Principal) -> Group:
    """The Django group that guardian and sign-in read for a group principal."""
    row, _ = Group.objects.get_or_create(name=django_group_name(group.name))
    return row


def django_group_name(name: str) -> str:
    """The Django group's name: its own, or when too long its beginning and digest."""
    if len(name) < GROUP_NAME_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: GROUP_NAME_LENGTH - len(digest) - 1]} {digest}"


def groups_of(principal: Principal, now: datetime) -> list[str]:
    """The names of the groups that a principal is in at a moment, by memberships that the console made.

    One query.
    """
    rows = Membership.objects.open().within(now).filter(member=principal).select_related("group")
    return [row.group.name for row in rows if is_fact_sealed(row) and row.group.is_as_written]
