"""Asking and deciding in a few words: `ask("ana", "read shop.sales.orders")`, `approve(request, "theo")`."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts import editions, people
from accounts.models import Principal
from policies.authority import Actor
from policies.decisions import ask as decisions_ask
from policies.models import AccessRequest, RequestPart, RequestWant
from policies.requests import decisions, submission
from policies.requests.approval_seals import seal_approval
from policies.requests.submission import Asking, WantedAction
from tests.factories import the

WHY = "quarterly revenue report"
TYPES = {0: "metalake", 1: "catalog", 2: "schema", 3: "table"}


def begins_now() -> None:
    """What was approved for later is due: as if the time until then were over."""
    RequestWant.objects.update(due=timezone.now())
    AccessRequest.objects.update(starts=timezone.now())
    with editions.gathered():
        for part in RequestPart.objects.exclude(seal=None).select_related("request"):
            seal_approval(part.request, part)


def who(text: str) -> Principal:
    kind, _, name = text.rpartition(":")
    return people.ensure(kind or "user", name)


def by(text: str, via: str = "console") -> Actor:
    return Actor(who(text), via)


def wanted(text: str, realm: str = "demo") -> WantedAction:
    """`read shop.sales.orders`, `write schema shop.sales`, `hold role sales_read`."""
    action, *rest = text.split(" ")
    full = rest[-1] if rest else ""
    type_ = rest[0] if len(rest) == 2 else TYPES[len(full.split(".")) if full else 0]
    return WantedAction(type_, f"{realm}/{full}" if full else realm, action)


def an_asking(asker: str, *wants: str, realm: str = "demo", holder: str = "", **more: Any) -> Asking:
    more.setdefault("reason", WHY)
    return Asking(tuple(wanted(want, realm) for want in wants), who(holder or asker), **more)


def ask(asker: str, *wants: str, **more: Any) -> AccessRequest:
    return submission.ask(an_asking(asker, *wants, **more), by=by(asker))


def approve(request: AccessRequest, decider: str, **more: Any) -> AccessRequest:
    return decisions.approve(request.pk, by=by(decider), **more)


def refuse(
    request: AccessRequest, decider: str, reason: str = "not for reports", **more: Any
) -> AccessRequest:
    return decisions.refuse(request.pk, reason, by=by(decider), **more)


def told(request: AccessRequest) -> list[str]:
    """Each part with its state: `Use schema on schema demo/shop.sales: waiting for a decision`."""
    from policies.requests.record_words import part_said

    return [f"{part_said(part).english}: {part.state}" for part in request.parts.order_by("number")]


def can(name: str, action: str = "read", table: str = "shop.sales.orders", **more: Any) -> bool:
    return bool(decisions_ask.ask(who(name), action, the("table", table), **more))
