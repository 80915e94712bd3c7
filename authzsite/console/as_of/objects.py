"""The past of an object: who had access at a moment, what has changed since, who had it in between."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.as_of.header import head_of
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.charts import line
from authzsite.console.kit.display.links import leading
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Diff, DiffLine, Empty, Note, Path, Reason, Who
from authzsite.console.kit.forms import PLAIN, ConsoleForm, TextField, WholeNumberField
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, somebody
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_past_object_or_404
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.settings import modes
from authzsite.downloads import evidence
from catalog.nodes import Node
from catalog.past import mode_at, node_at
from policies.decisions import duties, live_history
from policies.decisions.lookups.access import AccessMap
from policies.decisions.lookups.visible_objects import owner_of
from policies.errors import Invalid
from policies.record import access_log, compare, revisions
from policies.record.compare import Course, Difference
from policies.record.exports.evidence import Question
from policies.record.revisions import Past

SHOWN = 50
FIRST_SHOWN = timedelta(days=30)
"""Who comes without a date sees what changed since then."""
STATE = "state"
VIEWS = (
    (STATE, gettext_lazy("Who had access then")),
    ("changes", gettext_lazy("What changed since")),
    ("between", gettext_lazy("Who had access in between")),
)
REASON = "why-not-evidence"
EXPORT = "export_history"


@dataclass(frozen=True)
class AsOfQuery:
    """Two moments of the past as the address names them, a view, and what was wrong with either."""

    at: str
    to: str
    view: str
    then: Past | None
    until: Past | None
    problems: dict[str, str]
    after: int = 0

    def url(self, **changed: object) -> str:
        kept = {"at": self.at, "to": self.to, "show": self.view, **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass(frozen=True)
class PersonThen:
    """One person then: what they could do and by which ways."""

    who: Who
    could: str
    how: tuple[Path, ...]


@dataclass(frozen=True)
class AccessPeriod:
    """One spell of somebody's access, in words."""

    who: Who
    could: str
    since: str
    until: str


def read(request: Request) -> AsOfQuery:
    """The moments in an address; none means nothing was asked yet."""
    at, to = (request.GET.get(name, "").strip()[:40] for name in ("at", "to"))
    then, until = moment_of(at), moment_of(to) if to else revisions.latest()
    problems = {
        name: _("Enter a day, a day with a time, or an existing revision.")
        for name, text, moment in (("at", at, then), ("to", to, until))
        if text and moment is None
    }
    if then and until and (until.revision, until.moment) < (then.revision, then.moment):
        problems["to"] = _("The later moment must not be before the earlier one.")
    view, skipped = request.GET.get("show", ""), number_in(request.GET.get("after", "")) or 0
    usual = "changes" if at and to else STATE  # two dates ask for what is between them
    return AsOfQuery(at, to, view if view in dict(VIEWS) else usual, then, until, problems, skipped)


def _with_a_first_date(query: AsOfQuery, place: ObjectAccess) -> AsOfQuery:
    """Without a date a month ago beside now, where the live history reaches back so far."""
    if query.at or query.to:
        return query
    if (first := a_month_ago([place.node.realm_id])) is None:
        return query
    day, then = first
    return replace(query, at=day, then=then, view="changes")


def a_month_ago(realms: Iterable[int]) -> tuple[str, Past] | None:
    """The day on which the past opens, and its state; None where the live history reaches back less far."""
    day = (timezone.localdate() - FIRST_SHOWN).isoformat()
    then = moment_of(day)
    if then is None or then.revision < max([1, *(live_history.floor(realm) for realm in realms)]):
        return None
    return day, then


def moment_of(text: str) -> Past | None:
    """`2026-01-31` is that day's end, `2026-01-31T12:00` that minute, `1284` the state after that change."""
    if text.isascii() and text.isdigit() and len(text) < 18:
        return revisions.at_revision(int(text))
    moment = revisions.moment_in(text, whole=True)
    return revisions.at_moment(min(moment, timezone.now())) if moment else None


