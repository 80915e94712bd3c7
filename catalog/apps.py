from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """What: realms and the objects in them."""

    name = "catalog"
    default_auto_field = "django.db.models.BigAutoField"
