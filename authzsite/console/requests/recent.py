"""What somebody asked for last, and how far it has come: the aside of Home."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Moment, Timeline
from authzsite.console.requests import rows as requests_rows
from policies.models import AccessRequest
from policies.models.requests import GRANTED
from policies.requests import provisioning, visibility

RECENT = timedelta(days=14)


@dataclass(frozen=True)
class RecentRequest:
    """The viewer's last request, as a line of what happened."""

    text: str
    url: str
    timeline: Timeline


def lately(asker: Principal) -> RecentRequest | None:
    """None where nothing moved of late.  Five queries at most."""
    rows = visibility.made_by(asker).filter(moved_at__gte=timezone.now() - RECENT)
    row = rows.select_related("asker", "holder", "realm").prefetch_related("wants", "parts").first()
    if row is None:
        return None
    wants = list(row.wants.all())
    what = requests_rows.as_heading(requests_rows.wants_words(wants), wants)
    word = str(requests_rows.state_of(row).word)
    kind = "gain" if row.state in GRANTED else "now" if row.open else "lose"
    state = Moment(word, words.moment(row.moved_at, within=True), kind)
    moments = [state, *_there(row)]
    return RecentRequest(what, requests_rows.url_of(row), Timeline(tuple(moments)))


def _there(row: AccessRequest) -> list[Moment]:
    """Approved, applied and proved are three."""
    if row.state not in GRANTED or not any(want.given_at for want in row.wants.all()):
        return []
    moments = []
    for standing in provisioning.standings(row):
        system = standing.backend.get_kind_display()
        if standing.state == "proved":
            moments.append(
                Moment(
                    _("Proved in %(system)s by reading it back") % {"system": system},
                    words.ago(standing.since),
                    "gain",
                )
            )
        else:
            stuck = standing.state == "stuck"
            text = (
                _("Stuck on the way to %(system)s") % {"system": system}
                if stuck
                else _("Being applied in %(system)s") % {"system": system}
            )
            moments.append(Moment(text, standing.text, "lose" if stuck else "now"))
    return moments
