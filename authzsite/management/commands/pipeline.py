"""`manage.py pipeline`"""

from __future__ import annotations

import json
import time
from typing import Any

from django.core.management.base import CommandParser

from authzsite.environment import is_master
from authzsite.management.base import OperatorCommand, realm_root
from catalog.nodes import Node
from catalog.queries import root
from policies.analytics.pipelines import control, known, running
from policies.errors import Invalid
from policies.models import PipelineRun

AGAIN = 0.5  # seconds between two looks at a run that another process carries


class Command(OperatorCommand):
    help = "Run a pipeline over one realm or all. Prints one JSON line per run. Exits 0 if all succeed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=[item.name for item in known.every()])
        parser.add_argument("--realm", metavar="R", help="default: every realm")
        parser.add_argument("--master", default="", metavar="URL", help="default: SPARK_MASTER")

    def run(self, *, name: str, realm: str | None, master: str, **_: Any) -> None:
        if master and not is_master(master):
            raise Invalid(f"--master {master} is not local[*], spark://host:port, yarn or k8s://…")
        rows = [self._run(name, node, master) for node in self._roots(name, realm)]
        if troubled := [row for row in rows if row.state != "done"]:
            self.fail("; ".join(row.trouble or f"the run is {row.get_state_display()}" for row in troubled))

    def _roots(self, name: str, realm: str | None) -> list[Node | None]:
        if realm:
            return [realm_root(realm)]
        return [None] if known.get(name).of_site else [root(item) for item in control.open_realms()]

    def _run(self, name: str, node: Node | None, master: str) -> PipelineRun:
        running.bury()
        row = control.ask(name, node, by=self.by, master=master)
        if row.state == "running" and known.get(name).outside:
            self._wait(row)  # it may have looked before what the question is about
            row = control.ask(name, node, by=self.by, master=master)
        while row.state == "waiting" and not running.run(row):
            time.sleep(AGAIN)  # another process has the realm
            row.refresh_from_db()
        self._wait(row)
        self.stdout.write(json.dumps(line_of(row, node)))
        return row

    def _wait(self, row: PipelineRun) -> None:
        """Until another process, that carries the run, has ended it."""
        row.refresh_from_db()
        while row.state == "running":
            time.sleep(AGAIN)
            row.refresh_from_db()


def line_of(row: PipelineRun, node: Node | None) -> dict[str, Any]:
    """The public answer about one run."""
    seconds = (row.ended - row.started).total_seconds() if row.ended and row.started else 0.0
    return {
        "pipeline": row.name,
        "realm": node.realm if node else None,
        "revision": row.revision,
        "state": row.state,
        "seconds": round(seconds, 1),
        "master": row.master,
        "folder": row.folder,
        **({"trouble": row.trouble} if row.trouble else {}),
        "result": row.result,
    }
