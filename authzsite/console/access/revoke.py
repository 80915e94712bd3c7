"""Revoking access, with who really loses it and who keeps it by another path; undoing the last change."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.access.effects import Shown, out_there
from authzsite.console.cdap.links import page_of_name
from authzsite.console.history.views import somebody
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.change_view import RESUMED
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request, asker_of, number_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from authzsite.console.sync.backend_state import behind
from policies.authority import Actor
from policies.errors import Conflict, PolicyError
from policies.previews import grants as previews
from policies.previews.grants import Preview
from policies.services import grants
from policies.services.undo import undo as undo_change

MANY = 10
"""From more people than this something is only taken after its name was typed."""


@dataclass
class Removal:
    """Which direct grants of whom are to end."""

    place: Place
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def holder(self) -> Principal:
        found = somebody(self.data.get("who", "")) if ":" in self.data.get("who", "") else None
        if found is None:
            raise Http404
        return found

    @cached_property
    def codes(self) -> tuple[str, ...]:
        asked = self.data.getlist("may")
        held = grants.direct(self.place.node, self.holder).values_list("privilege", flat=True)
        return tuple(sorted(code for code in set(held) if not asked or code in asked))

    @cached_property
    def preview(self) -> Preview:
        return previews.of_removal(self.place.node, (self.holder,), self.codes)

    @cached_property
    def losing(self) -> int:
        return self.preview.count("lose")

    @property
    def rights(self) -> str:
        node = self.place.node
        return words.listed([terms.lower(terms.right(code, node.type, node.kind)) for code in self.codes])

    @property
    def button(self) -> str:
        if self.holder.kind == Principal.Kind.GROUP:
            return f"Revoke from {words.count(self.losing, 'person', 'people')}"
        return f"Revoke {self.rights} from {self.holder.label}"

    def check(self, form: QueryDict) -> bool:
        if self.losing > MANY and form.get("name", "") != self.place.node.name:
            self.problems["name"] = f"Type {self.place.node.name} as it is written above."
        return not self.problems


@reads_and_writes
@signed_in
def revoke(request: Request, id: int) -> HttpResponse:
    """What it would take from whom; then it is done."""
    place = visit(request, id)
    if named := page_of_name(place.node):
        return redirect(named)
    if place.node.type == "namespace":  # it is taken there, entry by entry
        return redirect("console:namespace", id=id)
    if not place.may_grant:
        return refused(request, place, "grant")
    removal = Removal(place, request.GET)
    if request.method == "POST":
        return _posted(request, removal)
    again = form_resume.take(request)
    return _show(request, removal, again or QueryDict(), [RESUMED] if again is not None else [])


def _posted(request: Request, removal: Removal) -> HttpResponse:
    form = request.POST
    actor = Actor(removal.place.asker, "console", request_id=_nonce(form))
    before = done_before(actor)
    if before is not None:
        return _done(request, removal, before)
    if not removal.check(form):
        return _show(request, removal, form, [])
    node, rights, seen = removal.place.node, removal.rights, number_in(form.get("seen", ""))
    try:
        reason = form.get("reason", "").strip()[:2000].replace("\0", "")
        grants.remove(
            node,
            (removal.holder,),
            removal.codes,
            by=actor,
            reason=reason,
            seen=seen,
        )
    except Conflict:
        before = done_before(actor)
        if before is not None:
            return _done(request, removal, before)
        return _show(request, removal, form, [changed_meanwhile(node, seen or 0)], fresh=True)
    return _done(request, removal, done_before(actor), rights)


def _nonce(form: QueryDict) -> str:
    asked = form.get("nonce", "")
    return asked if 10 <= len(asked) <= 40 and asked.isalnum() else secrets.token_hex(12)


def _done(request: Request, removal: Removal, revision: int | None, rights: str = "") -> HttpResponse:
    name = removal.place.node.name
    if revision is None:
        say(request, f"Nothing changed: {removal.holder.label} had nothing directly on {name}")
    else:
        what = rights[:1].upper() + rights[1:] if rights else "Access"
        say(request, f"{what} on {name} revoked from {removal.holder.label}", undo=revision)
    return redirect("console:object", id=removal.place.node.id)


def _show(
    request: Request, removal: Removal, form: QueryDict, notes: list[Note], *, fresh: bool = False
) -> HttpResponse:
    node = removal.place.node
    if not removal.codes:
        notes = [
            *notes,
            Note(
                "",
                f"There is nothing to revoke: {removal.holder.label} holds nothing directly on {node.name}.",
                "It may have ended, or somebody revoked it before you.",
            ),
        ]
    shown = Shown(removal.preview, node, removal=True)
    rights, holder = removal.rights or "access", terms.spoken(removal.holder)
    context: dict[str, Any] = {
        "notes": notes,
        "heading": f"Revoke {rights} on {node.name} from {holder}?",
        "place": terms.place_words(node),
        "nothing": not removal.codes,
        "tally": shown.tally(),
        "diff": shown.diff(),
        "backend_text": out_there(behind(node), removal=True),
        "nonce": _nonce(form),
        "seen": grants.revision_now() if fresh else number_in(form.get("seen", "")) or grants.revision_now(),
        "reason": form.get("reason", ""),
        "type_name": node.name if removal.losing > MANY else "",
        "problems": removal.problems,
        "button": removal.button,
        "back": reverse("console:object", args=[node.id]),
    }
    return page(
        request,
        "console/access/revoke.html",
        context,
        room="catalog",
        realm=node.realm,
        revision=removal.place.slice.revision,
    )


@reads_and_writes
@signed_in
def undo(request: Request, revision: int) -> HttpResponse:
    """Undo the viewer's own change by the opposite change; the record keeps both."""
    if request.method != "POST":
        return redirect(f"{reverse('console:history')}?revision={revision}")
    try:
        about = undo_change(revision, by=Actor(asker_of(request), "console"))
    except PolicyError as problem:
        say(request, f"Not undone. {problem}")
        return redirect(f"{reverse('console:history')}?revision={revision}")
    say(request, f"Change {words.number(revision)} is undone")
    if isinstance(about, Principal):
        return redirect("console:person_groups", id=about.pk)
    return redirect("console:role" if about.type == "role" else "console:object", id=about.id)
