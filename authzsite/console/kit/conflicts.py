"""Two at once: whether this very form was saved before, and who changed the same thing meanwhile."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from catalog.nodes import Node
from policies.authority import Actor
from policies.models import Change, Event

GRANTS = ("grant.added", "grant.removed")


def done_before(actor: Actor) -> int | None:
    """The revision at which this form was saved, when a double click or a reload sends it again."""
    rows = Change.objects.filter(actor=actor.pseudonym, request_id=actor.request_id)
    return rows.values_list("revision", flat=True).order_by("-revision").first()


def changed_meanwhile(node: Node, seen: int) -> Note:
    """Who changed these grants since, when, and where to look."""
    last = (
        Event.objects.filter(change__gt=seen, kind__in=GRANTS, lineage__contains=[node.id])
        .select_related("change")
        .order_by("-change")
        .first()
    )
    if last is None:
        return Note(
            "bad",
            _("Not saved: someone changed these grants meanwhile."),
            _("Your form is kept. Check it again, then save."),
        )
    row = Principal.objects.filter(pseudonym=last.change.actor).first()
    name = row.label if row else _("Someone")
    url = f"{reverse('console:history')}?revision={last.change_id}"
    strong = _("Not saved: %(name)s changed these grants %(at)s.") % {
        "name": name,
        "at": words.ago(last.change.at),
    }
    return Note(
        "bad",
        strong,
        _("Your form is kept. Check what it does now, then save again."),
        url,
        _("See that change"),
    )
