"""The addresses of this area: Search and the palette."""

from django.urls import path

from authzsite.console.search import names, palette
from authzsite.console.search import views as search_views

urlpatterns = [
    path("search", search_views.search_page, name="search"),
    path("search/found", palette.palette_results, name="found"),
    path("search/names", names.names, name="names"),
    path("search.csv", search_views.as_csv, name="search_csv"),
]
