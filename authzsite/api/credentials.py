"""What the header `Authorization` holds, read in one place for who asks and for how often they may."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple


class Credentials(NamedTuple):
    """The scheme in lower case; of Basic the name and the secret, of others the rest as the secret."""

    scheme: str
    name: str
    secret: str


def read(header: str) -> Credentials:
    """The parts of the header; what cannot be read has no name and no secret.

    The name of Basic may hold colons, a token never does.
    """
    scheme, _, rest = header.partition(" ")
    scheme, rest = scheme.lower(), rest.strip()
    if scheme != "basic":
        return Credentials(scheme, "", rest)
    try:
        name, _, secret = base64.b64decode(rest, validate=True).decode().rpartition(":")
    except (binascii.Error, ValueError):
        return Credentials(scheme, "", "")
    return Credentials(scheme, name, secret)
