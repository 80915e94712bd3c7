"""The addresses of requests."""

from django.urls import path

from authzsite.console.asking import ask, away, decide, must_say, on_object, one, room, together

urlpatterns = [
    path("requests", room.room, name="requests"),
    path("requests.csv", room.as_csv, name="requests_csv"),
    path("requests/count", room.count, name="requests_count"),
    path("requests/new", ask.room, name="request_new"),
    path("requests/new/foresee", ask.foresee, name="request_foresee"),
    path("requests/together", together.room, name="requests_together"),
    path("requests/<number:id>", one.room, name="request"),
    path("requests/<number:id>/decide", decide.room, name="request_decide"),
    path("requests/<number:id>/withdraw", one.withdraw, name="request_withdraw"),
    path("requests/<number:id>/answer", one.answer, name="request_answer"),
    path("objects/<number:id>/requests", on_object.room, name="object_requests"),
    path("objects/<number:id>/asking", must_say.room, name="request_rules"),
    path("profile/away", away.room, name="substitutes"),
    path("profile/away/end", away.call_off, name="substitute_end"),
]
