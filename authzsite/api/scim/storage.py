"""Where SCIM's resources are read and written: accounts and groups, by services that record each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet
from scim2_models import (
    ConflictException,
    ForbiddenException,
    InvalidValueException,
    Meta,
    NotFoundException,
    NotImplementedException,
    PreconditionFailedException,
    Reference,
    Resource,
    ResourceType,
    ResponseParameters,
    SCIMException,
    SearchRequest,
    TooManyException,
    UniquenessException,
)
from scim2_models.resources.user import GroupMembership, Name
from scim2_server.storage import ScimStorage, SearchPage

from accounts.models import DirectoryEntry, DirectoryMember, Membership, Principal
from accounts.text import holdable
from authzsite.api.scim.narrowing import narrowed
from authzsite.api.scim.resources import Email, Group, GroupMember, User
from policies.authority import Actor, Authority
from policies.errors import AlreadyExists, Invalid, NotFound, PolicyError, Refused
from policies.record import rows_put_back
from policies.services import directory
from policies.services.directory import GroupData, PersonData, Stale

LOOKED_AT = 10_000
"""So many resources are looked at for one search at most; a filter that finds fewer at once is asked for."""
FURTHEST = 2**31
"""Nothing is beyond it, and the database counts further than twice as far."""
LONGEST_MAIL = 254
_ERRORS: dict[type[PolicyError], type[SCIMException]] = {
    AlreadyExists: UniquenessException,
    Stale: PreconditionFailedException,
    Invalid: InvalidValueException,
    NotFound: NotFoundException,
    Refused: ForbiddenException,
}


class Storage(ScimStorage):
    """People and groups that the directory keeps, as who came with its token may keep them.

    What a call `changes` begins with is not told whether somebody is active: else the site's own answer would
    come back as the directory's word.
    """

    def __init__(self, actor: Actor, authority: Authority, *, changes: bool) -> None:
        self.by: dict[str, Any] = {"by": actor, "authority": authority}
        self.changes = changes

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        entry = _entry(resource_type, resource_id)
        shown = _shown([entry], filled=_wants_members(response_parameters))[0]
        if self.changes and isinstance(shown, User):
            shown.active = None
        return shown

    def search(
        self, resource_types: list[ResourceType], search_request: SearchRequest[Any], *, position: Any = None
    ) -> SearchPage:
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search Users and Groups apart.")
        filters, filled = search_request, _wants_members(search_request)
        start = min(filters.start_index_0 or 0, FURTHEST)
        stop = None if filters.count is None else start + min(filters.count, FURTHEST)
        rows = narrowed(_entries(resource_types[0]), filters.filter)
        if filters.filter is None and filters.sort_by is None:
            return SearchPage(rows.count(), _shown(rows[start:stop], filled=filled))
        looked_at = list(rows[: LOOKED_AT + 1])
        if len(looked_at) > LOOKED_AT:
            raise TooManyException(detail="Filter by userName, displayName, externalId or id with eq.")
        # what is asked about may be left out of the answer
        matches = [item for item in _shown(looked_at) if filters.filter is None or filters.filter.match(item)]
        if filters.sort_by is not None:
            descending = filters.sort_order == SearchRequest.SortOrder.descending
            matches.sort(key=lambda item: _order(filters, item), reverse=descending)
        return SearchPage(len(matches), matches[start:stop])

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        with _errors():
            if isinstance(resource, User):
                entry = directory.keep_person(_person_data(resource), **self.by)
            else:
                entry = directory.keep_group(_group_data(cast("Group", resource)), **self.by)
        return _shown([_entry(resource_type, entry.key)])[0]

    def update(
        self, resource_type: ResourceType, resource: Resource[Any], *, expected_version: str | None = None
    ) -> Resource[Any]:
        entry = _entry(resource_type, resource.id or "")
        with _errors():
            if isinstance(resource, User):
                # nobody returns by what is left out, which RFC 7644, 3.5.1, leaves to the service provider
                data = replace(_person_data(resource), active=resource.active)
                directory.change_person(entry, data, version=expected_version, **self.by)
            else:
                directory.change_group(
                    entry, _group_data(cast("Group", resource)), version=expected_version, **self.by
                )
        return _shown([_entry(resource_type, entry.key)])[0]

    def delete(
        self, resource_type: ResourceType, resource_id: str, *, expected_version: str | None = None
    ) -> None:
        entry = _entry(resource_type, resource_id)
        end = directory.end_person if resource_type.name == "User" else directory.end_group
        with _errors():
            end(entry, version=expected_version, **self.by)


@contextmanager
def _errors() -> Iterator[None]:
    """Say in SCIM's words what a service refuses."""
    try:
        yield
    except PolicyError as problem:
        exception = next(
            (kind for ours, kind in _ERRORS.items() if isinstance(problem, ours)), ConflictException
        )
        raise exception(detail=str(problem)) from problem


# What is read


def _entries(resource_type: ResourceType) -> QuerySet[DirectoryEntry]:
    kind = Principal.Kind.USER if resource_type.name == "User" else Principal.Kind.GROUP
    rows = DirectoryEntry.objects.filter(principal__kind=kind, ended__isnull=True).order_by("pk")
    return rows.select_related("principal__account")


