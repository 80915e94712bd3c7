"""Home of people who give nothing: search, what they asked for, and what they have and when it ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

from accounts.models import Principal
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.rows import RequestRow
from policies.requests import visibility

SHOWN = 5


@dataclass(frozen=True)
class OwnRequests:
    """The viewer's last requests, newest first; `more` says that there are others."""

    rows: tuple[RequestRow, ...]
    more: bool


def own_requests(asker: Principal) -> OwnRequests:
    """Three queries."""
    made = visibility.made_by(asker).select_related("asker", "holder", "realm")
    made_last = list(made.prefetch_related("wants", "parts")[: SHOWN + 1])
    lines = tuple(
        replace(requests_rows.row(item, asker), text=requests_rows.wanted(item)) for item in made_last[:SHOWN]
    )
    return OwnRequests(lines, len(made_last) > SHOWN)
