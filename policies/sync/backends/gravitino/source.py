"""Which metalake this is, whatever address leads there."""

from __future__ import annotations

from lakewarden.backends.base import Source
from policies.sync.backends.gravitino.observe import Client
from policies.sync.backends.shared.peering import source_at


def metalake(client: Client) -> Source:
    """By the number of a console; else by when and by whom it was made, as Gravitino itself has no number.

    Raises BackendError.
    """
    at = source_at(client.rest, f"metalake {client.name}")
    if at.key.startswith("lakewarden "):
        return at
    body = client.get().get("metalake") or {}
    audit = body.get("audit") if isinstance(body, dict) else None
    if isinstance(audit, dict) and audit.get("createTime"):
        return Source(f"metalake {client.name} made {audit['createTime']} by {audit.get('creator', '')}")
    return at
