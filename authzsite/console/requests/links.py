"""Addresses that lead to asking: from an object, a refusal, a person, a role, or several ticked things."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display.parts import Action
from catalog.nodes import Node
from policies.requests import parties
from policies.requests.needs import HOLD

Wish = tuple[str, str, str]
"""The type, the id (`demo/shop.sales.orders`) and the action of one thing that is wanted."""


def ask(wanted: Iterable[Wish], holder: Principal | None = None) -> str:
    """The form with these things in it, for somebody else than the asker where one is named."""
    pairs = [
        pair
        for type_, name, action in wanted
        for pair in (("resource", name), ("type", type_), ("action", action))
    ]
    if holder is not None:
        pairs.append(("for", str(holder)))
    return f"{reverse('console:request_new')}?{urlencode(pairs)}"


def ask_for(nodes: Iterable[Node], action: str = "", holder: Principal | None = None) -> str:
    """The same for known objects, with what is usually wanted of each."""
    return ask(((node.type, node.ref.id, action or usual(node.type)) for node in nodes), holder)


def may_ask_for(asker: Principal, holder: Principal) -> bool:
    """For the viewer, their groups, and the service accounts they answer for."""
    return asker == holder or holder in parties.holders(asker)


def asking(asker: Principal, holder: Principal) -> list[Action]:
    """The way to ask for what somebody lacks, on their own page and on those of their groups and services."""
    mine = asker == holder or (holder.kind != Principal.Kind.USER and may_ask_for(asker, holder))
    return [Action(_("Request access"), ask([], holder))] if mine else []


def usual(type_: str) -> str:
    if type_ == "role":
        return HOLD
    return "use" if type_ in ("metalake", "catalog", "schema", "herd", "instance") else "read"
