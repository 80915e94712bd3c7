"""Digests that follow from one another: each covers what is said and the digest before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(body: Mapping[str, Any]) -> str:
    """The one text of a JSON object: keys sorted, no spaces, no escapes but those JSON demands."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(previous: str, body: Mapping[str, Any]) -> str:
    """SHA-256, in hex, over the digest before (empty at the beginning) and the canonical text."""
    return hashlib.sha256(f"{previous}\n{canonical(body)}".encode()).hexdigest()
