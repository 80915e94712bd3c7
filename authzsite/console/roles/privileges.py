"""What a role allows and denies on an object, chosen for all privileges at once, with what that changes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from authzsite.console.access.grant_form import privileges_for
from authzsite.console.cdap.links import page_of_name
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import changed_meanwhile, done_before
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import Crumbs, Empty, Face, Note, Who
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import circle_of, giveable
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from authzsite.console.people.person_groups import Held
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.role import Seen, visit_role
from authzsite.console.roles.views import nonce_in
from catalog.nodes import Node
from lakewarden.law import dialects
from policies.authority import Actor
from policies.errors import Conflict, Invalid
from policies.events import GRANT_ADDED
from policies.models import Grant
from policies.previews.roles import RoleChange, RolePreview, of_role_change
from policies.separation import Separated
from policies.services import roles
from policies.services.authorities import authorized
from policies.services.grants import GRANT, revision_now
from policies.services.roles import Privilege

STATES = (("", "Nothing"), ("allow", "Allow"), ("deny", "Deny"))


@reads
@signed_in
def choose(request: Request, id: int) -> HttpResponse:
    """On which object: those one governs, or those a search finds."""
    seen = visit_role(request, id)
    if named := page_of_name(seen.root, "cdap_grant"):
        return redirect(f"{named}?{urlencode({'role': seen.node.name})}")
    text = request.GET.get("q", "").strip()[:255]
    found = sorted(giveable(circle_of(request), text), key=lambda one: (len(one.names), one.names))
    context = {
        "heading": f"What {seen.node.name} gives",
        "kind": "",
        "lead": "On which object? You may choose where you may give access.",
        "crumbs": Crumbs((("Roles", reverse("console:roles")), (seen.node.name, _back(seen.node)))),
        "asked": text,
        "rows": [_choice(seen, one) for one in found if one.realm_id == seen.node.realm_id][:30],
        "empty": Empty(
            f"Nothing called “{text}” is yours to give" if text else "Nothing is yours to give",
            "Its owner can give access to it.",
            drawn=False,
            level=2,
        ),
    }
    return _page(request, "console/people/person_grant.html", seen, context)


def _choice(seen: Seen, node: Node) -> Held:
    url = reverse("console:role_give_on", args=[seen.node.id, node.id])
    return Held(
        Who(node.name, Face("thing", terms.icon_of(node.type)), terms.place_words(node), url), "", None
    )


def _back(role: Node) -> str:
    return reverse("console:role", args=[role.id])


def _page(
    request: Request, template: str, seen: Seen, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    return page(
        request,
        template,
        context,
        room="roles",
        realm=seen.node.realm,
        revision=seen.place.slice.revision,
        status=status,
    )


@dataclass
class Giving:
    """For each privilege that fits the object, whether the role allows it, denies it or says nothing."""

    seen: Seen
    place: Place
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def known(self) -> list[dialects.Privilege]:
        return privileges_for(self.node)

    @cached_property
    def now(self) -> dict[str, str]:
        rows = Grant.objects.open().filter(role=self.seen.node.id, securable=self.node.id)
        return dict(rows.values_list("privilege", "effect"))

    @cached_property
    def wanted(self) -> dict[str, str]:
        """What the form says, or what is true now where it says nothing."""
        states = dict(STATES)
        told = {one.code: self.data.get(one.code, self.now.get(one.code, "")) for one in self.known}
        return {code: state if state in states else "" for code, state in told.items()}

    def _differing(self) -> list[str]:
        return [code for code, state in self.wanted.items() if state != self.now.get(code, "")]

    @cached_property
    def adds(self) -> list[Privilege]:
        return [Privilege(code, self.wanted[code]) for code in self._differing() if self.wanted[code]]

    @cached_property
    def removes(self) -> list[Privilege]:
        return [Privilege(code, self.now[code]) for code in self._differing() if code in self.now]

    @property
    def change(self) -> RoleChange:
        return RoleChange(adds=self._on(self.adds), removes=self._on(self.removes))

    def _on(self, some: Sequence[Privilege]) -> tuple[tuple[Node, Privilege], ...]:
        return tuple((self.node, one) for one in some)

    @property
    def reason(self) -> str:
        return self.data.get("reason", "").strip()[:2000].replace("\0", "")

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "code": one.code,
                "label": terms.right(one.code, self.node.type, self.node.kind),
                "text": one.description,
                "state": self.wanted[one.code],
            }
            for one in self.known
        ]


@reads_and_writes
@signed_in
def give(request: Request, id: int, on: int) -> HttpResponse:
    """The form of one object; looking is a step of its own."""
    seen, place = visit_role(request, id), visit(request, on)
    if not place.may_grant:
        return refused(request, place, "grant")
    giving = Giving(seen, place, request.POST)
    if request.POST.get("step") == "save" and (giving.adds or giving.removes):
        return _save(request, giving)
    notes = [Note("", "Nothing is different yet.")] if request.POST.get("step") == "save" else []
    return _show(request, giving, notes)


def _save(request: Request, giving: Giving) -> HttpResponse:
    seen, node = giving.seen, giving.node
    actor = Actor(giving.place.asker, "console", request_id=nonce_in(request))
    since = number_in(request.POST.get("seen", "")) or 0
    if done_before(actor) is not None:
        return redirect("console:role", id=seen.node.id)
    try:
        with authorized(GRANT_ADDED, node, GRANT, by=actor, reason=giving.reason) as authority:
            _unchanged(giving, since)
            roles.remove_privileges(seen.node, node, giving.removes, by=actor, authority=authority)
            roles.add_privileges(seen.node, node, giving.adds, by=actor, authority=authority)
    except Separated as problem:
        return _show(request, giving, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    except Conflict:
        return _show(request, giving, [changed_meanwhile(node, since)])
    except Invalid as problem:
        return _show(request, giving, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    say(request, f"Role {seen.node.name} is changed on {node.name}", undo=done_before(actor))
    return redirect("console:role", id=seen.node.id)


def _unchanged(giving: Giving, since: int) -> None:
    rows = Grant.objects.filter(role=giving.seen.node.id, securable=giving.node.id)
    if since and rows.filter(Q(opened__gt=since) | Q(closed__gt=since)).exists():
        raise Conflict("Somebody changed what this role gives since you opened this page.")


def _show(request: Request, giving: Giving, notes: list[Note]) -> HttpResponse:
    seen, node = giving.seen, giving.node
    changed = bool(giving.adds or giving.removes)
    foretold = Foretold.of_role(of_role_change(seen.node, giving.change) if changed else RolePreview())
    context = {
        "heading": f"What {seen.node.name} gives on {node.name}",
        "place": terms.place_words(node),
        "notes": notes,
        "here": request.path,
        "back": _back(seen.node),
        "nonce": secrets.token_hex(12),
        "seen": revision_now(),
        "rows": giving.rows(),
        "states": STATES,
        "reason": giving.reason,
        "problems": giving.problems,
        "button": f"Change what {seen.node.name} gives",
        "tally": foretold.tally() if foretold.parts else None,
        "diff": foretold.diff() if changed else None,
        "preview_empty": "Choose, then look: this side tells who gains and who loses.",
        "sum": foretold.sum(),
    }
    return _page(request, "console/roles/privileges.html", seen, context, 422 if notes else 200)
