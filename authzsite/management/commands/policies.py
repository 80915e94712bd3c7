"""`manage.py policies`"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from django.core.management.base import CommandParser

from authzsite.management.base import OperatorCommand, realm_root
from catalog.nodes import Node
from lakewarden.client import policy_trees
from policies.policy_files import document, drift, imports
from policies.policy_files.applying import apply
from policies.policy_files.effects import Effects
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm


class Command(OperatorCommand):
    help = "Export a realm as a policy file, plan and apply a file, and show drift."

    def add_arguments(self, parser: CommandParser) -> None:
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="export|import|plan|apply|drift")
        export = deeds.add_parser("export", help="a realm as a policy file")
        export.add_argument("realm", metavar="REALM")
        export.add_argument("--out", metavar="FILE", type=Path)
        export.add_argument(
            "--tree", metavar="FOLDER", type=Path, help="a file for each role, catalog or namespace"
        )
        export.add_argument(
            "--without-objects", action="store_true", help="only objects with access of their own"
        )
        importing = deeds.add_parser(
            "import", help="convert access of another system to a policy file, with a report"
        )
        importing.add_argument("source", choices=imports.SOURCES)
        importing.add_argument("file", metavar="FILE", type=Path)
        importing.add_argument("--realm", required=True)
        importing.add_argument(
            "--catalog", default="", help="the catalog of the schemas, if the source has no catalogs"
        )
        importing.add_argument("--out", metavar="FILE", type=Path, required=True)
        plan = deeds.add_parser("plan", help="what a file would change; nothing is written")
        plan.add_argument("file", metavar="FILE", type=Path)
        plan.add_argument(
            "--replay", metavar="DAYS", type=int, help="also which uses of these days would be refused"
        )
        drifted = deeds.add_parser("drift", help="changes made in a realm outside its policy files")
        drifted.add_argument("realm", metavar="REALM")
        applying = deeds.add_parser("apply", help="apply a plan as it was reviewed")
        applying.add_argument("file", metavar="FILE", type=Path)
        applying.add_argument("--plan", required=True, metavar="DIGEST", help="as `plan` printed it")
        applying.add_argument("--reason", default="")

    def run(self, *, deed: str, **options: object) -> None:
        if deed == "export":
            self._export(realm_root(str(options["realm"])), options)
        elif deed == "drift":
            self._drift(str(options["realm"]))
        elif deed == "import":
            self._import(options)
        elif deed == "plan":
            days = options["replay"]
            file = self._read(Path(str(options["file"])))
            plan = Plan(realm_root(file.realm), file)
            for title, steps in (("add", plan.adds), ("change", plan.changes), ("REMOVE", plan.removals)):
                for step in steps:
                    self.stdout.write(f"{title} {step}")
            counts = f"{len(plan.adds)} to add, {len(plan.changes)} to change, {len(plan.removals)} to REMOVE"
            self.stdout.write(f"{counts}\nplan {plan.digest}")
            if isinstance(days, int):
                self._replay(Effects(plan, days=days, progress=lambda done, total: None))
            sys.exit(4 if plan.removals else 3 if plan.steps else 0)
        else:
            self._apply(Path(str(options["file"])), str(options["plan"]), str(options["reason"]))

    def _drift(self, realm: str) -> None:
        files = drift.of_root(realm_root(realm))
        for file in files:
            lost = "" if file.kept.file else "; its content is lost, apply it again"
            self.stdout.write(f"file that owns {', '.join(file.kept.owns)}: {len(file.lines)} differ{lost}")
            for line in file.lines:
                change = f" (change {line.change.revision})" if line.change else ""
                self.stdout.write(f"  {line.action} {line}{change}")
        sys.exit(3 if any(file.lines or file.kept.file is None for file in files) else 0)

    def _export(self, root: Node, options: Mapping[str, object]) -> None:
        out, tree, objects = options["out"], options["tree"], not options["without_objects"]
        present = of_realm(root)
        try:
            if tree is not None:
                files = document.tree_of(root, present, objects=objects)
                folder = Path(str(tree))
                self.stdout.write(policy_trees.summary(str(folder), *policy_trees.write(folder, files)))
            elif out is not None:
                Path(str(out)).write_text(document.write(root, present, objects=objects))
            else:
                self.stdout.write(document.write(root, present, objects=objects), ending="")
        except OSError as error:
            self.fail(f"{error.filename}: {error.strerror}")

    def _import(self, options: Mapping[str, object]) -> None:
        text, out = self._text(Path(str(options["file"]))), Path(str(options["out"]))
        where = {"realm": str(options["realm"]), "catalog": str(options["catalog"])}
        draft = imports.read(str(options["source"]), text, **where)
        try:
            out.write_text(draft.text())
        except OSError as error:
            self.fail(f"{out}: {error.strerror}")
        for problem in draft.left_out:
            self.stdout.write(f"LEFT OUT {problem.what}: {problem.why}")
        for problem in draft.added:
            self.stdout.write(f"added {problem.what}: {problem.why}")
        self.stdout.write(f"{len(draft.left_out)} left out, {len(draft.added)} added")

    def _replay(self, effects: Effects) -> None:
        reported, objects = effects.replay.coverage
        self.stdout.write(
            f"the reports of {effects.days} days cover {reported} of {objects} objects with data"
        )
        for use in effects.replay.refused:
            self.stdout.write(
                f"refused: {use.person} {use.action} {use.node.ref}, {use.times} times, last {use.last}"
            )

    def _apply(self, path: Path, seen: str, reason: str) -> None:
        file = self._read(path)
        plan = apply(realm_root(file.realm), file, seen=seen, by=self.by, reason=reason)
        self.stdout.write(f"{len(plan.steps)} steps applied to {file.realm}")

    def _read(self, path: Path) -> document.PolicyFile:
        return document.read(self._text(path))

    def _text(self, path: Path) -> str:
        try:
            return policy_trees.read(path) if path.is_dir() else path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            self.fail(f"{path}: {error}", code=2)
