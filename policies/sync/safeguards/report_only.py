"""Whether a backend is only reported on."""

from __future__ import annotations

from catalog.models import Mode
from catalog.queries import mode_of
from policies.models import Backend


def only_reports(row: Backend) -> bool:
    """Whether nothing may be changed there: in report mode, until an operator has agreed where somebody
    has to, and while the realm's law is not enforced.

    With authorization off everything is allowed; written out, that would open the database to everybody.
    """
    return row.does == Backend.Policy.REPORT or mode_of(row.realm_id) != Mode.Choice.ON
