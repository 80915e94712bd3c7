"""Taking back what somebody was given on a name, with who really loses and who keeps it by another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect

from accounts.models import Principal
from authzsite.console.cdap.context import InstanceContext, PatternGrant, desk_at, held_on
from authzsite.console.cdap.effects import PatternEffects
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import RESUMED
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.kit.refusal import refused
from authzsite.console.roles.views import nonce_in
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.errors import PolicyError
from policies.previews import patterns as previews_patterns
from policies.services import patterns


@dataclass
class Removal:
    """What is to be taken from whom."""

    desk: InstanceContext
    target: Authorizable
    code: str

    @cached_property
    def held(self) -> PatternGrant | None:
        rows = patterns.open_on(self.desk.root, str(self.target)).order_by("privilege")
        return next((item for item in held_on(self.desk, rows) if item.code == self.code), None)

    @cached_property
    def holder(self) -> Principal | Node | None:
        kind, _, name = self.code.partition(":")
        if kind == "role":
            return find(ObjectRef("role", self.desk.root.name, (name,)))
        return Principal.objects.filter(kind=kind, name=name).first()

    @property
    def spoken(self) -> str:
        if isinstance(self.holder, Principal):
            return terms.principal_name(self.holder)
        return f"role {self.code.partition(':')[2]}"

    @cached_property
    def told(self) -> PatternEffects | None:
        if self.held is None or self.holder is None:
            return None
        foretold = previews_patterns.of_removal(self.desk.root, self.target, self.holder, self.held.rows)
        return PatternEffects(self.desk, self.target, foretold, removal=True)


@reads_and_writes
@login_required
def revoke(request: Request, id: int) -> HttpResponse:
    """What it would take; then it is done."""
    desk = desk_at(request, id)
    code = request.GET.get("who", "")
    if "\0" in code:
        raise Http404
    removal = Removal(desk, desk.named(request.GET.get("text", "")), code)
    if not desk.may_grant(removal.target):
        return refused(request, desk.place, "grant")
    if request.method == "POST":
        return _posted(request, removal)
    again = form_resume.take(request)
    return _show(request, removal, again or QueryDict(), [RESUMED] if again is not None else [])


def _posted(request: Request, removal: Removal) -> HttpResponse:
    form, desk = request.POST, removal.desk
    actor = Actor(desk.place.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is None and removal.held is not None and removal.holder is not None:
        reason = form.get("reason", "").strip()[:2000].replace("\0", "")
        try:
            patterns.revoke(
                desk.root, removal.target, removal.holder, removal.held.codes, by=actor, reason=reason
            )
        except PolicyError as problem:
            return _show(request, removal, form, [Note("bad", "Not revoked.", str(problem))])
    revision = done_before(actor)
    if revision is None:
        say(request, f"Nothing changed: {removal.spoken} had nothing on {removal.target}")
    else:
        say(request, f"{removal.target}: revoked from {removal.spoken}", undo=revision)
    return redirect(desk.text_url(str(removal.target)))


def _show(request: Request, removal: Removal, form: QueryDict, notes: list[Note]) -> HttpResponse:
    told, desk = removal.told, removal.desk
    what = (
        words.listed([terms.lower(desk.actions[code]) for code in removal.held.codes]) if removal.held else ""
    )
    if told is None:
        said = f"There is nothing to revoke: {removal.spoken} holds nothing on exactly this name."
        notes = [*notes, Note("", said, "It may have ended, or somebody revoked it before you.")]
    context: dict[str, Any] = {
        "notes": notes,
        "heading": f"Revoke {what or 'access'} on {removal.target} from {removal.spoken}?",
        "place": told.matches() if told and removal.target.is_pattern else f"In {desk.root.name}",
        "nothing": told is None,
        "tally": told.tally() if told else None,
        "diff": told.diff() if told else None,
        "nonce": nonce_in(request),
        "reason": form.get("reason", ""),
        "problems": {},
        "button": f"Revoke from {removal.spoken}",
        "back": desk.text_url(str(removal.target)),
    }
    return desk.show(request, "console/access/revoke.html", context)
