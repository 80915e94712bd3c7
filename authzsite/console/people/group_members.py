"""Who is in a group: made, filled and emptied by site admins alone, each with what it changes first."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Membership, Principal
from authzsite.console.accounts import site_admins
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Note
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.effects import Foretold
from authzsite.console.roles.views import nonce_in
from authzsite.console.separation import warnings as parted
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.site import named
from policies.errors import PolicyError, Separated
from policies.events import GROUP_JOINED, GROUP_LEFT
from policies.previews.groups import Moved, of_membership
from policies.record import access_log
from policies.record.change import change
from policies.services import members
from policies.services.grants import revision_now

DUTY = {
    "view_history": "read the history of",
    "export_history": "export the history of",
    "review_access": "review access to",
    "approve_requests": "decide requests for",
    "operate_sync": "run and pause the sync of",
    "connect_backend": "connect a backend to",
    "break_glass": "take access in an emergency to",
}
"""What each of the console's own duties lets one do, as it stands before an object's name."""


def _group(id: int) -> Principal:
    found = Principal.objects.filter(pk=id, kind=Principal.Kind.GROUP).first()
    if found is None:
        raise Http404
    return found


def _refused(request: Request) -> HttpResponse:
    return site_admins.refused(
        request,
        "You cannot change who is in a group",
        back=reverse("console:people"),
        back_words="Back to People",
    )


@reads_and_writes
@signed_in
def new(request: Request) -> HttpResponse:
    """A name; nobody is in it yet."""
    if not site_admins.may(request):
        return _refused(request)
    name, notes = request.POST.get("name", "").strip(), []
    if request.method == "POST":
        actor = Actor(asker_of(request), "console", request_id=nonce_in(request))
        if done_before(actor) is not None:
            return redirect("console:people")
        try:
            made = members.make_group(
                name, by=actor, authority=site_permissions.of_admin(actor), reason=_reason(request)
            )
        except PolicyError as problem:
            notes = [Note("bad", "Not made.", str(problem))]
        else:
            say(request, f"Group {name} is made; nobody is in it yet")
            return redirect("console:person_groups", id=made.pk)
    context = {
        "notes": notes,
        "name": name.replace("\0", ""),
        "reason": _reason(request),
        "nonce": secrets.token_hex(12),
        "back": reverse("console:people"),
    }
    return page(request, "console/people/group.html", context, room="people", status=422 if notes else 200)


def _reason(request: Request) -> str:
    return request.POST.get("reason", "").strip()[:2000].replace("\0", "")


# Into it


@reads_and_writes
@signed_in
def join(request: Request, id: int) -> HttpResponse:
    """Who, what they gain by it in every realm, why; then it is done."""
    if not site_admins.may(request):
        return _refused(request)
    group = _group(id)
    data = request.POST if request.method == "POST" else request.GET
    nobody = "Nobody of that name is known. Make the account first."
    asked = Among(data, search=lambda text: named(("user", "service"), text), nobody_words=nobody)
    if request.method != "POST" or not asked.saving:
        asked.tell_nobody()
        return _show(request, group, asked)
    if not asked.check_who():
        return _show(request, group, asked)
    actor = Actor(asker_of(request), "console", request_id=asked.nonce)
    if done_before(actor) is None:
        try:
            with change(GROUP_JOINED, realm=None, by=actor, reason=asked.reason):
                authority = site_permissions.of_admin(actor)
                for one in asked.chosen:
                    members.join_group(group, one, by=actor, authority=authority)
        except Separated as problem:
            return _show(request, group, asked, [Note("bad", "Not saved.", f"{problem} Your form is kept.")])
    done = done_before(actor)
    names = words.listed([one.label for one in asked.chosen], 3)
    say(request, f"{names}: in {group.label}{'' if done else '; they were before'}", undo=done)
    return redirect("console:person_groups", id=group.pk)


def _show(request: Request, group: Principal, asked: Among, notes: Sequence[Note] = ()) -> HttpResponse:
    moved = of_membership(group, asked.chosen, joins=True) if asked.chosen else None
    foretold = _foretold(request, asked.chosen, moved) if moved else None
    context = {
        "heading": f"Put somebody into {group.label}",
        "place": "A group brings what it holds, in every realm, to everybody in it.",
        "notes": notes,
        "parted": parted.of_joining(moved.realms, group, asked.chosen, asker_of(request)) if moved else [],
        "here": request.path,
        "back": reverse("console:person_groups", args=[group.pk]),
        "nonce": asked.nonce,
        "seen": revision_now(),
        **asked.fields(),
        "reason": asked.reason,
        "problems": asked.problems,
        "button": f"Put {words.count(len(asked.chosen), 'person', 'people')} into {group.label}"
        if asked.chosen
        else f"Put into {group.label}",
        "tally": foretold.tally() if foretold else None,
        "diff": _joining(group, asked, foretold, moved) if foretold and moved else None,
        "preview_empty": "Name somebody: this side tells what they gain by it, realm by realm.",
        "sum": foretold.sum() if foretold else "",
    }
    status = 422 if notes or (asked.problems and asked.data.get("step") == "save") else 200
    return page(request, "console/roles/assign.html", context, room="people", status=status)


def _joining(group: Principal, asked: Among, foretold: Foretold, moved: Moved) -> Diff:
    inside = Membership.objects.open().filter(group=group, member__in=asked.chosen).values("member")
    already = Principal.objects.filter(pk__in=inside).order_by("display_name", "name")
    same = [DiffLine("same", one.label, f"is in {group.label} already") for one in already]
    new = [one for one in asked.chosen if one not in already]
    return Diff((*(_diff(foretold, moved, new, gains=True).lines if new else ()), *same))


def _foretold(request: Request, who: Sequence[Principal], moved: Moved, *, removal: bool = False) -> Foretold:
    """The same in words; that somebody's access was looked at is recorded, realm by realm."""
    asker = asker_of(request)
    for realm in moved.realms:
        for one in who:
            access_log.looked(asker, f"access of {one.pseudonym}", realm, via="console")
    return Foretold(moved.parts, removal=removal)


