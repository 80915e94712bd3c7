"""The figures of a realm as one viewer may see them, in words and with their bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.charts import Bar, GrowthChart, bars, line
from authzsite.console.kit.display.lists import Tile
from authzsite.console.kit.display.parts import Face, Who
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from catalog.nodes import Node
from policies.analytics.pipelines import overview
from policies.analytics.pipelines.overview import Overview, Point
from policies.decisions import ask, slices
from policies.models import PipelineRun

FOREMOST = 10
ASIDE = ("create_", "drop", "alter", "set_owner")
"""What is done to an object itself is left out: the pairs that are told reach its data, or give it on."""


@dataclass(frozen=True)
class TopRow:
    """One of the foremost, with its number as a bar."""

    what: Who
    number: str
    note: str
    bar: Bar


@dataclass(frozen=True)
class Class:
    """People who can read so many objects."""

    reads: str
    people: str
    bar: Bar


@dataclass(frozen=True)
class TypeFigures:
    """Objects of one type, and how many pairs of a person and an object can do what."""

    type: str
    objects: str
    pairs: str


def as_of(run: PipelineRun) -> str:
    """Revision 1,284, 3 h ago."""
    return gettext("Revision %(revision)s, %(ago)s") % {
        "revision": words.number(run.revision),
        "ago": words.ago(run.ended or run.asked),
    }


def tiles(found: Overview) -> list[Tile]:
    people = found.people
    return [
        Tile(gettext("Objects"), words.number(sum(found.objects.values())), _most_types(found.objects)),
        Tile(gettext("Members"), words.number(people["members"]), gettext("people and service accounts")),
        Tile(
            gettext("Can read something"),
            words.number(people["reading"]),
            gettext("people and service accounts"),
        ),
        Tile(
            gettext("Pairs that can read"),
            words.number(found.reading),
            gettext("a person and an object each"),
        ),
    ]


def _most_types(objects: Mapping[str, int]) -> str:
    first = sorted(objects.items(), key=lambda pair: (-pair[1], pair[0]))[:2]
    return ", ".join(terms.count_of(many, type_) for type_, many in first)


def sorts(found: Overview) -> list[TypeFigures]:
    """By type, the most first."""
    figures = []
    for type_, many in sorted(found.objects.items(), key=lambda pair: (-pair[1], pair[0])):
        actions = sorted(found.pairs.get(type_, {}).items(), key=lambda pair: (-pair[1], pair[0]))
        kept = [(name, many_) for name, many_ in actions if many_ and not name.startswith(ASIDE)]
        pairs = dict.fromkeys(f"{terms.action(name, type_)}: {words.number(many_)}" for name, many_ in kept)
        figures.append(
            TypeFigures(terms.kind_of(type_), words.number(many), "; ".join(pairs) or gettext("Nobody"))
        )
    return figures


def classes(found: Overview) -> list[Class]:
    """How many people read how much, from nothing to the most."""
    starts = [start for start, _ in found.reach]
    drawn = bars([people for _, people in found.reach])
    return [
        Class(_span(start, starts[at + 1] if at + 1 < len(starts) else None), words.number(people), drawn[at])
        for at, (start, people) in enumerate(found.reach)
    ]


def _span(start: int, following: int | None) -> str:
    if start == 0:
        return gettext("Nothing")
    if following is None:
        return gettext("%(start)s or more objects") % {"start": words.number(start)}
    if following - start == 1:
        return words.count(start, "object")
    return gettext("%(start)s to %(number)s objects") % {
        "start": words.number(start),
        "number": words.number(following - 1),
    }


@dataclass(frozen=True)
class Lists:
    """The foremost of a realm, without what the viewer may not see."""

    circle: VisiblePrincipals
    root: Node
    found: Overview

    def exposed(self) -> list[TopRow]:
        lines = [item for item in self.found.exposed if item.node is not None]
        kept = self._seen(lines)[:FOREMOST]
        return self._rows(
            kept, [_thing(item.node) for item in kept if item.node], "person", "people", self._services
        )

    def broadest(self) -> list[TopRow]:
        kept = self._seen([item for item in self.found.broadest if item.node is not None])[:FOREMOST]
        drawn = [_thing(item.node) for item in kept if item.node]
        return self._rows(kept, drawn, "object", "objects", self._holders)

    def furthest(self) -> list[TopRow]:
        keys = [item.principal.pk for item in self.found.furthest if item.principal]
        visible = set(self.circle.people().filter(pk__in=keys).values_list("pk", flat=True))
        kept = [item for item in self.found.furthest if item.principal and item.principal.pk in visible][
            :FOREMOST
        ]
        drawn = [_person(item.principal) for item in kept if item.principal]
        return self._rows(kept, drawn, "object", "objects", lambda one: "")

    def _seen(self, lines: Sequence[overview.TopEntry]) -> list[overview.TopEntry]:
        slice_, now = slices.current(self.circle.asker, self.root), timezone.now()
        return [item for item in lines if item.node and ask.may_see(slice_, item.node, now=now)]

    def _rows(
        self, lines: Sequence[overview.TopEntry], drawn: Sequence[Who], singular: str, several: str, note: Any
    ) -> list[TopRow]:
        lengths = bars([row.weight for row in lines])
        return [
            TopRow(who, words.count(row.weight, singular, several), note(row), length)
            for row, who, length in zip(lines, drawn, lengths, strict=True)
        ]

    def _services(self, row: overview.TopEntry) -> str:
        services = (row.numbers.get("read") or (0, 0))[1]
        return (
            gettext("%(services)s among them") % {"services": words.count(services, "service account")}
            if services
            else ""
        )

    def _holders(self, row: overview.TopEntry) -> str:
        return gettext("held by %(get)s") % {
            "get": words.count(row.numbers.get("people", 0), "person", "people")
        }


def _thing(node: Node) -> Who:
    icon = terms.icon_of(node.type)
    above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    return Who(node.name, Face("thing", icon), above, terms.page_of(node.id, node.type))


def _person(person: Principal) -> Who:
    return terms.who(person, str(person), reverse("console:person", args=[person.pk]))


def growth(points: Sequence[Point]) -> list[GrowthChart]:
    """One line for each number, where there are two runs to draw one between."""
    lines = (
        (gettext("Pairs that can read"), [(point.at, point.reading) for point in points]),
        (gettext("Grants"), [(point.at, point.grants) for point in points]),
        (gettext("Objects"), [(point.at, point.objects) for point in points]),
    )
    return [drawn for title, numbers in lines if (drawn := line(title, numbers))]


def latest(realms: Iterable[int]) -> dict[int | None, PipelineRun]:
    """The last good effective access of each realm.  One query."""
    rows = PipelineRun.objects.filter(Q(realm__in=list(realms)), name=overview.NAME, state="done")
    return {row.realm_id: row for row in rows.order_by("realm", "-revision").distinct("realm")}
