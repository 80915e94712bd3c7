"""Keycloak on loopback with one realm, and a browser of a person who signs in there."""

from __future__ import annotations

import html
import http.client
import http.cookiejar
import json
import os
import re
import urllib.request
import zipfile
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest

from tests.real.artifacts import pinned
from tests.real.servers import Server, free_port, java_of

REALM, CLIENT, SECRET, PASSWORD = "lake", "lakewarden", "a secret of the tests", "correct horse"
BACK = "http://testserver/sign-in/with/keycloak/callback"
PEOPLE = {"ana": ["/staff", "/auditors"], "bo": ["/staff"]}


def realm() -> dict[str, object]:
    """People, groups and our client, as Keycloak imports them."""
    mapper = {
        "name": "groups",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-group-membership-mapper",
        "config": {
            "claim.name": "groups",
            "full.path": "true",
            "id.token.claim": "true",
            "userinfo.token.claim": "true",
        },
    }
    client = {
        "clientId": CLIENT,
        "secret": SECRET,
        "redirectUris": [BACK],
        "standardFlowEnabled": True,
        "attributes": {"pkce.code.challenge.method": "S256"},
        "protocolMappers": [mapper],
    }
    users = [
        {
            "username": name,
            "enabled": True,
            "email": f"{name}@example.com",
            "firstName": name.title(),
            "lastName": "Diaz",
            "credentials": [{"type": "password", "value": PASSWORD}],
            "groups": groups,
        }
        for name, groups in PEOPLE.items()
    ]
    groups = [{"name": name} for name in ("staff", "auditors")]
    return {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "none",
        "clients": [client],
        "groups": groups,
        "users": users,
    }


class Keycloak(Server):
    """The distribution as it is, in its mode for development, with a store of its own."""

    def __init__(self) -> None:
        [archive] = pinned("keycloak")
        if not archive.kept.exists():
            pytest.skip("Keycloak is not in the cache; `make real ONLY=keycloak` fetches it")
        super().__init__("keycloak")
        with zipfile.ZipFile(archive.fetch()) as packed:
            packed.extractall(self.home)
        [home] = self.home.glob("keycloak-*")
        (home / "data" / "import").mkdir(parents=True)
        (home / "data" / "import" / "realm.json").write_text(json.dumps(realm()))
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}/realms/{REALM}"
        program = java_of(17)
        assert program is not None
        options = ["--import-realm", "--http-host=127.0.0.1", f"--http-port={self.port}"]
        self.run(
            ["/bin/bash", str(home / "bin" / "kc.sh"), "start-dev", *options],
            JAVA_HOME=str(Path(os.path.realpath(program)).parents[1]),
            JAVA_OPTS_KC_HEAP="-Xms128m -Xmx512m",
        )
        self.wait(self._answers, seconds=600)

    def _answers(self) -> bool:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            line.request("GET", f"/realms/{REALM}/.well-known/openid-configuration")
            return line.getresponse().status == 200
        finally:
            line.close()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Whoever sends the browser away is answered by the test."""


def sign_in_there(address: str, name: str, password: str = PASSWORD) -> str:
    """Where Keycloak sends the browser after its form was filled in; "" when it asks again."""
    # as browsers do, which take loopback for secure
    policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy))
    browser = urllib.request.build_opener(cookies, _Stay())
    page = browser.open(address, timeout=120).read().decode()
    form = re.search(r'<form[^>]*action="([^"]+)"', page)
    assert form, page[:2000]
    filled = urlencode({"username": name, "password": password, "credentialId": ""}).encode()
    try:
        browser.open(html.unescape(form[1]), filled, timeout=120)
    except HTTPError as answer:
        return answer.headers.get("Location", "")
    return ""
