"""The addresses of this area: Objects: their pages, owners."""

from django.urls import path

from authzsite.console.objects import owner, owners
from authzsite.console.objects import uses as object_uses
from authzsite.console.objects import views as objects_views

urlpatterns = [
    path("objects/<number:id>", objects_views.access, name="object"),
    path("objects/<number:id>/access.csv", objects_views.access_csv, name="object_csv"),
    path("objects/<number:id>/rules", objects_views.rules_tab, name="object_rules"),
    path("objects/<number:id>/rules.csv", objects_views.rules_csv, name="rules_csv"),
    path("objects/<number:id>/history", objects_views.history_tab, name="object_history"),
    path("objects/<number:id>/sync", objects_views.sync_tab, name="object_sync"),
    path("objects/<number:id>/columns", objects_views.columns_tab, name="object_columns"),
    path("objects/<number:id>/uses", object_uses.uses, name="object_uses"),
    path("objects/<number:id>/state", objects_views.state, name="object_state"),
    path("objects/<number:id>/owner", owner.OwnerView.as_view(), name="object_owner"),
    path("owners.csv", owners.as_csv, name="owners_csv"),
    path("owners", owners.owner_list, name="owners"),
    path("owners/hand-over", owners.HandOverView.as_view(), name="owners_hand_over"),
]
