"""The addresses of this area: Help."""

from django.urls import path

from authzsite.console.help import calls
from authzsite.console.help import views as help_views

urlpatterns = [
    path("help/calls", calls.calls_page, name="calls"),
    path("help", help_views.glossary_page, name="help"),
]
