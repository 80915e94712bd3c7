"""Rules that nobody may have both of two things, and who may all the same; owners of a realm write them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.models import Principal
from accounts.record import again
from accounts.text import recordable
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.authority import Actor, Authority, origin_of
from policies.decisions import personal_role_names, site_permissions
from policies.errors import AlreadyExists, Invalid, NotFound
from policies.events import EXCEPTION_ENDED, EXCEPTION_MADE, SEPARATION_ENDED, SEPARATION_MADE
from policies.models import SeparationException, SeparationRule
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.record.pending import proved
from policies.separation import visibility, wording
from policies.separation.affected_people import PEOPLE
from policies.separation.sides import Side, sides_of
from policies.services import realm_of

LONGEST_NAME = 100
LONGEST_EXCEPTION = timedelta(days=366)
SHORTEST_REASON = 8


def unsaved(root: Node, name: str, one: Side, other: Side, *, owners: bool = True) -> SeparationRule:
    """A rule as it would be, checked against the realm and its law; `owners` have every right on what is
    theirs.  Raises Invalid."""
    name = recordable(name.strip(), LONGEST_NAME)
    if not name:
        raise Invalid(gettext("Give the rule a name that people will understand when it stops them."))
    places = nodes(side.key for side in (one, other))
    for side in (one, other):
        _check(root, side, places.get(side.key))
    if one == other:
        raise Invalid(gettext("The two sides are the same."))
    return SeparationRule(
        realm_id=root.realm_id,
        name=name,
        one_role_id=one.role,
        one_object_id=one.object,
        one_privileges=sorted(one.privileges),
        other_role_id=other.role,
        other_object_id=other.object,
        other_privileges=sorted(other.privileges),
        owners=owners,
    )


def _check(root: Node, side: Side, node: Node | None) -> None:
    if node is None or node.root_id != root.id:
        raise Invalid(gettext("Each side is a role, or rights on an object, of this realm."))
    law = dialects.get(root.kind)
    if side.role is not None:
        if node.type != "role" or personal_role_names.is_personal(node.name):
            raise Invalid(gettext("Choose a shared role; a personal role cannot be kept apart."))
        return
    if law.by_text or node.type == "role":
        raise Invalid(gettext("In this realm a side must be a role."))
    privileges = [law.privilege(code) for code in side.privileges]
    if not privileges or any(item is None for item in privileges):
        raise Invalid(gettext("Choose at least one right of this realm."))


def make(
    root: Node, name: str, side: Side, other: Side, *, by: Actor, reason: str = "", owners: bool = True
) -> SeparationRule:
    """Make a rule; who has both already is not touched by it, and stands in its list.

    Raises Refused, Invalid, AlreadyExists.
    """
    with change(SEPARATION_MADE, realm=realm_of(root), by=by, reason=reason) as current:
        authority = site_permissions.of_realm(by, root)
        rule = unsaved(root, name, side, other, owners=owners)
        rule.origin = origin_of(by)
        _begin(current, rule, root, authority)
    return rule


def _begin(current: ChangeInProgress, rule: SeparationRule, root: Node, authority: Authority) -> None:
    if SeparationRule.objects.open().filter(realm=root.realm_id, name=rule.name).exists():
        raise AlreadyExists(
            gettext("There is a rule %(rule)s in %(realm)s already.")
            % {"rule": rule.name, "realm": root.name}
        )
    first, other = sides_of(rule)
    named = visibility.of(None, (first.key, other.key))
    with translation.override(None):  # the record is in English
        words = {"one": wording.side(first, named), "other": wording.side(other, named)}
    current.begin(rule, make_event(SEPARATION_MADE, root, rule=rule.name, **words), by=authority)


def bring_back(rule: SeparationRule, root: Node, *, by: Actor) -> SeparationRule:
    """Begin a rule again that was ended, with the exceptions that ended with it and would still last.

    Raises Refused, AlreadyExists when another bears its name.
    """
    with change(SEPARATION_MADE, realm=realm_of(root), by=by) as current:
        authority = site_permissions.of_realm(by, root)
        made = again(*proved([rule]))
        _begin(current, made, root, authority)
        for row in proved(SeparationException.objects.filter(rule=rule, closed=rule.closed)):
            _let_again(current, row, made, root, authority)
    return made


def let_again(row: SeparationException, root: Node, *, by: Actor) -> None:
    """Let somebody again whose exception was ended, if it would still last.  Raises Refused, NotFound."""
    with change(EXCEPTION_MADE, realm=realm_of(root), by=by) as current:
        _let_again(current, row, _open(row.rule, root), root, site_permissions.of_realm(by, root))


def _let_again(
    current: ChangeInProgress,
    row: SeparationException,
    rule: SeparationRule,
    root: Node,
    authority: Authority,
) -> None:
    until = row.valid_until
    if until is not None and until > current.at:
        made = again(row)
        made.rule = rule
        draft = make_event(
            EXCEPTION_MADE, root, row.person, row.owner, rule=rule.name, until=until.isoformat()
        )
        current.begin(made, draft, by=authority)


def end(rule: SeparationRule, root: Node, *, by: Actor, reason: str = "") -> bool:
    """End a rule with its exceptions; False when it had ended.  Raises Refused."""
    with change(SEPARATION_ENDED, realm=realm_of(root), by=by, reason=reason) as current:
        authority = site_permissions.of_realm(by, root)
        row = SeparationRule.objects.open().filter(pk=rule.pk, realm=root.realm_id).first()
        if row is None:
            return False
        let = SeparationException.objects.open().filter(rule=row).select_related("person")
        ended = [(item, make_event(EXCEPTION_ENDED, root, item.person, rule=row.name)) for item in let]
        current.end_all(ended, by=authority)
        current.end(row, make_event(SEPARATION_ENDED, root, rule=row.name), by=authority)
    return True


def let(
    rule: SeparationRule,
    root: Node,
    person: Principal,
    *,
    owner: Principal,
    until: datetime,
    reason: str,
    by: Actor,
) -> SeparationException:
    """Allow somebody to hold both sides until an end; `owner` answers for it, and is another person.

    An exception that there is, is replaced.  Raises Refused, Invalid, NotFound.
    """
    with change(EXCEPTION_MADE, realm=realm_of(root), by=by, reason=reason) as current:
        authority = site_permissions.of_realm(by, root)
        row = _open(rule, root)
        _check_exception(person, owner, until, reason)
        for old in SeparationException.objects.open().filter(rule=row, person=person):
            current.end(old, make_event(EXCEPTION_ENDED, root, person, rule=row.name), by=authority)
        made = SeparationException(
            rule=row, person=person, owner=owner, valid_until=until, origin=origin_of(by)
        )
        event = make_event(EXCEPTION_MADE, root, person, owner, rule=row.name, until=until.isoformat())
        current.begin(made, event, by=authority)
    return made


def _check_exception(person: Principal, owner: Principal, until: datetime, reason: str) -> None:
    now = timezone.now()
    if person.kind not in PEOPLE or owner.kind != Principal.Kind.USER:
        raise Invalid(
            gettext("An exception is for a person or a service account, and a person is responsible for it.")
        )
    if person == owner:
        raise Invalid(gettext("Nobody can be responsible for their own exception; enter another person."))
    if not now < until <= now + LONGEST_EXCEPTION:
        raise Invalid(gettext("An exception ends within a year."))
    if len(reason.strip()) < SHORTEST_REASON:
        raise Invalid(gettext("Give a reason of at least %(least)s characters.") % {"least": SHORTEST_REASON})


def end_exception(
    rule: SeparationRule, root: Node, person: Principal, *, by: Actor, reason: str = ""
) -> bool:
    """End an exception; what the person has stays, and stands in the list of conflicts.  Raises Refused."""
    with change(EXCEPTION_ENDED, realm=realm_of(root), by=by, reason=reason) as current:
        authority = site_permissions.of_realm(by, root)
        row = SeparationException.objects.open().filter(rule=_open(rule, root), person=person).first()
        if row is None:
            return False
        current.end(row, make_event(EXCEPTION_ENDED, root, person, rule=rule.name), by=authority)
    return True


def _open(rule: SeparationRule, root: Node) -> SeparationRule:
    row = SeparationRule.objects.open().filter(pk=rule.pk, realm=root.realm_id).first()
    if row is None:
        raise NotFound(gettext("This rule is gone."))
    return row


def rules_of(root: Node) -> Sequence[SeparationRule]:
    """The open rules of a realm, by name."""
    return list(SeparationRule.objects.open().filter(realm=root.realm_id).order_by("name", "pk"))
