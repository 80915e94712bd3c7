"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.separation import exceptions, making, room, rule

urlpatterns = [
    path("realms/<number:id>/separation", room.room, name="separation"),
    path("realms/<number:id>/separation/new", making.new, name="separation_new"),
    path("separation/<number:id>", rule.room, name="separation_rule"),
    path("separation/<number:id>/end", rule.end, name="separation_end"),
    path("separation/<number:id>/let", exceptions.let, name="separation_let"),
    path("separation/<number:id>/let/end", exceptions.end, name="separation_let_end"),
]
