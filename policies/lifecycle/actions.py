"""Doing what was decided about somebody's things: each through its own service, by its own authority."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from accounts import tokens
from accounts.models import Principal, Token, User
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.law import dialects
from policies import events
from policies.authority import Actor, Authority
from policies.decisions import site_permissions
from policies.errors import Conflict, PolicyError
from policies.lifecycle.entitlements import COPIED, HANDED, TAKEN, Entitlement
from policies.models import AccessRequest, Ownership, Review
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.requests import decisions, steps, submission
from policies.reviews import delegation, worklist
from policies.services import (
    accounts,
    duties,
    grants,
    members,
    owners,
    patterns,
    realm_of,
    roles,
)
from policies.services import (
    tokens as services_tokens,
)
from policies.services.authorities import may
from policies.services.grants import GrantRequest

HAND, TAKE, COPY = "hand", "take", "copy"
AT_ONCE = 200
"""So many lines are one change, which holds the writers' lock."""
FIRST = (
    *("account", "token", "request", "seat", "own", "give", "text", "duty", "keep", "role"),
    *("group", "member"),
)
"""First what lets the leaver in, last what others may depend on."""


@dataclass(frozen=True)
class LifecycleAction:
    """What becomes of one thing: handed over `to` somebody, taken away, or given to them as well."""

    holding: Entitlement
    what: str
    to: Principal | None = None

    @property
    def possible(self) -> bool:
        """Whether such a thing can be dealt with so, whoever asks."""
        kinds = {HAND: HANDED, TAKE: TAKEN, COPY: COPIED}.get(self.what, ())
        return self.holding.kind in kinds and (self.what == TAKE or self.to is not None)

    @property
    def gives_a_duty(self) -> bool:
        """Whether somebody has a duty of the console by it."""
        return self.holding.kind == "duty" and self.to is not None

    @property
    def takes(self) -> bool:
        """Whether they no longer have it afterwards."""
        return self.what in (HAND, TAKE)

    @property
    def allowed(self) -> bool:
        """Whether the asker may, as far as can be said before it is decided under the lock."""
        entitlement = self.holding
        return {HAND: entitlement.may_take, TAKE: entitlement.may_take, COPY: entitlement.may_give}.get(
            self.what, False
        )


@dataclass(frozen=True)
class Outcome:
    """What became of one deed; `trouble` says why it was not done."""

    deed: LifecycleAction
    trouble: str = ""


def carry_out(
    person: Principal, deeds: Iterable[LifecycleAction], *, by: Actor, reason: str = ""
) -> list[Outcome]:
    """Do each deed, alike ones as one change; one that fails leaves the others done, and says why."""
    batches: dict[tuple[object, ...], list[LifecycleAction]] = {}
    for deed in sorted(deeds, key=lambda deed: FIRST.index(deed.holding.kind)):
        entitlement = deed.holding
        batches.setdefault((entitlement.kind, entitlement.realm_id, deed.what, deed.to), []).append(deed)
    parts = (some[at : at + AT_ONCE] for some in batches.values() for at in range(0, len(some), AT_ONCE))
    return [outcome for part in parts for outcome in _together(person, part, by, reason)]


def _together(person: Principal, some: Sequence[LifecycleAction], by: Actor, reason: str) -> list[Outcome]:
    try:
        _change(person, some, by, reason)
    except PolicyError as problem:
        if len(some) == 1:
            return [Outcome(some[0], str(problem))]
        return [outcome for item in some for outcome in _together(person, [item], by, reason)]
    return [Outcome(item) for item in some]


def copy_all(
    person: Principal, deeds: Sequence[LifecycleAction], *, by: Actor, reason: str = ""
) -> list[Outcome]:
    """Give somebody the same, realm by realm, each realm whole or not at all; who is admitted comes first.

    A realm that admits the person is a change of its own, because it is undone by itself.
    """
    outcomes = []
    parts: dict[tuple[bool, int], list[LifecycleAction]] = {}
    for deed in deeds:
        parts.setdefault((deed.holding.kind != "member", deed.holding.realm_id), []).append(deed)
    for _, some in sorted(parts.items(), key=lambda pair: pair[0]):
        try:
            _change(person, some, by, reason)
        except PolicyError as problem:
            outcomes += [Outcome(item, str(problem)) for item in some]
        else:
            outcomes += [Outcome(item) for item in some]
    return outcomes


