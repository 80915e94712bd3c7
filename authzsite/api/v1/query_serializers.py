"""What the calls that only read answer."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from authzsite.api.v1.describing import TEXT, page_of
from authzsite.api.v1.fields import (
    Answer,
    AnyObject,
    Either,
    Flag,
    Listed,
    Moment,
    PrincipalName,
    Reference,
    Text,
    Whole,
)
from lakewarden.client.snapshot import SCHEMA, SCHEMA_OFF

REFERENCE = {"$ref": "#/components/schemas/Reference"}
ENTITY = {
    "type": "object",
    "properties": {"entity": TEXT},
    "required": ["entity"],
    "additionalProperties": False,
}


@extend_schema_field({"anyOf": [REFERENCE, ENTITY, {"type": "null"}]})
class Place(serializers.JSONField):
    """An object, or a text which is like any number of objects."""


class StationSerializer(Answer):
    """A step of the way by which a rule reaches somebody."""

    kind = Text()
    name = Text()


class RuleSerializer(Answer):
    """What is given or denied, on which object, by which way, and when."""

    privilege = Text()
    allow = Flag()
    object = Place()
    via = Listed(child=StationSerializer())
    valid_from = Moment(allow_null=True)
    valid_until = Moment(allow_null=True)
    since_revision = Whole(allow_null=True)
    direct = Flag(required=False)


class LackSerializer(Answer):
    kind = Text()
    privilege = Text(required=False)
    object = Place(required=False)
    owner = PrincipalName(required=False)


class DecisionSerializer(Answer):
    """A decision as a tree: what holds, what is lacking."""

    principal = PrincipalName()
    action = Text()
    resource = Reference()
    decision = Flag()
    operation = Text(allow_null=True, required=False)
    reason = Text(required=False)
    tree = AnyObject()
    because = Listed(child=RuleSerializer(), required=False)
    missing = Listed(child=LackSerializer(), required=False)
    alternatives = Listed(child=Listed(child=LackSerializer()), required=False)
    reason_user = Text(required=False)
    request_url = Text(required=False)
    revision = Whole()


class HolderAccessSerializer(Answer):
    """What somebody can do to the object, and by which ways."""

    principal = PrincipalName()
    actions = Listed(child=Text())
    owner = Flag()
    paths = Listed(child=RuleSerializer())


class ReachedAccessSerializer(Answer):
    """What the principal can do to an object, and by which ways."""

    resource = Reference()
    actions = Listed(child=Text())
    paths = Listed(child=RuleSerializer())


class RowPage(Answer):
    """A part of a view; docs/dataframes.md lists the columns of each."""

    results = Listed(child=AnyObject())
    next = Text(allow_null=True)


class AccessPage(Either):
    shapes = (page_of(HolderAccessSerializer), page_of(ReachedAccessSerializer), RowPage)


class EntrySerializer(Answer):
    """An entry of the record; docs/auditors.md lists what else each kind tells."""

    is_open = True

    id = Text()
    kind = Text()
    at = Moment()
    actor = Text(allow_null=True)


class AuditPage(Either):
    shapes = (page_of(EntrySerializer), RowPage)


class SplitSerializer(Answer):
    after = Text()
    upto = Text()


class SplitsSerializer(Answer):
    """A revision, and the parts of a view at it."""

    view = Text()
    realm = Text()
    revision = Whole()
    at = Moment()
    splits = Listed(child=SplitSerializer())


class SnapshotSerializer(Answer):
    """One principal's facts in one realm."""

    schema = Whole(help_text=f"{SCHEMA}, or {SCHEMA_OFF} where something is switched off")
    realm = Text()
    principal = PrincipalName()
    dialect = Text()
    revision = Whole()
    issued = Moment()
    expires = Moment()
    next_change_at = Moment(allow_null=True)
    mode = Text()
    member = Flag()
    service_admin = Flag()
    names = Listed(child=serializers.JSONField(), help_text="type and id, or a digest of them")
    facts = Listed(
        child=serializers.JSONField(),
        help_text="on which name, privilege, allow, by which way, since, which fact, from, until",
    )
    stations = Listed(child=Listed(child=Text()))
    ways = Listed(child=Listed(child=Whole()))
    selves = Listed(child=Whole())
    apart = Listed(child=serializers.JSONField())
    off = Listed(child=Whole(), required=False, help_text="the names of what is switched off, in schema 2")
    locations = serializers.DictField(child=Whole())
    hidden = Listed(child=Text())
    spellings = Listed(
        child=serializers.JSONField(), help_text="a hidden name in any case, as a digest, and its number"
    )
    salt = Text()
    digest = Text(help_text="SHA-256 over the rest, as JSON with sorted names and no spaces")
