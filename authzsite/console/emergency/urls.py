"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.emergency import one, room

urlpatterns = [
    path("emergency", room.room, name="emergencies"),
    path("emergency.csv", room.as_csv, name="emergencies_csv"),
    path("emergency/<number:id>", one.room, name="emergency"),
]
