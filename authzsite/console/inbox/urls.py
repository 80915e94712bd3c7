"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.inbox import room, settings

urlpatterns = [
    path("inbox", room.room, name="inbox"),
    path("inbox/settings", settings.room, name="inbox_settings"),
]
