"""What somebody reached at a moment of the past, beside now, another moment, or another person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.as_of import objects as as_of_objects
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.charts import GrowthChart, line
from authzsite.console.kit.display.links import leading
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Empty, Face, Note, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, unknown_words
from authzsite.console.kit.methods import reads
from authzsite.console.people.person_access import get_person_or_404
from authzsite.console.people.reach import PersonReach, Reached
from catalog.nodes import Node
from catalog.past import PastPlaces, nodes_at
from lakewarden.law.facts import Slice
from policies.decisions.lookups.access_report import slice_at
from policies.decisions.past_facts import PastFacts
from policies.record import compare, revisions
from policies.record.revisions import Past

SHOWN = 50
STEPS = 24
"""A line has so many steps at most; of more changes so many are looked at, evenly."""


@dataclass
class ReachThen(PersonReach):
    """The same questions as of today, asked of the facts and names of a moment."""

    past: Past = field(default_factory=revisions.latest)

    def __post_init__(self) -> None:
        self.now = self.past.moment

    @cached_property
    def slices(self) -> list[Slice]:
        revision = self.past.revision
        return [slice_at(self.person, realm, now=self.now, as_of=revision) for realm in self.circle.realms]

    @cached_property
    def places(self) -> dict[int, Node]:
        keys = {rule.object for _, rule in self.rules if isinstance(rule.object, int)}
        nodes = nodes_at(keys, self.past.revision)
        return {key: node for key, node in nodes.items() if self.circle.sees(self.person, node)}


@dataclass(frozen=True)
class AsOfQuery:
    """Whom and when the address asks about; `of` names another person to compare with."""

    at: str
    to: str
    of: str
    after: int
    left: Past | None
    right: Past | None
    other: Principal | None
    problems: dict[str, str]

    @property
    def compares(self) -> bool:
        return bool(self.to or self.of)

    def url(self, **changed: object) -> str:
        kept = {"at": self.at, "to": self.to, "of": self.of, **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass(frozen=True)
class ReachRow:
    """One object, what could be done to it at the one side and at the other; `kind` says how they differ.

    Its page `opens` to the viewer, who may know of access without seeing its object.
    """

    node: Node
    left: str
    right: str = ""
    kind: str = ""
    sign: str = ""
    opens: bool = False

    @property
    def what(self) -> Who:
        node = self.node
        above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
        url = terms.page_of(node.id, node.type) if self.opens else ""
        return Who(node.name, Face("thing", terms.icon_of(node.type)), above, url)


def read(request: Request, circle: VisiblePrincipals) -> AsOfQuery:
    at, to, of = (request.GET.get(name, "").strip()[:255] for name in ("at", "to", "of"))
    left, right = (as_of_objects.moment_of(text[:40]) if text else revisions.latest() for text in (at, to))
    meant = circle.meant(of) if of else []
    other = meant[0] if len(meant) == 1 else None
    wrong = gettext("Enter a day, a day with a time, or an existing revision.")
    problems = {name: wrong for name, moment in (("at", left), ("to", right)) if moment is None}
    if of and other is None:
        problems["of"] = unknown_words(of, meant)
    skipped = number_in(request.GET.get("after", "")) or 0
    return AsOfQuery(at, to, of, skipped, left, right, other, problems)


def _with_a_first_date(asked: AsOfQuery, circle: VisiblePrincipals) -> AsOfQuery:
    """Where nothing was asked, a month ago beside today."""
    if asked.at or asked.compares:
        return asked
    if (first := as_of_objects.a_month_ago(realm.realm_id for realm in circle.realms)) is None:
        return asked
    day, then = first
    return replace(asked, at=day, left=then, to=timezone.localdate().isoformat())


@reads
@login_required
def person_as_of(request: Request, id: int) -> HttpResponse:
    """The Past tab of a person."""
    seen = get_person_or_404(request, id, "person_then")
    query = _with_a_first_date(read(request, seen.circle), seen.circle)
    context = {"asked": query, "zone": words.zone(), **_answer(query, seen.circle, seen.person)}
    return seen.page(request, "console/people/person_as_of.html", context)


def _answer(query: AsOfQuery, circle: VisiblePrincipals, person: Principal) -> dict[str, Any]:
    rows = answered(query, circle, person)
    if rows is None:
        return {}
    sheet = reverse("console:person_then_csv", args=[person.pk]) + query.url()
    shown = rows[query.after : query.after + SHOWN]
    open_ = leading(circle.asker, circle.sight, (row.node.lineage for row in shown))
    many = len(rows)
    following = query.after + SHOWN
    what = (gettext("object differs"), gettext("objects differ")) if query.compares else ("object", "objects")
    next_ = query.url(after=following) if following < many else ""
    pager = Pager(words.count(many, *what), query.url() if query.after else "", next_)
    return {
        "past": _moment_note(query, person),
        "chart": _chart(query, circle, person),
        "rows": [replace(row, opens=row.node.id in open_) for row in shown],
        "heads": comparison_headings(query, person),
        "pager": replace(pager, csv=sheet),
        "empty": Empty(gettext("No difference"), gettext("Both have the same access, as far as you can see."))
        if query.compares
        else Empty(gettext("No access then"), gettext("No rule that you can see gave access.")),
    }


def _chart(query: AsOfQuery, circle: VisiblePrincipals, person: Principal) -> GrowthChart | None:
    """On how many objects somebody had rights, in steps, between the two moments; of one person alone."""
    since, until = query.left, query.right
    if query.of or query.after or since is None or until is None or until.moment <= since.moment:
        return None
    turns = compare.turning_points_of(person, circle.realms, since, until)
    points = _evenly(turns, STEPS)
    title = gettext("Objects with rights")
    if len(points) < len(turns):
        title = gettext("Objects with rights, at %(told)s of %(turns)s changes") % {
            "told": words.number(len(points)),
            "turns": words.number(len(turns)),
        }
    counts = rights_over_time(circle, person, points)
    return line(title, [(past.moment, many) for past, many in zip(points, counts, strict=True)])


def rights_over_time(circle: VisiblePrincipals, person: Principal, states: Sequence[Past]) -> list[int]:
    """On how many objects something was given to somebody at each of some states; a denial gives nothing.

    A query for each realm and one more, however many states.
    """
    revisions_of = [past.revision for past in states]
    span = {"first": min(revisions_of), "last": max(revisions_of)}
    past_facts = [PastFacts.read(person, realm, **span) for realm in circle.realms]
    given = [{key for facts in past_facts for key in _given(facts, past)} for past in states]
    places = PastPlaces.read({key for keys in given for key in keys}, **span)
    return [
        sum(key in keys and circle.sees_place(person, way) for key, way in places.at(past.revision).items())
        for past, keys in zip(states, given, strict=True)
    ]


def _given(facts: PastFacts, past: Past) -> Iterator[int]:
    """The objects on which something was given at a state."""
    moment = past.moment.timestamp()
    for rule in facts.at(past.revision, past.moment).rules:
        if rule.allow and isinstance(rule.object, int) and rule.holds_at(moment):
            yield rule.object


def _evenly(turns: Sequence[Past], most: int) -> list[Past]:
    """The first, the last, and of those between so many that all are no more than `most`."""
    if len(turns) <= most:
        return list(turns)
    return [turns[round(at * (len(turns) - 1) / (most - 1))] for at in range(most)]


def answered(asked: AsOfQuery, circle: VisiblePrincipals, person: Principal) -> list[ReachRow] | None:
    """All that was asked for, by name; None when nothing was asked, or not so that it can be answered."""
    if asked.problems or not (asked.at or asked.compares) or asked.left is None or asked.right is None:
        return None
    left = ReachThen(circle, person, past=asked.left)
    if not asked.compares:
        return [ReachRow(item.node, item.words) for item in left.all]
    # every object on which the two differ, by name
    first, two = (
        {reached.node.id: reached for reached in side.all}
        for side in (left, ReachThen(circle, asked.other or person, past=asked.right))
    )
    rows = [_row(first.get(key), two.get(key)) for key in {**first, **two}]
    return sorted(
        (row for row in rows if row.left != row.right), key=lambda row: (row.node.names, row.node.type)
    )


def _row(left: Reached | None, right: Reached | None) -> ReachRow:
    reached = left or right
    assert reached is not None  # noqa: S101 - one of the two names the object
    kind = "gain" if left is None else "lose" if right is None else "change"
    sign = {"gain": "+", "lose": "−", "change": "~"}[kind]
    before, other = (side.words if side else gettext("Nothing") for side in (left, right))
    return ReachRow(reached.node, before, other, kind, sign)


def _moment_note(query: AsOfQuery, person: Principal) -> Note:
    text = "; ".join(comparison_headings(query, person))
    return Note(
        "warn", gettext("This is the past") if query.at or query.to else gettext("Compare two people"), text
    )


def comparison_headings(asked: AsOfQuery, person: Principal) -> list[str]:
    """Whose reach it is and when; of two sides, when two are compared."""
    sides = [(person, asked.at, asked.left)]
    if asked.compares:
        sides.append((asked.other or person, asked.to, asked.right))
    return [_side(*side) for side in sides]


def _side(person: Principal, text: str, at: Past | None) -> str:
    when = (
        gettext("%(moment)s, revision %(revision)s")
        % {"moment": words.moment(at.moment), "revision": words.number(at.revision)}
        if at and text
        else gettext("now")
    )
    return f"{person.label}, {when}"
