"""What an owner does about a right that others gave in the backend: adopt it, revoke it, accept it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from accounts import people
from accounts.models import Principal
from accounts.record import Origin
from catalog.nodes import Node, node, nodes
from lakewarden.backends import kinds
from lakewarden.backends.errors import Misconfigured
from policies.authority import Actor, Authority
from policies.decisions import ask
from policies.errors import Conflict, Invalid, NotFound
from policies.events import (
    BACKEND_RETRIED,
    FOREIGN_ACCEPTED,
    FOREIGN_ADOPTED,
    FOREIGN_DROPPED,
    FOREIGN_REOPENED,
    FOREIGN_REVOKED,
    GRANT_REMOVED,
)
from policies.models import Backend, BackendFinding, ForeignOrder, Grant, RealmMember
from policies.previews import grants as previews_grants
from policies.record import outbox
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.secrets import decrypt
from policies.separation import wording
from policies.services import grants, members, personal_roles, realm_of
from policies.services.authorities import may
from policies.services.grants import Grantable, GrantRequest
from policies.sync.actions.foreign_orders import ordered
from policies.sync.connections.opening import open_backend
from policies.sync.differences import items
from policies.sync.differences.findings import OPTION, hindrance_in_words
from policies.sync.safeguards.report_only import only_reports

PEOPLE = (Principal.Kind.USER, Principal.Kind.SERVICE)


@dataclass(frozen=True)
class Foreign:
    """What one holder was given by one giver on one object of a backend: what the deeds are about."""

    backend: Backend
    rows: tuple[BackendFinding, ...]

    @property
    def first(self) -> BackendFinding:
        return self.rows[0]

    @property
    def rights(self) -> tuple[str, ...]:
        return tuple(row.what for row in self.rows)

    @cached_property
    def node(self) -> Node:
        """The object it is on, or the catalog when it is on nothing that is known here."""
        node_ = node(self.first.securable_id) if self.first.securable_id else None
        node_ = node_ or node(self.backend.catalog_id)
        if node_ is None:
            raise NotFound(gettext("Its catalog no longer exists."))
        return node_

    @cached_property
    def holder(self) -> Principal | None:
        """Who of the realm signs in there under this name; None when nobody of that name is admitted."""
        rows = RealmMember.objects.open().filter(realm=self.backend.realm_id, principal__kind__in=PEOPLE)
        found_members = list(rows.filter(principal__name=self.first.holder).select_related("principal"))
        return found_members[0].principal if len(found_members) == 1 else None

    @property
    def signs_in(self) -> bool:
        return self.first.holder in self.first.people

    @cached_property
    def privileges(self) -> tuple[str, ...]:
        """The privileges that come to nothing more than what is there, the widest first."""
        privileges: dict[str, frozenset[str]] = {}
        for code, rights in self._carried:
            if rights <= set(self.rights) and not any(rights <= wider for wider in privileges.values()):
                privileges[code] = rights
        return tuple(privileges)

    @cached_property
    def covered(self) -> frozenset[str]:
        """The rights that adopting replaces, with the option to grant them on."""
        plain = {right for code, rights in self._carried if code in self.privileges for right in rights}
        return frozenset(right for right in self.rights if right.removesuffix(OPTION) in plain)

    @property
    def left(self) -> tuple[str, ...]:
        """The rights that stay foreign, as no privilege here says exactly them."""
        return tuple(right for right in self.rights if right not in self.covered)

    @cached_property
    def _carried(self) -> list[tuple[str, frozenset[str]]]:
        connected = node(self.backend.catalog_id)
        if connected is None or self._unopened:
            return []
        kind, connection = self.first.type, open_backend(self.backend, connected)
        carried = kinds.get(self.backend.kind).carried
        pairs = [(code, frozenset(connection.rights_for(code, kind))) for _, code in carried.get(kind, ())]
        return sorted([pair for pair in pairs if pair[1]], key=lambda pair: -len(pair[1]))

    @cached_property
    def _unopened(self) -> str:
        """Why the backend's own words cannot be asked for; "" when they can."""
        try:
            kinds.get(self.backend.kind)
            decrypt(self.backend.sealed_url)
        except Misconfigured as error:
            text = str(error)
            return f"{text[:1].upper()}{text[1:]}."
        return ""

    def problem(self) -> str:
        """Why this cannot be adopted; "" when it can."""
        name = self.first.holder
        if self.first.securable_id is None:
            return gettext("It is on something that is not registered here.")
        if not self.signs_in:
            return gettext(
                "%(name)s is a role in the backend, not a person. Grant access to its members instead."
            ) % {"name": name}
        if self._unopened:
            return self._unopened
        if not self.privileges:
            return gettext(
                "No right here means exactly this. Grant the access that is meant, then revoke this."
            )
        return ""