KIND = {
    ("own", HAND): events.OWNER_SET,
    ("give", HAND): events.GRANT_ADDED,
    ("give", TAKE): events.GRANT_REMOVED,
    ("text", HAND): events.GRANT_ADDED,
    ("text", TAKE): events.GRANT_REMOVED,
    ("role", HAND): events.ROLE_ASSIGNED,
    ("role", TAKE): events.ROLE_UNASSIGNED,
    ("duty", HAND): events.DUTY_GIVEN,
    ("duty", TAKE): events.DUTY_TAKEN,
    ("group", HAND): events.GROUP_JOINED,
    ("group", TAKE): events.GROUP_LEFT,
    ("group", COPY): events.GROUP_JOINED,
    ("keep", HAND): events.KEEPER_SET,
    ("token", TAKE): events.TOKEN_REVOKED,
    ("request", TAKE): steps.REFUSED,
    ("seat", HAND): events.REVIEW_PASSED,
    ("member", TAKE): events.MEMBER_REMOVED,
    ("member", COPY): events.MEMBER_ADDED,
    ("account", TAKE): events.ACCOUNT_CLOSED,
}


def _change(person: Principal, some: Sequence[LifecycleAction], by: Actor, reason: str) -> None:
    first = some[0]
    kind = KIND.get((first.holding.kind, first.what), events.ROLE_ASSIGNED)
    root = first.holding.node
    realm: Realm | None = realm_of(root) if root else None
    with change(kind, realm=realm, by=by, reason=reason) as current:
        if first.holding.kind == "own":
            to, places = some[0].to, [item.holding.node for item in some if item.holding.node]
            if to is not None:
                owners.hand_over(places, to, by=by, now_owned_by=person)
            return
        for deed in some:
            _DO[deed.holding.kind](_Doing(current, person, deed, by))


@dataclass(frozen=True)
class _Doing:
    """One deed inside its change."""

    current: ChangeInProgress
    person: Principal
    deed: LifecycleAction
    by: Actor

    @property
    def node(self) -> Node:
        node = self.deed.holding.node
        if node is None:
            raise Conflict(gettext("The object concerned no longer exists."))
        return node

    @property
    def other(self) -> Principal:
        if self.deed.holding.other is None:
            raise Conflict(gettext("The object concerned no longer exists."))
        return self.deed.holding.other

    @property
    def to(self) -> Principal | None:
        return self.deed.to

    @property
    def takes(self) -> bool:
        return self.deed.takes

    @property
    def root(self) -> Node:
        return self.deed.holding.root or self.node


def _give(it: _Doing) -> None:
    held = it.deed.holding
    if it.to is not None:
        for window in dict.fromkeys((grant.valid_from, grant.valid_until) for grant in held.grants):
            codes = [
                grant.privilege for grant in held.grants if (grant.valid_from, grant.valid_until) == window
            ]
            grants.add(GrantRequest(it.node, (it.to,), tuple(codes), *window), by=it.by)
    if it.takes:
        grants.remove(it.node, [it.person], held.privileges, by=it.by)


def _text(it: _Doing) -> None:
    target, codes = patterns.named(it.node, it.deed.holding.text), it.deed.holding.privileges
    if it.to is not None:
        patterns.grant(it.node, target, it.to, codes, by=it.by)
    if it.takes:
        patterns.revoke(it.node, target, it.person, codes, by=it.by)


def _role(it: _Doing) -> None:
    held, authority = it.deed.holding, _may_assign(it.node, it.by)
    if it.to is not None:
        start, end = held.since, held.until
        roles.assign(it.node, it.to, by=it.by, authority=authority, valid_from=start, valid_until=end)
    if it.takes:
        roles.unassign(it.node, it.person, by=it.by, authority=authority)


