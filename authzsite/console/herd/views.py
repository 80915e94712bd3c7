"""A Herd: its namespaces with their data owners, and what the viewer may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from authzsite.console.catalog.views import child_of
from authzsite.console.herd.context import HerdContext, herd_at
from authzsite.console.herd.effects import labels
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Fact, Facts, State, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings.modes import banner
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import below, mode_of
from lakewarden.law import engine
from lakewarden.law.dialects.herd.permissions import DATA_OWNER, ON_NAMESPACE
from lakewarden.law.facts import Slice

SHOWN = 50
COUNTED = 2000
"""Up to so many namespaces it is counted how many have no data owner."""


@dataclass(frozen=True)
class NamespaceRow:
    what: Who
    owners: str
    missing: State | None
    you: str


@dataclass
class Herd:
    """The list of one Herd for one viewer."""

    desk: HerdContext
    text: str = ""
    after: str = ""
    lacking: bool = False

    @cached_property
    def placements(self) -> list[Placement]:
        rows = below(self.desk.herd, "namespace").order_by("name", "pk")
        return list(rows[: COUNTED + 1])

    @cached_property
    def counted(self) -> bool:
        return len(self.placements) <= COUNTED

    @cached_property
    def ownerless(self) -> list[Placement]:
        if not self.counted:
            return []
        owners = self.desk.data_owners([child_of(self.desk.herd, row) for row in self.placements])
        return [row for row in self.placements if not owners[row.securable_id]]

    @cached_property
    def without_owner(self) -> list[Placement]:
        """Those of them that the filter leaves."""
        return [row for row in self.ownerless if self.text.casefold() in row.name.casefold()]

    @property
    def named(self) -> QuerySet[Placement]:
        """All that the filter leaves, by name."""
        rows = below(self.desk.herd, "namespace").order_by("name", "pk")
        return rows.filter(name__icontains=self.text.replace("\0", "")) if self.text else rows

    @cached_property
    def found(self) -> list[Placement]:
        """The page and one more."""
        if self.lacking:
            return [row for row in self.without_owner if row.name > self.after][: SHOWN + 1]
        rows = self.named
        return list((rows.filter(name__gt=self.after) if self.after else rows)[: SHOWN + 1])

    def rows(self) -> list[NamespaceRow]:
        places = [child_of(self.desk.herd, row) for row in self.found[:SHOWN]]
        owners = self.desk.data_owners(places)
        return [self._row(place, [who.label for who in owners[place.id]]) for place in places]

    def _row(self, node: Node, owners: Sequence[str]) -> NamespaceRow:
        url = reverse("console:namespace", args=[node.id])
        missing = None if owners else State("behind", gettext("No data owner"))
        what = Who(node.name, Face("thing", "schema"), url=url)
        return NamespaceRow(what, words.listed(owners, 3), missing, self.own(node))

    def own(self, node: Node) -> str:
        """What the viewer may do on a namespace, in words."""
        held = permitted(self.desk.place.slice, node, self.desk.place.now.timestamp())
        return gettext("Everything") if self.desk.administers else labels(held) or gettext("Nothing")

    def url(self, **changed: Any) -> str:
        kept = {"q": self.text, "s": "lacking" if self.lacking else "", **changed}
        return "?" + urlencode({name: value for name, value in kept.items() if value})

    def toggles(self) -> tuple[Toggle, ...]:
        if not self.counted or not self.ownerless:
            return ()
        return (
            Toggle(gettext("All"), self.url(s=""), not self.lacking, words.number(len(self.placements))),
            Toggle(
                gettext("Without a data owner"),
                self.url(s="lacking"),
                self.lacking,
                words.number(len(self.ownerless)),
            ),
        )

    def pager(self) -> Pager:
        many = words.count(len(self.placements), "namespace") if self.counted else gettext("Many namespaces")
        next_ = self.url(after=self.found[SHOWN - 1].name) if len(self.found) > SHOWN else ""
        csv = reverse("console:herd_csv", args=[self.desk.herd.id]) + self.url()
        return Pager(
            gettext("%(many)s, by name") % {"many": many}, self.url() if self.after else "", next_, csv
        )

    def facts(self) -> Facts:
        who = self.desk.administrator
        shown = [Fact(gettext("Administrator"), who.label if who else gettext("Nobody"))]
        if self.counted:
            shown.append(Fact(gettext("Namespaces"), words.number(len(self.placements))))
            some = State("behind", words.number(len(self.ownerless))) if self.ownerless else None
            shown.append(Fact(gettext("Without a data owner"), "" if some else gettext("None"), state=some))
        shown.append(Fact(gettext("You are"), self._you_are()))
        return Facts(tuple(shown))

    def _you_are(self) -> str:
        if self.desk.administers:
            return gettext("its administrator")
        return gettext("a data owner") if self.desk.is_data_owner else gettext("a user")


def permitted(slice_: Slice, node: Node, moment: float) -> list[str]:
    """The permissions in force on a namespace, in Herd's order."""
    return [code for code in ON_NAMESPACE if engine.permitted(slice_, code, node.levels, now=moment)]


