"""How sessions began that no password began: each counts while its way in is switched on."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest

from accounts.models import User


class _External(BaseBackend):
    authenticator: ClassVar[str]

    def get_user(self, user_id: int) -> User | None:
        if self.authenticator not in settings.LAKEWARDEN_AUTHENTICATORS:
            return None
        return User.objects.filter(pk=user_id, is_active=True).first()


class Proxy(_External):
    """A trusted proxy named them."""

    authenticator = "proxy"


class OpenIDConnect(_External):
    """An identity provider knows them."""

    authenticator = "oidc"


PROXY = f"{Proxy.__module__}.{Proxy.__qualname__}"
OIDC = f"{OpenIDConnect.__module__}.{OpenIDConnect.__qualname__}"


def began_by(request: HttpRequest, backend: str) -> bool:
    """Whether the session of a request began so."""
    return request.session.get(BACKEND_SESSION_KEY) == backend
