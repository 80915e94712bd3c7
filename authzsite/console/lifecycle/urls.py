"""The addresses of this area."""

from django.urls import path

from authzsite.console.lifecycle import done, joiner, leaver

urlpatterns = [
    path("people/done/<str:nonce>", done.changes_made, name="person_done"),
    path("people/<number:id>/leaving", leaver.LeaverView.as_view(), name="person_leaving"),
    path("people/<number:id>/same", joiner.JoinerView.as_view(), name="person_same"),
]
