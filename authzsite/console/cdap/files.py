"""The tables of a CDAP as files, to their end, for those who may see the page and under the same filter."""

from __future__ import annotations

from collections.abc import Iterator

from django.http.response import HttpResponseBase

from authzsite.console.cdap.context import desk_at, held_on, reaches
from authzsite.console.cdap.entities import EntityFilter, able, asked_in
from authzsite.console.cdap.links import text_of
from authzsite.console.cdap.views import Names, listed
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.downloads import csv_file
from policies.record import access_log


@reads
@login_required
def of_names(request: Request, id: int) -> HttpResponseBase:
    """Who was given what on which name, and what that matches now and matched then."""
    names = listed(request, id)
    if names.desk.looks:
        access_log.looked(names.desk.place.asker, "names as a file", names.desk.root, via="console")
    head = ["name", "holder", "shown as", "may", "since revision", "matches now", "matched when given"]
    return csv_file.answer(f"names-{id}", head, _names(names))


def _names(names: Names) -> Iterator[list[object]]:
    for some in csv_file.chunks(names.named.iterator(csv_file.CHUNK)):
        reach = reaches(names.desk, some)
        telling = [text for text in some if reach[text].warning or not names.lost]
        for text, rows in names.given(telling).items():
            for item in held_on(names.desk, rows):
                held = (text, item.code, item.who.name, item.may, item.since)
                yield [*held, reach[text].now, reach[text].then]


@reads
@login_required
def of_entities(request: Request, id: int) -> HttpResponseBase:
    """What is there and exists for the viewer, and what they may do with it."""
    filter_ = asked_in(request, desk_at(request, id))
    return csv_file.answer(f"entities-{id}", ["entity", "type", "you may"], _entities(filter_))


def _entities(filter_: EntityFilter) -> Iterator[list[object]]:
    for some in csv_file.chunks(filter_.rows.iterator(csv_file.CHUNK)):
        for entity in filter_.desk.entities(some):
            yield [text_of(entity), entity.type, able(filter_.desk, entity)]
