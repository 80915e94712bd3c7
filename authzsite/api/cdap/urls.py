"""CDAP's paths.  Its client writes two slashes before `privileges`; however many there are, they are one."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, re_path

from authzsite.api.cdap import about, entities, running, versions
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
_IN_VERSION = r"/+versions/+(?P<version>[^/]+)"
_ARTIFACT = rf"{_NS}/+artifacts/+{_NAME}{_IN_VERSION}"
_APP = rf"{_NS}/+apps/+{_NAME}"
_PROGRAM = rf"{_NS}/+apps/+(?P<app>[^/]+)/+{_PROGRAMS}/+{_NAME}"
_PROGRAM_IN_VERSION = rf"{_NS}/+apps/+(?P<app>[^/]+){_IN_VERSION}/+{_PROGRAMS}/+{_NAME}"


def _elsewhere(path: str, view: Any, last: Mapping[str, Any], **place: str) -> Iterator[URLPattern]:
    """The calls on an entity that are decided and not done, by what stands last in their path."""
    for word, operations in last.items():
        call = view.as_view(operations=operations, http_method_names=[*operations], **place)
        yield re_path(rf"{path}/+{word}/*$", call)


_ENTITIES = [
    re_path(r"^/*v3/+namespaces/*$", entities.Namespaces.as_view()),
    re_path(rf"{_NS}/*$", entities.Namespace.as_view()),
    re_path(rf"{_GONE}/*$", entities.UnrecoverableNamespace.as_view()),
    re_path(rf"{_GONE}/+datasets/*$", entities.AllDatasets.as_view()),
    re_path(rf"{_NS}/+properties/*$", entities.NamespaceProperties.as_view()),
    re_path(rf"{_NS}/+{_PLACE}/*$", entities.Entities.as_view()),
    re_path(rf"{_NS}/+{_PLACE}/+{_NAME}/*$", entities.Entity.as_view()),
    re_path(
        rf"{_NS}/+(?P<place>data/+datasets)/+{_NAME}/+properties/*$",
        entities.EntityProperties.as_view(http_method_names=["get", "put"]),
    ),
    re_path(
        rf"{_NS}/+(?P<place>streams)/+{_NAME}/+properties/*$",
        entities.EntityProperties.as_view(http_method_names=["put"]),
    ),
    re_path(
        rf"{_NS}/+(?P<place>apps)/+{_NAME}/+update/*$",
        entities.EntityProperties.as_view(http_method_names=["post"]),
    ),
    re_path(rf"{_ARTIFACT}/*$", versions.Version.as_view()),
    re_path(rf"{_ARTIFACT}/+properties/*$", versions.ArtifactProperties.as_view()),
    re_path(rf"{_ARTIFACT}/+properties/+(?P<key>[^/]+)/*$", versions.ArtifactProperty.as_view()),
    re_path(rf"{_APP}/+versions/*$", versions.Versions.as_view(place="apps")),
    re_path(rf"{_APP}{_IN_VERSION}/*$", versions.Version.as_view(place="apps")),
    re_path(rf"{_APP}{_IN_VERSION}/+create/*$", versions.NewVersion.as_view()),
    re_path(rf"{_NS}/+securekeys/+{_NAME}/+metadata/*$", entities.KeyMetadata.as_view()),
    re_path(rf"{_NS}/+{_PROGRAMS}/*$", entities.Programs.as_view()),
    re_path(rf"{_PROGRAM}/*$", entities.Program.as_view()),
    *_elsewhere(_PROGRAM, running.OfProgram, running.RUNS),
    *_elsewhere(_PROGRAM_IN_VERSION, running.OfProgram, running.RUNS),
    *_elsewhere(rf"{_NS}/+streams/+{_NAME}", running.OfEntity, running.STREAMS, place="streams"),
    *_elsewhere(
        rf"{_NS}/+data/+datasets/+{_NAME}", running.OfEntity, running.DATASETS, place="data/datasets"
    ),
    re_path(r"^/*v3/+(?:unrecoverable/+)?namespaces(?:/.*)?$", NotHere.as_view()),
]

urlpatterns = [
    re_path(r"^/*ping/*$", about.Ping.as_view()),
    re_path(r"^/*v3/+version/*$", about.Version.as_view()),
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
