from django.apps import AppConfig
from django.core import checks

from authzsite.checks import no_dangers, no_lost_migrations


class SiteConfig(AppConfig):
    name = "authzsite"
    verbose_name = "Lakewarden"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        checks.register(no_dangers, checks.Tags.security)
        checks.register(no_lost_migrations, checks.Tags.database)
