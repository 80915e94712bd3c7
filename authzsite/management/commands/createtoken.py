"""`manage.py createtoken`"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from accounts import people, tokens
from accounts.models.tokens import SCOPES
from authzsite.management.base import OperatorCommand
from policies.events import TOKEN_CREATED
from policies.record.change import change
from policies.services import tokens as services_tokens

LONGEST = 36_500  # days


class Command(OperatorCommand):
    help = "Make a token for a user or a service account; prints the token alone, this once."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name")
        parser.add_argument("--service", action="store_true", help="for a service account, made when absent")
        parser.add_argument("--days", type=_days, help="how long it lives; default: until revoked")
        parser.add_argument(
            "--scope", action="append", default=[], choices=SCOPES, help="narrow it; repeatable"
        )

    def run(self, *, name: str, service: bool, days: int | None, scope: list[str], **_: Any) -> None:
        holder = people.ensure("service" if service else "user", name)
        with change(TOKEN_CREATED, realm=None, by=self.by) as current:
            text = tokens.create(holder, days=days, scopes=tuple(scope))
            current.say(services_tokens.made(holder, text), by=self.authority)
        self.stdout.write(text)


def _days(text: str) -> int:
    if text.isdecimal() and 1 <= (days := int(text)) <= LONGEST:
        return days
    raise ArgumentTypeError(f"a whole number from 1 to {LONGEST}, not `{text}`")
