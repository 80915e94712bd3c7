"""Each surface under its own fixed paths."""

from django.urls import include, path

from authzsite.api import health, metrics, security_contact

urlpatterns = [
    path("health/live", health.live, name="health-live"),
    path("health/ready", health.ready, name="health-ready"),
    path(".well-known/security.txt", security_contact.security_txt, name="security-txt"),
    path("metrics", metrics.metrics, name="metrics"),
    path("", include("authzsite.api.authzen.urls")),
    path("", include("authzsite.api.herd.urls")),
    path("", include("authzsite.api.cdap.urls")),
    path("", include("authzsite.api.trino.urls")),
    path("", include("authzsite.api.scim.urls")),
    path("", include("authzsite.api.v1.urls")),
]
