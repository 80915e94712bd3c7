"""How allauth keeps and names second factors here."""

from __future__ import annotations

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter

from accounts.models import User
from policies import secrets

NAME = "Lakewarden"


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is not typed
    """Secrets are encrypted like those of connections; people are known by their names."""

    def encrypt(self, text: str) -> str:
        return secrets.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return secrets.decrypt(encrypted_text)

    def get_totp_label(self, user: User) -> str:
        return user.username

    def get_totp_issuer(self) -> str:
        return NAME

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": context.request.get_host().partition(":")[0], "name": NAME}

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, object]:
        shown = user.principal.label if user.principal else user.username
        return {"id": str(user.pk).encode(), "display_name": shown, "name": user.username}
