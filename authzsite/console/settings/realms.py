"""The realms of the site, each in its own kind's words; making one."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts import people
from accounts.people import BadName
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import signed_in
from authzsite.console.kit.conflicts import done_before
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Empty, Face, Note, Reason, State, Who
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads, reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.roles.views import nonce_in
from authzsite.console.settings import modes
from catalog.models import Mode, Placement, Realm
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.lookups.visible_objects import realms_of
from policies.errors import PolicyError
from policies.events import REALM_CREATED
from policies.models import Backend, Ownership, RealmMember
from policies.record.change import change
from policies.services import realms
from policies.services.grants import revision_now

KINDS = (
    ("gravitino", "Metalake", "Catalogs, schemas and tables, as Apache Gravitino knows them."),
    ("herd", "Herd", "Flat namespaces with Read, Write, Execute and Grant, as FINRA Herd knows them."),
    ("cdap", "CDAP instance", "Privileges on the names of entities, as CDAP knows them."),
)
POLICIES = ("4.3", "3.5", "3.4")


@dataclass(frozen=True)
class Row:
    what: Who
    owner: str
    state: State
    members: str
    backends: str


def kind_words(root: Node) -> str:
    """What a realm is called in its own kind's words."""
    named = {"metalake": "Metalake", "herd": "Herd", "instance": "CDAP instance"}
    return named.get(root.type, terms.kind_of(root.type))


def every_root() -> list[Node]:
    """The root of every realm there is, by name."""
    rows = Placement.objects.open().filter(parent__isnull=True, securable__realm__closed__isnull=True)
    found = nodes(rows.values_list("securable", flat=True))
    return sorted(found.values(), key=lambda one: one.name)


def seen_by(request: Request) -> Sequence[Node]:
    """The realms that admit somebody; for who runs the site all of them."""
    return every_root() if site_admins.may(request) else realms_of(asker_of(request))


@reads
@signed_in
def room(request: Request) -> HttpResponse:
    """Every realm that the viewer knows, with its owner and whether its law is enforced."""
    found = seen_by(request)
    may = site_admins.may(request)
    context = {
        "heading": "Realms",
        "lead": "Each realm has its own rules. Access in one realm does not apply in another.",
        "actions": [
            Action(
                "Make a realm",
                reverse("console:realm_new"),
                "primary",
                reason="" if may else "why-no-realm",
            )
        ],
        "reason": None
        if may
        else Reason("why-no-realm", f"Only a site admin can create a realm. {site_admins.who_words()}"),
        "rows": _rows(found),
        "count_words": words.count(len(found), "realm"),
        "empty": Empty(
            "There is no realm yet" if may else "No realm has admitted you yet",
            "The owner of a realm can add you."
            if not may
            else "Make the first one; its owner does the rest.",
        ),
    }
    return page(request, "console/settings/realms.html", context, room="realms", revision=revision_now())


def _rows(found: Sequence[Node]) -> list[Row]:
    """Four queries, however many realms."""
    ids = [one.realm_id for one in found]
    modes_ = dict(Mode.objects.open().filter(realm__in=ids).values_list("realm", "mode"))
    inside = Counter(RealmMember.objects.open().filter(realm__in=ids).values_list("realm", flat=True))
    backends = Counter(Backend.objects.filter(realm__in=ids).values_list("realm", flat=True))
    owned = Ownership.objects.open().filter(securable__in=[one.id for one in found]).select_related("owner")
    owners = {row.securable_id: row.owner.label for row in owned}
    return [
        Row(
            Who(
                one.name,
                Face("thing", "lake"),
                kind_words(one),
                reverse("console:realm", args=[one.id]),
            ),
            owners.get(one.id, ""),
            modes.state(modes_.get(one.realm_id, "off")),
            members_words(one, inside[one.realm_id]),
            words.number(backends[one.realm_id]) if backends[one.realm_id] else "None",
        )
        for one in found
    ]


def members_words(root: Node, many: int) -> str:
    """28 members; everybody who signs in."""
    return "Everybody" if dialects.get(root.kind).open_to_all else words.number(many)


# Making one


@reads_and_writes
@signed_in
def new(request: Request) -> HttpResponse:
    """A kind, a name and an owner; for site site_admins."""
    if not site_admins.may(request):
        back = reverse("console:realms")
        return site_admins.refused(request, "You cannot make a realm", back=back, back_words="The realms")
    if request.method == "POST":
        return _make(request)
    return _form(request, {}, [])


def _make(request: Request) -> HttpResponse:
    typed = {name: request.POST.get(name, "").strip() for name in ("kind", "name", "owner", "policy")}
    problems = _problems(typed)
    if problems:
        return _form(request, problems, [])
    actor = Actor(asker_of(request), "console", request_id=nonce_in(request))
    if done_before(actor) is not None:
        return redirect("console:realms")
    settings = {"policy": typed["policy"], "authentication": "on"} if typed["kind"] == "cdap" else {}
    try:
        with change(REALM_CREATED, realm=None, by=actor):
            authority = site_permissions.of_admin(actor)
            owner = people.ensure("user", typed["owner"])
            made = realms.create(
                typed["kind"], typed["name"], owner=owner, by=actor, authority=authority, settings=settings
            )
    except BadName as problem:
        return _form(request, {"owner": f"{str(problem)[:1].upper()}{str(problem)[1:]}."}, [])
    except PolicyError as problem:
        return _form(request, {}, [Note("bad", "Not made.", f"{problem} Your form is kept.")])
    say(request, f"{kind_words(made)} {made.name} is made; {owner.label} owns it")
    return redirect("console:realm", id=made.id)


def _problems(typed: dict[str, str]) -> dict[str, str]:
    told = {}
    if typed["kind"] not in Realm.Kind.values:
        told["kind"] = "Choose which law it follows."
    if not typed["name"] or "/" in typed["name"]:
        told["name"] = "Give it a name without a slash."
    if not typed["owner"]:
        told["owner"] = "Say who is to own it."
    if typed["kind"] == "cdap" and typed["policy"] not in POLICIES:
        told["policy"] = "Choose its generation of rules."
    return told


def _form(request: Request, problems: dict[str, str], notes: list[Note]) -> HttpResponse:
    typed: Any = request.POST if request.method == "POST" else request.GET
    context = {
        "notes": notes,
        "problems": problems,
        "kinds": KINDS,
        "policies": POLICIES,
        "kind": typed.get("kind", "gravitino"),
        "policy": typed.get("policy", POLICIES[0]),
        "name": typed.get("name", "")[:255].replace("\0", ""),
        "owner": typed.get("owner", asker_of(request).name)[:255].replace("\0", ""),
        "nonce": secrets.token_hex(12),
        "back": reverse("console:realms"),
    }
    status = 422 if problems or notes else 200
    return page(
        request,
        "console/settings/realm_new.html",
        context,
        room="realms",
        revision=revision_now(),
        status=status,
    )
