"""OpenID Connect as allauth speaks it, with the checks of the ID token that a confidential site needs."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from requests import RequestException

from authzsite.runtime.configuration import single_sign_on

ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"})
"""Signatures by a key that the provider keeps; none by a secret that both sides know."""
LEEWAY = 30
"""Seconds by which two clocks may differ."""
REQUIRED = ["exp", "iat", "iss", "aud", "sub"]


class NotProved(Exception):
    """The provider did not prove who somebody is; the text says what was wrong, for the log."""


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth is not typed
    """Talks to one provider of the settings."""

    def __init__(self, request: HttpRequest, provider: Client) -> None:
        super().__init__(request, provider.app.provider_id)
        self.client_side = provider

    def get_provider(self) -> Client:
        return self.client_side

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        address = request.build_absolute_uri(reverse("console:oidc_callback", args=[app.provider_id]))
        # behind a proxy that ends TLS a request looks plain
        return address.replace("http://", "https://", 1) if settings.SESSION_COOKIE_SECURE else address


class Client(OpenIDConnectProvider):  # type: ignore[misc]  # allauth is not typed
    """The site's side of signing in by a provider: the code flow, with PKCE and a nonce."""

    pkce_enabled_default = True

    def __init__(self, request: HttpRequest, provider: single_sign_on.Provider) -> None:
        app = SocialApp(provider=self.id, provider_id=provider.name, name=provider.title)
        app.client_id, app.secret = provider.client_id, provider.client_secret
        app.settings = {"server_url": provider.issuer.rstrip("/"), "scope": provider.scopes}
        super().__init__(request, app=app)
        self.known = provider

    def get_oauth2_adapter(self, request: HttpRequest) -> Adapter:
        return Adapter(request, self)

    def begin(self, data: Mapping[str, Any], nonce: str, *, again: bool = False) -> str:
        """The provider's address to go on to; `data` comes back with the answer.  Raises NotProved.

        With `again` it is to ask who they are although they are signed in there.
        """
        wanted = {"nonce": nonce, **({"prompt": "login", "max_age": "0"} if again else {})}
        try:
            answer = self.redirect(self.request, "login", data={**data, "nonce": nonce}, auth_params=wanted)
        except (OAuth2Error, RequestException, ValueError, KeyError) as problem:
            raise NotProved(
                _("its configuration cannot be read: %(problem)s") % {"problem": problem}
            ) from problem
        return str(answer.headers["Location"])

    def finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What was kept since `begin`, and the claims that the provider proved.  Raises NotProved."""
        query = self.request.GET
        state = statekit.unstash_state(self.request, provider_id=self.sub_id, state_id=query.get("state", ""))
        if state is None:
            raise NotProved(_("this sign-in was not started in this browser, or it was started too long ago"))
        if "code" not in query:
            raise NotProved(_("it said %(get)s") % {"get": query.get("error", "nothing")[:100]})
        try:
            return state["data"], self._claims(state)
        except (OAuth2Error, RequestException, jwt.PyJWTError, ValueError, KeyError, TypeError) as problem:
            raise NotProved(f"{type(problem).__name__}: {problem}") from problem

    def _claims(self, state: Mapping[str, Any]) -> dict[str, Any]:
        adapter = self.get_oauth2_adapter(self.request)
        _check_configuration(adapter.openid_config, self.known.issuer)
        answer = adapter.get_access_token_data(
            self.request,
            self.app,
            adapter.get_client(self.request, self.app),
            pkce_code_verifier=state["pkce_code_verifier"],
        )
        claims = self._proved(answer["id_token"], adapter.openid_config, state["data"]["nonce"])
        wanted = {self.known.user_claim, self.known.groups_claim} - {""}
        if wanted <= claims.keys() or not adapter.openid_config.get("userinfo_endpoint"):
            return claims
        more = adapter._fetch_user_info(answer["access_token"])
        if more.get("sub") != claims["sub"]:
            raise NotProved(_("its second answer is about someone else"))
        return {**more, **claims}

    def _proved(self, token: str, configuration: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        key = _key_of(token, configuration["jwks_uri"])
        if key.algorithm_name not in ALGORITHMS:
            raise NotProved(_("it signs with %(algorithm_name)s") % {"algorithm_name": key.algorithm_name})
        claims: dict[str, Any] = jwt.decode(
            token,
            key=key,
            algorithms=[key.algorithm_name],
            issuer=self.known.issuer,
            audience=self.known.client_id,
            leeway=LEEWAY,
            options={"require": REQUIRED},
        )
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise NotProved(_("the ID token was made for another sign-in"))
        parties = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if claims.get("azp", self.known.client_id if len(parties) == 1 else "") != self.known.client_id:
            raise NotProved(_("the ID token was made for another site"))
        return claims


def _check_configuration(configuration: Mapping[str, Any], issuer: str) -> None:
    if configuration.get("issuer") != issuer:
        raise NotProved(f"its configuration is that of {configuration.get('issuer')!r}")
    for name in ("token_endpoint", "jwks_uri"):
        if not single_sign_on.is_safe(str(configuration.get(name, ""))):
            raise NotProved(_("its %(name)s is not reachable over TLS") % {"name": name})


def _key_of(token: str, address: str) -> jwt.PyJWK:
    """The provider's key that a token says it was signed with."""
    with get_adapter().get_requests_session() as session:
        response = session.get(address)
        response.raise_for_status()
        keys = jwt.PyJWKSet.from_dict(response.json()).keys
    keys = [key for key in keys if key.public_key_use in (None, "sig")]
    named = jwt.get_unverified_header(token).get("kid")
    matching = [key for key in keys if key.key_id == named] if named else keys
    if len(matching) != 1:
        raise NotProved(_("the ID token names no key of the provider"))
    return matching[0]