def _entry(resource_type: ResourceType, key: str) -> DirectoryEntry:
    entry = _entries(resource_type).filter(key=key).first() if holdable(key) else None
    if entry is None:
        raise NotFoundException(detail="The directory has no resource with this id.")
    return entry


def _shown(entries: Iterable[DirectoryEntry], *, filled: bool = True) -> list[Resource[Any]]:
    """The resources of entries of one kind, without the members of groups unless they are to be `filled`."""
    rows = list(entries)
    groups = [row.principal_id for row in rows if row.principal.kind == Principal.Kind.GROUP]
    if groups or not rows:
        members = _members(groups) if filled else {}
        return [_group(row, members.get(row.principal_id, ())) for row in rows]
    around = _groups_around([row.principal_id for row in rows])
    return [_person(row, around.get(row.principal_id, ())) for row in rows]


def _person(entry: DirectoryEntry, groups: Sequence[DirectoryEntry]) -> User:
    attributes, person = entry.attributes, entry.principal
    return User(
        id=entry.key,
        external_id=entry.external_id or None,
        user_name=person.name,
        name=Name(**attributes["name"]) if attributes.get("name") else None,
        display_name=attributes.get("display_name"),
        active=person.account.is_active,
        emails=[Email(**item) for item in attributes.get("emails") or ()] or None,
        groups=[
            GroupMembership(
                value=group.key,
                ref=Reference(f"Groups/{group.key}"),
                display=group.principal.label,
                type="direct",
            )
            for group in groups
        ]
        or None,
        meta=_meta(entry, "User"),
    )


def _group(entry: DirectoryEntry, members: Sequence[DirectoryEntry]) -> Group:
    return Group(
        id=entry.key,
        external_id=entry.external_id or None,
        display_name=entry.principal.label,
        members=[
            GroupMember(value=member.key, ref=Reference(f"Users/{member.key}"), type="User")
            for member in members
        ]
        or None,
        meta=_meta(entry, "Group"),
    )


def _meta(entry: DirectoryEntry, kind: str) -> Meta:
    return Meta(
        resource_type=kind,
        created=entry.made,
        last_modified=entry.changed,
        version=directory.version_of(entry),
    )


def _members(groups: Sequence[int]) -> dict[int, list[DirectoryEntry]]:
    """Whom the directory has put into groups, those who are away too.  Three queries."""
    rows = DirectoryMember.objects.filter(group__in=groups).order_by("pk")
    # what is answered comes back as the directory's own word when it adds somebody
    return _by_key((row.group_id, row.member_id) for row in rows_put_back.said_by_directory(rows))


def _groups_around(people: Sequence[int]) -> dict[int, list[DirectoryEntry]]:
    """The groups of the directory that people are in now.  Two queries."""
    rows = Membership.objects.open().filter(member__in=people).order_by("pk").values_list("member", "group")
    return _by_key(rows)


def _by_key(pairs: Iterable[tuple[int, int]]) -> dict[int, list[DirectoryEntry]]:
    entries_of: dict[int, list[DirectoryEntry]] = {}
    pairs = list(pairs)
    entries = DirectoryEntry.objects.filter(principal__in={other for _, other in pairs}, ended__isnull=True)
    by_principal = {row.principal_id: row for row in entries.select_related("principal")}
    for key, other in pairs:
        if other in by_principal:
            entries_of.setdefault(key, []).append(by_principal[other])
    return entries_of


def _wants_members(parameters: ResponseParameters[Any] | None) -> bool:
    left_out = {
        str(item).casefold() for item in (parameters.excluded_attributes if parameters else None) or ()
    }
    return "members" not in left_out


def _order(request: SearchRequest[Any], item: Resource[Any]) -> tuple[bool, Any, str]:
    value = request.sort_value(item)
    return value is None, "" if value is None else value, item.id or ""


# What is said


def _person_data(user: User) -> PersonData:
    attributes = user.model_dump(mode="json", by_alias=False, include={"name", "display_name", "emails"})
    mails = sorted(user.emails or (), key=lambda item: not item.primary)
    return PersonData(
        name=user.user_name or "",
        display_name=user.display_name or _full_name(user.name),
        mail=next((item.value for item in mails if item.value and _is_mail(item.value)), ""),
        external_id=_short(user.external_id),
        active=user.active is not False,
        attributes=attributes,
    )


def _full_name(name: Name | None) -> str:
    if name is None:
        return ""
    return name.formatted or " ".join(filter(None, (name.given_name, name.family_name)))


def _is_mail(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= LONGEST_MAIL


def _group_data(group: Group) -> GroupData:
    keys = [item.value or "" for item in group.members or ()]
    rows = DirectoryEntry.objects.filter(
        key__in=keys, principal__kind=Principal.Kind.USER, ended__isnull=True
    )
    principals = {row.key: row.principal for row in rows.select_related("principal")}
    if unknown := [key for key in keys if key not in principals]:
        raise InvalidValueException(detail=f"There is no User with the id {unknown[0]}.")
    return GroupData(_short(group.display_name), _short(group.external_id), [principals[key] for key in keys])


def _short(text: str | None) -> str:
    if text and len(text) > 255:
        raise InvalidValueException(detail="A name or externalId has at most 255 characters.")
    return text or ""
