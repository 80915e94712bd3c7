"""What a decider is shown of a request, as it is sent."""

from __future__ import annotations

from typing import Any

from authzsite.api.request_bodies import iso, line
from policies.requests.considering import Consideration


def weighed(found: Consideration) -> dict[str, Any]:
    """Present access, earlier requests, who would gain, comparable people, roles, denials, conflicts."""
    return {
        "present": [
            {"resource": {"type": one.want.type, "id": one.want.name}, "actions": list(one.can)}
            for one in found.present
        ],
        "earlier": [line(one, one.wants.all()) for one in found.earlier],
        "effects": [
            {
                "object": {"type": node.type, "id": node.ref.id},
                "principal": str(effect.principal),
                "effect": effect.kind,
                "gains": sorted(effect.gains),
            }
            for node, seen in found.effects
            for effect in seen.effects
        ],
        "peers": [
            {"part": one.part.number, "have": one.share.have, "of": one.share.of} for one in found.peers
        ],
        "roles": [{"role": one.role.ref.id, "holders": one.holders} for one in found.roles],
        "denials": [
            {"privilege": one.privilege, "object": {"type": one.ref.type, "id": one.ref.id}, "role": one.role}
            for one in found.denials
        ],
        "conflicts": list(found.clashes),
        "valid_until": iso(found.end),
    }
