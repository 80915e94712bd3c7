"""Where Lakewarden answers otherwise than Apache Gravitino on purpose; docs/gravitino.md gives the causes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.api_gravitino.world import ADMIN
from tests.real.differential.compare import Difference
from tests.real.gravitino.questions import NOBODY


class Reading(NamedTuple):
    """A difference that is meant: in which operation, and when."""

    name: str
    operations: tuple[str, ...]
    holds: Callable[[Difference], bool]


ABOUT = re.compile(r"(?:/owners/|/permissions/roles/[^/]+/)(\w+)/([^/]+)(?:/grant|/revoke)?$")


def owns_twice(found: Difference) -> bool:
    """Whoever asks owns the object and something that it lies in."""
    match = ABOUT.search(found.call.path)
    if not match or not found.ours.allowed:
        return False
    type, names = match[1], match[2].split(".")
    above = zip(
        ("catalog", "schema"), (".".join(names[:length]) for length in range(1, len(names))), strict=False
    )
    owners = [_owner(found, *place) for place in above]
    return found.call.who == _owner(found, type, match[2]) and found.call.who in owners


def _owner(difference: Difference, type: str, name: str) -> str:
    """Who owned it last; at first whoever made it."""
    for call in reversed(difference.before):
        if call.method == "PUT" and call.path.endswith(f"/owners/{type}/{name}") and call.body != NOBODY:
            return str(call.body["name"])
    return ADMIN


NO_MEMBER = "doesn't exist in the metalake"
READINGS = (
    Reading(
        "roles of an object are listed for members of the metalake alone",
        ("MetadataObjectRole.listRoles",),
        lambda difference: NO_MEMBER in difference.ours.text and not difference.theirs.shown,
    ),
    Reading(
        "a tag on an object is shown to people who may open the object and own the tag or may apply it",
        ("MetadataObjectTag.getTagForObject",),
        lambda difference: not difference.ours.allowed and "/objects/catalog/" not in difference.call.path,
    ),
    Reading(
        "an owner further up may set owners and grant, whoever owns the object itself",
        (
            "Owner.setOwnerForObject",
            "Permission.grantPrivilegeToRole",
            "Permission.revokePrivilegeFromRole",
            "changed",
        ),
        owns_twice,
    ),
)


def reading(found: Difference) -> str:
    """The name of the reading that explains a difference; "" when none does."""
    return next(
        (
            reading.name
            for reading in READINGS
            if found.call.operation in reading.operations and reading.holds(found)
        ),
        "",
    )
