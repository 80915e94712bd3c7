"""Giving somebody several roles in one step, so that a new person or group can start at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.access.grant_form import Draft
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import Circle, circle_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.objects.access import Place
from authzsite.console.roles.effects import Foretold
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import children
from policies.errors import PolicyError
from policies.events import ROLE_ASSIGNED
from policies.models import Assignment, RealmMember
from policies.previews.roles import of_roles_given
from policies.record import access_log
from policies.record.change import change
from policies.services import realm_of, roles
from policies.services.authorities import may
from policies.services.grants import revision_now
from policies.services.personal_roles import is_personal


class Giving(Draft):
    """Which roles somebody is to hold, until when and why."""

    def __init__(self, place: Place, data: QueryDict, person: Principal):
        super().__init__(place, data)
        self.person = person

    @cached_property
    def chosen(self) -> list[Principal]:
        return [self.person]

    @cached_property
    def may(self) -> tuple[str, ...]:
        return ("hold",)


@dataclass(frozen=True)
class Offer:
    """The roles of the viewer's realms that they may give to somebody who is a member there."""

    circle: Circle
    person: Principal

    @cached_property
    def roles(self) -> list[Node]:
        rows = RealmMember.objects.open().filter(principal=self.person).values_list("realm", flat=True)
        member, found = set(rows), []
        for realm in (one for one in self.circle.realms if one.realm_id in member):
            slice_, now = slices.current(self.circle.asker, realm), timezone.now()
            keys = [row.securable_id for row in children(slice_, realm, "role", now=now)]
            seen = [one for one in nodes(keys).values() if not is_personal(one.name)]
            deed = roles.operation(realm, "assign")
            found += [one for one in seen if ask.answer(slice_, deed, one, now=now)]
        return sorted(found, key=lambda one: one.names)

    @cached_property
    def held(self) -> set[int]:
        rows = Assignment.objects.open().filter(holder=self.person, role__in=[one.id for one in self.roles])
        return set(rows.values_list("role", flat=True))


@reads_and_writes
@signed_in
def room(request: Request, id: int) -> HttpResponse:
    """Which roles, until when, why; what they allow together; then it is done at once."""
    circle = circle_of(request)
    offer = Offer(circle, circle.meet(id))
    data = request.POST if request.method == "POST" else request.GET
    wanted = [one for one in offer.roles if str(one.id) in data.getlist("role")]
    if not offer.roles:
        return _show(request, offer, None, [], [NOTHING])
    root = next(iter(offer.roles[0].above()))
    place = Place(circle.asker, root, slices.current(circle.asker, root), timezone.now())
    draft = Giving(place, data, offer.person)
    if request.method != "POST" or not draft.saving:
        return _show(request, offer, draft, wanted, [])
    if not wanted:
        draft.problems["duty"] = "Choose at least one role."
    if not draft.check() or draft.problems:
        return _show(request, offer, draft, wanted, [])
    return _save(request, offer, draft, wanted)


NOTHING = Note(
    "", "No role is yours to give here.", "Roles are given by who owns a realm or manages its grants."
)


def _save(request: Request, offer: Offer, draft: Giving, wanted: list[Node]) -> HttpResponse:
    actor = Actor(offer.circle.asker, "console", request_id=draft.nonce)
    if done_before(actor) is None:
        try:
            with change(ROLE_ASSIGNED, realm=realm_of(wanted[0]), by=actor, reason=draft.reason):
                for one in wanted:
                    authority = may(actor, roles.operation(one, "assign"), one)
                    roles.hold(
                        one, offer.person, draft.when.begin, draft.when.end, by=actor, authority=authority
                    )
        except PolicyError as problem:
            notes = [Note("bad", "Not saved.", f"{problem} Your form is kept.")]
            return _show(request, offer, draft, wanted, notes)
    done, name = done_before(actor), offer.person.label
    names = words.listed([one.name for one in wanted], 4)
    say(request, f"{name}: {names}" if done else f"Nothing changed: {name} holds {names} already", undo=done)
    return redirect("console:person_groups", id=offer.person.pk)


def _show(
    request: Request, offer: Offer, draft: Giving | None, wanted: list[Node], notes: list[Note]
) -> HttpResponse:
    one = offer.person
    context: dict[str, Any] = {
        "heading": f"Give roles to {one.label}",
        "place": f"{one.get_kind_display().capitalize()} {one.name}. All of them in one step.",
        "notes": notes,
        "here": request.path,
        "back": reverse("console:person_groups", args=[one.pk]),
        "who_is_set": True,
        "choices_legend": "Roles",
        "choices_name": "role",
        "choices": [_choice(offer, role, wanted) for role in offer.roles],
        "seen": revision_now(),
        "preview_empty": "Choose roles, then look: this side tells what they let somebody do together.",
        "button": f"Give {words.count(len(wanted), 'role')}" if wanted else "Give the roles",
        "problems": {},
    }
    if draft is not None:
        context |= _filled(offer, draft, wanted)
    failed = draft is not None and draft.problems and draft.data.get("step") == "save"
    status = 422 if failed or any(note.kind == "bad" for note in notes) else 200
    return page(request, "console/roles/assign.html", context, room="people", status=status)


def _filled(offer: Offer, draft: Giving, wanted: list[Node]) -> dict[str, Any]:
    if wanted:
        access_log.looked(
            offer.circle.asker, f"access of {offer.person.pseudonym}", draft.root, via="console"
        )
    window = (draft.when.begin, draft.when.end)
    preview = of_roles_given(wanted, offer.person, window) if wanted and draft.when.whole else None
    foretold = Foretold.of_role(preview) if preview else None
    return {
        "nonce": draft.nonce,
        **draft.when.fields(),
        "reason": draft.reason,
        "problems": {**draft.when.problems, **draft.problems},
        "tally": foretold.tally() if foretold else None,
        "diff": foretold.diff() if foretold else None,
        "sum": foretold.sum() if foretold else "",
    }


def _choice(offer: Offer, role: Node, wanted: list[Node]) -> dict[str, Any]:
    text = f"in {role.realm}" + ("; held already" if role.id in offer.held else "")
    return {"code": str(role.id), "label": role.name, "text": text, "checked": role in wanted}