def foreign(finding: int) -> Foreign:
    """A foreign finding with those that belong to it.  Raises NotFound."""
    row = BackendFinding.objects.filter(pk=finding, kind="foreign").select_related("backend__realm").first()
    if row is None:
        raise NotFound(gettext("It no longer exists."))
    alike = BackendFinding.objects.filter(
        backend=row.backend, kind="foreign", holder=row.holder, grantor=row.grantor, place=row.place
    )
    rows = sorted((other for other in alike if other.type == row.type), key=lambda other: other.what)
    return Foreign(row.backend, tuple(rows))


def adopt(finding: int, *, by: Actor, reason: str = "", until: datetime | None = None) -> Foreign:
    """Make a foreign grant ours: a grant here, and there a role of ours in the place of what was given.

    The holder is admitted to the realm when the actor may do that.  What was given goes only when ours was
    read back.  Raises Refused, Invalid, NotFound.
    """
    about = foreign(finding)
    with change(FOREIGN_ADOPTED, realm=realm_of(about.node), by=by, reason=reason) as current:
        about = foreign(finding)
        authority = grants.authority_to_grant(about.node, by)
        _undecided(about)
        if problem := about.problem() or denied(about, by):
            raise Invalid(problem)
        holder = about.holder or _admit(about, by)
        if problem := hindrance(about, "adopt", by):
            raise Invalid(problem)
        _say(current, FOREIGN_ADOPTED, about, authority)
        wish = GrantRequest(about.node, (holder,), about.privileges, valid_until=until, origin=Origin.ADOPTED)
        grants.add(wish, by=by)
        _order(current, about, [row for row in about.rows if row.what in about.covered], by, replaced=True)
    return about


def denied(about: Foreign, by: Actor) -> str:
    """Why adopting would have no effect: its holder is denied it here; "" when nothing denies it."""
    if about.holder is None or not about.privileges:
        return ""
    effects = previews_grants.of_grant(_wish(about, about.holder), by).effects
    if not any(effect.denied for effect in effects):
        return ""
    name = about.first.holder
    return gettext("Here %(name)s is denied this. Have it revoked there, or lift the denial first.") % {
        "name": name
    }


def hindrance(about: Foreign, code: str, by: Actor) -> str:
    """Why a decision about it would come to nothing, as far as that can be known beforehand; "" otherwise."""
    open_ = ordered(about.rows)
    if code in ("retry", "drop"):
        return "" if open_ else gettext("Nothing is planned for it any more.")
    if code == "reopen":
        return ""
    if code == "accept" and _are_stuck(open_.values()):
        return ""
    if open_:
        return gettext("Its removal is already decided. Give that up first to decide anew.")
    if code == "accept":
        return ""
    taking = _cannot_take(about)
    if code == "revoke" or taking:
        return taking
    return (
        about.problem()
        or _cannot_give(about)
        or denied(about, by)
        or _not_admitted(about, by)
        or separated([about], by)
    )


