"""A NameNode and a DataNode of Apache Hadoop on loopback, with access lists on."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.sax.saxutils import escape

from tests.real.servers import Server, classpath, free_port, java

NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
LOGGING = """log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
"""


class Cluster(Server):
    """HDFS as its superuser `hdfs` finds it; `ask` is WebHDFS as anybody."""

    def __init__(self) -> None:
        super().__init__("hdfs")
        self.port, self.rpc = free_port(), free_port()
        self._configure()
        path = f"{self.home / 'conf'}:{classpath('hdfs')}"
        who = {"HADOOP_USER_NAME": "hdfs"}
        settings = [f"-Dhadoop.log.dir={self.home}"]
        self.once(java(NAMENODE, "-format", "-nonInteractive", path=path, settings=settings), **who)
        self.run(java(NAMENODE, path=path, heap=384, settings=settings), **who)
        self.run(java(DATANODE, path=path, heap=256, settings=settings), **who)
        self.wait(self._takes_files)

    def _configure(self) -> None:
        conf = self.home / "conf"
        for pages in ("hdfs", "datanode", "static"):  # the server wants these folders, though nobody looks
            (conf / "webapps" / pages).mkdir(parents=True)
        (conf / "log4j.properties").write_text(LOGGING)
        _write(conf / "core-site.xml", {"fs.defaultFS": f"hdfs://127.0.0.1:{self.rpc}"})
        settings = {
            "dfs.namenode.name.dir": f"file://{self.home}/name",
            "dfs.datanode.data.dir": f"file://{self.home}/data",
            "dfs.namenode.http-address": f"127.0.0.1:{self.port}",
            "dfs.namenode.acls.enabled": "true",
            "dfs.replication": "1",
            "dfs.ls.limit": "4",  # a small batch shows whoever does not go on
            "dfs.namenode.fs-limits.min-block-size": "1",
            **{
                f"dfs.datanode.{name}": f"127.0.0.1:{free_port()}"
                for name in ("address", "http.address", "ipc.address")
            },
        }
        _write(conf / "hdfs-site.xml", settings)

    def _takes_files(self) -> bool:
        return self.ask("PUT", "/ready", "CREATE", overwrite="true")[0] == 201

    def set(self, *, forget: bool) -> None:
        """Remove what a site made."""
        assert forget
        self.call("DELETE", "/lake", "DELETE", recursive="true")

    def ask(
        self, method: str, path: str, op: str, *, user: str = "hdfs", data: bytes = b"", **more: str
    ) -> tuple[int, Any]:
        query = {
            "op": op,
            "user.name": user,
            **{name.replace("__", "."): value for name, value in more.items()},
        }
        status, content = _follow(
            method, f"http://127.0.0.1:{self.port}/webhdfs/v1{quote(path)}?{urlencode(query)}", data
        )
        try:
            return status, json.loads(content) if content else None
        except ValueError:
            return status, content

    def call(self, method: str, path: str, op: str, **more: Any) -> Any:
        """The answer; fails the test when it is refused."""
        status, value = self.ask(method, path, op, **more)
        assert status in (200, 201), value
        return value


def _follow(method: str, url: str, data: bytes) -> tuple[int, bytes]:
    """One call, and the call at the DataNode that it is sent on to."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        line.request(
            method, f"{parts.path}?{parts.query}", data or None, {"Content-Type": "application/octet-stream"}
        )
        answer = line.getresponse()
        content, onward = answer.read(), answer.getheader("Location", "")
    finally:
        line.close()
    return _follow(method, onward, data) if answer.status == 307 else (answer.status, content)


def _write(path: Any, settings: dict[str, str]) -> None:
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    path.write_text(f"<configuration>{rows}</configuration>")
