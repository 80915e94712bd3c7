"""How long a realm keeps its history live: for ever, unless it says a number of days; never below a floor."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max
from django.utils.translation import gettext

from catalog.models import Realm
from catalog.queries import root
from policies.authority import Actor, Authority
from policies.errors import Invalid
from policies.events import RETENTION_SET
from policies.models import Change
from policies.record.change import change
from policies.record.event_drafts import make_event

SETTING = "retention_days"
LEAST = 365
"""Days that stay live whatever a realm says: reviews, evidence of a year, undo."""
MOST = 36_500


def days(realm: Realm) -> int | None:
    """For how many days history stays live; None for ever."""
    days_ = realm.settings.get(SETTING)
    return days_ if isinstance(days_, int) else None


def set_days(realm: Realm, wanted: int | None, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Say how long history stays live; False when it was so.  Raises Invalid below the floor."""
    if wanted is not None and not LEAST <= wanted <= MOST:
        raise Invalid(
            gettext("History stays live for at least %(least)s days and at most %(most)s.")
            % {"least": LEAST, "most": MOST}
        )
    with change(RETENTION_SET, realm=realm, by=by, reason=reason) as current:
        row = Realm.objects.get(pk=realm.pk)
        if days(row) == wanted:
            return False
        kept = {name: value for name, value in row.settings.items() if name != SETTING}
        row.settings = kept if wanted is None else {**kept, SETTING: wanted}
        row.save(update_fields=["settings"])
        words = "for ever" if wanted is None else f"for {wanted} days"
        current.say(make_event(RETENTION_SET, root(row), value=words), by=authority)
    return True


def old(realm: Realm, now: datetime) -> int:
    """The last revision that is beyond the retention; 0 for none."""
    kept = days(realm)
    if kept is None:
        return 0
    end = now - timedelta(days=max(kept, LEAST))
    return Change.objects.filter(at__lt=end).aggregate(last=Max("revision"))["last"] or 0
