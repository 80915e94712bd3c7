"""The page of a person, a group or a service account: what it reaches and how, and its record."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.history import timeline
from authzsite.console.insights.object_hints import on_person
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import page_bounds
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Empty, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.people.person_access import PersonAccess, get_person_or_404
from authzsite.console.why import drawing
from authzsite.downloads import csv_file
from policies.decisions.ownership import owners_of
from policies.record import history
from policies.record.history import Filter


@reads
@login_required
def person(request: Request, id: int) -> HttpResponse:
    """What somebody reaches: the picture of the path, and the table."""
    seen = get_person_or_404(request, id, "person")
    reach = seen.reach
    many = words.count(reach.fitting, "object")
    context = {
        "picture": drawing.draw(reach),
        "rows": reach.rows(),
        "asked": reach.asked,
        "toggles": reach.toggles(),
        "count_words": many,
        "csv": reverse("console:person_csv", args=[id]),
        "pager": _pager(seen, many),
        "empty": _nothing(seen),
        "coming": reach.coming(),
        "givers": _givers(seen) if seen.own else (),
        "latest": timeline.timeline(timeline.rows(_changes(seen, limit=4).entries)[:6]),
        "history_url": reverse("console:person_history", args=[id]),
        **on_person(seen.circle.asker, seen.person, seen.circle.realms),
    }
    return seen.page(request, "console/people/person_reach.html", context)


def _pager(seen: PersonAccess, many: str) -> Pager:
    reach = seen.reach
    names = [item.node.name for item in reach.page]
    text = _("%(many)s, the highest first") % {"many": many}
    if names and len(names) < reach.fitting:
        text += f": {page_bounds(names[0], names[-1])}"
    start = reach.asked.url(after=0) if reach.asked.after else ""
    return Pager(text, start, reach.asked.url(after=reach.next) if reach.next else "")


def _givers(seen: PersonAccess) -> list[Who]:
    """Who owns each realm, and so gives access to all of it."""
    roots = {realm.id: realm for realm in seen.circle.realms}
    owned = owners_of(list(roots))
    url = "console:person"
    return [
        terms.who(
            giver,
            _("owns %(name)s") % {"name": roots[key].name},
            reverse(url, args=[giver.pk]) if seen.own else "",
        )
        for key, giver in owned.items()
        if giver.pk != seen.person.pk
    ]


def _changes(seen: PersonAccess, *, limit: int, before: int | None = None) -> history.Page:
    return history.page(
        Filter(person=seen.person), seen.circle.sight, before=before, limit=limit, lines=timeline.LINES
    )


def _nothing(seen: PersonAccess) -> Empty:
    filter_ = seen.reach.asked
    if filter_.text or filter_.how:
        return Empty(_("Nothing matches"), drawn=False, actions=(Action(_("Show all"), "?"),))
    if seen.own:
        browse = Action(_("Browse the catalog"), reverse("console:catalog"))
        return Empty(
            _("You have no access yet"), _("Find what you need and ask its owner."), actions=(browse,)
        )
    return Empty(_("%(label)s has no access that you can see") % {"label": seen.person.label})


@reads
@login_required
def person_csv(request: Request, id: int) -> HttpResponseBase:
    """The same table as a file, to its end."""
    seen = get_person_or_404(request, id, "person")
    head = ["principal", "name", "object", "type", "can", "usable", "how", "ends"]
    return csv_file.answer(f"reach-{id}", head, _csv_lines(seen))


def _csv_lines(seen: PersonAccess) -> Iterator[list[object]]:
    for node, rules in seen.reach.whole():
        ways = terms.paths(rules, node.node, seen.reach.groups)
        how = "; ".join(" > ".join(chip.text for chip in way.chips) for way in ways)
        when = terms.from_seconds(node.ends)
        usable, ends = "no" if node.lacking else "yes", when.isoformat() if when else ""
        who = (seen.person, seen.person.label)
        yield [*who, node.node.ref.id, node.node.type, node.words, usable, how, ends]


# The record


@reads
@login_required
def past(request: Request, id: int) -> HttpResponse:
    """What changed about somebody, newest first."""
    seen = get_person_or_404(request, id, "person_history")
    before = number_in(request.GET.get("before", ""))
    changes = _changes(seen, limit=50, before=before)
    next_ = f"?before={changes.next}" if changes.next else ""
    rows = timeline.opened(timeline.rows(changes.entries), seen.circle.asker, seen.circle.sight)
    context = {
        "rows": timeline.with_undo(rows, changes.entries, seen.circle.asker),
        "pager": Pager(timeline.as_far(changes) or _("Newest first"), "?" if before else "", next_),
        **timeline.nothing(changes, next_, Empty(_("Nothing that you may see has changed"))),
    }
    return seen.page(request, "console/people/person_history.html", context)
