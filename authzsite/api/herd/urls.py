"""Herd's paths; `/` in a name reaches the call, which refuses it in its own words."""

from django.urls import path, re_path

from authzsite.api.herd.authorizations import Authorization, Authorizations, OfNamespace, OfUser
from authzsite.api.herd.call import NotHere
from authzsite.api.herd.current_user import CurrentUser
from authzsite.api.herd.jobs import JobDefinition, JobDefinitionKeys, JobDefinitions
from authzsite.api.herd.namespaces import Namespace, Namespaces, NamespaceSearch
from authzsite.api.herd.runs import Job, Jobs

BASE = "herd-app/rest"
_JOBS = f"{BASE}/jobDefinitions"
_ENTRIES = f"{BASE}/userNamespaceAuthorizations"

urlpatterns = [
    path(_ENTRIES, Authorizations.as_view()),
    path(f"{_ENTRIES}/userIds/<path:user_id>/namespaces/<path:namespace>", Authorization.as_view()),
    path(f"{_ENTRIES}/userIds/<path:user_id>", OfUser.as_view()),
    path(f"{_ENTRIES}/namespaces/<path:namespace>", OfNamespace.as_view()),
    path(f"{BASE}/currentUser", CurrentUser.as_view()),
    path(f"{BASE}/namespaces", Namespaces.as_view()),
    path(f"{BASE}/namespaces/search", NamespaceSearch.as_view(), {"code": "search"}),
    path(f"{BASE}/namespaces/<path:code>", Namespace.as_view()),
    path(f"{BASE}/jobs", Jobs.as_view()),
    path(f"{BASE}/jobs/<str:id>", Job.as_view()),
    path(_JOBS, JobDefinitions.as_view()),
    path(f"{_JOBS}/namespaces/<path:namespace>/jobNames/<path:name>", JobDefinition.as_view()),
    path(f"{_JOBS}/namespaces/<path:namespace>", JobDefinitionKeys.as_view()),
    re_path(rf"^{BASE}(?:/.*)?$", NotHere.as_view()),
]
