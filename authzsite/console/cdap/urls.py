"""The addresses of this area: CDAP realms."""

from django.urls import path

from authzsite.console.cdap import entities, grant, name
from authzsite.console.cdap import files as cdap_files
from authzsite.console.cdap import views as cdap_views
from authzsite.console.cdap.register import DeleteEntityView, RegisterEntityView
from authzsite.console.cdap.revoke import RevokePatternView

urlpatterns = [
    path("instances/<number:id>", cdap_views.instance_detail, name="instance"),
    path("instances/<number:id>/entities", entities.entity_list, name="cdap_entities"),
    path("instances/<number:id>/entities/new", RegisterEntityView.as_view(), name="cdap_register"),
    path("instances/<number:id>/entities/delete", DeleteEntityView.as_view(), name="cdap_delete"),
    path("instances/<number:id>/names.csv", cdap_files.of_names, name="instance_csv"),
    path("instances/<number:id>/entities.csv", cdap_files.of_entities, name="cdap_entities_csv"),
    path("instances/<number:id>/name", name.name_detail, name="cdap_text"),
    path("instances/<number:id>/grant", grant.PatternGrantView.as_view(), name="cdap_grant"),
    path("instances/<number:id>/grant/people", grant.people, name="cdap_grant_people"),
    path(
        "instances/<number:id>/grant/preview",
        grant.PatternGrantView.as_view(preview_only=True),
        name="cdap_grant_preview",
    ),
    path("instances/<number:id>/revoke", RevokePatternView.as_view(), name="cdap_revoke"),
]
