"""How we know our roles in a MariaDB server: by a name that proves itself, as a role can carry no comment.

`lw_<digest>_<key>`: the digest is made of the realm, the connected catalog's mark and the key, so neither
another catalog's role nor one that somebody only called alike is taken for ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from json import dumps

from lakewarden.backends.errors import Rejected

LONGEST = 128  # characters of a role's name
_FORM = re.compile(r"lw_([0-9a-f]{12})_(.+)", re.DOTALL)
PERSON = "person:"


@dataclass(frozen=True)
class Identity:
    """Whose roles these are: `mark` is the connected catalog's own lasting name within the realm."""

    realm: str
    mark: str

    def role_name(self, key: str) -> str:
        """The name of the role for a key.  Raises Rejected when it would be too long."""
        name = f"lw_{self._digest(key)}_{key}"
        if len(name) > LONGEST or "\0" in name:
            raise Rejected(f"{key[:40]}… makes no name that a role can bear")
        return name

    def person_role(self, person: str) -> str:
        """The name of the one role that a person has by default and that holds all their others."""
        return self.role_name(PERSON + person)

    def key_of(self, name: str) -> str | None:
        """The key of a role if it is ours; None for others and for the roles of persons."""
        key = self._own(name)
        return key if key is not None and not key.startswith(PERSON) else None

    def person_of(self, name: str) -> str | None:
        """Whose own role this is, if it is ours."""
        key = self._own(name)
        return key.removeprefix(PERSON) if key is not None and key.startswith(PERSON) else None

    @property
    def lock(self) -> str:
        """The name of our lock in the server."""
        return f"lakewarden:{self._digest('lock')}"

    def _own(self, name: str) -> str | None:
        match = _FORM.fullmatch(name)
        return match[2] if match and match[1] == self._digest(match[2]) else None

    def _digest(self, *parts: str) -> str:
        return self._long_digest(*parts)[:12]

    def _long_digest(self, *parts: str) -> str:
        return sha256(dumps([self.realm, self.mark, *parts]).encode()).hexdigest()[:24]
