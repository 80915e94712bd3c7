"""A CDAP 4.3.0 on loopback, authorization on, whose extension keeps in memory what is granted."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.real.cdap_server.java8 import java8
from tests.real.servers import Server, classpath, free_port

HERE = Path(__file__).parent
MASTER = "cdap"
PASSWORD = "secret"
LOOPBACK = (
    *("master.services", "data.tx", "router", "security.auth.server", "stream", "metadata.service"),
    *("metrics.query", "remote.system.op.service", "log.saver.status", "metrics.processor.status"),
)
BOUNDS = ("-Xmx768m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# its store of keys keeps a class of its own in a keystore, which later releases of Java 8 refuse
KEYS = "-Djceks.key.serialFilter=*"
LOGGING = (
    '<configuration><appender name="S" class="ch.qos.logback.core.ConsoleAppender"><encoder>'
    "<pattern>%d %p %c - %m%n</pattern></encoder></appender>"
    '<root level="WARN"><appender-ref ref="S"/></root></configuration>'
)


class Cdap(Server):
    """One process: router, services and the server that gives tokens for names and passwords."""

    def __init__(self, *people: str) -> None:
        program, self._path = java8(), classpath("cdap_server")
        super().__init__("cdap")
        self.port, self._tokens_port = free_port(), free_port()
        self._tokens: dict[str, str] = {}
        self.jar = self._jar("Shop")
        self._configure(self._jar("Kept"), people)
        command = [*program, *BOUNDS, KEYS, "-cp", f"{self.home / 'conf'}:{self._path}"]
        self.run([*command, "co.cask.cdap.StandaloneMain"], HADOOP_USER_NAME=MASTER)
        self.wait(lambda: "Sandbox started successfully" in self.log.read_text(errors="replace"))

    def token(self, who: str) -> str:
        """What CDAP's own authentication server gives somebody for name and password."""
        if who not in self._tokens:
            line = HTTPConnection("127.0.0.1", self._tokens_port, timeout=60)
            basic = base64.b64encode(f"{who}:{PASSWORD}".encode()).decode()
            line.request("GET", "/token", headers={"Authorization": f"Basic {basic}"})
            self._tokens[who] = json.loads(line.getresponse().read())["access_token"]
            line.close()
        return self._tokens[who]

    def _jar(self, name: str) -> Path:
        """A program of ours, compiled against CDAP's interfaces; its manifest names the class."""
        compiler, jar = shutil.which("javac"), shutil.which("jar")
        if not compiler or not jar:
            pytest.skip("javac is missing; on Debian: apt-get install default-jdk")
        classes, manifest = self.home / name, self.home / f"{name}.mf"
        classes.mkdir()
        manifest.write_text(f"Main-Class: {name}\n")
        source = str(HERE / f"{name}.java")
        self.once([compiler, "--release", "8", "-nowarn", "-d", str(classes), "-cp", self._path, source])
        made = self.home / f"{name.lower()}.jar"
        subprocess.run([jar, "cfm", str(made), str(manifest), "-C", str(classes), "."], check=True)
        return made

    def _configure(self, extension: Path, people: tuple[str, ...]) -> None:
        conf = self.home / "conf"
        conf.mkdir()
        realm = conf / "realm.properties"
        realm.write_text("".join(f"{name}: {PASSWORD},users\n" for name in (MASTER, *people)))
        security = "security.authorization"
        settings = {
            **{f"{service}.bind.address": "127.0.0.1" for service in LOOPBACK},
            "local.data.dir": self.home / "data",
            "router.bind.port": self.port,
            "security.auth.server.bind.port": self._tokens_port,
            "security.enabled": "true",
            "security.authentication.handlerClassName": "co.cask.cdap.security.server."
            "BasicAuthenticationHandler",
            "security.authentication.basic.realmfile": realm,
            # authorization wants the name of the master, and takes it without a Kerberos
            "kerberos.auth.enabled": "false",
            "cdap.master.kerberos.principal": MASTER,
            f"{security}.enabled": "true",
            f"{security}.extension.jar.path": extension,
            f"{security}.extension.config.master": MASTER,
            f"{security}.cache.ttl.secs": "0",
            "security.store.provider": "file",
            "enable.unrecoverable.reset": "true",
            "explore.enabled": "false",
            "audit.enabled": "false",
            "standalone.disable.ui": "true",
        }
        _write(conf / "cdap-site.xml", settings)
        _write(conf / "cdap-security.xml", {"security.store.file.password": PASSWORD})
        (conf / "logback.xml").write_text(LOGGING)


def _write(file: Path, settings: dict[str, object]) -> None:
    rows = (
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>\n{''.join(rows)}</configuration>\n")