def _diff(foretold: Foretold, moved: Moved, who: Sequence[Principal], *, gains: bool) -> Diff:
    duties = list(_duty_lines(moved, who, gains=gains))
    lines = foretold.diff().lines if foretold.lines or not duties else ()
    return Diff((*lines, *duties))


def _duty_lines(moved: Moved, who: Sequence[Principal], *, gains: bool) -> Iterable[DiffLine]:
    names = words.listed([one.label for one in who], 6)
    verb = "may" if gains else "may no longer"
    for node, duty in moved.duties:
        text = f"{verb} {DUTY.get(duty, duty)} {node.ref.full_name or node.name}"
        yield DiffLine("gain" if gains else "lose", names, text, "A duty of the group.")


# Out of it


@reads_and_writes
@signed_in
def leave(request: Request, id: int) -> HttpResponse:
    """What somebody loses by it in every realm; then it is done."""
    if not site_admins.may(request):
        return _refused(request)
    group, asked = _group(id), request.GET.get("who", "")
    member = somebody(asked) if ":" in asked else None
    if member is None:
        raise Http404
    inside = Membership.objects.open().filter(group=group, member=member).exists()
    if request.method == "POST":
        return _left(request, group, member)
    moved = of_membership(group, [member], joins=False)
    foretold = _foretold(request, [member], moved, removal=True)
    name = terms.spoken(member)
    nothing = [] if inside else [Note("", f"{member.label} is not in {group.label}.", "It may have ended.")]
    context: dict[str, Any] = {
        "heading": f"Take {name} out of {group.label}?",
        "place": "What was given in other ways stays.",
        "notes": nothing,
        "nothing": not inside,
        "tally": foretold.tally(),
        "diff": _diff(foretold, moved, [member], gains=False),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": "",
        "problems": {},
        "button": f"Take {name} out of {group.label}",
        "back": reverse("console:person_groups", args=[group.pk]),
    }
    return page(request, "console/access/revoke.html", context, room="people")


def _left(request: Request, group: Principal, member: Principal) -> HttpResponse:
    actor, ended = Actor(asker_of(request), "console", request_id=nonce_in(request)), False
    if done_before(actor) is None:
        with change(GROUP_LEFT, realm=None, by=actor, reason=_reason(request)):
            ended = members.leave_group(group, member, by=actor, authority=site_permissions.of_admin(actor))
    told = f"{member.label} is no longer in {group.label}"
    say(
        request,
        told if ended else f"Nothing changed: {member.label} is not in {group.label}",
        undo=done_before(actor) if ended else None,
    )
    return redirect("console:person_groups", id=group.pk)
