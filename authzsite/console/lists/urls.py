"""The addresses of this area: what somebody chooses of a list."""

from django.urls import path

from authzsite.console.lists import views

urlpatterns = [
    path("lists/<slug:code>/display", views.display, name="list_display"),
    path("lists/<slug:code>/views", views.save, name="list_view_save"),
    path("lists/<slug:code>/views/<number:id>/delete", views.delete, name="list_view_delete"),
]
