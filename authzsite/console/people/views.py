"""People: whom the viewer may look up, and choosing what to grant to one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Membership, Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import keyset_page
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Reason, Who
from authzsite.console.kit.display.tables import Column, Table, in_chunks
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.inputs.visible_principals import (
    VisiblePrincipals,
    circle_of,
    giveable,
    realm_words,
)
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.lists.shown import ShownList
from authzsite.console.people.person_access import PersonAccess, get_person_or_404
from authzsite.console.people.person_groups import MembershipRow, nothing_to_give
from authzsite.downloads.csv_file import CHUNK
from catalog.nodes import Node
from policies.decisions import ask, slices
from policies.services.grants import revision_now

KINDS = (
    ("", gettext_lazy("Everyone")),
    ("user", gettext_lazy("People")),
    ("group", gettext_lazy("Groups")),
    ("service", gettext_lazy("Service accounts")),
)
LISTED = 50
NO_ADD = "why-no-member"


@dataclass(frozen=True)
class PersonRow:
    """Somebody in the list, and the labels of their groups."""

    person: Principal
    groups: list[str]
    you: bool

    @property
    def who(self) -> Who:
        note = _("you") if self.you else self.person.name
        return terms.who(self.person, note, reverse("console:person", args=[self.person.pk]))

    @property
    def kind(self) -> str:
        return str(self.person.get_kind_display()).capitalize()

    @property
    def ask_why(self) -> Action:
        url = f"{reverse('console:why')}?{urlencode({'who': str(self.person)})}"
        return Action(_("Ask why"), url, "mini", more=_("about %(label)s") % {"label": self.person.label})


TABLE: Table[PersonRow] = Table(
    gettext_lazy("People, groups and service accounts, by name"),
    (
        Column(
            gettext_lazy("Name"),
            lambda row: row.who,
            {"name": lambda row: row.person.name, "shown as": lambda row: row.person.label},
            sort=("display_name", "name"),
            code="name",
        ),
        Column(
            gettext_lazy("Kind"),
            lambda row: row.kind,
            {"kind": lambda row: row.person.kind},
            sort=("kind", "display_name", "name"),
            code="kind",
        ),
        Column(
            gettext_lazy("In groups"),
            lambda row: words.listed(row.groups, 4),
            {"groups": lambda row: "; ".join(row.groups)},
            code="groups",
        ),
        Column(gettext_lazy("Identifier"), lambda row: str(row.person), code="id", at_first=False),
        Column(gettext_lazy("Actions"), lambda row: row.ask_why, width="acts"),
    ),
    in_file=("kind", "name", "shown as", "groups"),
    code="people",
)


# The list


@reads
@login_required
def people_list(request: Request) -> HttpResponse:
    """Whom the viewer may look up, by name."""
    circle = circle_of(request)
    text, kind = asked_in(request)
    after = number_in(request.GET.get("after", ""))
    listed = ShownList.of(request, TABLE)
    shown = keyset_page(circle.people(text, kind), listed.by, after, LISTED)
    bounds = shown.bounds(lambda row: row.label, by_name=listed.as_it_opens)
    adding = list(_adding(circle))
    context = {
        "heading": _("People"),
        "lead": _lead(circle),
        "reason": _no_adding(adding),
        "asked": text,
        "kind": kind,
        "toggles": _kinds(circle, text, kind, listed),
        "table": listed.page(_rows(circle, shown.rows)),
        "options": listed.options(),
        "kept": listed.kept,
        "pager": shown.pager(bounds, lambda after: listed.url(q=text, kind=kind, after=after)),
        "csv": reverse("console:people_csv") + listed.url(q=text, kind=kind),
        "empty": _nobody(text),
        "actions": [
            Action(_("Your own access"), reverse("console:person", args=[circle.asker.pk])),
            Action(_("Owners"), reverse("console:owners")),
            *([Action(_("Create a group"), reverse("console:group_new"))] if circle.runs_the_site else []),
            *adding,
        ],
    }
    return page(
        request,
        "console/people/list.html",
        context,
        section="people",
        realm=realm_words(circle),
        revision=revision_now(),
    )


def asked_in(request: Request) -> tuple[str, str]:
    """The text and the kind that the list is filtered by."""
    kind = request.GET.get("kind", "")
    return request.GET.get("q", "").strip()[:255], kind if kind in dict(KINDS) else ""


def _adding(circle: VisiblePrincipals) -> Iterable[Action]:
    """For each realm with members, the button; with the reason where it is locked."""
    for realm in (item for item in circle.realms if item.type == "metalake"):
        slice_, now = slices.current(circle.asker, realm), timezone.now()
        adds = ("User.addUser", "Group.addGroup")
        may = any(ask.answer(slice_, name, realm, now=now) for name in adds)
        label = (
            _("Add a member")
            if len(circle.realms) == 1
            else _("Add a member to %(name)s") % {"name": realm.name}
        )
        url = reverse("console:member_add", args=[realm.id])
        yield Action(label, url, "primary" if len(circle.realms) == 1 else "", reason="" if may else NO_ADD)


def _no_adding(adding: Iterable[Action]) -> Reason | None:
    if not any(item.reason for item in adding):
        return None
    return Reason(NO_ADD, _("Only the owner of a metalake, or a holder of Manage users, can add members."))


def _lead(circle: VisiblePrincipals) -> str:
    if circle.runs_the_site:
        return _("Everyone on this site. Their access is shown where you may see it.")
    if circle.gives_access:
        return _("People, groups and service accounts of %(listed)s.") % {
            "listed": words.listed([realm.name for realm in circle.realms])
        }
    return _("You and your groups. Other people are shown to people who grant access.")


def _kinds(
    circle: VisiblePrincipals, text: str, kind: str, listed: ShownList[PersonRow]
) -> tuple[Toggle, ...]:
    counted = circle.people(text).order_by().values_list("kind").annotate(Count("pk", distinct=True))
    counts = dict(counted)
    counts[""] = sum(counts.values())
    return tuple(
        Toggle(word, listed.url(q=text, kind=code), code == kind, words.number(counts.get(code, 0)))
        for code, word in KINDS
        if counts.get(code) or not code
    )


@reads
@login_required
def as_csv(request: Request) -> HttpResponseBase:
    """Whom the viewer may look up, with their groups."""
    circle = circle_of(request)
    order = ShownList.of(request, TABLE).by
    people = circle.people(*asked_in(request)).order_by(*order, "pk")
    return TABLE.file("people", in_chunks(people.iterator(CHUNK), lambda some: _rows(circle, some)))


def _rows(circle: VisiblePrincipals, people: list[Principal]) -> list[PersonRow]:
    groups = groups_of(circle, people)
    return [PersonRow(row, groups.get(row.pk, []), row.pk == circle.asker.pk) for row in people]


def groups_of(circle: VisiblePrincipals, rows: list[Principal]) -> dict[int, list[str]]:
    """The groups of each that the viewer may know of, or how many people are in a group.  One query."""
    visible = circle.people(kind="group").values("pk")
    memberships = Membership.objects.open().filter(member__in=[row.pk for row in rows], group__in=visible)
    groups: dict[int, list[str]] = {}
    for row in memberships.select_related("group").order_by("group__display_name", "group__name"):
        groups.setdefault(row.member_id, []).append(row.group.label)
    return groups


def _nobody(text: str) -> Empty:
    if text:
        heading = _("Nobody you may look up is called “%(text)s”") % {"text": text}
        return Empty(heading, drawn=False, actions=(Action(_("Show all"), "?"),), level=2)
    return Empty(_("Nobody is here yet"), _("The owner of a realm adds its members."), level=2)


# Granting to one


@reads
@login_required
def grant(request: Request, id: int) -> HttpResponse:
    """On what: the objects one owns, or those a search finds, each leading to its form."""
    seen = get_person_or_404(request, id, "person")
    text = request.GET.get("q", "").strip()[:255]
    nodes = _grantable(seen, text)
    return seen.page(
        request,
        "console/people/person_grant.html",
        {
            "heading": _("Grant to %(label)s") % {"label": seen.person.label},
            "kind": "",
            "lead": _("Choose an object. Its form opens with the name filled in."),
            "actions": [],
            "crumbs": Crumbs(
                (
                    (_("People"), reverse("console:people")),
                    (seen.person.label, reverse("console:person", args=[id])),
                )
            ),
            "asked": text,
            "rows": nodes,
            "empty": nothing_to_give(text),
        },
    )


def _grantable(seen: PersonAccess, text: str) -> list[MembershipRow]:
    return [
        MembershipRow(
            Who(
                node.name,
                Face("thing", terms.icon_of(node.type)),
                terms.place_words(node),
                _form(seen, node),
            ),
            "",
            None,
        )
        for node in sorted(giveable(seen.circle, text), key=lambda node: (len(node.names), node.names))
    ][:30]


def _form(seen: PersonAccess, node: Node) -> str:
    return f"{reverse('console:grant', args=[node.id])}?{urlencode({'who': str(seen.person)})}"