def separated(some: Sequence[Foreign], by: Actor) -> str:
    """Which rule of separation adopting all of them would break; "" when none is."""
    wishes = [_wish(about, about.holder) for about in some if about.holder is not None and about.privileges]
    new = previews_grants.clashes(wishes, by) if wishes else []
    return wording.refusal(new, many=3, reader=by.principal) if new else ""


def _wish(about: Foreign, holder: Principal) -> GrantRequest:
    return GrantRequest(about.node, (holder,), about.privileges, origin=Origin.ADOPTED)


def _not_admitted(about: Foreign, by: Actor) -> str:
    """Why its holder cannot become a member by this actor's word; "" when they can, or are one."""
    root = node(about.node.root_id)
    if about.holder is not None or root is None or _may_admit(root, by):
        return ""
    return _no_member(about, root.name)


def locked(some: Sequence[Foreign], by: Actor) -> dict[int, dict[str, str]]:
    """Of foreign grants that wait for a decision what would come to nothing, by their first finding's number.

    A few queries, however many: what depends on one holder's denials is told when one decides.
    """
    holders = _holders(some)
    backends = {about.backend.pk: about.backend for about in some}
    connected = nodes({row.catalog_id for row in backends.values()})
    admits = {
        row.pk: _may_admit(connected[row.catalog_id], by)
        for row in backends.values()
        if row.catalog_id in connected
    }
    locks: dict[int, dict[str, str]] = {}
    share_carried(some)
    for about in some:
        taking = _cannot_take(about)
        adopting = taking or about.problem() or _cannot_give(about)
        if not adopting and (about.backend.pk, about.first.holder) not in holders:
            place = connected.get(about.backend.catalog_id)
            adopting = "" if admits.get(about.backend.pk) or place is None else _no_member(about, place.realm)
        actions = {"adopt": adopting, "revoke": taking}
        locks[about.first.pk] = {code: text for code, text in actions.items() if text}
    return locks


def share_carried(some: Iterable[Foreign]) -> None:
    """Work out what a backend carries once for each type of object, not for each grant."""
    carried: dict[tuple[int, str], list[tuple[str, frozenset[str]]]] = {}
    for about in some:
        like = about.backend.pk, about.first.type
        if like in carried:
            about.__dict__["_carried"] = carried[like]
        carried[like] = about._carried


def _holders(some: Sequence[Foreign]) -> set[tuple[int, str]]:
    """Who of the holders is admitted, by backend and name.  One query."""
    realms = {about.backend.realm_id for about in some}
    names = {about.first.holder for about in some}
    rows = RealmMember.objects.open().filter(realm__in=realms, principal__kind__in=PEOPLE)
    admitted = set(rows.filter(principal__name__in=names).values_list("realm", "principal__name"))
    return {
        (about.backend.pk, about.first.holder)
        for about in some
        if (about.backend.realm_id, about.first.holder) in admitted
    }


def _may_admit(place: Node, by: Actor) -> bool:
    root, who = next(iter(place.above()), place), by.decides_as
    return who is not None and bool(ask.ask(who, "create_user", root))


def _cannot_take(about: Foreign) -> str:
    if only_reports(about.backend):
        return _why_only_reports(about.backend)
    hindrances = (row.hindered["take"] for row in about.rows if row.hindered.get("take"))
    return hindrance_in_words(next(hindrances, ""))


def _why_only_reports(row: Backend) -> str:
    """What keeps it from changing anything, by what would let it."""
    if row.awaits:
        text = gettext("%(backend)s only reports until a site admin agrees: nothing is changed there.")
    elif row.does == Backend.Policy.REPORT:
        text = gettext("%(backend)s only reports: nothing is changed there. Set its sync to repair first.")
    else:
        text = gettext("%(backend)s only reports while authorization is not on: nothing is changed there.")
    return text % {"backend": row}


