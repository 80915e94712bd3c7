"""Home: that new hints were found on what somebody owns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.db.models import Count, Max, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Principal
from authzsite.console.home.waiting import Waits, waits
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action, Face
from catalog.models import Placement
from catalog.nodes import Node, Numbers, on_or_below
from policies.decisions.lookups.visible_objects import owned_by, realms_of
from policies.models import Hint

NEW = timedelta(days=7)
"""So long a hint that was found for the first time counts as new."""


@waits(40, "realm with new hints", "realms with new hints")
def waiting(asker: Principal) -> Waits | Iterable[Item]:
    """One item for each realm, where access to what they own could be tighter, found lately."""
    fresh = Hint.objects.filter(dismissed__isnull=True, found__gte=timezone.now() - NEW)
    if not fresh.exists():
        return ()
    realms = {item.realm_id: item for item in realms_of(asker)}
    owned = Numbers.joined(owned_by(asker, item) for item in realms.values())
    if not owned:
        return ()
    inside = Placement.objects.open().filter(on_or_below(owned)).values("securable")
    whole = Q(securable__isnull=True, realm__in=[key for key, realm in realms.items() if realm.id in owned])
    mine = fresh.filter(Q(securable__in=inside) | whole)
    rows = mine.values_list("realm").annotate(Count("pk"), last=Max("found")).order_by("realm")
    return [_item(realms[realm], many, last) for realm, many, last in rows]


def _item(root: Node, many: int, last: datetime) -> Item:
    url = f"{reverse('console:hints')}?{urlencode({'in': root.id})}"
    note = ngettext(
        "Found %(last)s · nothing changes until you act on it",
        "Found %(last)s · nothing changes until you act on them",
        many,
    ) % {"last": words.ago(last)}
    look = Action(_("Open"), url, "mini", more=_("hints in %(name)s") % {"name": root.name})
    subject = words.count(many, "new hint")
    return Item(Face("thing", "hint"), subject, _("on what you own in"), note, look, root.name, url)
