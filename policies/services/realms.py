"""Making realms and setting whether their law is enforced."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from accounts.models import Principal
from catalog.models import Detail, Mode, Placement, Realm, Securable
from catalog.nodes import Node
from catalog.queries import realm_named, root
from lakewarden.law import dialects
from lakewarden.law.facts import Level
from policies.authority import Actor, Authority, origin_of
from policies.decisions.cache_versions import realm_key
from policies.errors import AlreadyExists, Conflict, Invalid
from policies.events import (
    MEMBER_ADDED,
    MEMBER_REMOVED,
    MODE_ENDED,
    MODE_SET,
    OBJECT_DROPPED,
    OWNER_SET,
    REALM_CREATED,
    REALM_SET,
    ROLE_UNASSIGNED,
)
from policies.models import Assignment, Backend, Grant, Ownership, RealmMember
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.record.invariants import ROLES_ALONE
from policies.services import objects, realm_of, roles
from policies.services.object_names import check_described, checked
from policies.services.roles import Privilege


def create(
    kind: str,
    name: str,
    *,
    owner: Principal,
    by: Actor,
    authority: Authority,
    mode: str = Mode.Choice.ON,
    settings: dict[str, Any] | None = None,
    comment: str = "",
    content: dict[str, Any] | None = None,
) -> Node:
    """Make a realm; its owner becomes a member.  Raises AlreadyExists, Invalid.

    A CDAP realm's settings name its generation: `{"policy": "4.3"}`.
    """
    if kind not in Realm.Kind.values or mode not in Mode.Choice.values:
        raise Invalid(
            gettext("unknown kind of realm `%(kind)s` or mode `%(mode)s`") % {"kind": kind, "mode": mode}
        )
    check_described(settings, comment)
    with change(REALM_CREATED, realm=None, by=by) as current:
        if realm_named(checked(name)):
            raise AlreadyExists(gettext("Realm %(name)s already exists.") % {"name": name})
        realm = Realm.objects.create(kind=kind, settings=settings or {}, opened=current.revision)
        _check_law(realm)
        current.realm = realm
        node = _place_root(current, realm, name, authority, Detail(comment=comment, content=content or {}))
        member = RealmMember(realm=realm, principal=owner, origin=origin_of(by))
        current.begin(member, make_event(MEMBER_ADDED, node, owner), by=authority)
        current.begin(
            Ownership(securable_id=node.id, owner=owner, origin=origin_of(by)),
            make_event(OWNER_SET, node, owner),
            by=authority,
        )
        current.begin(
            Mode(realm=realm, mode=mode, origin=origin_of(by)),
            make_event(MODE_SET, node, mode=mode),
            by=authority,
        )
        for role, codes in dialects.get(realm.law).roles.items():
            made = roles.create(node, role, by=by, authority=authority)
            roles.add_privileges(made, node, [Privilege(code) for code in codes], by=by, authority=authority)
    return node


def _place_root(
    current: ChangeInProgress, realm: Realm, name: str, authority: Authority, detail: Detail
) -> Node:
    type_ = dialects.get(realm.law).root_type
    row = Securable.objects.create(realm=realm, type=type_, opened=current.revision)
    node = Node(row.pk, realm.pk, realm.law, (Level(type_, row.pk),), (name,))
    current.begin(
        Placement(securable=row, type=type_, name=name),
        make_event(REALM_CREATED, node, kind=realm.kind, settings=realm.settings),
        by=authority,
    )
    detail.securable = row
    detail.save(force_insert=True)
    return node


def _check_law(realm: Realm) -> None:
    if realm.law not in dialects.CODES:
        raise Invalid(
            gettext("there are no rules of `%(kind)s` for policy `%(policy)s`")
            % {"kind": realm.kind, "policy": realm.settings.get("policy", "")}
        )
    for name, setting in SETTINGS.items():
        value = realm.settings.get(name, "")
        if not isinstance(value, str) or (setting and value not in setting):
            raise Invalid(
                gettext("`%(value)s` is not a value of the setting %(name)s") % {"value": value, "name": name}
            )
    if realm.settings.get("grants") == ROLES_ALONE:
        # raise Invalid where somebody has privileges of their own, or would get them by making an entity
        if realm.settings.get("policy") != "4.3":
            raise Invalid(
                gettext(
                    "Up to 3.5, creators of entities get ALL on them, so privileges cannot be limited to "
                    "roles."
                )
            )
        if Grant.objects.open().filter(realm=realm.pk, holder__isnull=False).exists():
            raise Invalid(gettext("Some have privileges of their own here. Grant them to roles first."))
        held = Assignment.objects.open().filter(role__realm=realm.pk)
        if held.exclude(holder__kind=Principal.Kind.GROUP).exists():
            raise Invalid(gettext("Some hold roles without a group here. Put them into groups first."))


SETTINGS: dict[str, tuple[str, ...]] = {
    "authentication": ("", "on", "off"),
    "master_user": (),
    "admin_group": (),
    "switching": ("", "owner", "release"),
    "grants": ("", "anybody", ROLES_ALONE),
}
"""What can be set of a CDAP realm beside its generation, which is raised, and of a metalake: who switches its
catalogs off.  With the values there are, if few."""


USUAL = {"grants": "anybody"}
"""What settings are that were never set, where that is not nothing."""


def configure(realm: Realm, settings: dict[str, str], *, by: Actor, authority: Authority) -> bool:
    """Change settings of a CDAP realm; False when all were so.  Raises Invalid."""
    with change(REALM_SET, realm=realm, by=by) as current:
        row = Realm.objects.get(pk=realm.pk)
        new = {
            name: value
            for name, value in settings.items()
            if row.settings.get(name, USUAL.get(name, "")) != value
        }
        if new.keys() - SETTINGS.keys() or row.kind != Realm.Kind.CDAP:
            raise Invalid(gettext("%(settings)s cannot be set here") % {"settings": ", ".join(sorted(new))})
        if not new:
            return False
        row.settings = {**row.settings, **new}
        _check_law(row)
        row.save(update_fields=["settings"])
        node = root(row)
        for name, value in new.items():
            current.say(make_event(REALM_SET, node, setting=name, value=value), by=authority)
        # what a slice holds by the settings is found again
        current.touch(realm_key(row.pk))
    return True


def set_mode(realm: Realm, mode: str, *, by: Actor, authority: Authority, reason: str = "") -> bool:
    """Set the authorization mode; False when it was so already."""
    if mode not in Mode.Choice.values:
        raise Invalid(
            gettext("unknown authorization mode `%(mode)s`; known are %(values)s")
            % {"mode": mode, "values": ", ".join(Mode.Choice.values)}
        )
    with change(MODE_SET, realm=realm, by=by, reason=reason) as current:
        now = Mode.objects.open().get(realm=realm)
        if now.mode == mode:
            return False
        node = root(realm)
        current.end(now, make_event(MODE_ENDED, node, mode=now.mode), by=authority)
        current.begin(
            Mode(realm=realm, mode=mode, origin=origin_of(by)),
            make_event(MODE_SET, node, mode=mode),
            by=authority,
        )
    return True


def drop(node: Node, *, by: Actor, authority: Authority, reason: str = "") -> int:
    """End a realm with all that is in it; answers how many objects went.  Raises Conflict when connected."""
    with change(OBJECT_DROPPED, realm=realm_of(node), by=by, reason=reason) as current:
        if Backend.objects.filter(realm=node.realm_id).exists():
            raise Conflict(
                gettext("%(name)s has connected catalogs; disconnect them first.") % {"name": node.name}
            )
        held = Assignment.objects.open().filter(role__realm=node.realm_id).select_related("holder")
        inside = RealmMember.objects.open().filter(realm=node.realm_id).select_related("principal")
        modes = Mode.objects.open().filter(realm=node.realm_id)
        current.end_all([(row, make_event(ROLE_UNASSIGNED, node, row.holder)) for row in held], by=authority)
        current.end_all(
            [(row, make_event(MEMBER_REMOVED, node, row.principal)) for row in inside], by=authority
        )
        current.end_all([(row, make_event(MODE_ENDED, node, mode=row.mode)) for row in modes], by=authority)
        count = objects.drop(node, by=by, authority=authority)
        Realm.objects.filter(pk=node.realm_id).update(closed=current.revision)
    return count
