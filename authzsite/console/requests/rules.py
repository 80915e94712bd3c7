"""What a request for an object, or for all of a realm, must say; who decides late; for how long at most."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Note
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from policies.errors import Invalid
from policies.requests import rules
from policies.requests.rules import Rules

FIELDS = (
    (
        "min_reason",
        "Shortest reason",
        "letters",
        "A dot is no reason: at least three different letters always.",
    ),
    (
        "ticket",
        "Ticket",
        "",
        "Such as DATA-#: # stands for digits, @ for capital letters. Empty: none needed.",
    ),
    ("escalate_hours", "Then the next level is asked", "hours", "0: never."),
    ("lapse_hours", "A request lapses after", "hours", "It stays findable for ever."),
    ("longest_days", "Access lasts at most", "days", "0: as long as anybody likes."),
)
TEXTS = ("ticket",)


@dataclass
class RuleForm:
    """What the form says, or what is said here already; empty is left to what is said above."""

    values: dict[str, str]
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def kept(cls, place: ObjectAccess) -> RuleForm:
        row = rules.own(place.node)
        found = {name: getattr(row, name, None) for name, _, _, _ in FIELDS}
        return cls({name: "" if value is None else str(value) for name, value in found.items()})

    @classmethod
    def read(cls, request: Request) -> RuleForm:
        found = cls({name: request.POST.get(name, "").strip()[:100] for name, _, _, _ in FIELDS})
        for name, text in found.values.items():
            if name not in TEXTS and text and number_in(text) is None:
                found.problems[name] = "Give a whole number, or nothing."
        return found

    def rule(self, *, no_ticket: bool) -> dict[str, Any]:
        """The values as they are set; `no_ticket` says that none is needed here whatever the parent says."""
        values: dict[str, Any] = {
            name: number_in(text) for name, text in self.values.items() if name not in TEXTS
        }
        ticket = self.values["ticket"]
        return values | {"ticket": ticket if ticket or no_ticket else None}


@reads_and_writes
@login_required
def request_rules(request: Request, id: int) -> HttpResponse:
    """The form; what is left empty is said by what lies above."""
    place = get_object_or_404(request, id)
    if not place.may_grant:
        return refused(request, place, "grant")
    if request.method != "POST":
        return _show(request, place, RuleForm.kept(place), [])
    typed = RuleForm.read(request)
    if typed.problems:
        return _show(request, place, typed, [])
    try:
        new = rules.set_rule(place.node, by=place.actor, **typed.rule(no_ticket="no_ticket" in request.POST))
    except Invalid as problem:
        return _show(request, place, typed, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    name = place.node.name
    say(request, f"What requests for {name} must say is set" if new else f"Nothing changed for {name}")
    return redirect(terms.page_of(place.node.id, place.node.type))


def _show(request: Request, place: ObjectAccess, typed: RuleForm, notes: list[Note]) -> HttpResponse:
    node = place.node
    above = list(node.above())
    inherited = rules.rules_along(above) if above else Rules()
    context = {
        "heading": f"What requests for {node.name} must say",
        "crumbs": Crumbs(tuple((item.name, terms.page_of(item.id, item.type)) for item in (*above, node))),
        "lead": "Applies to everything inside. Empty fields inherit from the parent.",
        "notes": notes,
        "fields": [_field(item, typed, inherited) for item in FIELDS],
        "no_ticket": request.POST.get("no_ticket") or _says_none(place),
        "inherits_ticket": bool(inherited.ticket),
        "nonce": secrets.token_hex(12),
        "back": terms.page_of(node.id, node.type),
        "here": reverse("console:request_rules", args=[node.id]),
    }
    bad = bool(typed.problems or notes)
    return page(
        request,
        "console/requests/rules.html",
        context,
        section="catalog",
        realm=node.realm,
        revision=place.slice.revision,
        status=422 if bad else 200,
    )


def _says_none(place: ObjectAccess) -> bool:
    row = rules.own(place.node)
    return row is not None and row.ticket == ""


def _field(one: tuple[str, str, str, str], typed: RuleForm, inherited: Rules) -> dict[str, Any]:
    name, label, unit, text = one
    above = getattr(inherited, name)
    said = above if isinstance(above, str) else words.number(above) if above else ""
    none = "no limit" if unit else "none"
    return {
        "name": name,
        "label": label,
        "unit": unit,
        "text": text,
        "value": typed.values[name],
        "above": f"{said} {unit}".strip() if said else none,
        "is_text": name in TEXTS,
        "problem": typed.problems.get(name, ""),
    }
