"""The past as files: what a page about the past lists, to its end, for those who may see the page."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.as_of import objects as as_of_objects
from authzsite.console.as_of import people
from authzsite.console.as_of.roles import gave_then, held_then
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.objects.access import ObjectAccess, get_past_object_or_404
from authzsite.console.people.person_access import get_person_or_404 as visit_person
from authzsite.console.roles.role import VisibleRole, rights, visit_role
from authzsite.downloads import csv_file
from catalog.past import node_at
from policies.decisions import live_history
from policies.decisions.lookups.access import AccessMap
from policies.errors import Invalid
from policies.models.grants import Effect
from policies.record import access_log, compare
from policies.record.compare import Course
from policies.record.revisions import Past

Lines = Iterator[list[object]]


def _at(past: Past) -> list[object]:
    return [past.moment.isoformat(), past.revision]


# An object


@reads
@login_required
def of_object(request: Request, id: int) -> HttpResponseBase:
    """Who had access then, or what differs since, or who had it in between; the page says what is wrong."""
    place = get_past_object_or_404(request, id)
    if (place.node.type in terms.ROOMS and not place.only_past) or not place.may_look:
        raise Http404
    query = as_of_objects.read(request)
    if query.then is None or query.until is None or query.problems:
        return _back(request, "object_then", id)
    live_history.must_be_live(place.node.realm_id, query.then.revision)
    access_log.looked(place.asker, "access in the past", place.node, via="console")
    try:
        head, lines = VIEWS[query.view](place, query.then, query.until)
    except Invalid:
        return _back(request, "object_then", id)
    return csv_file.answer(f"access-{id}-then", head, lines)


def _back(request: Request, name: str, id: int) -> HttpResponseBase:
    return redirect(f"{reverse(f'console:{name}', args=[id])}?{request.GET.urlencode()}")


def _state(place: ObjectAccess, at: Past, until: Past) -> tuple[list[str], Lines]:
    head = ["object", "as of", "revision", "principal", "shown as", "could", "how"]
    return head, _state_lines(place, at)


def _state_lines(place: ObjectAccess, at: Past) -> Lines:
    was = node_at(place.node.id, at.revision)
    if was is None:
        return
    access = AccessMap(was, now=at.moment, as_of=at.revision, whole=True)
    for person in as_of_objects.reached_by(access):
        could, ways = as_of_objects.had_by(access, person)
        how = "; ".join(" > ".join(chip.text for chip in way.chips) for way in ways)
        yield [was.ref.id, *_at(at), person, person.label, could, how]


def _changes(place: ObjectAccess, at: Past, until: Past) -> tuple[list[str], Lines]:
    head = ["object", "since", "since revision", "until", "until revision"]
    head += ["principal", "shown as", "could", "can after"]
    node, edges = place.node, [*_at(at), *_at(until)]
    return head, (
        [
            node.ref.id,
            *edges,
            row.principal,
            row.principal.label,
            *(as_of_objects.could(actions, node.type) for actions in (row.before, row.after)),
        ]
        for row in compare.differences(node.id, at, until)
    )


def _between(place: ObjectAccess, at: Past, until: Past) -> tuple[list[str], Lines]:
    head = ["object", "principal", "shown as", "could", "since", "since revision", "until", "until revision"]
    courses = compare.courses(place.node, at, until)
    return head, (line for course in courses for line in _spells(place, course))


def _spells(place: ObjectAccess, course: Course) -> Lines:
    cells = [place.node.ref.id, course.principal, course.principal.label]
    for spell in course.spells:
        ended = _at(spell.until) if spell.until else ["", ""]
        yield [*cells, as_of_objects.could(spell.actions, place.node.type), *_at(spell.since), *ended]


VIEWS = {as_of_objects.STATE: _state, "changes": _changes, "between": _between}


# A person, a group, a service account


@reads
@login_required
def of_person(request: Request, id: int) -> HttpResponseBase:
    """What somebody reached then, or where that differs from another moment or another person."""
    seen = visit_person(request, id, "person_then")
    query = people.read(request, seen.circle)
    rows = people.answered(query, seen.circle, seen.person)
    if rows is None:
        return _back(request, "person_then", id)
    sides = people.comparison_headings(query, seen.person)
    head = ["object", "type", "first", "first could"]
    if not query.compares:
        lines = ([row.node.ref.id, row.node.type, *sides, row.left] for row in rows)
        return csv_file.answer(f"reach-{id}-then", head, lines)
    before, other = sides
    both = ([row.node.ref.id, row.node.type, before, row.left, other, row.right, row.kind] for row in rows)
    head += ["second", "second could", "change"]
    return csv_file.answer(f"reach-{id}-compared", head, both)


# A role


@reads
@login_required
def of_role(request: Request, id: int) -> HttpResponseBase:
    """What a role gave then; with `show=held` who held it."""
    seen = visit_role(request, id, past=True)
    at = as_of_objects.moment_of(request.GET.get("at", "").strip()[:40])
    if at is None:
        return _back(request, "role_then", id)
    live_history.must_be_live(seen.node.realm_id, at.revision)
    access_log.looked(seen.place.asker, "access in the past", seen.node, via="console")
    if request.GET.get("show") == "held":
        return csv_file.answer(f"holders-{id}-then", ["role", "as of", "revision", "holder"], _held(seen, at))
    head = ["role", "as of", "revision", "object", "type", "rights", "effect"]
    return csv_file.answer(f"gives-{id}-then", head, _gave(seen, at))


def _held(seen: VisibleRole, at: Past) -> Lines:
    for row in held_then(seen, at):
        yield [seen.node.name, *_at(at), row.holder]


def _gave(seen: VisibleRole, at: Past) -> Lines:
    for node, rows in gave_then(seen, at):
        for effect in Effect.values:
            words = rights(node, rows, effect)
            if words:
                yield [seen.node.name, *_at(at), node.ref.id, node.type, words, effect]
