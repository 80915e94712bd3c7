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


class Gravitino(Server):
    """A release that was unpacked in the folder which `LAKEWARDEN_GRAVITINO_HOME` names; its store is H2."""

    def __init__(self) -> None:
        release = Path(os.environ.get(HOME) or pytest.skip(f"{HOME} names no release of Apache Gravitino"))
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
            path=f"{conf}:{release / 'libs'}/*",
            heap=768,
            settings=[f"-Dgravitino.log.path={self.home}", "--add-opens=java.sql/java.sql=ALL-UNNAMED"],
        )
        self.run(command, GRAVITINO_HOME=str(release), GRAVITINO_CONF_DIR=str(conf))
        self.wait(self._answers)

    def _answers(self) -> bool:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", "/configs")
            return line.getresponse().status == 200
        finally:
            line.close()
