"""Giving access on a name, exact or with * and ?: what it matches and who gains, before it is saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.models import Principal
from accounts.text import holdable
from authzsite.console.cdap.context import InstanceContext, desk_at
from authzsite.console.cdap.effects import PatternEffects
from authzsite.console.kit import form_resume
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import RESUMED
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.principal_picker import PrincipalPicker
from authzsite.console.kit.methods import reads, reads_and_writes, writes
from authzsite.console.kit.page import say
from authzsite.console.kit.refusal import refused
from catalog.nodes import Node
from catalog.queries import below, find
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity, parse
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import givable
from policies.errors import PolicyError
from policies.events import GRANT_ADDED
from policies.previews import patterns as previews_patterns
from policies.record.change import change
from policies.services import patterns, realm_of

ROLES = 200


@dataclass
class PatternGrantForm(PrincipalPicker):
    """What somebody fills in, read from an address or a form, and checked."""

    desk: InstanceContext | None = None

    @property
    def at(self) -> InstanceContext:
        if self.desk is None:
            raise TypeError("a draft is made at a desk")
        return self.desk

    def candidates(self, text: str = "") -> QuerySet[Principal]:
        return givable(self.at.root, text)

    def nobody(self) -> str:
        return "Nobody of that name is known here."

    @cached_property
    def text(self) -> str:
        return self.data.get("text", "").strip()[: patterns.LONGEST + 1].replace("\0", "")

    @cached_property
    def target(self) -> Authorizable | None:
        """The name, once it is one; else the problem is named."""
        if not self.text:
            return None
        try:
            target = patterns.named(self.at.root, self.text)
            patterns.checked(self.at.root, target, None)
            patterns.authority(self.at.root, target, by=self.at.place.actor)
        except PolicyError as problem:
            self.problems["text"] = str(problem)
            return None
        return target

    @cached_property
    def may(self) -> tuple[str, ...]:
        asked = set(self.data.getlist("may"))
        found = tuple(code for code in self.at.actions if code in asked)
        return found if found or "nonce" in self.data else tuple(self.at.actions)[:1]

    @cached_property
    def role(self) -> Node | None:
        name = self.data.get("role", "")
        return find(ObjectRef("role", self.at.root.name, (name,))) if name and holdable(name) else None

    @cached_property
    def holders(self) -> list[Principal | Node]:
        return [*self.chosen, *([self.role] if self.role else [])]

    def check(self) -> bool:
        """Whether it can be saved; else the problems are named."""
        if not self.text:
            self.problems["text"] = "Write the name of an entity, or a pattern."
        elif self.target is None:
            self.problems.setdefault("text", "This is no name.")
        if self.find:
            self.problems["who"] = (
                "Choose one of these, or clear the field." if self.matches else self.nobody()
            )
        elif not self.holders:
            self.problems["who"] = "Name at least one person, group or role."
        if not self.may:
            self.problems["may"] = "Choose at least one right."
        return not self.problems

    def button(self) -> str:
        labels = [terms.lower(self.at.actions[code]) for code in self.may]
        return f"Grant {words.listed(labels, 3)}" if labels else "Grant access"


@reads_and_writes
@login_required
def grant(request: Request, id: int) -> HttpResponse:
    """The form: filled from the address, from a kept form, or from itself."""
    desk = desk_at(request, id)
    draft = PatternGrantForm(request.POST if request.method == "POST" else request.GET, desk=desk)
    if not _allowed(draft):
        return refused(request, desk.place, "grant")
    if request.method == "POST":
        return _save(request, draft) if draft.saving and draft.check() else _again(request, draft)
    again = form_resume.take(request)
    draft = PatternGrantForm(again, desk=desk) if again is not None else draft
    return _show(request, draft, [RESUMED] if again is not None else [])


def _allowed(draft: PatternGrantForm) -> bool:
    """Whether the viewer may give anything here: everything, or on the name they came with."""
    if draft.at.administers:
        return True
    try:
        return draft.at.may_grant(parse(draft.text, others=True))
    except BadEntity:
        return False


def _again(request: Request, draft: PatternGrantForm) -> HttpResponse:
    if not draft.saving:
        draft.tell_nobody()
    return _show(request, draft, [])


def _save(request: Request, draft: PatternGrantForm) -> HttpResponse:
    desk, target = draft.at, draft.target
    actor = Actor(desk.place.asker, "console", request_id=draft.nonce)
    if done_before(actor) is None and target is not None:
        try:
            with change(GRANT_ADDED, realm=realm_of(desk.root), by=actor, reason=draft.reason):
                for holder in draft.holders:
                    patterns.grant(desk.root, target, holder, draft.may, by=actor, reason=draft.reason)
        except PolicyError as problem:
            return _show(request, draft, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    revision = done_before(actor)
    names = words.listed(
        [item.label if isinstance(item, Principal) else item.name for item in draft.holders], 3
    )
    if revision is None:
        say(request, f"Nothing changed: {names} had this already")
    else:
        say(request, f"{names}: {terms.lower(desk.labels(draft.may))} on {target}", undo=revision)
    return redirect(desk.text_url(str(target)))


def _show(request: Request, draft: PatternGrantForm, notes: list[Note]) -> HttpResponse:
    desk = draft.at
    context = {**_form(draft, notes), **_preview(draft)}
    status = 422 if draft.problems and draft.saving else 200
    if not draft.saving:
        context["problems"] = {name: told for name, told in draft.problems.items() if name != "text"}
    return desk.show(request, "console/cdap/grant.html", context, status=status)


def _form(draft: PatternGrantForm, notes: list[Note]) -> dict[str, Any]:
    desk = draft.at
    roles = below(desk.root, "role").order_by("name").values_list("name", flat=True)[:ROLES]
    role = draft.role.name if draft.role else ""
    about = {known.code: known.description for known in patterns.law_of(desk.root).privileges.values()}
    return {
        **draft.fields(),
        "here": desk.url("cdap_grant"),
        "heading": f"Give access in {desk.root.name}",
        "back": desk.text_url(draft.text) if draft.target else desk.url(),
        "notes": notes,
        "nonce": draft.nonce,
        "text": draft.text,
        "by_pattern": desk.by_pattern,
        "roles": [{"name": name, "chosen": name == role} for name in roles],
        "picker_url": desk.url("cdap_grant_people"),
        "preview_url": desk.url("cdap_grant_preview"),
        "actions_known": [
            {"code": code, "label": label, "text": about[code], "checked": code in draft.may}
            for code, label in desk.actions.items()
        ],
        "reason": draft.reason,
        "problems": draft.problems,
    }


def _preview(draft: PatternGrantForm) -> dict[str, Any]:
    if not draft.text or draft.target is None:
        problem = draft.problems.get("text", "") if draft.text else ""
        empty = "Write a name, and the preview shows what it matches, who gains and who loses."
        return {"preview_empty": problem or empty, "button": draft.button()}
    foretold = previews_patterns.of_grant(draft.at.root, draft.target, draft.holders, draft.may)
    told = PatternEffects(draft.at, draft.target, foretold)
    return {
        "matches": told.matches(),
        "tally": told.tally(),
        "diff": told.diff(),
        "sum": told.sum(),
        "preview_empty": "Name a person, a group or a role, and the preview shows who gains.",
        "button": draft.button(),
    }


@reads
@login_required
def people(request: Request, id: int) -> HttpResponse:
    """People and groups that match what is being typed, for a script."""
    draft = PatternGrantForm(request.GET, desk=desk_at(request, id))
    if not _allowed(draft):
        return refused(request, draft.at.place, "grant")
    return render(request, "console/access/grant_options.html", draft.fields())


@writes
@login_required
def preview(request: Request, id: int) -> HttpResponse:
    """What the form would change as it stands, for a script."""
    draft = PatternGrantForm(request.POST, desk=desk_at(request, id))
    if not _allowed(draft):
        return refused(request, draft.at.place, "grant")
    return render(request, "console/cdap/live.html", _preview(draft))
