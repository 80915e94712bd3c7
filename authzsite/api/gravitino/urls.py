from django.urls import path, re_path

from authzsite.api.gravitino import entry, site

urlpatterns = [
    re_path(r"^api(?:/.*)?$", entry.answer, name="gravitino"),
    path("configs", site.configs, name="gravitino-configs"),
    path("configs/", site.configs),
]
