"""Home: what waits, four numbers, what ends, what the viewer owns and reaches, what changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.accounts import site_admins
from authzsite.console.history import timeline, unsealed_facts
from authzsite.console.home import first_steps
from authzsite.console.home import waiting as home_waiting
from authzsite.console.home.asking import own_requests
from authzsite.console.home.attention import Attention
from authzsite.console.home.entitlements import Entitlements
from authzsite.console.home.figures import Numbers
from authzsite.console.home.summary import HomeSummary
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Item
from authzsite.console.kit.display.parts import Action, Empty
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.requests.recent import lately
from policies.record import history
from policies.record.history import Filter
from policies.services.grants import revision_now

WILL_BE_LISTED = gettext_lazy(
    "Requests, reviews, grants that end soon and late backends will be listed here."
)
ASKS = gettext_lazy("Find the data, then ask its owner for access. Your current access is listed below.")


@dataclass
class Waiting:
    """All that waits, the page's heading over it, and what to do first."""

    desk: HomeSummary

    @cached_property
    def areas(self) -> list[home_waiting.Area]:
        return home_waiting.areas(self.desk.asker)

    @cached_property
    def here(self) -> list[Item]:
        return Attention(self.desk).items()

    @cached_property
    def items(self) -> list[Item]:
        waits = (item for area in self.areas for item in area.waits.items[: home_waiting.SHOWN])
        return [*waits, *self.here]

    def step(self) -> Action:
        """The page's one filled button: what somebody else waits for, else a look around."""
        steps = [area.waits.step for area in self.areas if area.waits.step]
        look = "primary" if not self.items else ""
        return steps[0] if steps else Action(_("Browse the catalog"), reverse("console:catalog"), look)

    def heading(self) -> str:
        return home_waiting.heading(self.areas, len(self.here))

    @property
    def only_asks(self) -> bool:
        """Whether nothing is theirs to give and nothing waits: then they came to ask, or to look."""
        return (
            bool(self.desk.realms) and not self.desk.owned and not self.items and not self.desk.sight.objects
        )

    def lead(self) -> str:
        leads = [area.waits.lead for area in self.areas if area.waits.lead]
        if leads:
            return " ".join(leads)
        desk = self.desk
        if not desk.realms:
            return _("No realm has admitted you yet. Ask the owner of a realm or the site's operator.")
        names = words.listed([realm.name for realm in desk.realms])
        owned = (
            _("You own %(owned)s") % {"owned": words.count(len(desk.owned), "object")}
            if desk.owned
            else _("You own nothing here")
        )
        return _("%(owned)s; you are a member of %(names)s.") % {"owned": owned, "names": names}


@reads
@login_required
def home_page(request: Request) -> HttpResponse:
    """The first page after signing in."""
    desk = HomeSummary(asker_of(request))
    waits, has = Waiting(desk), Entitlements(desk)
    latest = history.page(Filter(kinds=timeline.ABOUT_ACCESS), desk.sight, limit=5, lines=timeline.LINES)
    asks = waits.only_asks
    context = {
        "heading": waits.heading(),
        "lead": waits.lead(),
        "actions": [waits.step()],
        "tiles": Numbers(desk).tiles(),
        "waiting": waits.items,
        "nothing_waits": Empty(_("All done"), WILL_BE_LISTED),
        "ending": has.ending(),
        "owned": has.own(),
        "reach": has.reach(usable_first=asks),
        "coming": has.coming(),
        "lately": None if asks else lately(desk.asker),
        "own": own_requests(desk.asker) if asks else None,
        "own_id": desk.asker.pk,
        "latest": timeline.timeline(timeline.rows(latest.entries)[:6]),
        "latest_heading": _("Latest on your objects") if desk.owned else _("Latest changes"),
    }
    realm = desk.realms[0].name if len(desk.realms) == 1 else ""
    new = first_steps.note(desk.asker) if site_admins.may(request) else None
    if new:  # nothing is done while steps are left
        context["nothing_waits"] = Empty(_("Nothing waits for you yet"), WILL_BE_LISTED)
    if new and not waits.items:  # then that is what to go on with
        step = Action(new.link, new.url, "primary")
        context |= {"heading": str(new.strong).rstrip("."), "lead": new.text, "actions": [step]}
        new = None
    elif asks:
        step = Action(_("Request access"), reverse("console:request_new"), "primary")
        context |= {"heading": _("What do you need?"), "lead": ASKS, "actions": [step]}
    context["new_site"] = (unsealed_facts.note() if site_admins.may(request) else None) or new
    return page(
        request, "console/home/home.html", context, section="home", realm=realm, revision=revision_now()
    )
