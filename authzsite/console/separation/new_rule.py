"""Making a rule: its two sides, and who has both already, before it is made."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import say
from authzsite.console.roles.views import nonce_in
from authzsite.console.separation.context import SeparationContext, ViolationRow, desk_at, line, refused
from authzsite.console.settings.realm import show
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import find_all
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.authority import Actor
from policies.decisions.personal_role_names import MARK
from policies.errors import PolicyError
from policies.separation import Book
from policies.separation.sides import Side
from policies.services import separation

ROLES = 500
"""So many roles are offered by name; rights on an object can be named beside them."""
SIDES = (("one", "Nobody has both"), ("other", "and"))


@dataclass
class SideForm:
    """One side as it is filled in: a role's number, or an object's full name and codes of rights."""

    root: Node
    name: str
    legend: str
    data: QueryDict
    problem: str = ""

    @property
    def role(self) -> str:
        return self.data.get(f"{self.name}_role", "")

    @property
    def what(self) -> str:
        return self.data.get(f"{self.name}_what", "").strip()[:1000].replace("\0", "")

    @cached_property
    def node(self) -> Node | None:
        """The object that is named, whatever its type."""
        if not self.what or self.role:
            return None
        law = dialects.get(self.root.kind)
        if self.what == self.root.name:
            return self.root
        try:
            path = split_name(self.what)
        except BadName:
            return None
        types = [type_ for type_ in law.paths if type_ != "role"]
        found = [node for node in find_all([ObjectRef(item, self.root.name, path) for item in types]) if node]
        return found[0] if found else None

    @cached_property
    def rights(self) -> Sequence[Any]:
        """What may be kept apart there: rights on the object and on what it holds."""
        node = self.node
        if node is None:
            return ()
        law = dialects.get(node.kind)
        path = set(law.paths.get(node.type, (node.type,)))
        known = [privilege for privilege in law.privileges.values() if privilege.category != "use"]
        return [item for item in known if node.type in item.binds or not item.binds <= path]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        known = {right.code for right in self.rights}
        return tuple(code for code in self.data.getlist(f"{self.name}_may") if code in known)

    @cached_property
    def side(self) -> Side | None:
        if self.role.isdecimal() and len(self.role) < 18:
            return Side(role=int(self.role))
        if self.what and self.node is None:
            self.problem = f"There is nothing called {self.what} here."
        elif self.node is None:
            self.problem = "Choose a role, or name an object."
        elif not self.codes:
            self.problem = "Choose the rights that are kept apart."
        return Side(object=self.node.id, privileges=self.codes) if self.node and self.codes else None

    def drawn(self, roles: Sequence[tuple[int, str]]) -> dict[str, Any]:
        node = self.node
        return {
            "name": self.name,
            "legend": self.legend,
            "roles": [(number, name, str(number) == self.role) for number, name in roles],
            "what": self.what,
            "rights": [
                (right.code, terms.right(right.code, node.type, node.kind), right.code in self.codes)
                for right in self.rights
                if node
            ],
            "on": node.ref.full_name or node.name if node else "",
            "problem": self.problem,
        }


@dataclass
class Form:
    """The whole form; `step` is look or save."""

    desk: SeparationContext
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @cached_property
    def sides(self) -> list[SideForm]:
        return [SideForm(self.desk.ward.root, name, legend, self.data) for name, legend in SIDES]

    @property
    def name(self) -> str:
        return self.data.get("name", "").strip()[:100].replace("\0", "")

    @property
    def owners(self) -> bool:
        """Whether owners count; they do unless the form that was seen says otherwise."""
        return "step" not in self.data or self.data.get("owners") == "on"

    @cached_property
    def whole(self) -> tuple[Side, Side] | None:
        one, other = (draft.side for draft in self.sides)
        return (one, other) if one and other else None


@reads_and_writes
@login_required
def new(request: Request, id: int) -> HttpResponse:
    """Name, sides, who has both already; then it is made."""
    desk = desk_at(request, id)
    if not desk.writes:
        return refused(request, desk, "make rules of separation")
    form = Form(desk, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or form.data.get("step") != "save":
        return _show(request, form, [], fresh="step" not in form.data)
    if not form.whole:
        return _show(request, form, [])
    actor = Actor(desk.ward.asker, "console", request_id=nonce_in(request))
    back = redirect("console:separation", id=desk.ward.root.id)
    if done_before(actor) is not None:
        return back
    reason = form.data.get("reason", "").strip()[:2000].replace("\0", "")
    try:
        separation.make(desk.ward.root, form.name, *form.whole, by=actor, reason=reason, owners=form.owners)
    except PolicyError as problem:
        return _show(request, form, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    say(request, f"The rule {form.name} applies from now on", undo=done_before(actor))
    return back


def _show(request: Request, form: Form, notes: list[Note], *, fresh: bool = False) -> HttpResponse:
    root = form.desk.ward.root
    lines, foretold = ([], "") if fresh or not form.whole else _already(form, notes)
    rows = Placement.objects.open().filter(type="role", securable__realm=root.realm_id)
    roles = rows.exclude(name__startswith=MARK).order_by("name").values_list("securable", "name")
    context = {
        "heading": f"Make a rule for {root.name}",
        "place": "Nobody may hold both sides from now on.",
        "notes": notes,
        "nonce": secrets.token_hex(12),
        "name": form.name,
        "sides": [_drawn(draft, list(roles[:ROLES]), fresh=fresh) for draft in form.sides],
        "owners": form.owners,
        "reason": form.data.get("reason", "")[:2000],
        "lines": lines,
        "foretold": foretold,
        "here": request.path,
        "back": reverse("console:separation", args=[root.id]),
    }
    wrong = notes or (not fresh and form.data.get("step") == "save")
    return show(request, "console/separation/new.html", form.desk.ward, context, status=422 if wrong else 200)


def _drawn(draft: SideForm, roles: Sequence[tuple[int, str]], *, fresh: bool) -> dict[str, Any]:
    if not fresh:
        _ = draft.side  # finds out what is wrong with it
    return draft.drawn(roles)


def _already(form: Form, notes: list[Note]) -> tuple[list[ViolationRow], str]:
    if not form.whole:
        return [], ""
    root = form.desk.ward.root
    try:
        rule = separation.unsaved(root, form.name or "this rule", *form.whole, owners=form.owners)
    except PolicyError as problem:
        notes.append(Note("bad", "This is not a valid rule.", str(problem)))
        return [], ""
    book = Book([rule], {}, form.desk.book.now)
    lines = [line(found, book) for found in form.desk.found(book)]
    return lines, _foretold(len(lines))


def _foretold(many: int) -> str:
    if not many:
        return "Nobody holds both now."
    has = "has" if many == 1 else "have"
    people = words.count(many, "person", "people")
    return (
        f"{people} {has} both already: the rule takes nothing from them, and lists them until it is resolved."
    )
