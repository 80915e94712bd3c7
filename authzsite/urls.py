"""One server, one port: the console's pages and the HTTP surfaces."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(module))
    for module in ("authzsite.api.urls", "authzsite.console.urls")
    if find_spec(module.rpartition(".")[0]) and find_spec(module)
]
