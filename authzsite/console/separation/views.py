"""The rules of a realm: what nobody has both of, and how many do all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, State
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.separation.context import SeparationContext, desk_at, locked, refused, side_words
from authzsite.console.settings.realm import realm_tabs, show
from policies.separation.sides import sides_of


@dataclass(frozen=True)
class Rule:
    name: str
    url: str
    one: str
    other: str
    bare: int | None
    let: int | None

    @property
    def state(self) -> State | None:
        """How many have both, without an exception and with one; None for who is not told."""
        return None if self.bare is None else _state(self.bare, self.let or 0)


@reads
@login_required
def rule_list(request: Request, id: int) -> HttpResponse:
    """The list; numbers of people for who writes rules."""
    desk = desk_at(request, id)
    if not desk.sees:
        return refused(request, desk, _("see the rules of separation"))
    root = desk.ward.root
    rules = list(rules_of(desk))
    context: dict[str, Any] = {
        "heading": ngettext("%(many)s rule of separation", "%(many)s rules of separation", len(rules))
        % {"many": words.spelled(len(rules))},
        "lead": _("Access that nobody in %(name)s may hold together. Changes that give both are refused.")
        % {"name": root.name},
        "crumbs": Crumbs(((_("Realms"), reverse("console:realms")), (root.name, desk.ward.url))),
        "actions": [
            Action(
                _("Create a rule"),
                reverse("console:separation_new", args=[root.id]),
                "primary",
                reason="" if desk.writes else "why-not-write",
            )
        ],
        "tabs": realm_tabs(desk.ward, "separation"),
        "rules": rules,
        "csv": reverse("console:separation_csv", args=[id]),
        "locked": locked(desk),
        "empty": Empty(
            _("No rules yet"),
            _("A rule keeps two duties apart: for example, nobody may both enter payments and approve them."),
        ),
    }
    return show(request, "console/separation/rules.html", desk.ward, context)


def rules_of(desk: SeparationContext) -> Iterable[Rule]:
    """Each as the viewer may know it; people are counted for who writes rules."""
    violations = desk.found(desk.book) if desk.writes and desk.book else []
    bare = Counter(item.clash.rule.pk for item in violations if item.clash.spans)
    let = Counter(item.clash.rule.pk for item in violations if not item.clash.spans)
    seen = desk.seen(desk.book)
    for rule in desk.book.rules:
        first_side, other = (side_words(side, seen) for side in sides_of(rule))
        url = reverse("console:separation_rule", args=[rule.pk])
        counts = (bare[rule.pk], let[rule.pk]) if desk.writes else (None, None)
        yield Rule(rule.name, url, first_side, other, *counts)


def _state(bare: int, let: int) -> State:
    note = f"{words.count(let, 'exception')}" if let else ""
    if bare:
        return State("failed", f"{words.count(bare, 'conflict')}", note)
    return State("ok", _("Nobody has both") if not let else _("Nobody else"), note)
