"""A viewer before a CDAP: what they may see and grant there, and what is given on which names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Min, QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Face, Reason, State, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_object_or_404
from catalog.models import Placement, Realm
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.decisions import ask
from policies.decisions.lookups import pattern_matches
from policies.decisions.lookups.visible_objects import owner_of
from policies.errors import PolicyError
from policies.models import Grant
from policies.services import patterns
from policies.services.cdap_instances import Instance

HOLDERS_NAMED = 3


@dataclass(frozen=True)
class InstanceContext:
    """A CDAP instance as one viewer meets it."""

    place: ObjectAccess

    @property
    def root(self) -> Node:
        return self.place.node

    @cached_property
    def realm(self) -> Realm:
        return Realm.objects.get(pk=self.root.realm_id)

    @cached_property
    def by_pattern(self) -> bool:
        """Whether rights can be given on patterns, and on what is not there yet."""
        return not patterns.must_exist(self.root)

    @cached_property
    def comes_down(self) -> bool:
        """Whether rights on what is above count below."""
        test = patterns.law_of(self.root).test("READ", "dataset")
        return test is not None and len(test.levels) > 1

    @cached_property
    def instance(self) -> Instance:
        return Instance(self.root, by=self.place.actor)

    def may_grant(self, target: Authorizable | None = None) -> bool:
        return self.instance.may_grant(target)

    @cached_property
    def administers(self) -> bool:
        return self.may_grant()

    @cached_property
    def looks(self) -> bool:
        """Whether they may see what everybody has here."""
        return self.administers or self.place.may_look

    @cached_property
    def actions(self) -> dict[str, str]:
        """The actions that can be given, and what they are called."""
        law = dialects.get(self.root.kind)
        return {code: gettext(privilege.label) for code, privilege in law.privileges.items()}

    def labels(self, codes: Iterable[str]) -> str:
        """Read, Write and Administer, in the law's own order."""
        held = set(codes)
        return words.listed([label for code, label in self.actions.items() if code in held])

    # What is given

    def grants(self) -> QuerySet[Grant]:
        """The grants on texts that hold now: everybody's, or those that reach the viewer."""
        rows = Grant.objects.open().within(timezone.now()).filter(realm=self.root.realm_id)
        if self.looks:
            return rows
        facts = (str(rule.fact).partition(":") for rule in self.place.slice.rules)
        return rows.filter(pk__in={int(number) for kind, _, number in facts if kind == "grant"})

    def named(self, text: str) -> Authorizable:
        """The entity or pattern of an address.  Raises Http404."""
        try:
            target = patterns.named(self.root, text)
            ask.entity_node(self.root, target)
        except PolicyError:
            raise Http404 from None
        if "\0" in text or len(text) > patterns.LONGEST:
            raise Http404
        return target

    def entities(self, rows: Iterable[Placement]) -> list[Node]:
        """Those of some entities that exist for the viewer; who may look sees all.  Two queries."""
        keys = [row.securable_id for row in rows]
        by_id = nodes(keys)
        entities = [by_id[key] for key in keys if key in by_id]
        slice_, now = self.place.slice, self.place.now
        return [item for item in entities if self.looks or ask.may_see(slice_, item, now=now)]

    def sees(self, target: Authorizable) -> bool:
        """Whether a name may be spoken of to the viewer."""
        if self.looks or self.may_grant(target) or self.grants().filter(pattern=str(target)).exists():
            return True
        node = ask.entity_node(self.root, target)
        return ask.may_see(self.place.slice, node, now=self.place.now)

    # Addresses and words

    def url(self, name: str = "instance", **asked: str) -> str:
        query = f"?{urlencode(asked)}" if asked else ""
        return reverse(f"console:{name}", args=[self.root.id]) + query

    def text_url(self, text: str) -> str:
        return self.url("cdap_text", text=text)

    @cached_property
    def administrator(self) -> Principal | None:
        return owner_of(self.root)

    def granting_words(self, what: str = "it") -> str:
        """Who says who may do what, as a sentence's end."""
        names = [terms.principal_name(self.administrator)] if self.administrator else []
        group = self.realm.settings.get("admin_group")
        names += [gettext("group %(group)s") % {"group": group}] if group else []
        who = words.listed(names, 3) or gettext("a site admin")
        if self.by_pattern:
            return gettext("%(who)s, who administers %(name)s") % {"who": who, "name": self.root.name}
        return gettext("%(who)s, and administrators of %(what)s") % {"who": who, "what": what}

    def no_grant(self, what: str = "it") -> Reason | None:
        reason = gettext("Who may do what on %(what)s is decided by %(what2)s.") % {
            "what": what,
            "what2": self.granting_words(what),
        }
        return Reason("why-not-grant", reason)

    def crumbs(self, *more: tuple[str, str]) -> Crumbs:
        return Crumbs(((self.root.name, self.url()), *more))

    def show(
        self, request: Request, template: str, context: dict[str, Any], *, status: int = 200
    ) -> HttpResponse:
        """A page about the instance or something in it, with the realm's banner."""
        return page(
            request,
            template,
            context,
            section="catalog",
            realm=self.root.name,
            kind=self.root.type,
            revision=self.place.slice.revision,
            status=status,
        )


