"""Everything somebody has and owns, in every realm and on the site, each with who may take or give it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.db.models import Q
from django.utils import timezone

from accounts.models import Keeping, Membership, Principal, Token, User
from catalog.models import Placement
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from lakewarden.law.facts import Slice
from policies.decisions import ask, site_permissions, slices
from policies.decisions.facts import is_service_admin
from policies.decisions.ownership import owners_of
from policies.decisions.personal_role_names import is_personal, name_for
from policies.models import AccessRequest, Assignment, Grant, Ownership, RealmMember, UserDuty
from policies.models.grants import Effect
from policies.models.requests import STILL_OPEN
from policies.reviews.management import leads
from policies.reviews.worklist import owing
from policies.services import patterns, roles
from policies.services.grants import GRANT
from policies.services.members import ADMITS, REMOVES
from policies.services.owners import SET_OWNER

KINDS = (
    *("own", "give", "text", "role", "duty", "group", "keep", "request", "seat", "token"),
    *("member", "account"),
)
SITE = ("group", "keep", "token", "account")
"""What no realm speaks of: it is the site admins' to change."""
HANDED = ("own", "give", "text", "role", "duty", "group", "keep", "seat")
TAKEN = ("give", "text", "role", "duty", "group", "request", "token", "member", "account")
COPIED = ("give", "text", "role", "duty", "group", "member")
Sees = Callable[[Node], bool]


@dataclass(frozen=True)
class Entitlement:
    """One thing somebody has: `code` names it in a form; `may_take` and `may_give` are the asker's.

    `node` is the object, the role or the realm; `other` the group or the service account.
    """

    code: str
    kind: str
    node: Node | None = None
    other: Principal | None = None
    text: str = ""
    grants: tuple[Grant, ...] = ()
    until: datetime | None = None
    since: datetime | None = None
    number: int = 0
    may_take: bool = False
    may_give: bool = False

    @property
    def realm_id(self) -> int:
        return self.node.realm_id if self.node else 0

    @property
    def root(self) -> Node | None:
        return next(iter((*self.node.above(), self.node))) if self.node else None

    @property
    def privileges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(grant.privilege for grant in self.grants))


