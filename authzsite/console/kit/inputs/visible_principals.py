"""Whom somebody may look up: themselves, their groups, and for people who give access the realm's members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Membership, Principal
from accounts.text import called, holdable
from authzsite.console.kit.http import Request, asker_of
from catalog.models import Placement
from catalog.nodes import Node, any_of
from catalog.queries import nodes
from lakewarden.law import dialects
from policies.decisions import ask, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.lookups.visible_objects import realms_of, search
from policies.models import RealmMember
from policies.record import history
from policies.record.history import Sight

LOOKED = 200
"""So many objects are gone through for those whose access somebody may change."""

NAMED = 6
"""So many people of one name are told apart in a sentence."""


@dataclass(frozen=True)
class VisiblePrincipals:
    """One viewer with the realms that concern them and the people they may know there."""

    asker: Principal

    @cached_property
    def realms(self) -> Sequence[Node]:
        """Those that admit them, and those where they may read some of the history."""
        return history.realms(self.asker, given=self._given)

    @cached_property
    def admitting(self) -> Sequence[Node]:
        """Those alone that admit them; in the others they see nothing but history."""
        return realms_of(self.asker)

    @cached_property
    def sight(self) -> Sight:
        return history.sight(self.asker, self.realms, given=self._given)

    @cached_property
    def _given(self) -> frozenset[int]:
        return history.given_to(self.asker)

    @cached_property
    def own_groups(self) -> frozenset[int]:
        rows = Membership.objects.open().within(timezone.now()).filter(member=self.asker)
        return frozenset(rows.values_list("group", flat=True))

    @property
    def gives_access(self) -> bool:
        return bool(self.sight.objects)

    def people(self, text: str = "", kind: str = "") -> QuerySet[Principal]:
        """Those they may know whose name holds a text, by name."""
        rows = Principal.objects.filter(self._known()).exclude(kind=Principal.Kind.PATTERN)
        if not holdable(text):
            return rows.none()
        if text:
            rows = rows.filter(called(text))
        return (rows.filter(kind=kind) if kind else rows).order_by("display_name", "name", "pk")

    @cached_property
    def runs_the_site(self) -> bool:
        """Whether they are a site admin, who knows everybody's name and nobody's access by that."""
        return is_service_admin(self.asker)

    def _known(self) -> Q:
        if self.runs_the_site:
            return Q()
        mine = Q(pk__in=[self.asker.pk, *self.own_groups])
        if not self.gives_access:
            return mine
        members = RealmMember.objects.open().filter(realm__in=[realm.realm_id for realm in self.realms])
        return mine | Q(pk__in=members.values("principal"))

    def meant(self, text: str) -> list[Principal]:
        """The one whom a name means exactly, else all that it can mean."""
        exact = somebody(text, self.people())
        return [exact] if exact else self.named(text)

    def ever_in(self, realm: Node) -> QuerySet[Principal]:
        """Those they may know, and whom the realm ever admitted; everybody where it is open to all."""
        if dialects.get(realm.kind).open_to_all:
            return Principal.objects.all()
        once = RealmMember.objects.filter(realm=realm.realm_id).values("principal")
        return Principal.objects.filter(self._known() | Q(pk__in=once))

    def named(self, text: str) -> list[Principal]:
        """Those a name can mean as people write it, in any case: `ana`, `Ana Analyst`, `Ana` alone, or parts.

        A sign-in name goes before a full name, that before a first name, and that before parts of names.
        """
        rows = self.people()
        if not text or not holdable(text):
            return []
        for written in (
            Q(name__iexact=text),
            Q(display_name__iexact=text),
            Q(display_name__istartswith=f"{text} "),
            called(text),
        ):
            principals = list(rows.filter(written)[:NAMED])
            if principals:
                return principals
        return []

    def meet(self, id: int) -> Principal:
        """The one of that number; the same Http404 for who is not there and for who is not to be known."""
        person = self.people().filter(pk=id).first()
        if person is None:
            raise Http404
        return person

    def is_own(self, person: Principal) -> bool:
        """Whether it is the viewer, or a group they are in: all it has is theirs."""
        return person.pk == self.asker.pk or person.pk in self.own_groups

    def sees(self, person: Principal, node: Node) -> bool:
        """Whether they may know what somebody has on an object."""
        return self.sees_place(person, node.lineage)

    def sees_place(self, person: Principal, lineage: Iterable[int]) -> bool:
        """The same where only the numbers of the object and of what is above it are at hand."""
        return self.is_own(person) or self.sight.sees_place(lineage)


def somebody(text: str, among: QuerySet[Principal] | None = None) -> Principal | None:
    """The one principal meant by a name as people write it: `ana`, `Ana Analyst`, `group:analysts`.

    Who asks `among` the people that a viewer may know answers alike about all others, there or not.
    """
    if not holdable(text):
        return None
    kind, colon, name = text.partition(":")
    rows = Principal.objects.all() if among is None else among
    if colon and kind in Principal.Kind.values:
        return rows.filter(kind=kind, name=name).first()
    exact = list(rows.filter(Q(name=text) | Q(display_name__iexact=text)).order_by("kind")[:2])
    return next(
        (row for row in exact if row.kind == "user" and row.name == text),
        exact[0] if len(exact) == 1 else None,
    )


def unknown_words(text: str, found: Sequence[Principal]) -> str:
    """Why a name does not say who is meant: it fits nobody the viewer may know, or several people."""
    if not found:
        return _("Nobody is called %(text)s. Type a sign-in name, a first name or a full name.") % {
            "text": text
        }
    names = ", ".join(f"{row.label} ({row.name})" for row in found)
    return _("Several people are called %(text)s: %(names)s. Type the name in brackets.") % {
        "text": text,
        "names": names,
    }


def circle_of(request: Request) -> VisiblePrincipals:
    return VisiblePrincipals(asker_of(request))


def realm_words(circle: VisiblePrincipals) -> str:
    """The realm's name for the foot of the navigation, when there is just one."""
    return circle.realms[0].name if len(circle.realms) == 1 else ""


def giveable(circle: VisiblePrincipals, text: str = "") -> Iterable[Node]:
    """The objects whose access they may change: those a search finds, or without a text those they govern.

    Of many the highest, by name.
    """
    now = timezone.now()
    for realm in circle.realms:
        slice_ = slices.current(circle.asker, realm, now=now)
        nodes_ = search(slice_, realm, text, now=now) if text else _highest(circle, realm)
        for node in nodes([row.securable_id for row in nodes_[:LOOKED]]).values():
            if node.type != "role" and ask.answer(slice_, "grant", node, now=now):
                yield node


def _highest(circle: VisiblePrincipals, realm: Node) -> QuerySet[Placement]:
    """The topmost objects that they govern in a realm."""
    rows = Placement.objects.open().filter(any_of("securable_id", circle.sight.objects))
    rows = rows.filter(securable__realm=realm.realm_id).exclude(type="role")
    return rows.order_by("ancestors__len", "name", "pk")
