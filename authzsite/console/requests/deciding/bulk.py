"""Several requests decided together: only those that give little, and only after their plan was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Empty, Note
from authzsite.console.kit.http import Request, asker_of, numbers_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.requests import rows as request_rows
from authzsite.console.requests.deciding import risk
from policies.authority import Actor
from policies.errors import PolicyError
from policies.models import AccessRequest
from policies.requests import decision_context, decisions, visibility
from policies.services.grants import revision_now

MOST = 25


@dataclass(frozen=True)
class Plan:
    """The chosen requests that may be decided together, and why others are left out."""

    requests: tuple[AccessRequest, ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, numbers: list[int], viewer: Principal) -> Plan:
        """In four queries, however many."""
        waiting = visibility.waiting_for(viewer).filter(pk__in=numbers[: MOST * 4])
        rows = list(waiting.select_related("asker", "holder", "realm").prefetch_related("wants", "parts"))
        alone = risk.low(rows)
        fit = [row for row in rows if not alone[row.pk]]
        left = [
            f"Request {row.pk}: {alone[row.pk][:1].lower()}{alone[row.pk][1:]}"
            for row in rows
            if alone[row.pk]
        ]
        left += [f"Request {item.pk}: at most {MOST} at once." for item in fit[MOST:]]
        return cls(tuple(fit[:MOST]), tuple(left))

    def diff(self) -> Diff:
        return Diff(tuple(_line(request) for request in self.requests))


def _line(access_request: AccessRequest) -> DiffLine:
    wants, law = list(access_request.wants.all()), request_rows.law_of(access_request)
    open_ = [part for part in access_request.parts.all() if part.state == "asked"]
    takes = words.listed([request_rows.part_words(part, law) for part in open_], 3)
    text = f"may {request_rows.wants_words(wants)} {request_rows.lasts_words(access_request)}"
    note = f"{takes}. “{request_rows.cut(access_request.reason)}”"
    return DiffLine(
        "gain",
        access_request.holder.label,
        text,
        note,
        request_rows.url_of(access_request),
        f"Request {access_request.pk}",
    )


@reads_and_writes
@login_required
def bulk_decide(request: Request) -> HttpResponse:
    """The plan; approved, each request is decided by itself, and what could not be is said."""
    data = request.POST if request.method == "POST" else request.GET
    viewer = asker_of(request)
    plan = Plan.of(numbers_in(data.getlist("on")), viewer)
    if request.method != "POST" or not plan.requests:
        return _show(request, plan, [])
    failed = _approve(plan, viewer, _text(request))
    many = len(plan.requests) - len(failed)
    if failed:
        note = Note(
            "bad",
            f"{words.number(len(failed))} of {words.count(len(plan.requests), 'request')} not decided.",
            " ".join(failed),
        )
        numbers = [item.pk for item in plan.requests]
        return _show(request, Plan.of(numbers, viewer), [note], status=409)
    say(request, f"{words.count(many, 'request')} approved")
    return redirect("console:requests")


def _approve(plan: Plan, viewer: Principal, note: str) -> list[str]:
    """Each in a change of its own: one that somebody decided meanwhile keeps none of the others back."""
    failed = []
    for request in plan.requests:
        try:
            decisions.approve(request.pk, by=Actor(viewer, "console"), note=note)
        except PolicyError as problem:
            failed.append(f"Request {request.pk}: {problem}")
    return failed


def _clashes(plan: Plan, viewer: Principal) -> list[Note]:
    """What stands against approving all of them: each may be harmless alone."""
    told = decision_context.clashes_of(plan.requests, viewer, now=timezone.now()) if plan.requests else []
    return [Note("bad", "Separation of duties.", text) for text in told]


def _text(request: Request) -> str:
    return request.POST.get("text", "").strip()[:2000].replace("\0", "")


def _show(request: Request, plan: Plan, notes: list[Note], *, status: int = 200) -> HttpResponse:
    many = words.count(len(plan.requests), "request")
    together = " together" if len(plan.requests) > 1 else ""
    notes = [*notes, *_clashes(plan, asker_of(request))]
    left = Note("warn", "Left out.", " ".join(plan.left_out)) if plan.left_out else None
    context: dict[str, Any] = {
        "crumbs": Crumbs((("Requests", reverse("console:requests")),)),
        "heading": f"Approve {many}{together}?" if plan.requests else "Nothing to decide together",
        "lead": "Each request is approved as it is, one by one in the history.",
        "notes": [*notes, *([left] if left else [])],
        "on": [item.pk for item in plan.requests],
        "diff": plan.diff(),
        "button": f"Approve {many}",
        "back": reverse("console:requests"),
        "here": reverse("console:requests_together"),
        "empty": Empty(
            "None of these can be decided together",
            risk.REASON.text,
            actions=(Action("Back to the list", reverse("console:requests")),),
            level=2,
        ),
    }
    return page(
        request,
        "console/requests/bulk_decide.html",
        context,
        section="requests",
        revision=revision_now(),
        status=status,
    )
