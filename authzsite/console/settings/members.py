"""Who belongs to a realm: admitting people, groups and service accounts, and removing them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts import people
from accounts.models import Membership, Principal
from accounts.people import BadName
from authzsite.console.access.revoke import MANY
from authzsite.console.history.views import somebody
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Count, Diff, DiffLine, Note, Tally
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.refusal import refused
from authzsite.console.objects.access import Place, visit
from authzsite.console.roles.views import nonce_in
from catalog.nodes import nodes
from policies.authority import Actor
from policies.errors import PolicyError
from policies.events import MEMBER_ADDED, MEMBER_REMOVED
from policies.models import Assignment, Ownership, RealmMember
from policies.services import members
from policies.services.authorities import authorized
from policies.services.grants import revision_now
from policies.services.members import ADMITS, REMOVES
from policies.services.personal import is_personal

KINDS = (("user", "Person"), ("group", "Group"), ("service", "Service account"))


def _realm(request: Request, id: int) -> Place:
    place = visit(request, id)
    if place.node.type != "metalake":
        raise Http404
    return place


@reads_and_writes
@signed_in
def add(request: Request, id: int) -> HttpResponse:
    """A name and its kind; a group brings its people."""
    place = _realm(request, id)
    kinds = [pair for pair in KINDS if place.may(ADMITS[pair[0]])]
    if not kinds:
        return refused(request, place, "create_user")
    if request.method == "POST":
        return _add(request, place, kinds)
    return _form(request, place, kinds, {})


def _add(request: Request, place: Place, kinds: list[tuple[str, str]]) -> HttpResponse:
    kind, name = request.POST.get("kind", ""), request.POST.get("name", "").strip()
    if kind not in dict(kinds):
        return _form(request, place, kinds, {"kind": "Choose what it is."})
    actor = Actor(place.asker, "console", request_id=nonce_in(request))
    if done_before(actor) is not None:
        return redirect("console:people")
    try:
        with authorized(
            MEMBER_ADDED, place.node, ADMITS[kind], by=actor, reason=_reason(request)
        ) as authority:
            one = people.ensure(kind, name)
            new = members.add(place.node, one, by=actor, authority=authority)
    except BadName as problem:
        return _form(request, place, kinds, {"name": f"{str(problem).capitalize()}."})
    told = f"{one.label} is {'now' if new else 'already'} a member of {place.node.name}"
    say(request, told, undo=done_before(actor) if new else None)
    return redirect("console:person", id=one.pk)


def _reason(request: Request) -> str:
    return request.POST.get("reason", "").strip()[:2000].replace("\0", "")


def _form(
    request: Request, place: Place, kinds: list[tuple[str, str]], problems: dict[str, str]
) -> HttpResponse:
    context = {
        "realm": place.node.name,
        "kinds": kinds,
        "kind": request.POST.get("kind", kinds[0][0]),
        "name": request.POST.get("name", "").replace("\0", ""),
        "reason": _reason(request),
        "nonce": secrets.token_hex(12),
        "problems": problems,
        "back": reverse("console:people"),
    }
    return _page(request, "console/people/add.html", place, context, 422 if problems else 200)


def _page(
    request: Request, template: str, place: Place, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    realm, revision = place.node.realm, place.slice.revision
    return page(request, template, context, room="people", realm=realm, revision=revision, status=status)


# Removing


@reads_and_writes
@signed_in
def remove(request: Request, id: int) -> HttpResponse:
    """What is lost with it; then it is done."""
    place = _realm(request, id)
    asked = request.GET.get("who", "")
    kind = asked.partition(":")[0]
    if not place.may(REMOVES.get(kind, REMOVES["user"])):
        return refused(request, place, "create_user")
    one = somebody(asked) if ":" in asked else None
    if (
        one is None
        or not RealmMember.objects.open().filter(realm=place.node.realm_id, principal=one).exists()
    ):
        raise Http404
    lines = list(_losses(place, one))
    many = len(_people_of(one)) > MANY
    if request.method == "POST" and (not many or request.POST.get("name", "") == one.name):
        return _remove(request, place, one)
    problems = {"name": f"Type {one.name} as it is written."} if request.method == "POST" else {}
    return _confirm(request, place, one, lines, [], problems)


def _remove(request: Request, place: Place, one: Principal) -> HttpResponse:
    actor = Actor(place.asker, "console", request_id=nonce_in(request))
    operation, reason = REMOVES[one.kind], _reason(request)
    if done_before(actor) is None:
        try:
            with authorized(MEMBER_REMOVED, place.node, operation, by=actor, reason=reason) as authority:
                members.remove(place.node, one, by=actor, authority=authority)
        except PolicyError as problem:
            notes = [Note("bad", "Not removed.", str(problem))]
            return _confirm(request, place, one, list(_losses(place, one)), notes, {})
    say(request, f"{one.label} is no longer a member of {place.node.name}", undo=done_before(actor))
    return redirect("console:people")


def _people_of(one: Principal) -> list[str]:
    if one.kind != Principal.Kind.GROUP:
        return []
    rows = Membership.objects.open().filter(group=one).select_related("member")
    return [row.member.label for row in rows.order_by("member__display_name", "member__name")]


def _losses(place: Place, one: Principal) -> Iterable[DiffLine]:
    """What ends with the membership: roles, what was given directly, ownerships; whom a group reaches."""
    realm = place.node.realm_id
    held = list(
        Assignment.objects.open().filter(holder=one, role__realm=realm).values_list("role", flat=True)
    )
    owned = list(
        Ownership.objects.open().filter(owner=one, securable__realm=realm).values_list("securable", flat=True)
    )
    known = nodes({key for key in (*held, *owned) if key})
    names = [known[key].name for key in held if key in known]
    roles = sorted(name for name in names if not is_personal(name))
    if roles:
        yield DiffLine("lose", one.label, f"loses {words.count(len(roles), 'role')}", words.listed(roles, 12))
    if len(roles) < len(names):
        yield DiffLine("lose", one.label, "loses all that was granted directly")
    things = sorted(known[key].ref.full_name or known[key].name for key in owned if key in known)
    if things:
        what = (
            f"no longer owns {words.count(len(things), 'object')}, which stay without an owner of their own"
        )
        yield DiffLine("lose", one.label, what, words.listed(things, 12))
    inside = _people_of(one)
    if inside and names:
        many = words.count(len(inside), "person", "people")
        yield DiffLine(
            "lose", many, f"in {one.label} no longer get anything through it", words.listed(inside, 12)
        )


def _confirm(
    request: Request,
    place: Place,
    one: Principal,
    lines: list[DiffLine],
    notes: list[Note],
    problems: dict[str, str],
) -> HttpResponse:
    name, inside = terms.spoken(one), _people_of(one)
    nothing = DiffLine("same", one.label, "holds nothing here directly.")
    context = {
        "heading": f"Remove {name} from {place.node.name}?",
        "place": "A member of the realm; the account and its groups stay.",
        "notes": notes,
        "nothing": False,
        "tally": Tally((Count(words.number(len(inside)), "people in it", "lose"),) if inside else ()),
        "diff": Diff(tuple(lines) or (nothing,)),
        "seen": revision_now(),
        "nonce": secrets.token_hex(12),
        "reason": _reason(request),
        "button": f"Remove {name} from {place.node.name}",
        "type_name": one.name if len(inside) > MANY else "",
        "problems": problems,
        "back": reverse("console:person", args=[one.pk]),
    }
    return _page(request, "console/access/revoke.html", place, context)