def _cannot_give(about: Foreign) -> str:
    hindrances = (row.hindered["give"] for row in about.rows if row.hindered.get("give"))
    return hindrance_in_words(next(hindrances, ""))


def _no_member(about: Foreign, realm: str) -> str:
    return gettext("%(holder)s is not a member of %(realm)s, and you may not admit members.") % {
        "holder": about.first.holder,
        "realm": realm,
    }


def way(about: Foreign, by: Actor) -> list[Grantable]:
    """What an adoption gives besides, so that its holder can reach the object."""
    rows = Principal.objects.filter(kind=Principal.Kind.USER, name=about.first.holder)
    holder = about.holder or rows.first()
    if holder is None or not about.privileges:
        return []
    gifts = grants.gifts(_wish(about, holder), by, now=timezone.now())
    return [gift for gift in gifts if gift.node.id != about.node.id]


def _admit(about: Foreign, by: Actor) -> Principal:
    root = node(about.node.root_id)
    if root is None:
        raise NotFound(gettext("Its realm no longer exists."))
    authority = may(by, "create_user", root, otherwise=_no_member(about, root.name))
    person = people.ensure(Principal.Kind.USER, about.first.holder)
    members.add(root, person, by=by, authority=authority)
    return person


def revoke(finding: int, *, by: Actor, reason: str = "") -> Foreign:
    """Have a foreign grant taken in the backend.  Raises Refused, Conflict, NotFound."""
    about = foreign(finding)
    with change(FOREIGN_REVOKED, realm=realm_of(about.node), by=by, reason=reason) as current:
        about = foreign(finding)
        authority = grants.authority_to_grant(about.node, by)
        _undecided(about)
        if problem := hindrance(about, "revoke", by):
            raise Invalid(problem)
        _say(current, FOREIGN_REVOKED, about, authority)
        _order(current, about, about.rows, by)
    return about


def accept(finding: int, until: datetime, *, by: Actor, reason: str) -> Foreign:
    """Leave a foreign grant knowingly, until a date; what was decided about it and is stuck is dropped.

    Raises Refused, Invalid, Conflict, NotFound.
    """
    about = foreign(finding)
    if not reason.strip():
        raise Invalid(gettext("Give a reason for leaving it; the next reader will ask."))
    if until <= timezone.now():
        raise Invalid(gettext("The date is in the past."))
    with change(FOREIGN_ACCEPTED, realm=realm_of(about.node), by=by, reason=reason) as current:
        authority = grants.authority_to_grant(about.node, by)
        if _are_stuck(ordered(about.rows).values()):
            _drop(current, about, authority)
        _undecided(about)
        _mark(about, accepted_until=until, accepted_reason=reason.strip(), accepted_by=by.decides_as)
        _say(current, FOREIGN_ACCEPTED, about, authority, until=until.date().isoformat())
    return about


def reopen(finding: int, *, by: Actor, reason: str = "") -> Foreign:
    """Take an acceptance back.  Raises Refused, NotFound."""
    about = foreign(finding)
    with change(FOREIGN_REOPENED, realm=realm_of(about.node), by=by, reason=reason) as current:
        authority = grants.authority_to_grant(about.node, by)
        _mark(about, accepted_until=None, accepted_reason="", accepted_by=None)
        _say(current, FOREIGN_REOPENED, about, authority)
    return about


def try_again(finding: int, *, by: Actor) -> Foreign:
    """Have what was decided about a foreign grant tried now.  Raises Refused, Conflict, NotFound."""
    about = foreign(finding)
    with change(BACKEND_RETRIED, realm=realm_of(about.node), by=by) as current:
        authority = grants.authority_to_grant(about.node, by)
        orders = _orders(about)
        items.try_again(about.backend, orders=Q(pk__in=[order.pk for order in orders]))
        outbox.ask(about.backend, current.revision)
        current.say(make_event(BACKEND_RETRIED, about.node), by=authority)
    return about


