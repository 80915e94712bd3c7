"""CDAP's paths.  Its client writes two slashes before `privileges`; however many there are, they are one."""

from django.urls import re_path

from authzsite.api.cdap import entities
from authzsite.api.cdap.call import NotHere
from authzsite.api.cdap.entity_bodies import PROGRAMS
from authzsite.api.cdap.execute import Enforce, IsVisible
from authzsite.api.cdap.privileges import Grant, Privileges, Revoke
from authzsite.api.cdap.roles import HeldRole, HeldRoles, Role, Roles

_BASE = r"^/*v3/+security/+authorization"
_WHO = r"(?P<kind>[^/]+)/+(?P<name>.+?)"
_NS = r"^/*v3/+namespaces/+(?P<ns>[^/]+)"
_GONE = r"^/*v3/+unrecoverable/+namespaces/+(?P<ns>[^/]+)"
_PLACE = r"(?P<place>apps|artifacts|data/+datasets|data/+modules|data/+types|streams|securekeys)"
_NAME = r"(?P<name>[^/]+)"
_PROGRAMS = rf"(?P<kind>{'|'.join(PROGRAMS)})"
_VERSION = rf"{_NS}/+artifacts/+{_NAME}/+versions/+(?P<version>[^/]+)"

_ENTITIES = [
    re_path(r"^/*v3/+namespaces/*$", entities.Namespaces.as_view()),
    re_path(rf"{_NS}/*$", entities.Namespace.as_view()),
    re_path(rf"{_GONE}/*$", entities.UnrecoverableNamespace.as_view()),
    re_path(rf"{_GONE}/+datasets/*$", entities.AllDatasets.as_view()),
    re_path(rf"{_NS}/+properties/*$", entities.NamespaceProperties.as_view()),
    re_path(rf"{_NS}/+{_PLACE}/*$", entities.Entities.as_view()),
    re_path(rf"{_NS}/+{_PLACE}/+{_NAME}/*$", entities.Entity.as_view()),
    re_path(
        rf"{_NS}/+(?P<place>data/+datasets|streams)/+{_NAME}/+properties/*$",
        entities.EntityProperties.as_view(http_method_names=["put"]),
    ),
    re_path(
        rf"{_NS}/+(?P<place>apps)/+{_NAME}/+update/*$",
        entities.EntityProperties.as_view(http_method_names=["post"]),
    ),
    re_path(
        rf"{_NS}/+(?P<place>artifacts)/+{_NAME}/+versions/+[^/]+/+properties/*$",
        entities.EntityProperties.as_view(http_method_names=["put"]),
    ),
    re_path(rf"{_VERSION}/*$", entities.ArtifactVersion.as_view()),
    re_path(rf"{_NS}/+securekeys/+{_NAME}/+metadata/*$", entities.KeyMetadata.as_view()),
    re_path(rf"{_NS}/+{_PROGRAMS}/*$", entities.Programs.as_view()),
    re_path(rf"{_NS}/+apps/+(?P<app>[^/]+)/+{_PROGRAMS}/+{_NAME}/*$", entities.Program.as_view()),
    re_path(r"^/*v3/+(?:unrecoverable/+)?namespaces(?:/.*)?$", NotHere.as_view()),
]

urlpatterns = [
    *_ENTITIES,
    re_path(rf"{_BASE}/+privileges/+grant/*$", Grant.as_view()),
    re_path(rf"{_BASE}/+privileges/+revoke/*$", Revoke.as_view()),
    re_path(rf"{_BASE}/+roles/*$", Roles.as_view()),
    re_path(rf"{_BASE}/+roles/+(?P<role>.+?)/*$", Role.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+privileges/*$", Privileges.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+roles/+(?P<role>.+?)/*$", HeldRole.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+roles/*$", HeldRoles.as_view()),
    re_path(rf"{_BASE}(?:/.*)?$", NotHere.as_view()),
    re_path(r"^/*v1/+execute/+enforce/*$", Enforce.as_view()),
    re_path(r"^/*v1/+execute/+isVisible/*$", IsVisible.as_view()),
    re_path(r"^/*v1/+execute(?:/.*)?$", NotHere.as_view()),
]
