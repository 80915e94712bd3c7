"""Making principals and the accounts bound to them."""

from __future__ import annotations

import unicodedata

from django.contrib.auth.models import Group
from django.db import transaction

from accounts.models import Principal, User

NAME_LENGTH = 255


class BadName(ValueError):
    """A name that no principal can bear."""


def checked_name(name: str) -> str:
    """The name unchanged, or BadName: it must be 1 to 255 characters without control characters."""
    if not name or len(name) > NAME_LENGTH:
        raise BadName(f"a name has 1 to {NAME_LENGTH} characters")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise BadName("a name has no control characters")
    return name


def find(kind: str, name: str) -> Principal | None:
    """The principal of that kind and exact name."""
    if "\0" in name:
        return None
    return Principal.objects.filter(kind=kind, name=name).first()


def ensure(kind: str, name: str, *, display_name: str = "") -> Principal:
    """The principal of that name, made when absent."""
    row, _ = Principal.objects.get_or_create(
        kind=kind, name=checked_name(name), defaults={"display_name": display_name}
    )
    return row


@transaction.atomic
def make_account(name: str, *, display_name: str = "", password: str | None = None) -> User:
    """An account that signs in as user `name`, bound to that principal; made or brought up to date."""
    principal = ensure(Principal.Kind.USER, name, display_name=display_name)
    if display_name and principal.display_name != display_name:
        Principal.objects.filter(pk=principal.pk).update(display_name=display_name)
        principal.display_name = display_name
    account, _ = User.objects.get_or_create(username=name, defaults={"principal": principal})
    if account.principal_id != principal.pk:
        raise BadName(f"account `{name}` is bound to another principal")
    if password is not None and not account.check_password(password):
        account.set_password(password)
        account.save(update_fields=["password"])
    return account


def django_group(group: Principal) -> Group:
    """The Django group that guardian and sign-in read for a group principal."""
    row, _ = Group.objects.get_or_create(name=group.name[:150])
    return row
