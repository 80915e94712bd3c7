"""Hints on the page of an object, a role or a person, for those who may change it or review it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.insights.access import actor
from authzsite.console.insights.hint_rows import Drawing, reasons
from authzsite.console.kit.display import terms, words
from authzsite.console.objects.access import ObjectAccess
from catalog.nodes import Node
from policies.analytics import hints
from policies.analytics.hints import HintView

SHOWN = 3


def on_object(place: ObjectAccess) -> dict[str, Any]:
    """Those on the object itself.  A fixed number of queries."""
    if not place.may_look:
        return {}
    hints_ = hints.about_object(place.node, place.actor)
    return _drawn(place.asker, hints_, [place.node], reverse("console:object", args=[place.node.id]))


def on_role(place: ObjectAccess) -> dict[str, Any]:
    """Those about what the role gives, and about the role beside another."""
    hints_ = hints.about_role(place.node, place.actor)
    return _drawn(place.asker, hints_, [place.node], terms.page_of(place.node.id, place.node.type))


def on_person(asker: Principal, person: Principal, realms: Sequence[Node]) -> dict[str, Any]:
    """Those about what somebody holds, realm by realm."""
    by = actor(asker)
    views = [view for realm in realms for view in hints.about_person(person, realm, by)]
    return _drawn(asker, views, realms, reverse("console:person", args=[person.pk]))


def _drawn(asker: Principal, views: Sequence[HintView], realms: Sequence[Node], back: str) -> dict[str, Any]:
    if not views:
        return {}
    draw = Drawing.by(asker, realms, back)
    lines = [draw.line(item) for item in views[:SHOWN]]
    more = len(views) - len(lines)
    url = f"{reverse('console:hints')}?{urlencode({'in': views[0].node.root_id})}"
    return {
        "hints": lines,
        "hints_url": url,
        "hints_more": _("%(more)s in the list of hints.") % {"more": words.count(more, "more hint")}
        if more
        else "",
        "hints_reasons": reasons(lines),
    }
