"""Run the demo's Spark job as somebody, with their own token and their own database login."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser

from accounts import tokens
from authzsite.demo import lake, passwords, shop
from authzsite.embedded import CannotStart
from authzsite.management.base import OperatorCommand
from authzsite.runtime.keys import kept_secret

EXAMPLES = Path(settings.BASE_DIR) / "examples"


class Command(OperatorCommand):
    help = (
        "Run examples/daily_revenue.py, or examples/guarded_revenue.py, as one of the demo's people; "
        "asks the console that `make run` started."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--as", dest="user", default="ana", choices=passwords.LOGINS, metavar="USER")
        parser.add_argument(
            "--guarded",
            action="store_const",
            dest="job",
            const="guarded_revenue.py",
            default="daily_revenue.py",
        )
        parser.add_argument("--url", default=f"http://127.0.0.1:{os.environ.get('PORT', '8000')}")

    def run(self, *, user: str, job: str, url: str, **_: Any) -> None:
        try:
            shop_url = shop.ensure(settings.VAR).url_for(user)
        except (CannotStart, ValueError) as failed:
            self.fail(str(failed))
        environment = {
            **os.environ,
            "LAKEWARDEN_URL": url,
            "LAKEWARDEN_TOKEN": token_of(user),
            "SHOP_URL": shop_url,
            "LAKE": str(settings.VAR / lake.CATALOG),
            "SPARK_MASTER": settings.SPARK_MASTER,
        }
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / job), "--as", user], env=environment, check=False
        )
        sys.exit(done.returncode)


def token_of(user: str) -> str:
    """The token that the demo keeps for somebody's jobs; a new one when it is known no more."""
    place = Path(settings.VAR) / "demo_tokens" / f"{user}.job"
    text = kept_secret(place, lambda: _new_token(user))
    if tokens.recognise(text) is None:
        place.unlink()
        text = kept_secret(place, lambda: _new_token(user))
    return text


def _new_token(user: str) -> str:
    made = StringIO()
    scopes = ("--scope", "check", "--scope", "report")
    call_command("createtoken", user, *scopes, "--days", "30", stdout=made)
    return made.getvalue().strip()
