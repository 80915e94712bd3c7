"""The addresses of this area: The past of objects, people and roles."""

from django.urls import path

from authzsite.console.as_of import files as as_of_files
from authzsite.console.as_of import objects as as_of_objects
from authzsite.console.as_of import people as as_of_people
from authzsite.console.as_of import roles as as_of_roles

urlpatterns = [
    path("objects/<number:id>/then", as_of_objects.object_as_of, name="object_then"),
    path("objects/<number:id>/evidence", as_of_objects.take_away, name="object_evidence"),
    path("people/<number:id>/then", as_of_people.person_as_of, name="person_then"),
    path("roles/<number:id>/then", as_of_roles.role_as_of, name="role_then"),
    path("people/<number:id>/then.csv", as_of_files.of_person, name="person_then_csv"),
    path("objects/<number:id>/then.csv", as_of_files.of_object, name="object_then_csv"),
    path("roles/<number:id>/then.csv", as_of_files.of_role, name="role_then_csv"),
]
