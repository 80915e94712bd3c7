"""Pages by who comes: a visitor signs in once and asks every row of a room's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.test import Client

DOOR, KEPT = 302, 401
"""A visitor not signed in is led to the sign-in page; what they typed is kept until they are."""


@dataclass(frozen=True)
class Page:
    """A route with the status each visitor of the shop gets; `{table}` and the like stand for numbers."""

    name: str
    address: str
    anonymous: int
    stranger: int
    member: int
    reader: int
    grantor: int
    owner: int
    duty: int
    admin: int
    method: str = "get"


def misanswered(
    pages: Iterable[Any],
    visitor: str,
    visitors: Mapping[str, str],
    signed_in: Callable[[str], Client],
    numbers: Mapping[str, int],
    form: Mapping[str, str] | None = None,
) -> list[tuple[str, str, int, int]]:
    """The rows that do not answer the visitor as they say: how, where, the status, and the one they say.

    `visitors` names the person behind each, nobody for "".  A POST sends the form.
    """
    wrong = []
    client = None
    for page in pages:
        if client is None:
            client = signed_in(visitors[visitor]) if visitors[visitor] else Client()
        address = page.address.format(**numbers)
        answer = client.post(address, form) if page.method == "post" else client.get(address)
        if answer.status_code != getattr(page, visitor):
            wrong.append((page.method, address, answer.status_code, getattr(page, visitor)))
        if visitors[visitor] and not _is_in(client):
            client = None
    return wrong


def _is_in(client: Client) -> bool:
    """Whether they still are: signing out is a page, too."""
    cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)
    return bool(cookie and cookie.value)
