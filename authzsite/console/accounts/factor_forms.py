"""What pages need to ask for a second factor, and to set one up."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cached_property
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.webauthn.internal import auth as webauthn
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from accounts.models import User
from authzsite.console.kit.http import Request
from policies.authority import Actor
from policies.errors import PolicyError
from policies.services import second_factors

LONGEST_CREDENTIAL = 20_000


def credential_of(request: Request) -> dict[str, Any] | None:
    """What the browser made of a passkey; None where it sent nothing of that kind."""
    text = request.POST.get("credential", "")
    if not text or len(text) > LONGEST_CREDENTIAL:
        return None
    try:
        credential = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return credential if isinstance(credential, dict) else {}


class FactorForm:
    """One page's form: to prove a factor one has, or with `sets_up` to add one."""

    def __init__(self, request: Request, account: User, *, sets_up: bool) -> None:
        self.request, self.account, self.sets_up = request, account, sets_up

    @cached_property
    def kinds(self) -> set[str]:
        return {row.type for row in second_factors.held(self.account)}

    @property
    def has_app(self) -> bool:
        return second_factors.APP in self.kinds

    @property
    def asks_passkey(self) -> bool:
        return second_factors.PASSKEY in self.kinds

    @cached_property
    def secret(self) -> str:
        return str(totp.get_totp_secret())

    @property
    def picture(self) -> str:
        """The QR code of the secret, as the address of an image."""
        adapter = get_adapter()
        svg = adapter.build_totp_svg(adapter.build_totp_url(self.account, self.secret))
        return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"

    @property
    def asking(self) -> str:
        """What the browser is asked to prove, as JSON."""
        return json.dumps(webauthn.begin_authentication(self.account))

    @property
    def making(self) -> str:
        """What the browser is asked to make, as JSON."""
        return json.dumps(webauthn.begin_registration(self.account, False))

    def add(self, by: Actor) -> str:
        """Add what was sent; why not, or nothing."""
        credential = credential_of(self.request)
        try:
            if credential is None:
                return self._add_app(by)
            webauthn.parse_registration_response(credential)
            webauthn.complete_registration(credential)
            name = self.request.POST.get("name", "")
            second_factors.add_passkey(self.account, name, credential, by=by)
        except PolicyError as problem:
            return str(problem)
        except (ValidationError, ValueError, KeyError, TypeError):
            return _("The passkey was not created. Try again.")
        return ""

    def _add_app(self, by: Actor) -> str:
        code = "".join(self.request.POST.get("code", "").split())
        if not totp.validate_totp_code(self.secret, code):
            return _("This code is not the one your app shows now. Check it and try again.")
        second_factors.add_app(self.account, self.secret, by=by)
        totp.clear_totp_secret(self.request)
        return ""
