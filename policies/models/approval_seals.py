"""The seal of an approval: what was approved, for whom, by whom.

What is given later, when it begins or when the last part is approved, is given because of rows that anybody
could have written who can write into the database.  So they are held against a seal like facts (adr 0026).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accounts.fact_content import content, plain
from accounts.seals import is_newest, is_sealed, seal
from policies.models.requests import AccessRequest, PlannedFile, RequestPart


def seal_of(request: AccessRequest, part: RequestPart) -> bytes:
    """The seal of an approval as both rows stand, by the newest key."""
    return seal(_content_of(request, part))


def is_part_sealed(request: AccessRequest, part: RequestPart) -> bool:
    """Whether that very approval was made in the console; the record may tell that it is over."""
    return is_sealed(_content_of(request, part), part.seal)


def sealed_parts() -> Iterator[RequestPart]:
    """Every part that bears the seal of an approval, good or not, one after another."""
    rows = RequestPart.objects.filter(seal__isnull=False).select_related("request").order_by("pk")
    yield from rows.iterator(chunk_size=2000)


def seal_anew(part: RequestPart) -> bool:
    """Give an approval with a good seal one of the newest key; whether that was needed."""
    if is_newest(part.seal) or not is_part_sealed(part.request, part):
        return False
    part.seal = seal_of(part.request, part)
    part.save(update_fields=["seal"])
    return True


def _content_of(request: AccessRequest, part: RequestPart) -> bytes:
    request_fields: tuple[Any, ...] = (request.holder_id, request.asker_id, request.realm_id, request.lasts)
    request_fields += (plain(request.starts), plain(request.until), request.zone)
    what = (part.number, part.kind, part.type, part.name, part.securable_id, sorted(part.needed.items()))
    given = (part.given, part.role_id, part.lasts, plain(part.until))
    who: tuple[Any, ...] = (part.decided_by_id, part.decided_for_id)
    if part.kind == RequestPart.Kind.PLAN:
        who += PlannedFile.objects.values_list("plan", "revision").filter(request=request.pk).first() or ()
    return content(
        "approval", part.pk, request.pk, part.edition or None, *request_fields, *what, *given, *who
    )
