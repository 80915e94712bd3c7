"""What a person should know about a connection to a Gravitino server before it is trusted to sync."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.backends.base import Finding
from lakewarden.backends.errors import BackendError
from policies.sync.backends.gravitino.names import METALAKE, tag, user
from policies.sync.backends.gravitino.observe import SWITCHED_OFF, Client
from policies.sync.backends.shared.peering import peering
from policies.sync.backends.shared.rest import Refused

_OLDEST = (0, 8)


def check(client: Client) -> list[Finding]:
    """Findings in words; those that block come with what to do about it."""
    try:
        return list(_findings(client))
    except BackendError as error:
        return [Finding.unreachable(error)]


def _findings(client: Client) -> Iterator[Finding]:
    others = list(peering(client.rest, client.peers, tag(client.marks.realm), tag(client.name)))
    if any(finding.blocks for finding in others):
        # nothing else matters, and nothing that is well may make this look like a good connection
        yield from others
        return
    yield _version(client)
    yield from others
    try:
        client.get("users")
    except Refused as refusal:
        text = SWITCHED_OFF if refusal.status == 405 else f"its users cannot be listed: {refusal}"
        yield Finding(ok=False, text=text, blocks=True)
        return
    yield _owner(client)


def _version(client: Client) -> Finding:
    body = client.rest.get("api", "version")
    text = str(((body or {}).get("version") or {}).get("version", ""))
    numbers = tuple(int(part) for part in text.split("-")[0].split(".")[:2] if part.isdecimal())
    if numbers and numbers < _OLDEST:
        return Finding(ok=False, text=f"Gravitino {text} has no access control over its API", blocks=True)
    return Finding(ok=True, text=f"connected to the metalake {client.name} of Gravitino {text}")


def _owner(client: Client) -> Finding:
    owner = client.owner(METALAKE, client.name)
    if client.me and owner == user(client.me):
        return Finding(ok=True, text=f"{client.me} owns the metalake, so it sees and may change everything")
    if not client.me:
        text = "it does not say which user this account is: name it in the URL, as ?user=NAME"
        return Finding(ok=False, text=text, blocks=True)
    text = (
        f"{client.me} does not own the metalake {client.name}, so it may not see all of it: "
        f"have {owner or 'its administrator'} make {client.me} its owner"
    )
    return Finding(ok=False, text=text, blocks=True)
