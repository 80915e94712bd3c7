"""The addresses of this area: The catalog."""

from django.urls import path

from authzsite.console.catalog import tree
from authzsite.console.catalog import views as catalog_views

urlpatterns = [
    path("catalog", catalog_views.top, name="catalog"),
    path("catalog/<number:id>", catalog_views.browse, name="browse"),
    path("catalog/<number:id>/nodes", tree.nodes, name="nodes"),
    path("catalog/<number:id>/list.csv", catalog_views.as_csv, name="browse_csv"),
]