def desk_at(request: Request, id: int) -> InstanceContext:
    """The CDAP of that number; the same Http404 for what is absent and for what is none."""
    place = get_object_or_404(request, id)
    if place.node.type != "instance":
        raise Http404
    return InstanceContext(place)


@dataclass(frozen=True)
class PatternGrant:
    """Who has what on one text."""

    who: Who
    code: str
    may: str
    rows: tuple[Grant, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(row.privilege for row in self.rows)

    @property
    def since(self) -> int:
        return min(row.opened for row in self.rows)


def held_on(desk: InstanceContext, rows: Iterable[Grant]) -> list[PatternGrant]:
    """The holders of some grants on one text, by name, each with all they have there."""
    grants: dict[tuple[str, int], list[Grant]] = {}
    for row in rows:
        grants.setdefault(
            ("role", row.role_id or 0) if row.role_id else ("who", row.holder_id or 0), []
        ).append(row)
    places = dict(
        Placement.objects.open()
        .filter(securable__in=[key for kind, key in grants if kind == "role"])
        .values_list("securable", "name")
    )
    held = [_held(desk, some, places) for some in grants.values()]
    return sorted(held, key=lambda grant: (grant.who.note, grant.who.name.casefold()))


def _held(desk: InstanceContext, rows: Sequence[Grant], roles: dict[int, str]) -> PatternGrant:
    first = rows[0]
    if first.holder is not None:
        note = "" if first.holder.kind == "user" else first.holder.get_kind_display().capitalize()
        url = reverse("console:person", args=[first.holder.pk]) if desk.looks else ""
        who, code = terms.who(first.holder, note, url), str(first.holder)
    else:
        name = roles.get(first.role_id or 0, "")
        url = reverse("console:role", args=[first.role_id]) if desk.looks else ""
        who, code = Who(name, Face("thing", "role"), gettext("Role"), url), f"role:{name}"
    return PatternGrant(who, code, desk.labels(row.privilege for row in rows), tuple(rows))


@dataclass(frozen=True)
class MatchCounts:
    """How many entities a text matches now, and how many when it was first given."""

    now: int
    then: int
    exact: bool

    @property
    def warning(self) -> str:
        if not self.now:
            return gettext("No such entity") if self.exact else gettext("Matches nothing")
        return (
            gettext("%(number)s more than when granted") % {"number": words.number(self.now - self.then)}
            if self.now > self.then
            else ""
        )

    def state(self, noun: str) -> State:
        if not self.now:
            return State("behind", self.warning)
        many = words.count(self.now, noun)
        return State("behind", many, self.warning) if self.warning else State("ok", many)


def reaches(desk: InstanceContext, texts: Sequence[str]) -> dict[str, MatchCounts]:
    """What each text matches.  Two queries, however many texts."""
    first = dict(
        Grant.objects.open()
        .filter(realm=desk.root.realm_id, pattern__in=texts)
        .values_list("pattern")
        .annotate(Min("opened"))
    )
    targets = [patterns.named(desk.root, text) for text in texts]
    questions = [(target, None) for target in targets]
    questions += [(target, first.get(text)) for target, text in zip(targets, texts, strict=True)]
    counts = pattern_matches.counted(desk.root, questions)
    return {
        text: MatchCounts(now, then if target.is_pattern else now, not target.is_pattern)
        for text, target, now, then in zip(texts, targets, counts, counts[len(texts) :], strict=False)
    }


def noun_of(target: Authorizable) -> str:
    """dataset type; its plural adds an s."""
    return target.type.replace("_", " ").replace("securekey", "secure key").replace("principal", " principal")