@dataclass(frozen=True)
class Holdings:
    """All that one person or service account has, as far as the asker may know it."""

    person: Principal
    asker: Principal
    realms: Sequence[Node]
    sees: Sees
    now: datetime = field(default_factory=timezone.now)

    @cached_property
    def all(self) -> tuple[Entitlement, ...]:
        """In the order of KINDS, by name.  The number of queries depends on the realms alone."""
        entitlements = [*self._in_realms(), *self._on_the_site()]
        return tuple(
            sorted(entitlements, key=lambda entitlement: (KINDS.index(entitlement.kind), _name(entitlement)))
        )

    def find(self, code: str) -> Entitlement | None:
        return next((item for item in self.all if item.code == code), None)

    @cached_property
    def runs_the_site(self) -> bool:
        return is_service_admin(self.asker)

    @cached_property
    def roots(self) -> dict[int, Node]:
        return {realm.realm_id: realm for realm in self.realms}

    # In realms

    def _in_realms(self) -> Iterable[Entitlement]:
        realms = list(self.roots)
        owned = list(Ownership.objects.open().filter(owner=self.person, securable__realm__in=realms))
        held = list(Assignment.objects.open().filter(holder=self.person, role__realm__in=realms))
        given = self._given()
        duties = list(UserDuty.objects.filter(user__principal=self.person).select_related("permission"))
        keys = {row.securable_id for row in owned} | {row.role_id for row in held} | given.keys()
        self_known = nodes(keys | {row.content_object_id for row in duties})
        visible = {
            key: node for key, node in self_known.items() if node.realm_id in self.roots and self.sees(node)
        }
        for row in owned:
            if row.securable_id in visible:
                yield self._owned(visible[row.securable_id], row)
        for key, grants in given.items():
            if key in visible:
                yield self._direct(visible[key], grants)
        for item in held:
            if item.role_id in visible and not is_personal(visible[item.role_id].name):
                yield self._role(visible[item.role_id], item)
        for duty in duties:
            if duty.content_object_id in visible:
                yield self._duty(visible[duty.content_object_id], duty)
        yield from self._texts()
        yield from self._members()
        yield from self._requests()
        yield from self._seats()

    def _given(self) -> dict[int, list[Grant]]:
        """What was given directly, by object."""
        tops = [realm.id for realm in self.realms]
        personal = Placement.objects.open().filter(scope__in=tops, type="role", name=name_for(self.person))
        mine = Q(role__in=personal.values("securable")) | Q(holder=self.person)
        rows = Grant.objects.open().filter(mine, effect=Effect.ALLOW, securable__realm__in=list(self.roots))
        grants: dict[int, list[Grant]] = defaultdict(list)
        for row in rows.order_by("pk"):
            grants[row.securable_id or 0].append(row)
        return grants

    def _texts(self) -> Iterable[Entitlement]:
        rows = Grant.objects.open().filter(holder=self.person, realm__in=list(self.roots)).order_by("pk")
        by_text: dict[tuple[int, str], list[Grant]] = defaultdict(list)
        for row in rows:
            by_text[row.realm_id or 0, row.pattern].append(row)
        for (realm, text), grants in by_text.items():
            root = self.roots[realm]
            place = ask.entity_node(root, patterns.named(root, text))
            may = self._may(GRANT, place)
            if self.sees(root) or may:
                yield Entitlement(
                    f"text-{grants[0].pk}",
                    "text",
                    root,
                    text=text,
                    grants=tuple(grants),
                    may_take=may,
                    may_give=may,
                )

    def _owned(self, node: Node, row: Ownership) -> Entitlement:
        may = self._may(SET_OWNER, node)
        return Entitlement(f"own-{node.id}", "own", node, number=row.pk, may_take=may, may_give=may)

    def _direct(self, node: Node, grants: Sequence[Grant]) -> Entitlement:
        may, ends = self._may(GRANT, node), [row.valid_until for row in grants]
        until = max((end for end in ends if end), default=None) if all(ends) else None
        return Entitlement(
            f"give-{node.id}", "give", node, grants=tuple(grants), until=until, may_take=may, may_give=may
        )

    def _role(self, role: Node, row: Assignment) -> Entitlement:
        by_text = dialects.get(role.kind).by_text
        operation = (GRANT, self.roots[role.realm_id]) if by_text else (roles.operation(role, "assign"), role)
        may = self._may(*operation)
        return Entitlement(
            f"role-{role.id}",
            "role",
            role,
            until=row.valid_until,
            since=row.valid_from,
            may_take=may,
            may_give=may,
        )

    def _duty(self, node: Node, row: UserDuty) -> Entitlement:
        may = self._offices[node.realm_id]
        code = f"duty-{row.pk}"
        return Entitlement(code, "duty", node, text=row.permission.codename, may_take=may, may_give=may)

    def _members(self) -> Iterable[Entitlement]:
        rows = RealmMember.objects.open().filter(principal=self.person, realm__in=list(self.roots))
        for row in rows:
            root, kind = self.roots[row.realm_id], self.person.kind
            take, give = self._may(REMOVES[kind], root), self._may(ADMITS[kind], root)
            yield Entitlement(f"member-{row.realm_id}", "member", root, may_take=take, may_give=give)

    # What waits for them, or they wait for

    def _requests(self) -> Iterable[Entitlement]:
        """Open requests by them or for them; those who may grant on the object may refuse these."""
        theirs = Q(asker=self.person) | Q(holder=self.person)
        rows = list(AccessRequest.objects.filter(STILL_OPEN, theirs, realm__in=list(self.roots)))
        by_id = nodes(row.lineage[-1] for row in rows if row.lineage)
        for row in rows:
            node = by_id.get(row.lineage[-1]) if row.lineage else self.roots[row.realm_id or 0]
            mine = self.asker == self.person and row.asker_id == self.person.pk
            if node is not None and (mine or self.sees(node)):
                may = mine or self._may(GRANT, node)
                yield Entitlement(f"request-{row.pk}", "request", node, number=row.pk, may_take=may)

    def _seats(self) -> Iterable[Entitlement]:
        """Reviews in which rows wait for them."""
        for item in owing(self.person):
            review = item.review
            mine = self.asker == self.person
            if review.realm_id in self.roots and (mine or leads(review, self.asker)):
                root = self.roots[review.realm_id]
                yield Entitlement(
                    f"seat-{review.pk}", "seat", root, text=review.title, number=review.pk, may_take=True
                )

    # On the site

    def _on_the_site(self) -> Iterable[Entitlement]:
        may = self.runs_the_site
        inside = Membership.objects.open().filter(member=self.person).select_related("group")
        for row in inside:
            if may or self.asker == self.person:
                yield Entitlement(
                    f"group-{row.group_id}",
                    "group",
                    other=row.group,
                    until=row.valid_until,
                    may_take=may,
                    may_give=may,
                )
        if may or self.asker == self.person:
            yield from self._of_the_account(may=may)

    def _of_the_account(self, *, may: bool) -> Iterable[Entitlement]:
        kept = Keeping.objects.open().filter(keeper=self.person).select_related("service")
        for row in kept:
            yield Entitlement(f"keep-{row.service_id}", "keep", other=row.service, may_take=may)
        lasting = Q(expires__isnull=True) | Q(expires__gt=self.now)
        for token in Token.objects.filter(lasting, principal=self.person, revoked__isnull=True, run=""):
            mine = may or self.asker == self.person
            yield Entitlement(
                f"token-{token.pk}",
                "token",
                text=token.prefix,
                number=token.pk,
                until=token.expires,
                since=token.last_used,
                may_take=mine,
            )
        account = User.objects.filter(principal=self.person, is_active=True).first()
        if account is not None:
            other = self.asker != self.person
            yield Entitlement(
                "account", "account", text=account.username, number=account.pk, may_take=may and other
            )

    # What the asker may

    @cached_property
    def _slices(self) -> dict[int, Slice]:
        return {realm.realm_id: slices.current(self.asker, realm, now=self.now) for realm in self.realms}

    def _may(self, operation: str, node: Node) -> bool:
        return bool(ask.answer(self._slices[node.realm_id], operation, node, now=self.now))

    @cached_property
    def _offices(self) -> dict[int, bool]:
        return {realm.realm_id: bool(site_permissions.ask_realm(self.asker, realm)) for realm in self.realms}


def _name(entitlement: Entitlement) -> tuple[str, ...]:
    if entitlement.node is not None:
        return (*entitlement.node.names, entitlement.text)
    return (entitlement.other.label if entitlement.other else entitlement.text,)


def askable(some: Iterable[Entitlement]) -> dict[str, Principal]:
    """Who can act on things in realms, by code: the nearest owner.  One query."""
    placed = [item for item in some if item.node is not None]
    owners = owners_of(sorted({key for item in placed if item.node for key in item.node.lineage}))
    principals = {}
    for item in placed:
        along = reversed(item.node.lineage) if item.node else ()
        nearest = next((owners[key] for key in along if key in owners), None)
        if nearest is not None:
            principals[item.code] = nearest
    return principals


__all__ = ["COPIED", "HANDED", "KINDS", "SITE", "TAKEN", "Entitlement", "Holdings", "askable"]
