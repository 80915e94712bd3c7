"""One rule: its sides, who has both and by which paths, and its end."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Empty, Fact, Facts, Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.separation.context import Desk, Line, line, locked, refused, rule_at, side_words
from authzsite.console.settings.realm import show
from policies.authority import Actor
from policies.models import SeparationRule
from policies.separation import Book
from policies.separation.sides import sides_of
from policies.services import separation
from policies.services.grants import revision_now


@reads
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """The rule; people for who writes rules."""
    desk, rule = rule_at(request, id)
    book = only(desk, rule)
    seen = desk.seen(book)
    one, other = (side_words(side, seen) for side in sides_of(rule))
    ended = rule.closed is not None
    address = reverse("console:separation_end", args=[rule.pk])
    context: dict[str, Any] = {
        "heading": rule.name,
        "lead": "This rule has ended; it stops nobody any more." if ended else "",
        "crumbs": Crumbs(
            (
                (desk.ward.root.name, desk.ward.url),
                ("Rules of separation", reverse("console:separation", args=[desk.ward.root.id])),
            )
        ),
        "actions": []
        if ended
        else [Action("End the rule", address, reason="" if desk.writes else "why-not-write")],
        "facts": Facts(
            (
                Fact("Nobody has both", one),
                Fact("and", other),
                Fact("Owning counts", "as every right" if rule.owners else "for nothing here"),
            )
        ),
        "lines": list(_lines(desk, rule, book)) if desk.writes and not ended else [],
        "writes": desk.writes and not ended,
        "csv": reverse("console:separation_rule_csv", args=[id]),
        "one": one,
        "other": other,
        "locked": locked(desk),
        "let": Action("Make an exception", reverse("console:separation_let", args=[rule.pk])),
        "empty": Empty(
            "Nobody has both", "A change that would give both to anybody is refused.", drawn=False
        ),
    }
    return show(request, "console/separation/rule.html", desk.ward, context)


def only(desk: Desk, rule: SeparationRule) -> Book:
    """The book of one rule, with the objects that it speaks of."""
    book = Book([rule], desk.book.exceptions, desk.book.now, desk.book.places, desk.book.asked)
    book.learn(side.key for side in book.sides())
    return book


def _lines(desk: Desk, rule: SeparationRule, book: Book) -> Iterable[Line]:
    for found in desk.found(book):
        person = found.clash.person
        query = f"?{urlencode({'who': str(person)})}"
        let = Action(
            "Make an exception" if found.clash.exception is None else "Extend",
            f"{reverse('console:separation_let', args=[rule.pk])}{query}",
            "mini",
            more=f": {person.label}",
        )
        end = Action(
            "End",
            f"{reverse('console:separation_let_end', args=[rule.pk])}{query}",
            "mini danger",
            more=f" the exception of {person.label}",
        )
        yield line(found, book, action=let, let_end=end if found.clash.exception else None)


@reads_and_writes
@signed_in
def end(request: Request, id: int) -> HttpResponse:
    """What its end means, then it ends."""
    desk, rule = rule_at(request, id)
    if not desk.writes:
        return refused(request, desk, "end rules of separation")
    back = reverse("console:separation", args=[desk.ward.root.id])
    if request.method == "POST":
        actor = Actor(desk.ward.asker, "console", request_id=nonce_in(request))
        reason = request.POST.get("reason", "").strip()[:2000].replace("\0", "")
        ended = separation.end(rule, desk.ward.root, by=actor, reason=reason)
        told = f"The rule {rule.name} has ended" if ended else "Nothing changed: it had ended before"
        say(request, told, undo=done_before(actor) if ended else None)
        return redirect(back)
    book = only(desk, rule)
    seen = desk.seen(book)
    one, other = (side_words(side, seen) for side in sides_of(rule))
    let = sum(key[0] == rule.pk for key in book.exceptions)
    gone = Note("", "This rule has ended before.") if rule.closed is not None else None
    context = {
        "heading": f"End the rule {rule.name}?",
        "place": f"{one}; {other}",
        "notes": [gone] if gone else [],
        "nothing": gone is not None,
        "diff": Diff(
            (
                DiffLine("change", "Anybody", "may be given both from then on"),
                *([DiffLine("lose", words.count(let, "exception"), "ends with it")] if let else ()),
            )
        ),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": "",
        "problems": {},
        "button": "End the rule",
        "back": back,
    }
    return show(request, "console/access/revoke.html", desk.ward, context)
