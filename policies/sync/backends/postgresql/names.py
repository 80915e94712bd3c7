"""How we know our roles in a PostgreSQL cluster: by a name made of the key and a comment that says so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256

_BY = "lakewarden"


@dataclass(frozen=True)
class Identity:
    """Whose roles these are: `mark` is the connected catalog's own lasting name within the realm.

    Roles belong to the whole cluster, so the mark keeps apart two catalogs that live on one server.
    """

    realm: str
    mark: str

    @property
    def prefix(self) -> str:
        slug = re.sub(r"[^a-z0-9]+", "_", self.realm.lower())[:24].strip("_")
        return f"lw_{slug or 'realm'}_"

    @property
    def lock(self) -> int:
        """The number of our advisory lock in a database, a signed 64-bit integer."""
        return int.from_bytes(self._digest("lock")[:8], "big", signed=True)

    def role_name(self, key: str) -> str:
        """The name of the role for a key: at most 43 bytes, whatever the key holds."""
        return self.prefix + self._digest("role", key).hex()[:12]

    def comment(self, key: str, label: str) -> str:
        """The mark on a role, with what it is for in words."""
        values = {
            "by": _BY,
            "realm": self.realm,
            "backend": self.mark,
            "key": key,
            "v": 1,
            "for": label[:200],
        }
        return json.dumps(values)

    def key_of(self, name: str, comment: str | None) -> str | None:
        """The key of a role if it is ours: comment, realm, mark and name all say so."""
        values = _read(comment)
        if (values.get("by"), values.get("realm"), values.get("backend")) != (_BY, self.realm, self.mark):
            return None
        key = values.get("key")
        return key if isinstance(key, str) and self.role_name(key) == name else None

    def suspicious(self, name: str, comment: str | None) -> bool:
        """Whether a role that is not ours looks as if it were; roles of our other catalogs do not."""
        values = _read(comment)
        if values.get("by") == _BY:
            return (values.get("realm"), values.get("backend")) == (self.realm, self.mark)
        return re.fullmatch(re.escape(self.prefix) + "[0-9a-f]{12}", name) is not None

    def _digest(self, *parts: str) -> bytes:
        return sha256(json.dumps([self.realm, self.mark, *parts]).encode()).digest()


def _read(comment: str | None) -> dict[str, object]:
    try:
        values = json.loads(comment or "")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
