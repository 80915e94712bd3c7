"""`manage.py createtoken`"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from accounts import people, tokens
from accounts.models import Principal, Token
from accounts.models.tokens import SCOPES
from authzsite.management.base import OperatorCommand
from policies.errors import Invalid, NotFound
from policies.events import TOKEN_CREATED, TOKEN_ROTATED
from policies.record.change import change
from policies.services import tokens as services_tokens

LONGEST = 36_500  # days


class Command(OperatorCommand):
    help = "Create a token for a user or a service account. It is printed once, and cannot be shown again."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--service", action="store_true", help="for a service account; a missing one is created"
        )
        parser.add_argument("--days", type=_days, help="days until it expires; default: until revoked")
        parser.add_argument(
            "--scope", action="append", default=[], choices=SCOPES, help="limit it to this scope; repeatable"
        )
        parser.add_argument(
            *("--address",),
            action="append",
            default=[],
            help="accept it from this address or network only; repeatable",
        )
        parser.add_argument(
            *("--replace",),
            metavar="PREFIX",
            help="rotate the token with this prefix; the new one keeps its scopes and addresses",
        )
        parser.add_argument(
            *("--overlap",),
            type=_hours,
            default=24,
            help="hours for which the replaced token still works; default: 24",
        )

    def run(
        self,
        *,
        name: str,
        service: bool,
        days: int | None,
        scope: list[str],
        address: list[str],
        replace: str | None,
        overlap: int,
        **_: Any,
    ) -> None:
        kind = "service" if service else "user"
        if replace is not None:
            if scope or address:
                raise Invalid(
                    "A token that replaces another keeps its scopes and addresses; leave these options out."
                )
            self._replace(people.find(kind, name), replace, days, overlap)
            return
        holder = people.ensure(kind, name)
        with change(TOKEN_CREATED, realm=None, by=self.by) as current:
            text = tokens.create(holder, days=days, scopes=tuple(scope), addresses=address)
            current.say(services_tokens.made(holder, text), by=self.authority)
        self.stdout.write(text)

    def _replace(self, holder: Principal | None, prefix: str, days: int | None, overlap: int) -> None:
        with change(TOKEN_ROTATED, realm=None, by=self.by) as current:
            rows = Token.objects.filter(principal=holder, prefix=prefix.rstrip("…")[:10], run="")
            row = rows.select_related("principal").filter(successor=None).first() if holder else None
            if row is None:
                raise NotFound("There is no such token, or it was already replaced.")
            text, events = services_tokens.replaced(row, days=days, overlap=overlap)
            for event in events:
                current.say(event, by=self.authority)
        self.stdout.write(text)


def _hours(text: str) -> int:
    if text.isdecimal() and (hours := int(text)) <= services_tokens.LONGEST_OVERLAP:
        return hours
    raise ArgumentTypeError(f"a whole number from 0 to {services_tokens.LONGEST_OVERLAP}, not `{text}`")


def _days(text: str) -> int:
    if text.isdecimal() and 1 <= (days := int(text)) <= LONGEST:
        return days
    raise ArgumentTypeError(f"a whole number from 1 to {LONGEST}, not `{text}`")