def _may_assign(role: Node, by: Actor) -> Authority:
    if dialects.get(role.kind).by_text:
        return patterns.authority(next(iter(role.above()), role), None, by=by)
    return may(by, roles.operation(role, "assign"), role)


def _duty(it: _Doing) -> None:
    authority, duty = site_permissions.of_realm(it.by, it.root), it.deed.holding.text
    if it.to is not None:
        duties.give(it.node, duty, it.to, by=it.by, authority=authority)
    if it.takes:
        duties.take(it.node, duty, it.person, by=it.by, authority=authority)


def _group(it: _Doing) -> None:
    authority = site_permissions.of_admin(it.by)
    if it.to is not None:
        members.join_group(it.other, it.to, by=it.by, authority=authority)
    if it.takes:
        members.leave_group(it.other, it.person, by=it.by, authority=authority)


def _keep(it: _Doing) -> None:
    if it.to is not None:
        accounts.set_keeper(it.other, it.to, by=it.by, authority=site_permissions.of_admin(it.by))


def _token(it: _Doing) -> None:
    if it.by.principal == it.person:
        services_tokens.revoke(it.person, it.deed.holding.number, by=it.by)
        return
    authority = site_permissions.of_admin(it.by)
    row = Token.objects.filter(pk=it.deed.holding.number, principal=it.person).first()
    if row is not None and tokens.revoke(row):
        it.current.say(make_event(events.TOKEN_REVOKED, None, it.person, prefix=row.prefix), by=authority)


def _request(it: _Doing) -> None:
    number = it.deed.holding.number
    if AccessRequest.objects.filter(pk=number, asker=it.by.principal).exists():
        submission.withdraw(number, by=it.by)
    else:
        decisions.refuse(number, f"{it.person.label} leaves", by=it.by)


def _seat(it: _Doing) -> None:
    review = Review.objects.filter(pk=it.deed.holding.number).select_related("starter", "realm").first()
    if review is None or it.to is None:
        raise Conflict(gettext("The object concerned no longer exists."))
    rows = worklist.rows_of(review, it.person).filter(worklist.OPEN).values_list("pk", flat=True)
    delegation.pass_on(review, it.to, by=it.by, rows=list(rows))


def _member(it: _Doing) -> None:
    kind = it.person.kind
    if it.to is not None:
        authority = may(it.by, members.ADMITS[it.to.kind], it.node)
        members.add(it.node, it.to, by=it.by, authority=authority)
        return
    authority = may(it.by, members.REMOVES[kind], it.node)
    owned = Ownership.objects.open().filter(owner=it.person, securable__realm=it.node.realm_id).count()
    if owned:
        raise Conflict(
            gettext("%(person)s still owns something in %(name)s; hand it over first.")
            % {"person": it.person.label, "name": it.node.name}
        )
    members.remove(it.node, it.person, by=it.by, authority=authority)


def _account(it: _Doing) -> None:
    account = User.objects.filter(pk=it.deed.holding.number, principal=it.person).first()
    if account is not None:
        accounts.close(account, by=it.by, authority=site_permissions.of_admin(it.by))


_DO: dict[str, Callable[[_Doing], None]] = {
    "give": _give,
    "text": _text,
    "role": _role,
    "duty": _duty,
    "group": _group,
    "keep": _keep,
    "token": _token,
    "request": _request,
    "seat": _seat,
    "member": _member,
    "account": _account,
}


def as_copies(some: Iterable[Entitlement], to: Principal) -> list[LifecycleAction]:
    """Those of the things that can be given to somebody as well."""
    deeds = (LifecycleAction(item, COPY, to) for item in some)
    return [deed for deed in deeds if deed.possible]


__all__ = ["COPY", "HAND", "TAKE", "LifecycleAction", "Outcome", "as_copies", "carry_out", "copy_all"]
