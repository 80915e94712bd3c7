from typing import Any

from django.conf import settings

from authzsite import embedded
from authzsite.bounded_database import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Commands that never ask the database (`check`, `makemigrations --check`) start no server."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        server = embedded.console_database(settings.VAR)
        # while its keeper lives it starts the server again, and nobody waits for that: what cannot connect
        # says so at once, as with a server of your own
        if not (server.held and server.running):
            server.start()
        return super().get_new_connection(conn_params)
