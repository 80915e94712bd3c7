"""The addresses of this area: People and groups."""

from django.urls import path

from authzsite.console.people import group_members, person, person_groups, person_roles
from authzsite.console.people import views as people_views

urlpatterns = [
    path("people", people_views.people_list, name="people"),
    path("people.csv", people_views.as_csv, name="people_csv"),
    path("people/<number:id>", person.person, name="person"),
    path("people/<number:id>/reach.csv", person.person_csv, name="person_csv"),
    path("people/<number:id>/groups", person_groups.membership_list, name="person_groups"),
    path("people/<number:id>/history", person.past, name="person_history"),
    path("people/<number:id>/roles", person_roles.PersonRolesView.as_view(), name="person_roles"),
    path("people/<number:id>/grant", people_views.grant, name="person_grant"),
    path("groups/new", group_members.NewGroupView.as_view(), name="group_new"),
    path("groups/<number:id>/join", group_members.JoinView.as_view(), name="group_join"),
    path("groups/<number:id>/leave", group_members.LeaveView.as_view(), name="group_leave"),
]
