"""A passkey in software, which proves what it is told to, also wrongly."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

from accounts.models import User
from policies.authority import OPERATOR
from policies.services import second_factors

HOST = "testserver"
PRESENT, ATTESTED = 0x01, 0x40


class Passkey:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(32)

    def given_to(self, account: User) -> Passkey:
        """Kept as if the account's own browser had made it."""
        public = ES256.from_cryptography_key(self.key.public_key())
        data = AttestedCredentialData.create(bytes(16), self.id, public)
        about = AuthenticatorData.create(_digest(HOST), PRESENT | ATTESTED, 0, bytes(data))
        sent = {"attestationObject": websafe_encode(bytes(AttestationObject.create("none", about, {})))}
        client = _client_data("webauthn.create", b"", f"https://{HOST}")
        second_factors.add_passkey(account, "", self._credential(sent, client), by=OPERATOR)
        return self

    def proof(
        self,
        challenge: str,
        *,
        count: int = 0,
        host: str = HOST,
        origin: str = f"https://{HOST}",
        kind: str = "webauthn.get",
        flags: int = PRESENT,
        spoilt: bool = False,
    ) -> str:
        """What a browser would send to the second step."""
        about = AuthenticatorData.create(_digest(host), flags, count)
        client = json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()
        signed = self.key.sign(bytes(about) + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        if spoilt:
            signed = ec.generate_private_key(ec.SECP256R1()).sign(b"", ec.ECDSA(SHA256()))
        sent = {"authenticatorData": websafe_encode(bytes(about)), "signature": websafe_encode(signed)}
        return json.dumps(self._credential(sent, client))

    def _credential(self, response: dict[str, str], client: bytes) -> dict[str, Any]:
        name = websafe_encode(self.id)
        more = {"clientDataJSON": websafe_encode(client)}
        return {"id": name, "rawId": name, "type": "public-key", "response": response | more}


def challenge_of(browser: Client) -> str:
    """What the page that is shown asks to be signed."""
    browser.get("/sign-in/second")
    return str(browser.session["mfa.webauthn.state"]["challenge"])


def _digest(host: str) -> bytes:
    return hashlib.sha256(host.encode()).digest()


def _client_data(kind: str, challenge: bytes, origin: str) -> bytes:
    return json.dumps({"type": kind, "challenge": websafe_encode(challenge), "origin": origin}).encode()
