"""What SCIM calls a User and a Group, as far as this site keeps them, and what the service can do.

Names and mail are kept, and nothing else of a person: what a directory sends besides is left out.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)
from scim2_models.resources.user import GroupMembership, Name

MOST_RESULTS = 200
MOST_OPERATIONS = 100
LARGEST_BULK = 1_000_000


class Email(ComplexAttribute):
    """An address; whatever the directory takes for one, as those of an intranet are none by the book."""

    value: str | None = None
    display: str | None = None
    type: str | None = None
    primary: bool | None = None


class User(Resource[Any]):
    """A person.  The user name is who they are in every realm and backend, so it stays."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Mutability.immutable, Uniqueness.server, Required.true] = None
    name: Name | None = None
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None


class GroupMember(ComplexAttribute):
    """A person in a group."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true, Required.true] = None
    ref: Annotated[Reference[User] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class Group(Resource[Any]):
    """A group; people are in it, groups are not."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[GroupMember] | None = None


CONFIG = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=True, max_operations=MOST_OPERATIONS, max_payload_size=LARGEST_BULK),
    filter=Filter(supported=True, max_results=MOST_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=True),
    etag=ETag(supported=True),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="Token of a service account",
            description="A token with the scope directory of a service account in LAKEWARDEN_DIRECTORIES.",
            primary=True,
        )
    ],
)
POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""As directories write it: with attributes of their own, and filters that match nothing."""
PROVIDER = ScimProvider(models=[User, Group], config=CONFIG, policy=POLICY)
