"""Herd's paths; `/` in a name reaches the call, which refuses it in its own words."""

from django.urls import path, re_path

from authzsite.api.herd.authorizations import Authorization, Authorizations, OfNamespace, OfUser
from authzsite.api.herd.business_objects.definitions import (
    Definition,
    Definitions,
    DefinitionsOfNamespace,
)
from authzsite.api.herd.business_objects.formats import Format, Formats, FormatsOfDefinition
from authzsite.api.herd.business_objects.storage_policies import (
    StoragePolicies,
    StoragePolicy,
    StoragePolicyKeys,
)
from authzsite.api.herd.call import NotHere
from authzsite.api.herd.current_user import CurrentUser
from authzsite.api.herd.data import Data, DataRegistrations, DataStatus
from authzsite.api.herd.jobs import JobDefinition, JobDefinitionKeys, JobDefinitions
from authzsite.api.herd.namespaces import Namespace, Namespaces, NamespaceSearch
from authzsite.api.herd.notifications import (
    Notification,
    NotificationKeys,
    Notifications,
    NotificationStatus,
)
from authzsite.api.herd.runs import Job, Jobs, JobToken

BASE = "herd-app/rest"
_JOBS = f"{BASE}/jobDefinitions"
_ENTRIES = f"{BASE}/userNamespaceAuthorizations"
_NOTIFICATIONS = f"{BASE}/notificationRegistrations/businessObjectDataNotificationRegistrations"
_NAMED = "namespaces/<path:namespace>/notificationNames/<path:name>"
_FORMAT = (
    r"namespaces/(?P<namespace>[^/]+)/businessObjectDefinitionNames/(?P<definition>[^/]+)"
    r"/businessObjectFormatUsages/(?P<usage>[^/]+)/businessObjectFormatFileTypes/(?P<file_type>[^/]+)"
)
_DATA = (
    rf"{_FORMAT}/businessObjectFormatVersions/(?P<format_version>[^/]+)/partitionValues/(?P<partition>[^/]+)"
    r"(?:/subPartition1Values/(?P<sub1>[^/]+)(?:/subPartition2Values/(?P<sub2>[^/]+)"
    r"(?:/subPartition3Values/(?P<sub3>[^/]+)(?:/subPartition4Values/(?P<sub4>[^/]+))?)?)?)?"
    r"/businessObjectDataVersions/(?P<version>[^/]+)"
)

_DEFINITIONS, _FORMATS = f"{BASE}/businessObjectDefinitions", f"{BASE}/businessObjectFormats"
_OF_DEFINITION = "namespaces/(?P<namespace>[^/]+)/businessObjectDefinitionNames/(?P<definition>[^/]+)"
_USAGE = "businessObjectFormatUsages/(?P<usage>[^/]+)"
_FORMAT_VERSION = r"businessObjectFormatVersions/(?P<format_version>[^/]+)"
_POLICIES = f"{BASE}/storagePolicies"

urlpatterns = [
    path(_DEFINITIONS, Definitions.as_view()),
    path(
        f"{_DEFINITIONS}/namespaces/<path:namespace>/businessObjectDefinitionNames/<path:name>",
        Definition.as_view(),
    ),
    path(f"{_DEFINITIONS}/namespaces/<path:namespace>", DefinitionsOfNamespace.as_view()),
    path(_FORMATS, Formats.as_view()),
    re_path(rf"^{_FORMATS}/{_FORMAT}$", Format.as_view(http_method_names=["get"])),
    re_path(
        rf"^{_FORMATS}/{_FORMAT}/{_FORMAT_VERSION}$", Format.as_view(http_method_names=["put", "delete"])
    ),
    re_path(rf"^{_FORMATS}/{_OF_DEFINITION}$", FormatsOfDefinition.as_view()),
    re_path(rf"^{_FORMATS}/{_OF_DEFINITION}/{_USAGE}$", FormatsOfDefinition.as_view()),
    path(_POLICIES, StoragePolicies.as_view()),
    path(f"{_POLICIES}/namespaces/<path:namespace>/storagePolicyNames/<path:name>", StoragePolicy.as_view()),
    path(f"{_POLICIES}/namespaces/<path:namespace>", StoragePolicyKeys.as_view()),
    path(_ENTRIES, Authorizations.as_view()),
    path(f"{_ENTRIES}/userIds/<path:user_id>/namespaces/<path:namespace>", Authorization.as_view()),
    path(f"{_ENTRIES}/userIds/<path:user_id>", OfUser.as_view()),
    path(f"{_ENTRIES}/namespaces/<path:namespace>", OfNamespace.as_view()),
    path(f"{BASE}/currentUser", CurrentUser.as_view()),
    path(f"{BASE}/namespaces", Namespaces.as_view()),
    path(f"{BASE}/namespaces/search", NamespaceSearch.as_view(), {"code": "search"}),
    path(f"{BASE}/namespaces/<path:code>", Namespace.as_view()),
    path(f"{BASE}/jobs", Jobs.as_view()),
    path(f"{BASE}/jobs/ids/<str:id>", Job.as_view()),
    path(f"{BASE}/jobs/ids/<str:id>/token", JobToken.as_view()),
    path(f"{BASE}/jobs/<str:id>", Job.as_view()),
    path(_JOBS, JobDefinitions.as_view()),
    path(f"{_JOBS}/namespaces/<path:namespace>/jobNames/<path:name>", JobDefinition.as_view()),
    path(f"{_JOBS}/namespaces/<path:namespace>", JobDefinitionKeys.as_view()),
    path(f"{BASE}/businessObjectData", DataRegistrations.as_view()),
    re_path(rf"^{BASE}/businessObjectData/{_FORMAT}$", Data.as_view(http_method_names=["get"])),
    re_path(rf"^{BASE}/businessObjectData/{_DATA}$", Data.as_view(http_method_names=["delete"])),
    re_path(rf"^{BASE}/businessObjectDataStatus/{_FORMAT}$", DataStatus.as_view(http_method_names=["get"])),
    re_path(rf"^{BASE}/businessObjectDataStatus/{_DATA}$", DataStatus.as_view(http_method_names=["put"])),
    path(_NOTIFICATIONS, Notifications.as_view()),
    path(f"{_NOTIFICATIONS}/{_NAMED}", Notification.as_view()),
    path(f"{_NOTIFICATIONS}/namespaces/<path:namespace>", NotificationKeys.as_view()),
    path(f"{BASE}/notificationRegistrationStatus/{_NAMED}", NotificationStatus.as_view()),
    re_path(rf"^{BASE}(?:/.*)?$", NotHere.as_view()),
]
