"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.lifecycle import done, joiner, leaver

urlpatterns = [
    path("people/done/<str:nonce>", done.room, name="person_done"),
    path("people/<number:id>/leaving", leaver.room, name="person_leaving"),
    path("people/<number:id>/same", joiner.room, name="person_same"),
]
