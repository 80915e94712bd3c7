"""The people of a row of a group or a role, unfolded under it: their last use and a suggestion for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import keyset_page
from authzsite.console.kit.display.parts import Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.reviews.item import ReviewItem, item_or_404
from authzsite.console.reviews.rows import RowWording, Suggestion, used_words
from policies.reviews import row_members
from policies.services.grants import revision_now

SHOWN = 25


@dataclass(frozen=True)
class MemberLine:
    """One person behind a row."""

    who: Who
    used: str
    suggestion: Suggestion


@reads
@login_required
def members(request: Request, id: int, number: int) -> HttpResponse:
    """One page of the people behind a row: under it where a script asks, else by itself."""
    item = item_or_404(request, id, number)
    if not row_members.has_members(item.row):
        raise Http404
    visit, wording = item.visit, RowWording(item.visit.review, [item.row])
    context = _members(request, item)
    if request.htmx:
        return render(request, "console/reviews/members.html", context)
    context |= {
        "crumbs": visit.crumbs(inner=True),
        "heading": f"{wording.who(item.row).name}: {terms.lower(wording.can(item.row))}",
        "kind": gettext("Row %(number)s") % {"number": words.number(number)},
    }
    realm, revision = visit.root.name, revision_now()
    template = "console/reviews/row_members.html"
    return page(request, template, context, section="reviews", realm=realm, revision=revision)


def _members(request: Request, item: ReviewItem) -> dict[str, Any]:
    """The people whom the viewer may know, a page of them by name; of the others the number."""
    row = item.row
    row.review = item.visit.review
    everybody = row_members.people_of(row)
    visible = circle_of(request).people().filter(pk__in=everybody.values("pk"))
    total, named = everybody.count(), visible.count()
    start = number_in(request.GET.get("after", ""))
    shown = keyset_page(visible, ("display_name", "name"), start, SHOWN)
    url = item.visit.url("review_row_members", row.number)
    pager = shown.pager(
        shown.bounds(lambda person: person.label), lambda key: f"{url}?after={key}" if key else url
    )
    return {
        "lines": _lines(item, shown.rows),
        "total": words.count(total, "person", "people"),
        "hidden": words.number(total - named) if total > named else "",
        "number": row.number,
        "pager": pager if shown.following or start else None,
    }


def _lines(item: ReviewItem, people: Sequence[Principal]) -> list[MemberLine]:
    rows = row_members.advised(item.row, people, item.visit.root)
    wording = RowWording(item.visit.review, rows)
    return [
        MemberLine(
            wording.who(row, reverse("console:person", args=[row.holder_id])),
            used_words(row),
            wording.suggests(row),
        )
        for row in rows
    ]
