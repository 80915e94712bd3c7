"""One server, one port: the console's pages and the HTTP surfaces."""

from django.urls import include, path

urlpatterns = [
    path("", include("authzsite.api.urls")),
    path("", include("authzsite.api.gravitino.urls")),
    path("", include("authzsite.console.urls")),
]

handler400 = "authzsite.api.error_answers.bad_request"
handler403 = "authzsite.console.kit.error_pages.forbidden"
handler404 = "authzsite.api.error_answers.not_found"
handler500 = "authzsite.api.error_answers.server_error"