def give_up(finding: int, *, by: Actor, reason: str = "") -> Foreign:
    """Drop what was decided about a foreign grant and not carried out: all is as it was before.

    What an adoption gave here ends with it, so its holder has what others gave, and nothing besides.
    Raises Refused, Conflict, NotFound.
    """
    about = foreign(finding)
    with change(FOREIGN_DROPPED, realm=realm_of(about.node), by=by, reason=reason) as current:
        about = foreign(finding)
        _drop(current, about, grants.authority_to_grant(about.node, by))
    return about


def _drop(current: ChangeInProgress, about: Foreign, authority: Authority) -> None:
    orders = _orders(about)
    ForeignOrder.objects.filter(pk__in=[order.pk for order in orders]).update(done=current.at, dropped=True)
    _say(current, FOREIGN_DROPPED, about, authority)
    if about.holder is not None:
        _end_grants(current, about.node, about.holder, _given_by(orders), authority)
    outbox.ask(about.backend, current.revision)


def _are_stuck(orders: Collection[ForeignOrder]) -> bool:
    """Whether what was decided about it waits for somebody, as the backend refuses it."""
    return any(order.is_stuck for order in orders)


def _end_grants(
    current: ChangeInProgress, near: Node, holder: Principal, given: Collection[Grant], authority: Authority
) -> None:
    places = nodes({grant.securable_id for grant in given if grant.securable_id})
    for grant in given:
        if place := places.get(grant.securable_id or 0):
            current.end(grant, grants.said_of(GRANT_REMOVED, place, holder, grant), by=authority)
    if given:
        personal_roles.drop_when_empty(current, near, holder)


def adopted_with(about: Foreign) -> list[Grant]:
    """What open adoptions of it gave here, and still give."""
    return _given_by(ordered(about.rows).values())


def _given_by(orders: Iterable[ForeignOrder]) -> list[Grant]:
    revisions = {order.revision for order in orders if order.replaced}
    given = Grant.objects.open().filter(opened__in=revisions, origin=Origin.ADOPTED)
    return list(given.order_by("pk"))


def _orders(about: Foreign) -> list[ForeignOrder]:
    """The open decisions about it.  Raises Conflict when there is none."""
    orders = ordered(about.rows)
    if not orders:
        raise Conflict(gettext("Nothing is planned for it any more."))
    return list({row.pk: row for row in orders.values()}.values())


def _undecided(about: Foreign) -> None:
    if ordered(about.rows):
        raise Conflict(gettext("Its removal is already decided; the sync carries it out."))


def _mark(about: Foreign, **values: object) -> None:
    BackendFinding.objects.filter(pk__in=[row.pk for row in about.rows]).update(**values)


def _order(
    current: ChangeInProgress,
    about: Foreign,
    rows: Sequence[BackendFinding],
    by: Actor,
    *,
    replaced: bool = False,
) -> None:
    ForeignOrder.objects.bulk_create(
        ForeignOrder(
            backend=about.backend,
            securable_id=row.securable_id,
            type=row.type,
            path=row.path,
            right=row.what,
            holder=row.holder,
            grantor=row.grantor,
            replaced=replaced,
            revision=current.revision,
            by=by.decides_as,
            at=current.at,
        )
        for row in rows
    )
    outbox.ask(about.backend, current.revision)


def _say(current: ChangeInProgress, kind: str, about: Foreign, authority: Authority, **more: str) -> None:
    # a login of the backend is a person: the record knows them by their pseudonym alone
    who = people.ensure(Principal.Kind.USER, about.first.holder) if about.signs_in else None
    concerned = [principal for principal in (about.holder or who,) if principal is not None]
    holder = concerned[0].pseudonym if concerned else about.first.holder
    rights, backend = ", ".join(about.rights), str(about.backend)
    event = make_event(kind, about.node, *concerned, holder=holder, rights=rights, backend=backend, **more)
    current.say(event, by=authority)
