"""Whether the server that a realm is connected to is a console like this one, and leads back here.

A console tells everybody its site's number, and with a digest of each pair which of its realms it carries
where; so of two that would carry into each other the second notices, and nobody learns more than they ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from lakewarden.backends.base import Finding, Source
from lakewarden.backends.console import Peers
from lakewarden.backends.errors import Misconfigured
from policies.sync.backends.shared.rest import Refused, Rest

SITE, INTO = "lakewarden.site", "lakewarden.into"


def peering(rest: Rest, peers: Peers, source: str, target: str) -> Iterator[Finding]:
    """What a check says of the other side; `source` and `target` name the realms, each in its own site."""
    description = _described_by(rest)
    if not description.get(SITE):
        return
    if problem := _problem(description, peers.own_site(), source, target):
        yield Finding(ok=False, text=problem, blocks=True)
    else:
        yield Finding(ok=True, text="the other side is a Lakewarden of its own, and does not lead back here")


def must_not_lead_back(rest: Rest, peers: Peers, mark: str, source: str, target: str) -> None:
    """Ask once a day and remember.  Raises Misconfigured when it leads back here."""
    if peers.is_known(mark, source, target):
        return
    description = _described_by(rest)
    if problem := _problem(description, peers.own_site(), source, target):
        raise Misconfigured(problem)
    peers.remember(mark, site=description.get(SITE, ""), source=source, target=target)


def source_at(rest: Rest, what: str) -> Source:
    """What a server's realm is known by: the number of its site when it is a console, else its addresses."""
    site = _described_by(rest).get(SITE)
    return Source(f"lakewarden {site} {what}" if site else f"{what} at {rest.machine}")


def _described_by(rest: Rest) -> dict[str, Any]:
    """What the other side tells of itself; nothing when it is no console."""
    # CDAP's router never answers a path that it does not know on a line that carried one that it knows
    rest.close()
    try:
        configs = rest.get("configs")
    except Refused:
        return {}
    except Misconfigured:
        return {}  # a page for people, or no credentials for this path
    return configs if isinstance(configs, dict) and isinstance(configs.get(SITE), str) else {}


def _problem(description: dict[str, Any], own: str, source: str, target: str) -> str:
    if description.get(SITE) == own and source == target:
        return "this realm would be connected to itself: the address leads back to this very site"
    pairs = description.get(INTO)
    back = pair(str(description.get(SITE)), target, own, source)
    if isinstance(pairs, list) and back in pairs:
        return (
            "the other side carries its decisions into this realm already; two that carry into each other "
            "would undo what the other decided. Disconnect one of them"
        )
    return ""


def pair(site: str, source: str, there: str, target: str) -> str:
    """Which realm of a site is carried into which of another: the same for both, and nobody can read it."""
    return digest(site, source, there, target)


def digest(*parts: str) -> str:
    """A number made of these texts."""
    return sha256("\n".join(("lakewarden", *parts)).encode()).hexdigest()[:32]
