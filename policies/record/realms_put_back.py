"""Of which realm an object is, and of what type, stands beside the fact of its place, without a seal.

Facts are asked for by it, so a role that is moved to another realm takes its denials with it.  The place says
the same under its seal: it leads to the root of the realm.
"""

from __future__ import annotations

import logging

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from accounts.seals import is_fact_sealed
from catalog.models import Placement, Securable
from policies.authority import SYSTEM, of_system
from policies.decisions.cache_versions import realm_key
from policies.decisions.seals import opened_again, unsealed
from policies.events import FACTS_SET_RIGHT
from policies.record.change import change
from policies.record.event_drafts import make_event

log = logging.getLogger(__name__)
NAMED = 100


def mend(*, since: int | None = None) -> int:
    """Put objects back into the realm in which they stand, on the record; how many.  One query where all do.

    With `since`, those alone that this transaction or a later one wrote.
    """
    if not _astray(since):
        return 0
    with change(FACTS_SET_RIGHT, realm=None, by=SYSTEM) as current:
        rows = _astray(since)
        findings = [
            unsealed.finding("securable", place.securable_id, Securable.objects.filter(pk=place.securable_id))
            for place, _ in rows
        ]
        for place, realm in rows:
            row = place.securable
            current.touch(realm_key(row.realm_id))
            current.touch(realm_key(realm))
            Securable.objects.filter(pk=row.pk).update(realm=realm, type=place.type)
        names = ", ".join(f"object:{place.securable_id}" for place, _ in rows[:NAMED])
        if rows:
            log.error("%s objects were moved past the console: %s", len(rows), names)
            draft = make_event(FACTS_SET_RIGHT, None, many=f"{len(rows)} objects", facts=names)
            current.say(draft, by=of_system("their places say so"))
    unsealed.keep_found(findings)
    return len(rows)


def _astray(since: int | None) -> list[tuple[Placement, int]]:
    """The places of objects that are not as they say, and the realms in which they are."""
    rows = Placement.objects.open().select_related("securable")
    if since is not None:
        late = opened_again.written_since(Securable.objects.order_by(), since)
        rows = rows.filter(securable__in=late.values("pk"))
    root = Coalesce(F("ancestors__0"), F("securable"))
    realm = Securable.objects.filter(pk=OuterRef("root")).values("realm")
    astray = (
        rows.alias(root=root)
        .annotate(realm=Subquery(realm))
        .filter(~Q(securable__realm=F("realm")) | ~Q(securable__type=F("type")))
    )
    return [(place, place.realm) for place in astray.order_by("pk") if is_fact_sealed(place)]
