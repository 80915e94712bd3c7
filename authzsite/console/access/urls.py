"""The addresses of this area: Granting and revoking."""

from django.urls import path

from authzsite.console.access import bulk, revoke, undo
from authzsite.console.access import grant as access_grant

urlpatterns = [
    path("objects/<number:id>/grant", access_grant.GrantView.as_view(), name="grant"),
    path("objects/<number:id>/grant/people", access_grant.people, name="grant_people"),
    path(
        "objects/<number:id>/grant/preview",
        access_grant.GrantView.as_view(preview_only=True),
        name="grant_preview",
    ),
    path("objects/<number:id>/revoke", revoke.RevokeView.as_view(), name="revoke"),
    path("objects/many", bulk.many, name="many"),
    path("objects/many/preview", bulk.BulkGrantView.as_view(preview_only=True), name="many_preview"),
    path("undo/<number:revision>", undo.undo, name="undo"),
]
