"""A request as the middleware hands it to the views."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from accounts.models import Principal, User


class Request(HttpRequest):
    """Signed in, or at the door; `htmx` tells whether only a part of a page is asked for."""

    htmx: HtmxDetails
    user: User | AnonymousUser


def number_in(text: str) -> int | None:
    """The whole number in an address or a form; None for what no row's number could be."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else None


def two_numbers_in(text: str) -> tuple[int, int] | None:
    """The whole numbers before and behind a dot; None where one of them is none."""
    first, second = (number_in(part) for part in text.partition(".")[::2])
    return None if first is None or second is None else (first, second)


def numbers_in(texts: Iterable[str]) -> list[int]:
    """Those among some texts, each once, in their order."""
    numbers = (number_in(text) for text in dict.fromkeys(texts))
    return [number for number in numbers if number is not None]


def nonce_in(data: QueryDict) -> str:
    """What tells a form sent twice from two forms."""
    nonce = data.get("nonce", "")
    return nonce if 10 <= len(nonce) <= 40 and nonce.isalnum() else secrets.token_hex(12)


def asker_of(request: Request) -> Principal:
    """The signed-in person's principal; pages are guarded by `signed_in`, so there is one."""
    principal = account_of(request).principal
    if principal is None:
        raise PermissionDenied(_("nobody is bound to this account"))
    return principal


def account_of(request: Request) -> User:
    """The signed-in account."""
    if not isinstance(request.user, User):
        raise PermissionDenied(_("nobody is signed in"))
    return request.user
