"""A second console: a process of its own over a database of its own, for one to sync into the other."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from typing import Any
from urllib.parse import quote

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import sql

from tests.waiting import PATIENCE

ADMIN = "peer_admin"
"""The account that this side comes as; over there it may make metalakes, and owns those it makes."""
SERVE = """
import sys, django; django.setup()
from concurrent.futures import ThreadPoolExecutor
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
class Quiet(WSGIRequestHandler):
    disable_nagle_algorithm = True  # or each answer's second part waits 40 ms
    def log_message(self, *args): pass
    def get_environ(self):
        # as the site's own server tells it: an escaped slash is part of a name
        return {**super().get_environ(), "RAW_URI": self.path}
class Server(ThreadedWSGIServer):
    # as the site's own: a thread that answered keeps its connection to the database for the next caller
    threads = ThreadPoolExecutor(64)
    def process_request(self, *call): self.threads.submit(self.process_request_thread, *call)
    def _close_connections(self): pass
server = Server(("127.0.0.1", 0), Quiet)
server.set_app(get_wsgi_application())
print(server.server_port, flush=True)
server.serve_forever()
"""
_numbers = count(1)


@dataclass(frozen=True)
class Said:
    status: int
    body: Any


class Peer:
    """Starts with a copy of the empty test database, and is gone with `stop`."""

    def __init__(self) -> None:
        own = connection.settings_dict
        self.database = f"{own['NAME']}_peer"
        self._own = {name: str(own[name]) for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")}
        connection.close()
        self._anew()
        environment = {
            **os.environ,
            "DATABASE_URL": self._url(self.database),
            "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE,
            "PYTHONPATH": os.pathsep.join([str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]),
            "LAKEWARDEN_AUTHENTICATORS": "session,token,simple",
            "LAKEWARDEN_SERVICE_ADMINS": ADMIN,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        with self._maintenance() as there:
            there.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self.database)))

    def send(self, method: str, path: str, body: Any = None, *, who: str = ADMIN, token: str = "") -> Said:
        """One call over bare HTTP, by name or by token."""
        wire = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        basic = base64.b64encode(f"{who}:dummy".encode()).decode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Authorization": f"Bearer {token}" if token else f"Basic {basic}",
        }
        wire.request(method, path, None if body is None else json.dumps(body), headers)
        answer = wire.getresponse()
        content = answer.read()
        wire.close()
        return Said(answer.status, json.loads(content) if content.startswith((b"{", b"[")) else content)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Straight into its database, past its law."""
        with psycopg.connect(self._url(self.database), autocommit=True) as there:
            cursor = None
            for statement in statements:
                cursor = there.execute(statement)
            return cursor.fetchall() if cursor is not None and cursor.description else []

    def manage(self, code: str) -> str:
        """Run a piece of Python over there, in a process of its own."""
        environment = {**os.environ, "DATABASE_URL": self._url(self.database)}
        environment["DJANGO_SETTINGS_MODULE"] = settings.SETTINGS_MODULE
        done = subprocess.run(
            [sys.executable, "-c", f"import django; django.setup()\n{code}"],
            env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _anew(self) -> None:
        with self._maintenance() as there:
            name = sql.Identifier(self.database)
            there.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            there.execute(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
                " WHERE datname = %s AND backend_type = 'client backend'",
                (self._own["NAME"],),
            )
            template = sql.Identifier(self._own["NAME"])
            there.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, template))

    def _maintenance(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._url("postgres"), autocommit=True)

    def _url(self, name: str) -> str:
        own = self._own
        secret = f":{quote(own['PASSWORD'], safe='')}" if own["PASSWORD"] else ""
        port = f"&port={own['PORT']}" if own["PORT"] else ""
        user, host = quote(own["USER"], safe=""), quote(own["HOST"], safe="")
        return f"postgresql://{user}{secret}@/{name}?host={host}{port}"


def new_name(word: str) -> str:
    return f"{word}{next(_numbers)}"
