"""Chat systems that hear what people are told: `LAKEWARDEN_CHAT_HOOKS`, each an address and what it hears.

`https://chat.example.org/hooks/abc?hears=request,emergency` hears the kinds that begin with these words, one
without them all.  A call bears its own number, by which a receiver knows one that it had, and is signed as
Standard Webhooks says, with `LAKEWARDEN_CHAT_SECRET`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

HEARS = "hears"


@dataclass(frozen=True)
class Hook:
    """One address and the beginnings of the kinds that it hears; none: all."""

    url: str
    beginnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What its letters are kept under; the address itself is a secret of the chat system."""
        return f"{urlsplit(self.url).hostname} {hashlib.sha256(self.url.encode()).hexdigest()[:12]}"

    def hears(self, kind: str) -> bool:
        return not self.beginnings or any(
            kind == beginning or kind.startswith(f"{beginning}.") for beginning in self.beginnings
        )


def configured(texts: Iterable[str]) -> list[Hook]:
    return [_hook(text) for text in texts]


def _hook(text: str) -> Hook:
    parts = urlsplit(text)
    query = parse_qsl(parts.query, keep_blank_values=True)
    names = [item for name, value in query if name == HEARS for item in value.split(",") if item]
    rest = urlencode([(name, value) for name, value in query if name != HEARS])
    return Hook(urlunsplit(parts._replace(query=rest)), tuple(names))