@reads
@login_required
def object_as_of(request: Request, id: int) -> HttpResponse:
    """The Then tab of an object."""
    place = get_past_object_or_404(request, id)
    if place.node.type in terms.ROOMS and not place.only_past:
        return redirect(terms.page_of(id, place.node.type))
    head = head_of(place, "object_then")
    if not place.may_look:
        hidden = Empty(
            _("Who had access to %(name)s is hidden from you") % {"name": head.node.name},
            _("People who may grant it can see it: %(owner_words)s.") % {"owner_words": head.owner_words()},
        )
        return _page(request, head, {"hidden": hidden})
    query = _with_a_first_date(read(request), place)
    access_log.looked(place.asker, "access in the past", place.node, via="console")
    may = duties.has(place.asker, EXPORT, place.node)
    form = {
        "views": [Toggle(label, query.url(show=code), code == query.view) for code, label in VIEWS],
        "zone": words.zone(),
        "evidence": reverse("console:object_evidence", args=[place.node.id]),
        "form": EvidenceForm(),
        "evidence_reason": None if may else Reason(REASON, _whom_to_ask(place.node)),
    }
    return _page(request, head, {"asked": query, **form, **_answer(query, place)})


def _page(
    request: Request, head: ObjectHeader, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    return page(
        request,
        "console/objects/as_of.html",
        {**head.context(), **context},
        section="catalog",
        realm=head.node.realm,
        revision=head.place.slice.revision,
        banner=head.banner(),
        status=status,
    )


def _whom_to_ask(node: Node) -> str:
    """Who takes evidence away here, and where nobody does, who says who may.  Three or four queries."""
    holders = {item.holder: None for item in duties.duties_along(node) if item.duty == EXPORT}
    if holders:
        who = words.listed([terms.principal_name(item) for item in holders], 3)
        return _("Only people with the duty to export the history here can export evidence: %(who)s.") % {
            "who": who
        }
    owner = owner_of(next(iter(node.above()), node))
    gives = (
        _("%(owner)s, who owns %(realm)s") % {"owner": terms.principal_name(owner), "realm": node.realm}
        if owner
        else _("the owner of %(realm)s") % {"realm": node.realm}
    )
    return _("Nobody has the duty to export the history here yet. It is assigned by %(gives)s.") % {
        "gives": gives
    }


def _answer(query: AsOfQuery, place: ObjectAccess) -> dict[str, Any]:
    node = place.node
    if query.then is None or query.until is None or query.problems:
        return {}
    live_history.must_be_live(node.realm_id, query.then.revision)
    views = {"changes": _changes, "between": _between}
    answer = views.get(query.view, _state)(query, query.then, query.until, place)
    if "pager" in answer:
        sheet = reverse("console:object_then_csv", args=[node.id]) + query.url()
        answer["pager"] = replace(answer["pager"], csv=sheet)
    return {"past": _moment_note(query, place), **answer}


def _moment_note(query: AsOfQuery, place: ObjectAccess) -> Note:
    then, until = query.then, query.until
    assert then is not None and until is not None  # noqa: S101 - asked by _answer
    values = {"moment": words.moment(then.moment), "revision": words.number(then.revision)}
    if query.view != STATE:
        values |= {
            "end": words.moment(until.moment) if query.to else _("now"),
            "last": words.number(until.revision),
        }
        text = _("%(moment)s, revision %(revision)s to %(end)s, revision %(last)s") % values
    else:
        text = _("%(moment)s, revision %(revision)s") % values
    if place.only_past:
        return Note("warn", _("This is the past"), text)
    url = terms.page_of(place.node.id, place.node.type)
    return Note("warn", _("This is the past"), text, url, _("See it as it is now"))


def _state(query: AsOfQuery, then: Past, until: Past, place: ObjectAccess) -> dict[str, Any]:
    node = place.node
    was = node_at(node.id, then.revision)
    if was is None:
        return {
            "empty": Empty(
                _("%(name)s was not there then") % {"name": node.name}, _("It was registered later.")
            )
        }
    access = AccessMap(was, now=then.moment, as_of=then.revision, whole=True)
    access_path, way = reached_by(access), was.lineage
    open_ = leading(place.asker, None, [way[:depth] for depth in range(1, len(way) + 1)])
    people = words.count(len(access_path), "person", "people")
    text = _("%(people)s had access.") % {"people": people}
    if was.ref != node.ref:
        names = {"people": people, "full_name": was.ref.full_name}
        text = _("%(people)s had access. It was called %(full_name)s then.") % names
    return {
        "mode": modes.banner_then(was.realm, mode_at(was.realm_id, then.revision)),
        "rows": [
            PersonThen(_who(person), *had_by(access, person, open_))
            for person in access_path[query.after : query.after + SHOWN]
        ],
        "pager": _pager(query, text, len(access_path)),
        "empty": Empty(_("Nobody had access then"), _("No rule on it or a parent gave anyone access.")),
    }


def reached_by(access: AccessMap) -> list[Principal]:
    """Those whom some rule reached, or who could do something without one, by name."""
    had = ((person, access.access_of(person)) for person in access.people.values())
    reached = (principal for principal, its in had if its.paths or its.can)
    return sorted(reached, key=lambda person: (person.label.casefold(), person.pk))


def had_by(access: AccessMap, person: Principal, open_: Collection[int] = ()) -> tuple[str, tuple[Path, ...]]:
    """What one person could do, in words, and by which ways, with links to what opens to the viewer."""
    had, was = access.access_of(person), access.node
    labels: dict[Hashable, str] = {pk: row.label for pk, row in access.holders.items()}
    how = terms.paths((path.rule for path in had.paths), was, labels, open_=open_)
    return terms.can(had.can, was.type, owns=had.owns), how


def _pager(query: AsOfQuery, text: str, many: int) -> Pager:
    following = query.after + SHOWN
    next_ = query.url(after=following) if following < many else ""
    return Pager(text, query.url() if query.after else "", next_)


def _changes(query: AsOfQuery, then: Past, until: Past, place: ObjectAccess) -> dict[str, Any]:
    node = place.node
    changes = compare.differences(node.id, then, until)
    lines = tuple(_line(row, node.type) for row in changes[query.after : query.after + SHOWN])
    return {
        "diff": Diff(lines) if lines else None,
        "pager": _pager(
            query, f"{words.count(len(changes), 'person differs', 'people differ')}.", len(changes)
        ),
        "empty": Empty(_("No access differs"), _("Someone may have had access for a while in between.")),
    }


def could(actions: Collection[str], type_: str) -> str:
    return terms.can(actions, type_, owns="set_owner" in actions)


def _line(row: Difference, type_: str) -> DiffLine:
    before, after = (could(actions, type_) for actions in (row.before, row.after))
    kind = {"gain": "gain", "lose": "lose"}.get(row.kind, "change")
    sentences = {
        "gain": _("has gained %(after)s") % {"after": terms.lower(after)},
        "lose": _("has lost %(before)s") % {"before": terms.lower(before)},
    }
    text = sentences.get(
        row.kind,
        _("could %(before)s, now can %(after)s")
        % {"before": terms.lower(before), "after": terms.lower(after)},
    )
    return DiffLine(kind, row.principal.label, text)


def _between(query: AsOfQuery, then: Past, until: Past, place: ObjectAccess) -> dict[str, Any]:
    node = place.node
    try:
        courses = compare.courses(node, then, until)
    except Invalid as problem:
        return {"empty": Empty(_("That time is too long"), f"{problem}.")}
    times = [row for course in courses for row in _times(course, node.type)]
    action = "use" if node.type in terms.CONTAINERS else "read"
    text = _("%(people)s had access at some time.") % {
        "people": words.count(len(courses), "person", "people")
    }
    return {
        "chart": line(
            _("People who could use it") if action == "use" else _("People who could read it"),
            list(_numbers(courses, action, then, until)),
        ),
        "times": times[query.after : query.after + SHOWN],
        "pager": _pager(query, text, len(times)),
        "empty": Empty(
            _("Nobody had access in that time"), _("No rule on it or a parent gave anyone access.")
        ),
    }


def _numbers(
    courses: Iterable[Course], action: str, then: Past, until: Past
) -> Iterator[tuple[datetime, int]]:
    """How many people and service accounts could do it, from each moment at which that changed."""
    turns: Counter[datetime] = Counter()
    for spell in (spell for course in courses for spell in course.spells if action in spell.actions):
        turns[spell.since.moment] += 1
        if spell.until is not None:
            turns[spell.until.moment] -= 1
    many = turns.pop(then.moment, 0)
    yield then.moment, many
    for moment in sorted(turns):
        many += turns[moment]
        yield moment, many
    yield until.moment, many


def _times(course: Course, type_: str) -> Iterator[AccessPeriod]:
    for spell in course.spells:
        until = _edge(spell.until) if spell.until else _("still active")
        yield AccessPeriod(_who(course.principal), could(spell.actions, type_), _edge(spell.since), until)


def _edge(edge: Past) -> str:
    return _("%(moment)s, revision %(revision)s") % {
        "moment": words.moment(edge.moment),
        "revision": words.number(edge.revision),
    }


def _who(person: Principal) -> Who:
    return Who(
        person.label, terms.avatar_of(person), str(person), reverse("console:person", args=[person.pk])
    )


class EvidenceForm(ConsoleForm):
    """Evidence of when, of whom, or of how many, and the seed by which they are drawn."""

    at = TextField(required=False)
    person = TextField(
        label=gettext_lazy("Only this person"),
        required=False,
        widget=forms.TextInput(attrs={**PLAIN, "placeholder": gettext_lazy("everyone")}),
    )
    sample = WholeNumberField(
        label=gettext_lazy("Sample size"),
        required=False,
        max_length=17,
        least=1,
        wrong=gettext_lazy("Enter the sample as a number of people."),
        widget=forms.TextInput(
            attrs={**PLAIN, "placeholder": gettext_lazy("all people"), "inputmode": "numeric"}
        ),
    )
    seed = TextField(
        label=gettext_lazy("Random seed"),
        required=False,
        widget=forms.TextInput(attrs={**PLAIN, "placeholder": "2026-Q1"}),
    )

    known: QuerySet[Principal] = Principal.objects.none()
    """Those who may be named; to the form anybody else is nobody."""

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["person"].widget.attrs["data-combo"] = f"{reverse('console:names')}?of=people"

    def clean_at(self) -> Past | None:
        return moment_of(self.cleaned_data["at"][:40])

    def clean_person(self) -> Principal | None:
        name = self.cleaned_data["person"]
        person = somebody(name, self.known) if name else None
        if name and person is None:
            raise ValidationError(_("Nobody is called %(name)s.") % {"name": name})
        return person


@writes
@login_required
def take_away(request: Request, id: int) -> HttpResponseBase:
    """Evidence of a moment as an archive; for people with the duty to export the history here."""
    place = get_past_object_or_404(request, id)
    form = EvidenceForm(request.POST)
    form.known = VisiblePrincipals(place.asker).ever_in(place.node)
    form.full_clean()
    then = form.cleaned_data.get("at") or revisions.latest()
    if not duties.has(place.asker, EXPORT, place.node):
        access_log.refused(place.asker, EXPORT, place.node, via="console")
        return _page(request, head_of(place, "object_then"), {"hidden": _not_yours(place)}, status=403)
    was = node_at(place.node.id, then.revision)
    if was is None:
        context = {"hidden": _unknown(place, _("%(name)s was not there then.") % {"name": place.node.name})}
        return _page(request, head_of(place, "object_then"), context, status=422)
    if form.errors:
        hidden = _unknown(place, str(next(iter(form.errors.values()))[0]))
        return _page(request, head_of(place, "object_then"), {"hidden": hidden}, status=422)
    access_log.looked(place.asker, "evidence", place.node, via="console")
    name = f"evidence-{was.name}-{timezone.localtime(then.moment):%Y-%m-%d}.zip"
    content, reach = io.BytesIO(), duties.held(place.asker, EXPORT)
    cleaned = form.cleaned_data
    question = Question(was, then, cleaned["person"], cleaned["sample"], cleaned["seed"], reach)
    evidence.write(content, question, name=name)
    response = HttpResponse(content.getvalue(), content_type="application/zip")
    safe = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name
    )
    response["Content-Disposition"] = f'attachment; filename="{safe}"'
    return response


def _unknown(place: ObjectAccess, wrong: str) -> Empty:
    back = Action(_("Back"), reverse("console:object_then", args=[place.node.id]))
    return Empty(wrong, _("Nothing was exported."), drawn=False, actions=(back,))


def _not_yours(place: ObjectAccess) -> Empty:
    owner = _("Ask the owner of %(realm)s for the duty to export the history.") % {"realm": place.node.realm}
    return Empty(
        _("Exporting the history needs its own duty"),
        _whom_to_ask(place.node) if place.may_look else owner,  # who has a duty is not for everybody
        actions=(Action(_("Back"), reverse("console:object_then", args=[place.node.id])),),
    )
