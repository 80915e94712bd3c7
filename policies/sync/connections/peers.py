"""Which other consoles this one carries its decisions into, and what it tells everybody of that."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from policies.models import Peer
from policies.sync.backends.shared.peering import INTO, SITE, digest, pair
from policies.sync.safeguards.restored import identity

ASKED_AGAIN = timedelta(days=1)


def own_site() -> str:
    """The number of this site: that of its database."""
    return digest("site", identity())


def description() -> dict[str, Any]:
    """What this site says of itself to a site that would carry into it."""
    site = own_site()
    rows = Peer.objects.exclude(site="").values_list("source", "site", "target")
    return {SITE: site, INTO: sorted(pair(site, source, there, target) for source, there, target in rows)}


class KnownPeers:
    """`lakewarden.backends.console.Peers`, from the table of peers."""

    def own_site(self) -> str:
        """The number of this site."""
        return own_site()

    def is_known(self, mark: str, source: str, target: str) -> bool:
        """Whether the other side of a connection was asked within a day, and about the same two realms."""
        lately = timezone.now() - ASKED_AGAIN
        return Peer.objects.filter(mark=mark, source=source, target=target, asked__gt=lately).exists()

    def remember(self, mark: str, *, site: str, source: str, target: str) -> None:
        """Keep what the other side answered."""
        values = {"site": site, "source": source, "target": target, "asked": timezone.now()}
        Peer.objects.update_or_create(mark=mark, defaults=values)
