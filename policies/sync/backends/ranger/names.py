"""What marks policies and roles in Ranger as ours: a label, a name and a number that fit each other."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.backends.errors import Rejected

LONGEST = 255
OPTION = "lakewarden"
_SPACE = uuid.UUID("6b4c1d0e-3a57-5d1b-9a55-3f0f6f1d7a11")
# Ranger puts something else in place of these; there is no way to write them as what they are
_NO_NAME = re.compile(r"\{USER\}|\{OWNER\}|\$\{\{")


def check_names(values: Mapping[str, str], parts: tuple[str, ...], *, patterns: bool) -> None:
    """Raise Rejected for an object whose name would mean others too, but for patterns where they may be."""
    for part in parts:
        if _NO_NAME.search(part) or (not patterns and {"*", "?"} & set(part)):
            raise Rejected(f"{part} cannot be named in Ranger: it would be read as a pattern")
        if not part or "\0" in part:
            raise Rejected(f"{'.'.join(values.values())} has a name that Ranger cannot keep")


@dataclass(frozen=True)
class Identity:
    """Which console a policy or role belongs to: the realm and its connection, in one service."""

    realm: str
    mark: str
    service: str

    @property
    def short(self) -> str:
        return _digest(self.realm, self.mark)

    @property
    def label(self) -> str:
        """The label that our policies bear."""
        return f"lakewarden-{self.short}"

    def role_name(self, key: str) -> str:
        """The name of a role, the same for the same key."""
        return f"lw_{self.short}_{_digest(key)}"

    def calls_role(self, name: str) -> bool:
        """Whether a name is of the form that ours have."""
        return name.startswith(f"lw_{self.short}_")

    def policy_name(self, values: Mapping[str, str]) -> str:
        """The name of the policy on these resources; readable as far as every server keeps letters."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", ".".join(values.values()))
        return f"{self._begins}{_digest(self.service, _canonical(values))} {readable}"[:LONGEST].rstrip()

    def calls_policy(self, name: str) -> bool:
        return name.startswith(self._begins)

    def guid(self, values: Mapping[str, str]) -> str:
        """The policy's own number, which we say and the server keeps."""
        return str(uuid.uuid5(_SPACE, f"{self.short}\0{self.service}\0{_canonical(values)}"))

    def faults(self, policy: Mapping[str, Any], values: Mapping[str, str] | None) -> list[str]:
        """What a policy lacks to be ours; nothing when it is."""
        if values is None:
            return ["its resources"]
        checks = {
            "its label": self.label in (policy.get("policyLabels") or ()),
            "its name": policy.get("name") == self.policy_name(values),
            "its guid": policy.get("guid") == self.guid(values),
        }
        return [what for what, fits in checks.items() if not fits]

    def claims(self, policy: Mapping[str, Any], values: Mapping[str, str] | None) -> bool:
        """Whether a policy bears anything of our mark."""
        named = self.label in (policy.get("policyLabels") or ()) or self.calls_policy(
            policy.get("name") or ""
        )
        return named or (values is not None and policy.get("guid") == self.guid(values))

    @property
    def _begins(self) -> str:
        return f"lakewarden {self.short} "


def _canonical(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), sort_keys=True, ensure_ascii=False)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
