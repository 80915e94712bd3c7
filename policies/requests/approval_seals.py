"""Putting seals on approvals and away: what was approved once and is over has a later edition in the record.

See adr 0026 and 0056.
"""

from __future__ import annotations

from collections.abc import Collection

from accounts import editions
from policies.errors import Unsealed
from policies.models import AccessRequest, RequestPart
from policies.models.approval_seals import is_part_sealed, seal_of
from policies.record import newest_editions

UNSEALED = "It was not approved in this console, or before approvals had seals. Decide it again."


def seal_approval(request: AccessRequest, part: RequestPart) -> None:
    """Seal a part that was approved just now; `part` is as it stands in its table.

    No seal bears out the edition that it had, so it has to be what the record tells.  Raises Unsealed.
    """
    newest = newest_editions.told_of([part])[part.pk]
    if part.edition > newest:
        raise Unsealed(editions.code_of(part))
    part.edition = newest + 1
    part.seal = seal_of(request, part)
    part.save(update_fields=["seal", "edition"])
    editions.note(RequestPart, part.pk, part.edition)


def is_approval_sealed(request: AccessRequest, part: RequestPart) -> bool:
    """Whether that very approval was made in the console, and is not over.  One query at most."""
    return is_part_sealed(request, part) and bool(newest_editions.among([part]))


def put_away(request: AccessRequest, parts: Collection[RequestPart]) -> None:
    """What was approved of these was given or taken back, so that it is carried out no more.

    The number of one without a good seal may be any, and counts for nothing.
    """
    newest = newest_editions.told_of(parts)
    for part in parts:
        own = part.edition if is_part_sealed(request, part) else 0
        part.edition, part.seal = max(newest[part.pk], own) + 1, None
        part.save(update_fields=["seal", "edition"])
        editions.note(RequestPart, part.pk, part.edition)
