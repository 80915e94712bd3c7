"""The console's own duties, as guardian permissions on objects; each given and taken on the record."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import Group
from django.utils.translation import gettext
from guardian.shortcuts import assign_perm, remove_perm

from accounts.models import Principal, User
from accounts.people import django_group
from catalog.models import Securable
from catalog.nodes import Node
from policies.authority import Actor, Authority
from policies.decisions.duties import DUTIES
from policies.decisions.seals import duty_seals
from policies.errors import Invalid
from policies.events import DUTY_GIVEN, DUTY_TAKEN
from policies.models import GroupDuty, UserDuty
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.services import realm_of


def give(node: Node, duty: str, principal: Principal, *, by: Actor, authority: Authority) -> bool:
    """Give a duty on an object and all below it; False when it was given before.  Raises Invalid."""
    return _set(node, duty, principal, by, authority, given=True)


def take(node: Node, duty: str, principal: Principal, *, by: Actor, authority: Authority) -> bool:
    """Take a duty back; False when it was not given here."""
    return _set(node, duty, principal, by, authority, given=False)


def _set(
    node: Node, duty: str, principal: Principal, by: Actor, authority: Authority, *, given: bool
) -> bool:
    if duty not in DUTIES:
        raise Invalid(
            gettext("unknown duty `%(duty)s`; known are %(duties)s")
            % {"duty": duty, "duties": ", ".join(DUTIES)}
        )
    kind = DUTY_GIVEN if given else DUTY_TAKEN
    with change(kind, realm=realm_of(node), by=by) as current:
        holder, securable = _holder(principal), Securable.objects.get(pk=node.id)
        if _is_given(holder, duty, securable) == given:
            return False
        if given:
            duty_seals.seal_row(cast("duty_seals.Duty", assign_perm(duty, holder, securable)))
        else:
            remove_perm(duty, holder, securable)
        current.say(make_event(kind, node, principal, duty=duty), by=authority)
    return True


def _holder(principal: Principal) -> User | Group:
    if principal.kind == Principal.Kind.GROUP:
        return django_group(principal)
    account = User.objects.filter(principal=principal).first()
    if account is None:
        raise Invalid(gettext("%(principal)s has no account to hold a duty") % {"principal": principal})
    return account


def _is_given(holder: User | Group, duty: str, securable: Securable) -> bool:
    # not guardian's own answer: it says nothing of a disabled account, and all of what groups have
    rows = (
        GroupDuty.objects.filter(group=holder)
        if isinstance(holder, Group)
        else UserDuty.objects.filter(user=holder)
    )
    return rows.filter(content_object=securable, permission__codename=duty).exists()
