"""Apache Gravitino on loopback, authorization on, everybody coming by name."""

from __future__ import annotations

import http.client
import os
from pathlib import Path

import pytest

from tests.api_gravitino.world import ADMIN
from tests.peers.site import ADMIN as PEER
from tests.real.servers import Server, free_port, java

MAIN = "org.apache.gravitino.server.GravitinoServer"
HOME = "LAKEWARDEN_GRAVITINO_HOME"


def release() -> Path:
    """An unpacked release; without one the tests are skipped, since no registry in reach has the server."""
    if HOME not in os.environ:
        pytest.skip(f"{HOME} names no unpacked release of Apache Gravitino")
    return Path(os.environ[HOME])


class Gravitino(Server):
    """One process whose store is H2."""

    def __init__(self) -> None:
        home = release()
        super().__init__("gravitino")
        self.port = free_port()
        conf = self.home / "conf"
        conf.mkdir()
        settings = {
            "gravitino.server.webserver.host": "127.0.0.1",
            "gravitino.server.webserver.httpPort": self.port,
            "gravitino.server.shutdown.timeout": 3000,
            "gravitino.entity.store": "relational",
            "gravitino.entity.store.relational": "JDBCBackend",
            "gravitino.entity.store.relational.jdbcUrl": "jdbc:h2",
            "gravitino.entity.store.relational.jdbcDriver": "org.h2.Driver",
            "gravitino.entity.store.relational.jdbcUser": "gravitino",
            "gravitino.entity.store.relational.jdbcPassword": "gravitino",
            "gravitino.entity.store.relational.storagePath": self.home / "h2",
            "gravitino.authenticators": "simple",
            "gravitino.authorization.enable": "true",
            "gravitino.authorization.serviceAdmins": f"{ADMIN},{PEER}",
            "gravitino.auxService.names": "",
        }
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (conf / "gravitino.conf").write_text(text)
        command = java(
            MAIN,
            path=f"{conf}:{home / 'libs'}/*",
            heap=768,
            classes=768,  # each catalog loads its own, and keeps them for an hour
            settings=[f"-Dgravitino.log.path={self.home}", "--add-opens=java.sql/java.sql=ALL-UNNAMED"],
        )
        self.run(command, GRAVITINO_HOME=str(home), GRAVITINO_CONF_DIR=str(conf))
        self.wait(self._answers)

    def _answers(self) -> bool:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", "/configs")
            return line.getresponse().status == 200
        finally:
            line.close()
