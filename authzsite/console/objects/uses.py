"""Who used an object, and what lies in it, in the last days: a line in each row, and two pictures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Membership, Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.charts import DayChart, by_day, spark
from authzsite.console.kit.display.heat_map import HeatMap, heat_map
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Crumbs, Empty
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from authzsite.console.objects.access_table import UseLine
from catalog.nodes import Node, nodes
from policies.analytics import use_counts
from policies.decisions import ask
from policies.record import access_log

SHORT, LONG = 30, 90
PEOPLE, OBJECTS, LOOKED = 20, 12, 60
"""A heat map has so many people and objects; so many objects are looked at to find those that are shown."""


def first_day(days: int) -> datetime:
    """The beginning of the first of so many days, of which the last is today."""
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)


def lines(node: Node, groups: Mapping[int, Collection[int]]) -> dict[int, UseLine]:
    """The line of each holder, a group with that of its people; nothing where no job reported a use.

    One query; two where none of these used it, since others may have, on another page of the table.
    """
    since = first_day(SHORT)
    people = {person for inside in groups.values() for person in inside}
    rows = use_counts.used_in(node, since=since)
    used = use_counts.by_day(rows, people) if people else {}
    if not used and not rows.exists():
        return {}
    return {holder: _line(node, holder, _numbers(used, inside, since)) for holder, inside in groups.items()}


def _numbers(
    used: Mapping[int, Mapping[date, int]], people: Collection[int], since: datetime, days: int = SHORT
) -> list[int]:
    all_days = [(since + timedelta(days=at)).date() for at in range(days)]
    return [sum(used.get(person, {}).get(day, 0) for person in people) for day in all_days]


def _line(node: Node, holder: int, numbers: Sequence[int]) -> UseLine:
    many = words.count(sum(numbers), "use")
    text = _("%(many)s in %(days)s days") % {"many": many, "days": len(numbers)}
    drawn = spark(numbers, text) if any(numbers) else None
    url = f"{reverse('console:object_uses', args=[node.id])}?{urlencode({'who': holder})}"
    return UseLine(drawn, many if any(numbers) else _("Not used"), url)


@dataclass(frozen=True)
class UseQuery:
    """One object, one viewer, so many days; of one person, or of everybody a page at a time."""

    place: ObjectAccess
    days: int
    who: int
    after: int

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def circle(self) -> VisiblePrincipals:
        return VisiblePrincipals(self.place.asker)

    @cached_property
    def since(self) -> datetime:
        return first_day(self.days)

    @cached_property
    def rows(self) -> Any:
        return use_counts.used_in(self.node, since=self.since)

    def url(self, **changed: object) -> str:
        kept = {
            "days": self.days if self.days != SHORT else "",
            "who": self.who,
            "after": self.after,
            **changed,
        }
        return "?" + urlencode({name: value for name, value in kept.items() if value})

    def toggles(self) -> tuple[Toggle, ...]:
        return tuple(
            Toggle(words.count(days, "day"), self.url(days=days, after=""), days == self.days)
            for days in (SHORT, LONG)
        )


@reads
@login_required
def uses(request: Request, id: int) -> HttpResponse:
    """Who used what in it, or with `who` how often one person did day by day."""
    place = get_object_or_404(request, id)
    if not place.may_look:
        raise Http404
    query = UseQuery(
        place,
        LONG if request.GET.get("days") == str(LONG) else SHORT,
        number_in(request.GET.get("who", "")) or 0,
        number_in(request.GET.get("after", "")) or 0,
    )
    access_log.looked(place.asker, "uses", place.node, via="console")
    context = _of_one(query) if query.who else _of_all(query)
    name = place.node.name
    above = [(item.name, reverse("console:object", args=[item.id])) for item in place.node.above()]
    shell = {
        "crumbs": Crumbs((*above, (name, reverse("console:object", args=[place.node.id])))),
        "lead": _("As jobs reported it. It shows what was used, not what is allowed."),
        "toggles": query.toggles(),
        "back": query.url(who="", after="") if query.who else "",
    }
    revision = place.slice.revision
    return page(
        request,
        "console/objects/uses.html",
        {**shell, **context},
        section="catalog",
        realm=place.node.realm,
        revision=revision,
    )


def _of_one(query: UseQuery) -> dict[str, Any]:
    """One holder's uses day by day; of a group those of its people."""
    holder = query.circle.meet(query.who)
    people = [holder.pk]
    if holder.kind == Principal.Kind.GROUP:
        inside = Membership.objects.open().within(query.place.now).filter(group=holder)
        people = list(inside.values_list("member", flat=True))
    used = use_counts.by_day(query.rows, people)
    numbers = _numbers(used, people, query.since, query.days)
    days = [(query.since + timedelta(days=at), many) for at, many in enumerate(numbers)]
    heading = _("Use of %(object)s by %(who)s") % {"object": query.node.name, "who": holder.label}
    return {"heading": heading, "picture": _chart(days), "empty": _unused(_("No use in these days"))}


