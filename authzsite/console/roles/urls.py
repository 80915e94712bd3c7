"""The addresses of this area: Roles."""

from django.urls import path

from authzsite.console.roles import bulk_privileges, compare, holders, new_role, privileges, role
from authzsite.console.roles import views as roles_views

urlpatterns = [
    path("roles", roles_views.role_list, name="roles"),
    path("roles.csv", roles_views.as_csv, name="roles_csv"),
    path("roles/new", new_role.NewRoleView.as_view(), name="role_new"),
    path("roles/compare", compare.comparison, name="role_compare"),
    path("roles/<number:id>/many", bulk_privileges.choose, name="role_many"),
    path("roles/<number:id>/many/give", bulk_privileges.BulkPrivilegesView.as_view(), name="role_many_give"),
    path("roles/<number:id>", role.role_detail, name="role"),
    path("roles/<number:id>/assign", holders.AssignView.as_view(), name="role_assign"),
    path("roles/<number:id>/unassign", holders.UnassignView.as_view(), name="role_unassign"),
    path("roles/<number:id>/delete", holders.DeleteRoleView.as_view(), name="role_delete"),
    path("roles/<number:id>/give", privileges.choose, name="role_give"),
    path("roles/<number:id>/give/<number:on>", privileges.RolePrivilegesView.as_view(), name="role_give_on"),
]
