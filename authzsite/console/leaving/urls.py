"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.leaving import done, leaver, same

urlpatterns = [
    path("people/done/<str:nonce>", done.room, name="person_done"),
    path("people/<number:id>/leaving", leaver.room, name="person_leaving"),
    path("people/<number:id>/same", same.room, name="person_same"),
]
