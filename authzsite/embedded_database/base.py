from typing import Any

from django.conf import settings

from authzsite import embedded
from authzsite.bounded_database import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Commands that never ask the database (`check`, `makemigrations --check`) start no server."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        embedded.console_database(settings.VAR).start()
        return super().get_new_connection(conn_params)
