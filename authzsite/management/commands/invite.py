"""`manage.py invite`"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.models import User
from authzsite.management.base import OperatorCommand
from policies.services import accounts


class Command(OperatorCommand):
    help = "Print a link for setting a password, for the first site admin or a person who lost theirs."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name", help="user name; a missing account is created")
        parser.add_argument("--display-name", default="")
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="the address of this site in a browser"
        )

    def run(self, *, name: str, display_name: str, url: str, **_: Any) -> None:
        account = User.objects.filter(username=name).first()
        if account is None:
            account = accounts.make_person(name, display_name, by=self.by, authority=self.authority)
        elif not account.is_active:
            self.fail(f"account `{name}` is disabled", code=1)
        else:
            accounts.begin_password(account, by=self.by, authority=self.authority)
        number = urlsafe_base64_encode(force_bytes(account.pk))
        path = reverse("console:welcome", args=[number, default_token_generator.make_token(account)])
        self.stdout.write(f"{url.rstrip('/')}{path}")
        if name not in settings.LAKEWARDEN_SERVICE_ADMINS:
            self.stderr.write(f"{name} is not a site admin: LAKEWARDEN_SERVICE_ADMINS does not name them")
