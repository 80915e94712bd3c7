"""The overview: of the site realm by realm, and of one realm as the last good run counted it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.insights import figures
from authzsite.console.insights.access import STARTERS, Watched, actor, refused, watched
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Note, Reason
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings.policy_file import by_hand
from authzsite.console.settings.realm import RealmAccess, realm_at
from policies.analytics.pipelines import control
from policies.analytics.pipelines.overview import NAME, Overview, may_look, overview
from policies.services.grants import revision_now


@dataclass(frozen=True)
class RealmFigures:
    """A realm in four numbers; without them before its first run."""

    name: str
    url: str
    numbers: tuple[tuple[str, str], ...]
    as_of: str


@reads
@login_required
def site(request: Request) -> HttpResponse:
    """Every realm whose figures the viewer may see."""
    places = [item for item in watched(asker_of(request)) if item.root is not None]
    lines = list(_lines(places))
    context: dict[str, Any] = {
        "heading": _("Overview"),
        "lead": _("How much each person can access, realm by realm, by the last count."),
        "lines": lines,
        "heads": (_("Objects"), _("Members"), _("Can read something"), _("Grants")),
        "empty": Empty(
            _("You can’t see reports for any realm"),
            _("The realm's owner, its reviewers and site admins can see them."),
            level=2,
        ),
    }
    return page(request, "console/insights/site.html", context, section="overview", revision=revision_now())


def _lines(places: list[Watched]) -> Iterable[RealmFigures]:
    runs = figures.latest([place.realm_id for place in places if place.realm_id is not None])
    for place in places:
        if place.root is None:
            continue
        url = reverse("console:overview_realm", args=[place.root.id])
        run = runs.get(place.realm_id)
        if run is None:
            yield RealmFigures(place.name, url, (), "")
            continue
        result = run.result
        numbers = (
            (_("Objects"), words.number(sum(result["objects"].values()))),
            (_("Members"), words.number(result["people"]["members"])),
            (_("Can read something"), words.number(result["people"]["reading"])),
            (_("Grants"), words.number(result["grants"])),
        )
        yield RealmFigures(place.name, url, numbers, figures.as_of(run))


@reads
@login_required
def realm_overview(request: Request, id: int) -> HttpResponse:
    """One realm: totals, who is foremost, growth."""
    ward = realm_at(request, id)
    by = actor(ward.asker)
    if not may_look(by, ward.root):
        heading = _("You cannot see the figures of %(name)s") % {"name": ward.root.name}
        text = _("They are visible to %(owner_words)s and its reviewers.") % {
            "owner_words": ward.owner_words()
        }
        return refused(request, ward, heading, text)
    figures_ = overview(ward.root, by)
    starts = control.may_run(by, ward.root)
    context: dict[str, Any] = {
        "heading": _("Overview of %(name)s") % {"name": ward.root.name},
        "crumbs": Crumbs(((_("Overview"), reverse("console:overview")),)),
        "starts": starts,
        "place": ward.root.id,
        "name": NAME,
        "drift": list(by_hand(ward)),
        "reason": None if starts else Reason("why-not-start", str(STARTERS)),
        **(_shown(request, ward, figures_) if figures_ else _none(ward)),
    }
    return page(
        request,
        "console/insights/overview.html",
        context,
        section="overview",
        realm=ward.root.name,
        kind=ward.root.type,
        revision=revision_now(),
    )


def _none(ward: RealmAccess) -> dict[str, Any]:
    text = _("The pipeline Effective access counts them, each night or when someone starts it.")
    return {
        "empty": Empty(_("Nothing was counted in %(name)s yet") % {"name": ward.root.name}, text, level=2)
    }


def _shown(request: Request, ward: RealmAccess, overview_: Overview) -> dict[str, Any]:
    lists = figures.Lists(circle_of(request), ward.root, overview_)
    run_url = reverse("console:pipeline_run", args=[overview_.run.pk])
    return {
        "lead": _("Counted over the whole realm at one revision; later changes are not included."),
        "actions": [Action(_("See the run"), run_url, "plain")],
        "note": _later(overview_),
        "as_of": figures.as_of(overview_.run),
        "tiles": figures.tiles(overview_),
        "classes": figures.classes(overview_),
        "sorts": figures.sorts(overview_),
        "lists": (
            ("exposed", _("Most exposed objects"), _("Object"), _("Who can read it"), lists.exposed()),
            ("broadest", _("Broadest roles"), _("Role"), _("Gives something on"), lists.broadest()),
            ("furthest", _("Most access"), _("Who"), _("Can read"), lists.furthest()),
        ),
        "growth": figures.growth(overview_.growth),
        "points": overview_.growth[::-1],
    }


def _later(overview_: Overview) -> Note | None:
    """That the record has gone on since; how much of that is of this realm is not counted."""
    behind = revision_now() - overview_.run.revision
    if behind <= 0:
        return None
    since = ngettext(
        "%(behind)s change was recorded on this site since.",
        "%(behind)s changes were recorded on this site since.",
        behind,
    )
    return Note("", since % {"behind": words.number(behind)}, _("They are not in these figures."))
