"""Roles: those the viewer may see, by name, personal ones folded away; making a role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from accounts.text import holdable
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import keyset_page
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Action, Empty, Face, Reason, Who
from authzsite.console.kit.display.tables import Column, Table, Text, in_chunks
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.downloads.csv_file import CHUNK
from catalog.models import Placement
from catalog.nodes import Node
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import children
from policies.decisions.personal_role_names import MARK
from policies.models import Assignment, Grant, Ownership
from policies.services import roles
from policies.services.grants import revision_now

SHOWN = 50
PERSONAL = Q(name__startswith=MARK)


@dataclass(frozen=True)
class RoleRow:
    """A role in the list: its realm, by how many it is held, on how many objects it allows and denies."""

    place: Placement
    realm: str
    holders: int
    allows: int
    denies: int
    owner: str

    @property
    def who(self) -> Who:
        url = terms.page_of(self.place.securable_id, "role")
        return Who(self.place.name, Face("thing", "role"), self.realm, url)


def _objects(many: int) -> str:
    return gettext("On %(many)s") % {"many": words.count(many, "object")} if many else gettext("Nothing")


TABLE: Table[RoleRow] = Table(
    gettext_lazy("Roles, by name"),
    (
        Column(
            gettext_lazy("Role"),
            lambda row: row.who,
            {"role": lambda row: row.place.name, "realm": lambda row: row.realm},
            sort=("name",),
            code="role",
        ),
        Column(
            gettext_lazy("Held by"),
            lambda row: words.count(row.holders, "holder") if row.holders else gettext_lazy("Nobody"),
            "held by",
            code="held",
        ),
        Column(gettext_lazy("Allows"), lambda row: _objects(row.allows), "allows", code="allows"),
        Column(gettext_lazy("Denies"), lambda row: _objects(row.denies), "denies", code="denies"),
        Column(
            gettext_lazy("Owner"),
            lambda row: row.owner or Text(gettext_lazy("No owner"), muted=True),
            {"owner": lambda row: row.owner},
            code="owner",
        ),
    ),
    code="roles",
)


@reads
@login_required
def role_list(request: Request) -> HttpResponse:
    """The roles the viewer may see."""
    circle = circle_of(request)
    (text, personal), after = asked_in(request), number_in(request.GET.get("after", ""))
    named = _named(circle, text)
    counts = named.aggregate(personal=Count("pk", filter=PERSONAL), roles=Count("pk", filter=~PERSONAL))
    wanted = named.filter(PERSONAL if personal else ~PERSONAL)
    listed = ShownList.of(request, TABLE)
    shown, how = keyset_page(wanted, listed.by, after, SHOWN), "personal" if personal else ""
    many = words.count(counts["personal" if personal else "roles"], "role")
    create, reason = _creating(circle)
    context = {
        "heading": gettext("Roles"),
        "lead": gettext("Access that several people need, granted once to all of them."),
        "actions": [create] if create else [],
        "reason": reason,
        "asked": text,
        "how": how,
        "toggles": (
            Toggle(gettext("Roles"), listed.url(q=text), not personal, words.number(counts["roles"])),
            *(
                [
                    Toggle(
                        gettext("Personal roles"),
                        listed.url(q=text, how="personal"),
                        personal,
                        words.number(counts["personal"]),
                    )
                ]
                if counts["personal"]
                else []
            ),
        ),
        "table": listed.page(_rows(shown.rows, circle.admitting)),
        "options": listed.options(),
        "kept": listed.kept,
        "pager": shown.pager(
            gettext("%(many)s, by name") % {"many": many} if listed.as_it_opens else many,
            lambda after: listed.url(q=text, how=how, after=after),
        ),
        "csv": reverse("console:roles_csv") + listed.url(q=text, how=how),
        "empty": _empty(text),
    }
    realm = circle.admitting[0].name if len(circle.admitting) == 1 else ""
    return page(
        request, "console/roles/list.html", context, section="roles", realm=realm, revision=revision_now()
    )


def asked_in(request: Request) -> tuple[str, bool]:
    """The text that the list is filtered by, and whether personal roles are asked for."""
    return request.GET.get("q", "").strip()[:255], request.GET.get("how", "") == "personal"


def _named(circle: VisiblePrincipals, text: str) -> QuerySet[Placement]:
    """The roles the viewer may see in all realms, whose name holds a text."""
    seen = Placement.objects.none()
    for realm in circle.admitting:
        seen |= children(slices.current(circle.asker, realm), realm, "role")
    if not holdable(text):
        return seen.none()
    return seen.filter(name__icontains=text) if text else seen


def _creating(circle: VisiblePrincipals) -> tuple[Action | None, Reason | None]:
    """The button, or the button disabled with the reason; none where a realm knows no roles."""
    metalakes = [item for item in circle.admitting if item.type == "metalake"]
    if not metalakes:
        return None, None
    for realm in metalakes:
        if ask.ask(circle.asker, roles.operation(realm, "create"), realm):
            return Action(
                gettext("Create a role"), f"{reverse('console:role_new')}?in={realm.id}", "primary"
            ), None
    text = gettext("Only the owner of the metalake, or a holder of Create role on it, can create roles.")
    query = {
        "who": str(circle.asker),
        "action": "create_role",
        "what": metalakes[0].ref.id,
        "type": metalakes[0].type,
    }
    why = f"{reverse('console:why')}?{urlencode(query)}"
    return Action(gettext("Create a role"), look="primary", reason="why-no-role"), Reason(
        "why-no-role", text, why, gettext("See what you lack")
    )


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """The roles the viewer may see, with how many hold each and what it is given on."""
    circle = circle_of(request)
    text, personal = asked_in(request)
    order = ShownList.of(request, TABLE).by
    rows = _named(circle, text).filter(PERSONAL if personal else ~PERSONAL).order_by(*order, "pk")
    roles_ = in_chunks(rows.iterator(CHUNK), lambda some: _rows(some, circle.admitting))
    return TABLE.file("roles", roles_)


def _rows(places: Sequence[Placement], realms: Sequence[Node]) -> list[RoleRow]:
    """Three queries, however many roles."""
    keys = [place.securable_id for place in places]
    held = Counter(Assignment.objects.open().filter(role__in=keys).values_list("role", flat=True))
    given: Counter[tuple[int | None, str]] = Counter()
    for role, effect, _on in set(
        Grant.objects.open().filter(role__in=keys).values_list("role", "effect", "securable")
    ):
        given[role, effect] += 1
    owners = {
        row.securable_id: row.owner.label
        for row in Ownership.objects.open().filter(securable__in=keys).select_related("owner")
    }
    realm_of = {realm.id: realm.name for realm in realms}
    return [
        RoleRow(
            place,
            realm_of.get(place.parent_id or 0, ""),
            held[place.securable_id],
            given[place.securable_id, "allow"],
            given[place.securable_id, "deny"],
            owners.get(place.securable_id, ""),
        )
        for place in places
    ]


def _empty(text: str) -> Empty:
    if text:
        return Empty(
            gettext("No role is called “%(text)s”") % {"text": text},
            drawn=False,
            actions=(Action(gettext("Show all"), "?"),),
            level=2,
        )
    return Empty(
        gettext("No role that you can see"),
        gettext("You see the roles that you hold, own, or may assign."),
        level=2,
    )
