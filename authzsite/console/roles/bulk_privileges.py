"""One set of privileges on many objects at once: which objects, which privileges, and what that changes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from accounts.text import holdable
from authzsite.console.access.grant_form import ORDER
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Note, Who
from authzsite.console.kit.http import Request, number_in, numbers_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.role import VisibleRole, visit_role
from authzsite.console.roles.views import nonce_in
from catalog.models import Placement
from catalog.nodes import Node, any_of, nodes, on_or_below
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import PolicyError
from policies.previews.roles import RoleChange, RolePreview, of_role_change
from policies.services.grants import revision_now
from policies.services.role_privileges import Turn, set_on_all, turns
from policies.services.roles import Privilege, catalog_kind

LISTED, MOST = 100, 1000
TYPES = ("table", "view", "schema", "catalog", "topic", "fileset", "model", "function")
STATES = (("keep", "As it is"), ("none", "Nothing"), ("allow", "Allow"), ("deny", "Deny"))


@dataclass(frozen=True)
class Picked:
    """The objects of one type that an address names, all of which the viewer may give access to."""

    seen: VisibleRole
    circle: VisiblePrincipals
    data: QueryDict

    @cached_property
    def type(self) -> str:
        asked = self.data.get("type", "")
        return asked if asked in TYPES else "table"

    @property
    def text(self) -> str:
        return self.data.get("q", "").strip()[:255]

    @cached_property
    def marked(self) -> list[int]:
        return numbers_in(self.data.getlist("o")[:MOST])

    @cached_property
    def found(self) -> list[Node]:
        """By name; of those that lie in what they govern only where the law lets them give access."""
        governed = self.circle.sight.objects
        rows = Placement.objects.open().filter(securable__realm=self.seen.node.realm_id, type=self.type)
        rows = rows.filter(on_or_below(governed))
        if self.marked:
            rows = rows.filter(any_of("securable_id", self.marked))
        if self.text:
            rows = rows.filter(name__icontains=self.text) if holdable(self.text) else rows.none()
        keys = list(rows.order_by("name", "pk").values_list("securable", flat=True)[: MOST + 1])
        known, place = nodes(keys), self.seen.place
        some = [known[key] for key in keys if key in known]
        return [item for item in some if ask.answer(place.slice, "grant", item, now=place.now)]

    def address(self) -> str:
        asked = [("type", self.type), ("q", self.text), *(("o", key) for key in self.marked)]
        return "?" + urlencode([(name, value) for name, value in asked if value])


# Which objects


@reads
@login_required
def choose(request: Request, id: int) -> HttpResponse:
    """Objects of one type, marked or all that a name finds."""
    picked = Picked(visit_role(request, id), circle_of(request), request.GET)
    role, shown = picked.seen.node, picked.found[:LISTED]
    back = reverse("console:role", args=[id])
    context = {
        "crumbs": Crumbs((("Roles", reverse("console:roles")), (role.name, back))),
        "heading": f"What {role.name} gives on many objects",
        "kind": "",
        "lead": "Choose the objects, or continue with all that match the filter.",
        "asked": picked.text,
        "type": picked.type,
        "types": TYPES,
        "rows": [_row(item) for item in shown],
        "next_url": reverse("console:role_many_give", args=[id]),
        "all_words": f"all {words.count(len(picked.found), picked.type)} that match the filter",
        "more": words.number(len(picked.found) - len(shown)) if len(picked.found) > len(shown) else "",
        "empty": Empty(
            "Nothing of that kind is yours to give",
            drawn=False,
            actions=(Action("Show all", "?"),),
            level=2,
        ),
    }
    return _page(request, "console/roles/bulk_privileges.html", picked.seen, context)


def _row(node: Node) -> dict[str, Any]:
    icon, url = terms.icon_of(node.type), terms.page_of(node.id, node.type)
    return {"id": node.id, "who": Who(node.name, Face("thing", icon), " / ".join(node.names[:-1]), url)}


def _page(
    request: Request, template: str, seen: VisibleRole, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    realm, revision = seen.node.realm, seen.place.slice.revision
    return page(request, template, context, section="roles", realm=realm, revision=revision, status=status)


# Which privileges


@dataclass(frozen=True)
class Setting:
    """What the role is to say of all the picked objects."""

    picked: Picked
    form: QueryDict

    @cached_property
    def known(self) -> list[dialects.Privilege]:
        some = self.picked.found
        if not some:
            return []
        law, kind = dialects.get(some[0].kind), catalog_kind(some[0])
        fitting = [
            privilege
            for privilege in law.privileges.values()
            if not law.bindable(privilege.code, some[0].type, kind)
        ]
        return sorted(fitting, key=lambda one: (ORDER.index(one.category), one.bit))

    @cached_property
    def wanted(self) -> dict[str, str]:
        told = {item.code: self.form.get(item.code, "keep") for item in self.known}
        return {code: {"none": ""}.get(state, state) for code, state in told.items() if state in _MEANT}

    @cached_property
    def turns(self) -> list[Turn]:
        return turns(self.picked.seen.node, self.picked.found, self.wanted)

    @property
    def change(self) -> RoleChange:
        adds = tuple((turn.node, Privilege(turn.privilege, turn.after)) for turn in self.turns if turn.after)
        removes = tuple(
            (turn.node, Privilege(turn.privilege, turn.before)) for turn in self.turns if turn.before
        )
        return RoleChange(adds=adds, removes=removes)

    @property
    def foretold(self) -> Foretold:
        preview = of_role_change(self.picked.seen.node, self.change) if self.turns else RolePreview()
        return Foretold.of_role(preview)

    def rows(self) -> list[dict[str, Any]]:
        node = self.picked.found[0]
        return [
            {
                "code": item.code,
                "label": terms.right(item.code, node.type, node.kind),
                "text": item.description,
                "state": self.form.get(item.code, "keep"),
            }
            for item in self.known
        ]


_MEANT = {"none", "allow", "deny"}


@reads_and_writes
@login_required
def give(request: Request, id: int) -> HttpResponse:
    """Each privilege: as it is, nothing, allowed, denied; who gains and who loses; then it is done."""
    picked = Picked(visit_role(request, id), circle_of(request), request.GET)
    if not picked.found:
        return redirect(f"{reverse('console:role_many', args=[id])}{picked.address()}")
    setting = Setting(picked, request.POST)
    if len(picked.found) > MOST:
        text = f"Choose fewer, or filter by name: at most {words.number(MOST)} are set in one change."
        return _show(request, setting, [Note("warn", "These are too many objects.", text)], locked=True)
    if request.POST.get("step") != "save":
        return _show(request, setting, [])
    if not setting.turns:
        return _show(request, setting, [Note("", "Nothing is different yet.")])
    return _save(request, setting)


def _save(request: Request, setting: Setting) -> HttpResponse:
    seen, some = setting.picked.seen, setting.picked.found
    actor = Actor(seen.place.asker, "console", request_id=nonce_in(request))
    told = request.POST.get("foretold", "")
    if done_before(actor) is None:
        try:
            set_on_all(
                seen.node,
                some,
                setting.wanted,
                by=actor,
                reason=_reason(request),
                foretold=number_in(told) or None,
            )
        except PolicyError as problem:
            return _show(request, setting, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    what = words.count(len(some), setting.picked.type)
    say(request, f"Role {seen.node.name} is changed on {what}", undo=done_before(actor))
    return redirect("console:role", id=seen.node.id)


def _reason(request: Request) -> str:
    return request.POST.get("reason", "").strip()[:2000].replace("\0", "")


def _show(request: Request, setting: Setting, notes: list[Note], *, locked: bool = False) -> HttpResponse:
    picked, seen = setting.picked, setting.picked.seen
    looked = bool(setting.turns) and not locked
    foretold = setting.foretold if looked else Foretold(())
    what = words.count(len(picked.found), picked.type)
    context = {
        "heading": f"What {seen.node.name} gives on {what}",
        "place": _named(picked.found),
        "notes": notes,
        "here": request.get_full_path(),
        "back": f"{reverse('console:role_many', args=[seen.node.id])}{picked.address()}",
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "foretold": len(setting.turns),
        "rows": [] if locked else setting.rows(),
        "states": STATES,
        "reason": _reason(request),
        "problems": {},
        "button": f"Change {seen.node.name} on {what}",
        "tally": foretold.tally() if looked else None,
        "diff": foretold.diff() if looked else None,
        "preview_empty": "Choose, then look: the preview shows who gains and who loses, on all of them.",
        "sum": foretold.sum() if looked else "",
    }
    status = 422 if any(note.kind == "bad" for note in notes) else 200
    return _page(request, "console/roles/privileges.html", seen, context, status)


def _named(some: Sequence[Node]) -> str:
    return words.listed([item.ref.full_name for item in some], 6)
