"""The seal of an approval: what was approved, for whom, by whom.

What is given later, when it begins or when the last part is approved, is given because of rows that anybody
could have written who can write into the database.  So they are held against a seal like facts (adr 0026).
"""

from __future__ import annotations

from typing import Any

from accounts.fact_content import content, plain
from accounts.seals import is_sealed, seal
from policies.models import AccessRequest, RequestPart

UNSEALED = "It was not approved in this console, or before approvals had seals. Decide it again."


def seal_approval(request: AccessRequest, part: RequestPart) -> None:
    """Seal a part that was approved just now; `part` is as it stands in its table."""
    part.seal = seal(_content_of(request, part))
    part.save(update_fields=["seal"])


def is_approval_sealed(request: AccessRequest, part: RequestPart) -> bool:
    """Whether that very approval was made in the console."""
    return is_sealed(_content_of(request, part), part.seal)


def _content_of(request: AccessRequest, part: RequestPart) -> bytes:
    asked: tuple[Any, ...] = (request.holder_id, request.asker_id, request.realm_id, request.lasts)
    asked += (plain(request.starts), plain(request.until), request.zone)
    what = (part.number, part.kind, part.type, part.name, part.securable_id, sorted(part.needed.items()))
    given = (part.given, part.role_id, part.lasts, plain(part.until))
    who = (part.decided_by_id, part.decided_for_id)
    return content("approval", part.pk, request.pk, None, *asked, *what, *given, *who)
