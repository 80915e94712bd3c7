"""The rules of separation as files, and who has both sides of one."""

from __future__ import annotations

from collections.abc import Iterator

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.separation.context import desk_at, path_of, refused, rule_at
from authzsite.console.separation.rule import only
from authzsite.console.separation.views import rules_of
from authzsite.downloads import csv_file
from policies.models import SeparationRule
from policies.separation import Book
from policies.separation.conflicts import OpenViolation
from policies.separation.visibility import Sight


@reads
@login_required
def of_rules(request: Request, id: int) -> HttpResponseBase:
    """The rules of a realm with their sides; how many have both, for who writes rules."""
    desk = desk_at(request, id)
    if not desk.sees:
        return refused(request, desk, _("see the rules of separation"))
    rows = [[item.name, item.one, item.other, item.bare, item.let] for item in rules_of(desk)]
    return csv_file.answer(f"separation-{id}", ["rule", "one", "other", "conflicts", "exceptions"], rows)


@reads
@login_required
def of_conflicts(request: Request, id: int) -> HttpResponseBase:
    """Everybody who has both sides of a rule, by which ways, and until when an exception holds."""
    desk, rule = rule_at(request, id)
    if not desk.writes:
        return refused(request, desk, _("see who has both sides by the rules"))
    book = only(desk, rule)
    violations = desk.found(book) if rule.closed is None else []
    head = ["rule", "who", "shown as", "the one by", "the other by", "since", "let until", "answers for it"]
    return csv_file.answer(f"conflicts-{id}", head, _conflicts(rule, book, violations))


def _conflicts(rule: SeparationRule, book: Book, violations: list[OpenViolation]) -> Iterator[list[object]]:
    seen = Sight(book.places)
    for item in violations:
        who, let = item.clash.person, item.clash.exception
        ways = [
            " > ".join(chip.text for chip in path_of(way, seen).chips) for way in item.clash.both.pairs[0]
        ]
        until = (csv_file.moment(let.valid_until), let.owner) if let else ("", "")
        yield [rule.name, who, who.label, *ways, csv_file.moment(item.since), *until]
