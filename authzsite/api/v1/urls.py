from django.urls import path

from authzsite.api.v1.access import Access
from authzsite.api.v1.audit import Audit
from authzsite.api.v1.explain import Explain
from authzsite.api.v1.runs import Runs
from authzsite.api.v1.snapshot import Snapshot

urlpatterns = [
    path("authz/v1/runs", Runs.as_view(), name="runs"),
    path("authz/v1/access", Access.as_view(), name="access"),
    path("authz/v1/audit", Audit.as_view(), name="audit"),
    path("authz/v1/explain", Explain.as_view(), name="explain"),
    path("authz/v1/snapshot", Snapshot.as_view(), name="snapshot"),
]
