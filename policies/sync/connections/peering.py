"""Whether the server that a realm is connected to is a console like this one, and leads back here.

A console tells everybody its site's number, and with a digest of each pair which of its realms it carries
where; so of two that would carry into each other the second notices, and nobody learns more than they ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.utils import timezone

from lakewarden.backends.base import Finding, Source
from lakewarden.backends.errors import Misconfigured
from policies.models import Peer
from policies.sync.backends.shared.rest import Refused, Rest
from policies.sync.safeguards.restored import identity

SITE, INTO = "lakewarden.site", "lakewarden.into"
ASKED_AGAIN = timedelta(days=1)


def own_site() -> str:
    """The number of this site: that of its database."""
    return _digest("site", identity())


def told() -> dict[str, Any]:
    """What this site says of itself to a site that would carry into it."""
    site = own_site()
    rows = Peer.objects.exclude(site="").values_list("source", "site", "target")
    return {SITE: site, INTO: sorted(_pair(site, source, there, target) for source, there, target in rows)}


def peering(rest: Rest, source: str, target: str) -> Iterator[Finding]:
    """What a check says of the other side; `source` and `target` name the realms, each in its own site."""
    there = _told_by(rest)
    if not there.get(SITE):
        return
    if problem := _problem(there, source, target):
        yield Finding(ok=False, text=problem, blocks=True)
    else:
        yield Finding(ok=True, text="the other side is a Lakewarden of its own, and does not lead back here")


def must_not_lead_back(rest: Rest, mark: str, source: str, target: str) -> None:
    """Ask once a day and remember.  Raises Misconfigured when it leads back here."""
    row = Peer.objects.filter(mark=mark).first()
    if row and (row.source, row.target) == (source, target) and row.asked > timezone.now() - ASKED_AGAIN:
        return
    there = _told_by(rest)
    if problem := _problem(there, source, target):
        raise Misconfigured(problem)
    values = {"site": there.get(SITE, ""), "source": source, "target": target, "asked": timezone.now()}
    Peer.objects.update_or_create(mark=mark, defaults=values)


def source_at(rest: Rest, what: str) -> Source:
    """What a server's realm is known by: the number of its site when it is a console, else its addresses."""
    site = _told_by(rest).get(SITE)
    return Source(f"lakewarden {site} {what}" if site else f"{what} at {rest.machine}")


def _told_by(rest: Rest) -> dict[str, Any]:
    """What the other side tells of itself; nothing when it is no console."""
    try:
        found = rest.get("configs")
    except Refused:
        return {}
    except Misconfigured:
        return {}  # a page for people, or no credentials for this path
    return found if isinstance(found, dict) and isinstance(found.get(SITE), str) else {}


def _problem(there: dict[str, Any], source: str, target: str) -> str:
    own = own_site()
    if there.get(SITE) == own and source == target:
        return "this realm would be connected to itself: the address leads back to this very site"
    pairs = there.get(INTO)
    back = _pair(str(there.get(SITE)), target, own, source)
    if isinstance(pairs, list) and back in pairs:
        return (
            "the other side carries its decisions into this realm already; two that carry into each other "
            "would undo what the other decided. Disconnect one of them"
        )
    return ""


def _pair(site: str, source: str, there: str, target: str) -> str:
    return _digest(site, source, there, target)


def _digest(*parts: str) -> str:
    return sha256("\n".join(("lakewarden", *parts)).encode()).hexdigest()[:32]
