"""The bodies of Herd's calls, and how they are read and written.

XML is read without document types, entities or anything from elsewhere, so no body can grow or reach out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, tostring
from xml.parsers.expat import ExpatError, ParserCreate

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, UnreadablePostError

from authzsite.api.herd.body_schemas import Flag, Many, Record, Shape, Text
from authzsite.api.herd.data_bodies import NOTIFICATION_KEYS
from authzsite.api.strictjson import BadBody, read_object

JSON, XML = "application/json", "application/xml"

PERMISSIONS = Many("namespacePermission", Text())
KEY = Record("userNamespaceAuthorizationKey", {"userId": Text(), "namespace": Text()})
CREATE = Record(
    "userNamespaceAuthorizationCreateRequest",
    {"userNamespaceAuthorizationKey": KEY, "namespacePermissions": PERMISSIONS},
)
UPDATE = Record("userNamespaceAuthorizationUpdateRequest", {"namespacePermissions": PERMISSIONS})
ENTRY = Record(
    "userNamespaceAuthorization",
    {"id": Text(), "userNamespaceAuthorizationKey": KEY, "namespacePermissions": PERMISSIONS},
)
ENTRIES = Record(
    "userNamespaceAuthorizations",
    {"userNamespaceAuthorizations": Many("userNamespaceAuthorization", ENTRY)},
)
_OWN = Record("namespaceAuthorization", {"namespace": Text(), "namespacePermissions": PERMISSIONS})
CURRENT_USER = Record(
    "userAuthorizations",
    {
        "userId": Text(),
        "namespaceAuthorizations": Many("namespaceAuthorization", _OWN),
        "securityRoles": Many("securityRole", Text()),
        "securityFunctions": Many("securityFunction", Text()),
    },
)
NAMESPACE = Record("namespace", {"namespaceCode": Text(), "chargeCode": Text(), "s3KeyPrefix": Text()})
NAMESPACE_CREATE = Record("namespaceCreateRequest", {"namespaceCode": Text(), "chargeCode": Text()})
NAMESPACE_UPDATE = Record("namespaceUpdateRequest", {"chargeCode": Text()})
NAMESPACE_KEYS = Record(
    "namespaceKeys", {"namespaceKeys": Many("namespaceKey", Record("", {"namespaceCode": Text()}))}
)
_PARAMETER = Record("parameter", {"name": Text(), "value": Text()})
_JOB_FIELDS: dict[str, Shape] = {
    "description": Text(),
    "activitiJobXml": Text(),
    "parameters": Many("parameter", _PARAMETER),
}
JOB_CREATE = Record("jobDefinitionCreateRequest", {"namespace": Text(), "jobName": Text(), **_JOB_FIELDS})
JOB_UPDATE = Record("jobDefinitionUpdateRequest", _JOB_FIELDS)
JOB = Record(
    "jobDefinition",
    {"id": Text(), "namespace": Text(), "jobName": Text(), **_JOB_FIELDS, "lastUpdatedByUserId": Text()},
)
JOB_KEYS = Record(
    "jobDefinitionKeys",
    {
        "jobDefinitionKeys": Many(
            "jobDefinitionKey", Record("jobDefinitionKey", {"namespace": Text(), "jobName": Text()})
        )
    },
)
_STARTED: dict[str, Shape] = {
    "id": Text(),
    "namespace": Text(),
    "jobName": Text(),
    "status": Text(),
    "startTime": Text(),
    "endTime": Text(),
}
_PARAMETERS = Many("parameter", _PARAMETER)
JOB_START = Record("jobCreateRequest", {"namespace": Text(), "jobName": Text(), "parameters": _PARAMETERS})
JOB_RUN = Record("job", {**_STARTED, "parameters": _PARAMETERS})
JOB_SUMMARIES = Record("jobSummaries", {"jobSummaries": Many("jobSummary", Record("jobSummary", _STARTED))})
_SEARCH_KEY = Record("namespaceSearchKey", {"chargeCode": Text(), "mustHaveChargeCode": Flag()})
_SEARCH_FILTER = Record(
    "namespaceSearchFilter", {"namespaceSearchKeys": Many("namespaceSearchKey", _SEARCH_KEY)}
)
SEARCH = Record(
    "namespaceSearchRequest", {"namespaceSearchFilters": Many("namespaceSearchFilter", _SEARCH_FILTER)}
)
FOUND = Record("namespaceSearchResponse", {"namespaces": Many("namespace", NAMESPACE)})
ERROR = Record(
    "errorInformation",
    {
        "statusCode": Text(),
        "statusDescription": Text(),
        "message": Text(),
        "messageDetails": Many("message", Text()),
    },
)

_BARE_LISTS = (ENTRIES, NAMESPACE_KEYS, JOB_KEYS, NOTIFICATION_KEYS)
"""Bodies that are a list: in XML their entries stand in the outermost element itself."""


def read(shape: Record, request: HttpRequest) -> dict[str, Any]:
    """The body, as either of the two types.  Raises BadBody."""
    if request.content_type == XML:
        content = _bytes(request)
        if _is_deep(content):
            raise BadBody("the body has too many elements in one another")
        try:
            root = fromstring(content, forbid_dtd=True)
        except DefusedXmlException:
            raise BadBody("the body has a document type or entities, which are not read") from None
        except (ParseError, ValueError, LookupError) as error:
            raise BadBody(f"the body is no XML that can be read: {type(error).__name__}") from None
        if root.tag != shape.name:
            raise BadBody(f"the outermost element must be {shape.name}")
        return shape.from_xml(root)
    return shape.from_json(read_object(request))


def receive(request: HttpRequest) -> None:
    """Take in what is sent, so that reading it later waits for nobody.  Raises BadBody."""
    _bytes(request)


def _bytes(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise BadBody("the body is too large") from None
    except UnreadablePostError:
        raise BadBody("the body ended too early") from None


DEEPEST = 20
"""No body has so many elements in one another, and reading them takes long."""


class _LookedAt(Exception):
    """Enough of a body was seen."""


def _is_deep(content: bytes) -> bool:
    """Whether more elements stand in one another than any body has, told before anything is built.

    By the parser itself: a comment or an attribute may have letters like those of a tag.
    """
    parser, depth = ParserCreate(), 0

    def begins(name: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise _LookedAt

    def ends(name: str) -> None:
        nonlocal depth
        depth -= 1

    def has_a_type(*_: object) -> None:
        raise _LookedAt

    parser.StartElementHandler, parser.EndElementHandler = begins, ends
    parser.StartDoctypeDeclHandler = has_a_type
    try:
        parser.Parse(content, True)
    except _LookedAt:
        return depth > DEEPEST
    except (ExpatError, ValueError, LookupError):
        return False  # whoever reads it says what is wrong
    return False


def write(shape: Record, value: dict[str, Any], media_type: str) -> bytes:
    """The value as JSON or XML; the same value is always the same bytes."""
    if shape in _BARE_LISTS:
        [each] = value.values()
        return write_each(shape, each, media_type)
    return _json(value) if media_type == JSON else _xml(shape.name, shape, value)


def write_each(shape: Record, values: Iterable[Any], media_type: str) -> bytes:
    """A body that is a list, written value by value, so that a long one is never held twice."""
    [(name, field)] = shape.fields.items()
    many = cast("Many", field)
    if media_type == JSON:
        return b'{"%s":[%s]}' % (name.encode(), b",".join(map(_json, values)))
    inside = b"".join(_xml(many.entry, many.shape, value, declared=False) for value in values)
    tag = shape.name.encode()
    return b"<?xml version='1.0' encoding='utf-8'?>\n<%s>%s</%s>" % (tag, inside, tag)


def _json(value: Any) -> bytes:
    # a refusal repeats what was sent, half characters and all
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def _xml(name: str, shape: Shape, value: Any, *, declared: bool = True) -> bytes:
    root = Element(name)
    shape.to_xml(value, root)
    content: bytes = tostring(root, encoding="utf-8", xml_declaration=declared)
    return content
