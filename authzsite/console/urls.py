"""The addresses of the console, area by area."""

from django.urls import include, path

app_name = "console"
AREAS = (
    "access",
    "accounts",
    "as_of",
    "catalog",
    "cdap",
    "downloads",
    "emergency",
    "help",
    "herd",
    "history",
    "home",
    "inbox",
    "insights",
    "lifecycle",
    "lists",
    "objects",
    "people",
    "requests",
    "reviews",
    "roles",
    "search",
    "separation",
    "settings",
    "sync",
    "why",
)
urlpatterns = [path("", include(f"{__package__}.{area}.urls")) for area in AREAS]
