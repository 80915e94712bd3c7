from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "authzsite"
    verbose_name = "Lakewarden"
    default_auto_field = "django.db.models.BigAutoField"
