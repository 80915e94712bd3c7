"""People and groups that the company's directory keeps: made, brought up to date, ended; all on the record.

The directory says who is active and who is in which of its groups.  Whoever it says has left loses all access
with the same change (`leaving`); who returns is put back into its groups, and gets nothing else back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts import directory, people
from accounts.models import DirectoryEntry, DirectoryMember, Keeping, Membership, Principal, User
from accounts.models.directory import make_key
from accounts.record import Origin
from accounts.text import recordable
from policies.authority import Actor, Authority
from policies.decisions.cache_versions import principal_key
from policies.errors import AlreadyExists, Conflict, Invalid, PolicyError
from policies.events import DIRECTORY_GROUP, DIRECTORY_GROUP_ENDED, DIRECTORY_PERSON, GROUP_JOINED
from policies.models import Ownership
from policies.record import rows_put_back
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import accounts, leaving, members

log = logging.getLogger(__name__)
DISABLED_HERE = gettext_lazy("A site admin disabled this account. Only a site admin can enable it.")


@dataclass(frozen=True)
class PersonData:
    """What the directory says of a person; `attributes` are kept as they came, to be answered so.

    `active` is None where it says nothing of that: then what it said last stands.
    """

    name: str
    display_name: str = ""
    mail: str = ""
    external_id: str = ""
    active: bool | None = True
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupData:
    """What the directory says of a group: its name to show, and everybody in it."""

    name: str
    external_id: str = ""
    members: Sequence[Principal] = ()


class Stale(Conflict):
    """What was to be changed is not as the directory last read it."""


# People


def keep_person(data: PersonData, *, by: Actor, authority: Authority) -> DirectoryEntry:
    """Keep a person from now on, with an account where they had none.

    Raises AlreadyExists, Conflict, Invalid.
    """
    with change(DIRECTORY_PERSON, realm=None, by=by) as current:
        account = _account_for(data, by, authority)
        person = _person_of(account)
        entry = _begun(person, data.external_id)
        if entry.is_active and not account.is_active:
            raise Conflict(str(DISABLED_HERE))
        _bring_up_to_date(current, entry, account, data, by, authority)
    return entry


def change_person(
    entry: DirectoryEntry, data: PersonData, *, by: Actor, authority: Authority, version: str | None = None
) -> DirectoryEntry:
    """Bring a person up to date.  Raises Conflict, Invalid; Stale where `version` is not the one there is."""
    with change(DIRECTORY_PERSON, realm=None, by=by) as current:
        entry = _fresh(entry, version)
        if data.name != entry.principal.name:
            raise Invalid(
                gettext("A user name cannot change. For another name, create a new person and end this one.")
            )
        account = User.objects.select_related("principal").get(principal=entry.principal)
        returns = data.active and not entry.is_active
        _bring_up_to_date(current, entry, account, data, by, authority)
    if returns:
        _put_back(entry.principal, by, authority)
    return entry


def end_person(entry: DirectoryEntry, *, by: Actor, authority: Authority, version: str | None = None) -> None:
    """Keep a person no longer: they have left."""
    with change(DIRECTORY_PERSON, realm=None, by=by) as current:
        entry = _fresh(entry, version)
        account = User.objects.select_related("principal").get(principal=entry.principal)
        if entry.is_active or account.is_active:
            _leave(current, entry, account, by, authority)
        directory.remove(DirectoryMember.objects.filter(member=entry.principal))
        _save(entry, is_active=False, ended=timezone.now(), attributes={}, external_id="")
        event = make_event(DIRECTORY_PERSON, None, entry.principal, active=False, kept=False)
        current.say(event, by=authority)


def _account_for(data: PersonData, by: Actor, authority: Authority) -> User:
    user = User.objects.select_related("principal").filter(username=data.name).first()
    if user is None:
        return accounts.make_person(data.name, data.display_name, by=by, authority=authority)
    person = _person_of(user)
    if person.kind != Principal.Kind.USER or person.name != data.name:
        raise AlreadyExists(
            gettext("Account %(username)s belongs to %(person)s.")
            % {"username": user.username, "person": person}
        )
    return user


def _person_of(account: User) -> Principal:
    if account.principal is None:
        raise Invalid(
            gettext("Account %(username)s is not linked to a person.") % {"username": account.username}
        )
    return account.principal


def _begun(principal: Principal, external_id: str) -> DirectoryEntry:
    """A new entry, or the ended one of the same principal, which gets another key."""
    entry = DirectoryEntry.objects.filter(principal=principal).first()
    if entry is None:
        return DirectoryEntry.objects.create(principal=principal, external_id=external_id)
    if entry.ended is None:
        raise AlreadyExists(gettext("The directory already manages %(name)s.") % {"name": principal.name})
    is_person = principal.kind == Principal.Kind.USER
    if is_person and Ownership.objects.open().filter(owner=principal).exists():
        raise Conflict(
            gettext(
                "%(name)s left before, and their objects still wait for a new owner. Hand them over first."
            )
            % {"name": principal.name}
        )
    if is_person and Keeping.objects.open().filter(keeper=principal).exists():
        raise Conflict(
            gettext("%(name)s left before, and is responsible for a service account. Hand it over first.")
            % {"name": principal.name}
        )
    entry.key, entry.made, entry.ended = make_key(), timezone.now(), None
    return entry


def _bring_up_to_date(
    current: ChangeInProgress,
    entry: DirectoryEntry,
    account: User,
    data: PersonData,
    by: Actor,
    authority: Authority,
) -> None:
    person, was = _person_of(account), entry.is_active
    active = was if data.active is None else data.active
    current.say(make_event(DIRECTORY_PERSON, None, person, active=active), by=authority)
    shown = recordable(data.display_name.strip(), 255)
    _show_as(person, shown)
    User.objects.filter(pk=account.pk).update(email=data.mail)
    account.email = data.mail
    entry.principal = person
    _save(entry, external_id=data.external_id, attributes=data.attributes, is_active=active)
    if data.active and not account.is_active and (was or not entry.disabled_account):
        raise Conflict(str(DISABLED_HERE))
    if data.active and not was:
        accounts.open_again(account, by=by, authority=authority)
        current.touch(principal_key(person.pk))
    elif data.active is False and (was or account.is_active):
        _leave(current, entry, account, by, authority)
    account.refresh_from_db(fields=["is_active"])


def _leave(
    current: ChangeInProgress, entry: DirectoryEntry, account: User, by: Actor, authority: Authority
) -> None:
    entry.disabled_account = accounts.close(account, by=by, authority=authority)
    entry.save(update_fields=["disabled_account"])
    leaving.end_access(current, _person_of(account), by=authority)


def _put_back(person: Principal, by: Actor, authority: Authority) -> None:
    rows = DirectoryMember.objects.filter(member=person).select_related("group")
    for row in rows_put_back.said_by_directory(rows):
        _try_to_put_in(row.group, person, by, authority)


# Groups


def keep_group(data: GroupData, *, by: Actor, authority: Authority) -> DirectoryEntry:
    """Keep a group from now on.  Raises AlreadyExists where people of this site fill a group of that name."""

    def make() -> DirectoryEntry:
        group = people.find(Principal.Kind.GROUP, data.name)
        if group is None:
            group = members.make_group(data.name, by=by, authority=authority)
        by_hand = Membership.objects.open().filter(group=group).exclude(origin=Origin.DIRECTORY)
        if by_hand.exists():
            raise AlreadyExists(
                gettext(
                    "Group %(group)s was filled by hand. Remove all members first; then the directory "
                    "can manage it."
                )
                % {"group": data.name}
            )
        entry = _begun(group, data.external_id)
        for row in Membership.objects.open().filter(group=group).exclude(member__in=data.members):
            members.leave_group(group, row.member, by=by, authority=authority)
        return entry

    return _fill(make, data, by, authority)


def change_group(
    entry: DirectoryEntry, data: GroupData, *, by: Actor, authority: Authority, version: str | None = None
) -> DirectoryEntry:
    """Bring a group up to date.  Raises Conflict, Invalid; Stale where `version` is not the one there is."""
    return _fill(lambda: _fresh(entry, version), data, by, authority)


def end_group(entry: DirectoryEntry, *, by: Actor, authority: Authority, version: str | None = None) -> None:
    """Keep a group no longer: nobody is in it any more, and what it holds stays for its owners to take."""
    with change(DIRECTORY_GROUP_ENDED, realm=None, by=by) as current:
        entry = _fresh(entry, version)
        group = entry.principal
        current.say(make_event(DIRECTORY_GROUP_ENDED, None, group, group=group.pseudonym), by=authority)
        for row in Membership.objects.open().filter(group=group).select_related("group", "member"):
            members.take_out(current, row, by=authority)
        directory.remove(DirectoryMember.objects.filter(group=group))
        _save(entry, ended=timezone.now(), is_active=False, external_id="")


def _fill(
    begin: Callable[[], DirectoryEntry], data: GroupData, by: Actor, authority: Authority
) -> DirectoryEntry:
    """Put in and take out all at once; where a rule forbids that for somebody, one by one, without them."""
    try:
        with change(DIRECTORY_GROUP, realm=None, by=by) as current:
            entry, new = _keep_said_of_group(begin(), data, current, by, authority)
            for member in new:
                members.join_group(entry.principal, member, by=by, authority=authority)
        return entry
    except (Stale, AlreadyExists):
        raise
    except Conflict:
        with change(DIRECTORY_GROUP, realm=None, by=by) as current:
            entry, new = _keep_said_of_group(begin(), data, current, by, authority)
    for member in new:
        _try_to_put_in(entry.principal, member, by, authority)
    return entry


def _keep_said_of_group(
    entry: DirectoryEntry, data: GroupData, current: ChangeInProgress, by: Actor, authority: Authority
) -> tuple[DirectoryEntry, list[Principal]]:
    """Keep what is said; answers who is to be put in now, as they are active."""
    group = entry.principal
    current.say(make_event(DIRECTORY_GROUP, None, group, group=group.pseudonym), by=authority)
    shown = "" if data.name == group.name else recordable(data.name, 255)
    _show_as(group, shown)
    _save(entry, external_id=data.external_id, is_active=True, ended=None)
    wanted = {member.pk: member for member in data.members}
    rows = list(DirectoryMember.objects.filter(group=group).select_related("member"))
    kept = {row.member_id for row in rows_put_back.said_by_directory(rows)} & wanted.keys()
    removed = [row.member for row in rows if row.member_id not in wanted]
    # a row that the console did not write, or had removed, is no word of the directory: it is written anew
    directory.remove(DirectoryMember.objects.filter(group=group).exclude(member__in=kept))
    for member in removed:
        members.leave_group(group, member, by=by, authority=authority)
    directory.note(group, [member for pk, member in wanted.items() if pk not in kept])
    return entry, _missing(group, wanted)


def _show_as(principal: Principal, shown: str) -> None:
    if shown != principal.display_name:
        principal.display_name = shown
        principal.save(update_fields=["display_name"])


def _missing(group: Principal, wanted: Mapping[int, Principal]) -> list[Principal]:
    """Who of them is active and not in the group yet, also where something kept them out before."""
    inside = Membership.objects.open().filter(group=group).values("member")
    rows = User.objects.filter(principal__in=wanted, is_active=True).exclude(principal__in=inside)
    return [wanted[pk] for pk in rows.values_list("principal", flat=True) if pk is not None]


def _try_to_put_in(group: Principal, member: Principal, by: Actor, authority: Authority) -> None:
    """In a change of its own, before which the directory may have taken them out."""
    try:
        with change(GROUP_JOINED, realm=None, by=by):
            rows = DirectoryMember.objects.filter(group=group, member=member)
            if rows_put_back.said_by_directory(rows):
                members.join_group(group, member, by=by, authority=authority)
    except PolicyError as problem:  # they have less than the directory says, never more
        log.warning("%s was not put into a group of the directory: %s", member.pseudonym, problem)


# Entries


def version_of(entry: DirectoryEntry) -> str:
    """What changes with whatever the directory can read of an entry, groups of people apart."""
    account = getattr(entry.principal, "account", None)
    state = "" if account is None or account.is_active else "-disabled"
    return f'W/"{entry.key[:8]}-{entry.version}{state}"'


def _fresh(entry: DirectoryEntry, version: str | None) -> DirectoryEntry:
    """The entry as it is under the lock."""
    rows = DirectoryEntry.objects.select_related("principal__account")
    row = rows.filter(pk=entry.pk, key=entry.key, ended=None).first()
    if row is None or (version is not None and version_of(row) != version):
        raise Stale("It was changed since it was read. Read it again.")
    return row


def _save(entry: DirectoryEntry, **values: Any) -> None:
    for name, value in values.items():
        setattr(entry, name, value)
    entry.version += 1
    entry.changed = timezone.now()
    entry.save()