def _chart(days: Sequence[tuple[datetime, int]]) -> DayChart | None:
    return by_day(_("Uses a day"), days, head=_("Uses"))


def _unused(heading: str) -> Empty:
    return Empty(heading, _("Or no job reported it: programs that are not guarded report nothing."), level=2)


def _of_all(query: UseQuery) -> dict[str, Any]:
    """People by objects, the most active first, as far as the viewer may know of them."""
    visible = _visible(query)
    objects, more = visible[:OBJECTS], len(visible) > OBJECTS
    # whose uses are all of objects that the viewer may not see would stand in an empty row
    rows = query.rows.filter(securable__in=[node.id for node in visible])
    users = use_counts.users(rows, query.circle.people().exclude(kind="group"))
    query = replace(query, after=query.after if query.after < len(users) else 0)
    shown = users[query.after : query.after + PEOPLE]
    people = {row.pk: row for row in Principal.objects.filter(pk__in=shown)}
    picture = _map(query, [people[key] for key in shown], objects, more) if shown and objects else None
    return {
        "heading": _("Who uses what in %(name)s") % {"name": query.node.name},
        "picture": picture,
        "empty": None if picture else _nothing_shown(query),
        "pager": _pager(query, len(users), len(shown)) if len(users) > PEOPLE else None,
    }


def _nothing_shown(query: UseQuery) -> Empty:
    """What stands in place of the picture of all; uses that are hidden from the viewer are not denied."""
    if not query.rows.exists():
        return _unused(_("Nobody used it in these days"))
    hidden = _("It was used by people you may not look up, or through objects you may not see.")
    return Empty(_("No use that you may see in these days"), hidden, level=2)


def _visible(query: UseQuery) -> list[Node]:
    """Of the most used objects those that the viewer may see."""
    slice_, now = query.place.slice, query.place.now
    most_used = use_counts.most_used(query.rows, LOOKED)
    places = nodes(most_used)
    return [places[key] for key in most_used if key in places and ask.may_see(slice_, places[key], now=now)]


def _map(query: UseQuery, people: Sequence[Principal], objects: Sequence[Node], more: bool) -> HeatMap:
    rows, columns = (
        {row.pk: at for at, row in enumerate(people)},
        {node.id: at for at, node in enumerate(objects)},
    )
    counted = use_counts.pairs(query.rows, list(rows), list(columns))
    text = (
        _("The %(many)s most used objects, the most active people first. Darker means more uses.")
        if more
        else _("%(many)s used, the most active people first. Darker means more uses.")
    )
    many = words.number(len(objects)) if more else words.count(len(objects), "object")
    return heat_map(
        _("Uses in %(days)s days") % {"days": query.days},
        text % {"many": many},
        [row.label for row in people],
        [node.name for node in objects],
        {
            (rows[person], columns[key]): (times, words.moment(last))
            for (person, key), (times, last) in counted.items()
        },
    )


def _pager(query: UseQuery, many: int, shown: int) -> Pager:
    first, last = query.after + 1, query.after + shown
    text = _("People %(first)s to %(last)s of %(many)s") % {
        "first": words.number(first),
        "last": words.number(last),
        "many": words.number(many),
    }
    before = query.url(after=max(0, query.after - PEOPLE) or "") if query.after else ""
    return Pager(text, before, query.url(after=last) if last < many else "")
