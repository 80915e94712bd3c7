"""A small OpenID Connect provider on loopback: the code flow with PKCE, ID tokens signed with RS256."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "lakewarden", "a secret of the tests"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """Whoever asks is `claims`; `forged` are claims that it says against the rules, None takes one away."""

    def __init__(self, port: int, key: rsa.RSAPrivateKey | None = None) -> None:
        self.issuer = f"http://127.0.0.1:{port}/realms/lake"
        self.key = self.signs_with = key or new_key()
        self.algorithm = "RS256"
        self.claims: dict[str, Any] = {"sub": "7f3a", "preferred_username": "ana", "name": "Ana Diaz"}
        self.userinfo: dict[str, Any] = {}
        self.forged: dict[str, Any] = {}
        self.configuration: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def answer(self, path: str, asked: dict[str, str], headers: Any) -> dict[str, Any] | str:
        """JSON, or the address to go on to.  Raises PermissionError."""
        what = path.rpartition("/")[2]
        return {
            "openid-configuration": self._configuration,
            "keys": self._keys,
            "authorize": self._authorize,
            "token": self._token,
            "userinfo": lambda _: {"sub": self.claims["sub"], **self.userinfo},
        }[what](asked)

    def _configuration(self, _: dict[str, str]) -> dict[str, Any]:
        places = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{self.issuer}/keys",
            **{f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in places.items()},
            **self.configuration,
        }

    def _keys(self, _: dict[str, str]) -> dict[str, Any]:
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**key, "kid": "1", "use": "sig", "alg": "RS256"}]}

    def _authorize(self, asked: dict[str, str]) -> str:
        if (asked["client_id"], asked["code_challenge_method"]) != (CLIENT, "S256"):
            raise PermissionError
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def _token(self, asked: dict[str, str]) -> dict[str, Any]:
        begun = self.codes.pop(asked["code"])
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        same = asked["redirect_uri"] == begun["redirect_uri"] and challenge == begun["code_challenge"]
        if not same or (asked["client_id"], asked["client_secret"]) != (CLIENT, SECRET):
            raise PermissionError
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": begun["nonce"]}
        if begun.get("prompt") == "login":
            claims["auth_time"] = now
        claims |= self.claims | self.forged
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(claims, self.signs_with, algorithm=self.algorithm, headers={"kid": "1"})
        return {"access_token": "x", "token_type": "Bearer", "id_token": token}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, text: str) -> None:
        asked = {name: values[0] for name, values in parse_qs(text).items()}
        try:
            answer = self.server.provider.answer(urlsplit(self.path).path, asked, self.headers)  # type: ignore[attr-defined]
        except (PermissionError, KeyError):
            self.send_response(400)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = b"" if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(302 if isinstance(answer, str) else 200)
        if isinstance(answer, str):
            self.send_header("Location", answer)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[Provider]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.provider = Provider(server.server_port)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.provider  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
