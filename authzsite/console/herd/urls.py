"""The addresses of this area: Herd realms."""

from django.urls import path

from authzsite.console.herd import files as herd_files
from authzsite.console.herd import namespace, users
from authzsite.console.herd import roles as herd_roles
from authzsite.console.herd import views as herd_views
from authzsite.console.herd.new_namespace import NewNamespaceView

urlpatterns = [
    path("herds/<number:id>", herd_views.namespace_list, name="herd"),
    path("herds/<number:id>/new", NewNamespaceView.as_view(), name="namespace_new"),
    path("herds/<number:id>/mine", herd_views.mine, name="herd_mine"),
    path("herds/<number:id>/roles", herd_roles.RolesView.as_view(), name="herd_roles"),
    path("herds/<number:id>/roles/take", herd_roles.TakeRoleView.as_view(), name="herd_roles_take"),
    path("herds/<number:id>/users", users.user_entries, name="herd_user"),
    path("herds/<number:id>/users/remove", users.RemoveUserView.as_view(), name="herd_user_remove"),
    path("namespaces/<number:id>", namespace.NamespaceView.as_view(), name="namespace"),
    path(
        "namespaces/<number:id>/preview",
        namespace.NamespaceView.as_view(preview_only=True),
        name="namespace_preview",
    ),
    path("namespaces/<number:id>/history", namespace.history_tab, name="namespace_history"),
    path("herds/<number:id>/namespaces.csv", herd_files.of_namespaces, name="herd_csv"),
    path("herds/<number:id>/mine.csv", herd_files.of_mine, name="herd_mine_csv"),
    path("herds/<number:id>/roles.csv", herd_files.of_roles, name="herd_roles_csv"),
    path("herds/<number:id>/users.csv", herd_files.of_user, name="herd_user_csv"),
    path("namespaces/<number:id>/entries.csv", herd_files.of_entries, name="namespace_csv"),
    path("namespaces/<number:id>/delete", namespace.DeleteNamespaceView.as_view(), name="namespace_delete"),
]
