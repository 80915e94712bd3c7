"""Which requests may be decided together: those that give little, to one person, for a short time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display.parts import Reason
from authzsite.console.requests import rows as requests_rows
from lakewarden.law import dialects
from policies.errors import Invalid
from policies.models import AccessRequest
from policies.requests import durations

LONGEST = timedelta(days=31)
SMALL = ("read", "use")
"""The categories of rights that let nobody change anything."""
REASON = Reason(
    "why-alone",
    gettext_lazy("Only requests to read, for one person and at most a month, can be decided together."),
)


def low(rows: Sequence[AccessRequest]) -> dict[int, str]:
    """For each request why it is decided alone; empty where it may be decided with others.  No queries."""
    return {row.pk: why_alone(row) for row in rows}


def why_alone(request: AccessRequest) -> str:
    """Its `wants` and `parts` are there already."""
    law = dialects.get(requests_rows.law_of(request))
    if request.holder.kind != Principal.Kind.USER:
        return _("It is for more than one person.")
    if not _is_short(request):
        return _("It is for longer than a month.")
    for part in request.parts.all():
        privileges = [law.privilege(code) for code in part.privileges]
        if part.kind != "privilege" or any(item is None or item.category not in SMALL for item in privileges):
            return _("It gives more than read access.")
    return "" if request.state == "asked" else _("It waits for an answer.")


def _is_short(request: AccessRequest) -> bool:
    now = timezone.now()
    try:
        end = durations.ends(now, request.lasts, request.until, request.zone)
    except Invalid:
        return False
    return end is not None and end - now <= LONGEST


def marked(row: requests_rows.RequestRow, why: Mapping[int, str]) -> requests_rows.RequestRow:
    return replace(row, tickable=not why[row.id], why_not=why[row.id])
