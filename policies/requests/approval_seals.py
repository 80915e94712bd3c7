"""The seal of an approval: what was approved, for whom, by whom.

What is given later, when it begins or when the last part is approved, is given because of rows that anybody
could have written who can write into the database.  So they are held against a seal like facts (adr 0026).
What was approved once and is over has a later edition in the record (adr 0056).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from accounts import editions
from accounts.fact_content import content, plain
from accounts.seals import is_sealed, seal
from policies.errors import Unsealed
from policies.models import AccessRequest, RequestPart
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
    part.seal = seal(_content_of(request, part))
    part.save(update_fields=["seal", "edition"])
    editions.note(RequestPart, part.pk, part.edition)


def is_approval_sealed(request: AccessRequest, part: RequestPart) -> bool:
    """Whether that very approval was made in the console, and is not over.  One query at most."""
    return is_sealed(_content_of(request, part), part.seal) and bool(newest_editions.among([part]))


def put_away(request: AccessRequest, parts: Collection[RequestPart]) -> None:
    """What was approved of these was given or taken back, so that it is carried out no more.

    The number of one without a good seal may be any, and counts for nothing.
    """
    newest = newest_editions.told_of(parts)
    for part in parts:
        own = part.edition if is_sealed(_content_of(request, part), part.seal) else 0
        part.edition, part.seal = max(newest[part.pk], own) + 1, None
        part.save(update_fields=["seal", "edition"])
        editions.note(RequestPart, part.pk, part.edition)


def _content_of(request: AccessRequest, part: RequestPart) -> bytes:
    asked: tuple[Any, ...] = (request.holder_id, request.asker_id, request.realm_id, request.lasts)
    asked += (plain(request.starts), plain(request.until), request.zone)
    what = (part.number, part.kind, part.type, part.name, part.securable_id, sorted(part.needed.items()))
    given = (part.given, part.role_id, part.lasts, plain(part.until))
    who = (part.decided_by_id, part.decided_for_id)
    return content("approval", part.pk, request.pk, part.edition or None, *asked, *what, *given, *who)
