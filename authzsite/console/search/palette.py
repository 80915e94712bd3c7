"""The palette: objects, people, roles, pages and things to do, found by a script while one types.

Without scripts the same field leads to the search page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.navigation import doors_of, found_by
from authzsite.console.people.reach import main_action
from catalog.nodes import Node, nodes
from policies.decisions import ask, slices
from policies.decisions.lookups.object_search import After, Finder
from policies.decisions.lookups.visible_objects import SEARCHED
from policies.decisions.personal_role_names import MARK

OBJECTS, ROLES, PEOPLE = 8, 3, 5
LONGEST = 300
TYPES = tuple(item for item in SEARCHED if item != "role")


MAKING = ("new role", "make a role", "role", "create role", "add role")


@dataclass(frozen=True)
class Verb:
    """Something to do; `words` are what else people call it, `for_carers` those who give access."""

    code: str
    icon: str
    name: str
    words: tuple[str, ...]
    for_carers: bool = False


VERBS = (
    Verb("request_new", "request", noop("Request access"), ("ask", "request", "need")),
    Verb(
        "review_new", "review", noop("Start a review"), ("review", "certify", "campaign", "recertify"), True
    ),
    Verb(
        "emergencies", "warn", noop("Open emergency access"), ("break", "glass", "urgent", "incident"), False
    ),
    Verb("sync", "sync", noop("Adopt or revoke outside grants"), ("drift", "foreign", "take over"), True),
    Verb(
        "owners",
        "user",
        noop("Hand over what someone owns"),
        ("leave", "leaver", "orphan", "ownerless"),
        True,
    ),
    Verb("looks", "deny", noop("See refusals"), ("denied", "refused"), True),
    Verb("integrity", "check", noop("Verify the audit log"), ("intact", "tamper", "proof", "chain"), False),
)


@dataclass(frozen=True)
class Option:
    """One line; the letters of the name that were sought stand between `before` and `rest`."""

    icon: str
    url: str
    before: str
    marked: str = ""
    rest: str = ""
    note: str = ""
    keys: str = ""


@dataclass(frozen=True)
class Group:
    label: str
    options: tuple[Option, ...]


def option(icon: str, url: str, name: str, text: str, note: str = "", keys: str = "") -> Option:
    """A line whose name has the sought letters marked."""
    at = name.casefold().find(text.casefold()) if text else -1
    if at < 0:
        return Option(icon, url, name, note=note, keys=keys)
    end = at + len(text)
    return Option(icon, url, name[:at], name[at:end], name[end:], note, keys)


@dataclass
class Sought:
    """What is found for one text by one viewer."""

    circle: VisiblePrincipals
    text: str
    now: datetime = field(default_factory=timezone.now)

    @cached_property
    def finders(self) -> list[Finder]:
        now, asker = self.now, self.circle.asker
        return [
            Finder(slices.current(asker, realm, now=now), realm, self.text, now)
            for realm in self.circle.realms
        ]

    @property
    def last(self) -> str:
        return self.text.rpartition(".")[2]

    def objects(self, limit: int, *, after: After | None = None) -> list[tuple[Node, After]]:
        """The likeliest first, over all realms."""
        hits = [hit for finder in self.finders for hit in finder.find(limit, types=TYPES, after=after)]
        hits.sort(key=lambda hit: (not hit.after.begins, hit.after.folded, hit.after.key))
        placed = nodes(hit.place.securable_id for hit in hits[:limit])
        return [
            (placed[hit.place.securable_id], hit.after)
            for hit in hits[:limit]
            if hit.place.securable_id in placed
        ]

    def roles(self) -> list[Node]:
        hits = [hit for finder in self.finders for hit in finder.find(ROLES, types=("role",), but=MARK)]
        return list(nodes(hit.place.securable_id for hit in hits[:ROLES]).values())

    def people(self, limit: int) -> list[Principal]:
        """Those whose name begins so before those whose name holds it."""
        begins = Q(display_name__istartswith=self.text) | Q(name__istartswith=self.text)
        rows = self.circle.people(self.text).alias(begins=begins)
        return list(rows.order_by("-begins", "display_name", "name", "pk")[:limit])

    def groups(self) -> Iterable[Group]:
        matches = [node for node, _ in self.objects(OBJECTS)] if self.text else []
        people = self.people(PEOPLE) if self.text else []
        yield Group(gettext("Objects"), tuple(self._object(node) for node in matches))
        yield Group(gettext("People"), tuple(self._person(row) for row in people))
        yield from self.rest(matches, people)

    def rest(self, found: Sequence[Node], people: Sequence[Principal]) -> Iterable[Group]:
        """Roles, what can be done to what was found, and pages."""
        roles = [
            option("role", terms.page_of(node.id, "role"), node.name, self.last, node.realm)
            for node in (self.roles() if self.text else ())
        ]
        yield Group(gettext("Roles"), tuple(roles))
        yield Group(gettext("Actions"), tuple(self._doing(found, people)))
        yield Group(gettext("Pages"), tuple(self._pages()))

    def _object(self, node: Node) -> Option:
        above = " / ".join(node.names[1:-1]) or terms.kind_of(node.type)
        url = reverse("console:object", args=[node.id])
        return option(terms.icon_of(node.type), url, node.name, self.last, above)

    def _person(self, row: Principal) -> Option:
        icon = {"group": "group", "service": "service"}.get(row.kind, "user")
        return option(icon, reverse("console:person", args=[row.pk]), row.label, self.text, str(row))

    def may_grant(self, node: Node) -> bool:
        slice_ = next(finder.slice for finder in self.finders if finder.root.realm_id == node.realm_id)
        return bool(ask.answer(slice_, "grant", node, now=self.now))

    def _doing(self, matches: Sequence[Node], people: Sequence[Principal]) -> Iterable[Option]:
        """What can be done to the first that was found."""
        for node in matches[:1]:
            if self.may_grant(node):
                url = reverse("console:grant", args=[node.id])
                yield option(
                    "plus",
                    url,
                    gettext("Grant access to %(name)s") % {"name": node.name},
                    self.last,
                    keys="g a",
                )
            query = {"what": node.ref.id, "type": node.type, "action": main_action(node)}
            url = f"{reverse('console:why')}?{urlencode(query)}"
            yield option(
                "why",
                url,
                gettext("Why can or cannot someone use %(name)s?") % {"name": node.name},
                self.last,
            )
            if node.type in terms.CONTAINERS:
                yield option(
                    "schema",
                    terms.page_of(node.id, node.type),
                    gettext("Browse %(name)s") % {"name": node.name},
                    self.last,
                )
        for row in people[:1] if self.circle.gives_access else ():
            url = reverse("console:person_grant", args=[row.pk])
            yield option("plus", url, gettext("Grant to %(label)s") % {"label": row.label}, self.text)
            if row.kind == Principal.Kind.USER:
                leaving = reverse("console:person_leaving", args=[row.pk])
                yield option(
                    "user",
                    leaving,
                    gettext("Hand over what %(label)s has") % {"label": row.label},
                    self.text,
                    gettext("leaver"),
                )
                same = reverse("console:person_same", args=[row.pk])
                yield option(
                    "group",
                    same,
                    gettext("Grant %(label)s the same as a colleague") % {"label": row.label},
                    self.text,
                    gettext("joiner"),
                )
        yield from self._verbs()

    def _verbs(self) -> Iterable[Option]:
        """What can be done from anywhere, found by its name or by what people call it."""
        text = self.text.casefold()
        if not text:
            return
        for verb in VERBS:
            name = gettext(verb.name)
            parts = text.split()
            named = all(part in name.casefold() for part in parts) or any(
                word.startswith(text) for word in verb.words
            )
            if named and (self.circle.gives_access or not verb.for_carers):
                yield option(verb.icon, reverse(f"console:{verb.code}"), name, self.text)
        if self.circle.gives_access and any(word.startswith(text) for word in MAKING):
            for realm in self.circle.admitting[:ROLES]:
                url = f"{reverse('console:role_new')}?{urlencode({'in': realm.id})}"
                yield option(
                    "role", url, gettext("Create a role in %(name)s") % {"name": realm.name}, self.text
                )

    def _pages(self) -> Iterable[Option]:
        rooms = [
            (place.icon, url, name, f"g {place.key}" if url == place.url else "")
            for place, url, name in found_by(doors_of(self.circle.asker))
        ]
        more = [
            ("user", reverse("console:person", args=[self.circle.asker.pk]), gettext("Your own access"), ""),
            ("user", reverse("console:profile"), gettext("Your settings"), ""),
            ("keyboard", reverse("console:keys"), gettext("Keyboard and help"), "?"),
            ("table", reverse("console:calls"), gettext("Calls for programs (API)"), ""),
        ]
        for icon, url, name, keys in (*rooms, *more):
            if self.text.casefold() in name.casefold():
                yield option(icon, url, name, self.text, keys=keys)


def text_in(request: Request) -> str:
    return request.GET.get("q", "").strip()[:LONGEST]


@reads
@login_required
def palette_results(request: Request) -> HttpResponse:
    """The lines for what is being typed, for a script."""
    sought = Sought(circle_of(request), text_in(request))
    groups = [group for group in sought.groups() if group.options]
    many = sum(len(group.options) for group in groups)
    return render(
        request, "console/search/results.html", {"groups": groups, "many": many, "text": sought.text}
    )
