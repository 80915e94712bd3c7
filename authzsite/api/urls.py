"""Each surface under its own fixed paths."""

from django.urls import include, path

from authzsite.api import health

urlpatterns = [
    path("health/live", health.live, name="health-live"),
    path("health/ready", health.ready, name="health-ready"),
    path("", include("authzsite.api.authzen.urls")),
    path("", include("authzsite.api.herd.urls")),
    path("", include("authzsite.api.cdap.urls")),
    path("", include("authzsite.api.v1.urls")),
]