@reads
@login_required
def namespace_list(request: Request, id: int) -> HttpResponse:
    """Every namespace; lists are not filtered, what is in them is."""
    herd = listed(request, id)
    desk = herd.desk
    context = {
        "heading": desk.herd.name,
        "kind": gettext("Herd"),
        "lead": gettext("Its namespaces and their data owners."),
        "actions": [
            Action(gettext("Settings"), reverse("console:realm", args=[id]), "plain"),
            Action(gettext("Your permissions"), reverse("console:herd_mine", args=[id]), "plain", "key"),
            Action(gettext("Data owners"), reverse("console:herd_roles", args=[id])),
            Action(gettext("Create a namespace"), reverse("console:namespace_new", args=[id]), "primary"),
        ],
        "facts": herd.facts(),
        "asked": herd.text,
        "toggles": herd.toggles(),
        "lacking": herd.lacking,
        "rows": herd.rows(),
        "pager": herd.pager(),
        "empty": _empty(herd),
        "users_url": reverse("console:herd_user", args=[id]) if desk.is_data_owner else "",
    }
    return show(request, "console/herd/herd.html", desk, context)


def listed(request: Request, id: int) -> Herd:
    """The Herd of that number with the filter that the address names.  Raises Http404."""
    text = request.GET.get("q", "").strip()[:255]
    after = request.GET.get("after", "")[:255].replace("\0", "")
    return Herd(herd_at(request, id), text, after, request.GET.get("s") == "lacking")


def _empty(herd: Herd) -> Empty:
    if herd.text:
        everything = Action(gettext("Show all"), "?")
        return Empty(
            gettext("No namespace is called “%(text)s”") % {"text": herd.text},
            drawn=False,
            actions=(everything,),
        )
    return Empty(
        gettext("There is no namespace yet"),
        gettext("Anyone signed in may create one. The administrator then assigns its data owner."),
    )


def show(
    request: Request, template: str, desk: HerdContext, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page about a Herd or something in it, with the realm's banner."""
    herd, slice_ = desk.herd, desk.place.slice
    return page(
        request,
        template,
        context,
        section="catalog",
        realm=herd.name,
        kind="herd",
        revision=slice_.revision,
        banner=banner(herd.name, mode_of(herd.realm_id)),
        status=status,
    )


# What the viewer may do


@dataclass(frozen=True)
class EntryRow:
    """What one entry gives on a namespace; `through` is the pattern that matches the viewer, if it is one."""

    what: Who
    may: str
    through: str


@reads
@login_required
def mine(request: Request, id: int) -> HttpResponse:
    """The viewer's own permissions, namespace by namespace, own and wildcard entries apart."""
    desk = herd_at(request, id)
    moment = desk.place.now.timestamp()
    roles = [
        name
        for name in (DATA_OWNER, "OPS")
        if engine.permitted(desk.place.slice, name, desk.herd.levels, now=moment)
    ]
    context = {
        "heading": gettext("Your permissions in %(name)s") % {"name": desk.herd.name},
        "crumbs": crumbs(desk, here=False),
        "facts": Facts(
            (
                Fact(gettext("User id"), desk.place.asker.name),
                Fact(gettext("Security roles"), words.listed(roles) or gettext("None")),
                Fact(gettext("You are"), Herd(desk)._you_are()),
            )
        ),
        "rows": list(held_oneself(desk)),
        "csv": reverse("console:herd_mine_csv", args=[id]),
        "empty": Empty(
            gettext("You have no access to any namespace yet"),
            gettext("Its data owners grant access; each namespace names them."),
            actions=(Action(gettext("See the namespaces"), reverse("console:herd", args=[id])),),
            level=2,
        ),
    }
    return show(request, "console/herd/mine.html", desk, context)


def crumbs(desk: HerdContext, *, here: bool) -> Crumbs:
    herd = (desk.herd.name, reverse("console:herd", args=[desk.herd.id]))
    node = (desk.node.name, reverse("console:namespace", args=[desk.node.id]))
    return Crumbs((herd, node) if here and desk.node is not desk.herd else (herd,))


def _what(desk: HerdContext, key: int, name: str) -> Who:
    return Who(name, Face("thing", "schema"), url=reverse("console:namespace", args=[key]))


def held_oneself(desk: HerdContext) -> Iterable[EntryRow]:
    """What the viewer may do, namespace by namespace."""
    return _everything(desk) if desk.administers else _own(desk)


def _everything(desk: HerdContext) -> Iterable[EntryRow]:
    for row in below(desk.herd, "namespace").order_by("name", "pk")[:COUNTED]:
        yield EntryRow(
            _what(desk, row.securable_id, row.name), labels(ON_NAMESPACE), gettext("As administrator")
        )


def _own(desk: HerdContext) -> Iterable[EntryRow]:
    """Own entries before wildcard ones, by namespace."""
    moment = desk.place.now.timestamp()
    permissions: dict[tuple[int, str], set[str]] = {}
    for rule in desk.place.slice.rules:
        if isinstance(rule.object, int) and rule.privilege in ON_NAMESPACE and rule.holds_at(moment):
            through = rule.via[0].name if rule.via else ""
            permissions.setdefault((rule.object, through), set()).add(rule.privilege)
    rows = below(desk.herd, "namespace").filter(securable__in={key for key, _ in permissions})
    names = dict(rows.values_list("securable", "name"))
    for key, through in sorted(permissions, key=lambda key: (names.get(key[0], ""), key[1])):
        if key in names:
            how = (
                gettext("By wildcard %(through)s") % {"through": through}
                if through
                else gettext("By your own entry")
            )
            yield EntryRow(_what(desk, key, names[key]), labels(permissions[key, through]), how)
