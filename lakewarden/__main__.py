"""`python -m lakewarden check user:ana read table:demo/shop.sales.orders …`, `… why …`, `… snapshot demo`,
`… request user:ana read table:demo/shop.sales.orders --reason "…"`, `… cdap "list roles"`,
`… export demo`, `… plan access.yaml`, `… apply access.yaml --plan DIGEST`, `… drift demo`,
`… simulate demo unassign_role role=readers principal=user:ana --replay 90`, `… connect-server --realm demo`.

Leaves with 0 when all are yes or it is done, 1 when something is refused, 2 when there is no answer.
A plan leaves with 3 where it adds or changes something, with 4 where it removes something; applying leaves
with 5 where another person has to approve it first.  What differs from policy files leaves with 3.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lakewarden.cdap.commands import BadCommand, described, run, text_of
from lakewarden.cdap.rest import Line, Refused, Rest
from lakewarden.client import (
    AccessDenied,
    BadName,
    BadPrincipal,
    BadQuestion,
    Client,
    ConsoleError,
    gravitino_server,
    parse_resource,
    policy_files,
    policy_trees,
    simulations,
    terminal,
)
from lakewarden.client.snapshot import BadSnapshot, Snapshot, canonical
from lakewarden.client.transport import Unavailable, setting
from lakewarden.law.principals import Principal
from lakewarden.spark import server_environment

TIMEOUT = 30.0
FILE_TIMEOUT = 600.0
"""A file of 100,000 lines is planned and applied while the command waits, to know what became of it."""


class No(Exception):
    """The answer is a no; the text says why."""


class ToDo(Exception):
    """There is something to do, and the code says what."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="lakewarden",
        description="Commands for the console at LAKEWARDEN_URL, with the token in LAKEWARDEN_TOKEN.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_questions(commands)
    _add_requests_and_cdap(commands)
    _add_simulate(commands)
    _add_policies(commands)
    _add_drift(commands)
    _add_connect_server(commands)
    options = parser.parse_args(arguments)
    if arguments is None and options.do is _connect_server:
        server_environment.begin_again(sys.argv[1:], options.env)
    try:
        output: str = options.do(options)
    except (AccessDenied, Refused, No) as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    except ToDo as plan:
        sys.stdout.write(f"{plan}\n")
        return plan.code
    except (ConsoleError, BadName, BadPrincipal, BadCommand, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{output}\n")
    return 0


def _check(options: argparse.Namespace) -> str:
    if options.snapshot:
        _decide(Snapshot.read(Path(options.snapshot).read_bytes()), options)
    else:
        Client().require_many([(options.subject, options.action, each) for each in options.resource])
    return f"{options.subject} may {options.action} all {len(options.resource)}"


def _decide(held: Snapshot, options: argparse.Namespace) -> None:
    """Decide on a snapshot at hand, without the console."""
    if Principal.parse(options.subject) != held.principal:
        raise BadSnapshot("other", f"this is the snapshot of {held.principal}, not of {options.subject}")
    refused = [each for each in options.resource if not held.decide(options.action, parse_resource(each))]
    if refused:
        raise No("\n".join(f"{options.subject} may not {options.action} {each}" for each in refused))


def _why(options: argparse.Namespace) -> str:
    explained = Client().explain(options.subject, options.action, options.resource)
    try:
        text = "\n".join(map(_plain, terminal.why(explained)))
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console sent an explanation that cannot be read") from None
    if explained.get("decision") is not True:
        raise No(text)
    return text


def _snapshot(options: argparse.Namespace) -> str:
    document = Client().snapshot_document(options.realm, options.principal)
    snapshot = Snapshot.read(document)
    if options.out:
        Path(options.out).write_bytes(canonical(document))
    return _plain(terminal.held(snapshot))


def _request(options: argparse.Namespace) -> str:
    client, words = Client(), options.words
    if len(words) == 1 and words[0].isdecimal():
        number = int(words[0])
        return str(client.withdraw(number) if options.withdraw else client.request(number))
    if len(words) < 3 or not options.reason:
        raise BadQuestion("give a request's number; or a principal, an action, objects and --reason WHY")
    subject, action, *resources = words
    questions = [(subject, action, each) for each in resources]
    made = client.ask_for(
        questions, options.reason, lasts=options.lasts, ticket=options.ticket, key=options.key
    )
    return str(made)


def _simulate(options: argparse.Namespace) -> str:
    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text() if options.file else ""
    try:
        changes = json.loads(text) if text else [simulations.read_change(options.words)]
    except ValueError:
        raise BadQuestion(f"{options.file} is not JSON") from None
    client = Client(timeout=TIMEOUT)
    answer = client.simulate(options.realm, changes, replay_days=options.replay, progress=_progress)
    try:
        text = json.dumps(answer) if options.json else "\n".join(map(_plain, simulations.lines(answer)))
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console sent an answer that cannot be read") from None
    if simulations.refuses_uses(answer):
        raise No(text)
    return text


def _export(options: argparse.Namespace) -> str:
    client, whole = Client(timeout=FILE_TIMEOUT), not options.without_objects
    if options.tree:
        files = client.export_policies(options.realm, objects=whole, tree=True)
        return policy_trees.summary(options.tree, *policy_trees.write(Path(options.tree), files))
    text = client.export_policies(options.realm, objects=whole)
    if options.out:
        Path(options.out).write_text(text)
        return f"{options.realm} is written to {options.out}"
    return text.rstrip("\n")


def _import(options: argparse.Namespace) -> str:
    client = Client(timeout=FILE_TIMEOUT)
    over_rest = options.source == "gravitino" and options.file.startswith(("http://", "https://"))
    text = (
        json.dumps(gravitino_server.answers(options.file, _progress)) if over_rest else _text_of(options.file)
    )
    answer = client.import_policies(options.source, text, realm=options.realm, catalog=options.catalog)
    try:
        Path(options.out).write_text(answer["file"], encoding="utf-8")
        return "\n".join(map(_plain, policy_files.report(answer)))
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console's answer is not a policy file") from None


def _plan(options: argparse.Namespace) -> str:
    client = Client(timeout=FILE_TIMEOUT)
    planned = client.plan_policies(_text_of(options.file), replay_days=options.replay, progress=_progress)
    try:
        text = json.dumps(planned) if options.json else "\n".join(map(_plain, policy_files.lines(planned)))
        code = policy_files.leaves(planned)
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console's answer is not a plan") from None
    if code:
        raise ToDo(text, code)
    return text


def _apply(options: argparse.Namespace) -> str:
    done = Client(timeout=FILE_TIMEOUT).apply_policies(_text_of(options.file), options.plan, options.reason)
    try:
        text = json.dumps(done) if options.json else _plain(policy_files.applied(done))
        waits = done["waits_for"] is not None
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console's answer does not say what was applied") from None
    if waits:
        raise ToDo(text, policy_files.WAITS)
    return text


def _drift(asked: argparse.Namespace) -> str:
    answer = Client(timeout=FILE_TIMEOUT).policy_drift(asked.realm)
    try:
        lines = map(_plain, policy_files.drifted(answer, sections=asked.sections))
        text = json.dumps(answer) if asked.json else "\n".join(lines)
        code = policy_files.leaves_drift(answer)
    except (AttributeError, KeyError, TypeError):
        raise Unavailable("the console's answer does not say what differs") from None
    if code:
        raise ToDo(text, code)
    return text


def _progress(line: str) -> None:
    sys.stderr.write(f"{_plain(line)}\n")


def _text_of(path: str) -> str:
    try:
        if path != "-" and Path(path).is_dir():
            return policy_trees.read(Path(path))
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadQuestion(f"{path} is not UTF-8 text") from None


def _plain(text: str) -> str:
    # what the console sends must not steer the terminal
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _cdap(options: argparse.Namespace) -> str:
    line = Line(
        setting(None, "LAKEWARDEN_URL"),
        setting(None, "LAKEWARDEN_TOKEN"),
        timeout=TIMEOUT,
        attempts=1,
        ca=os.environ.get("LAKEWARDEN_CA") or None,
    )
    return run(text_of(options.words), Rest(line))


def _connect_server(options: argparse.Namespace) -> str:
    from lakewarden.spark.connect_server import Server, settings_of

    with server_environment.handed():
        client = Client()
    server = Server(client, options.realm, settings_of(options.catalog), settings_of(options.conf))
    with server:
        server.start(options.host, options.port)
        sys.stdout.write(f"serving sc://{options.host}:{options.port}, guarded by {server.console}\n")
        sys.stdout.flush()
        server.wait()
    return "stopped"


def _add_questions(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser("check", help="check whether a principal may act on all of these objects")
    check.add_argument("subject", help="user:NAME, group:NAME or service:NAME")
    check.add_argument("action", help="read, write, use … or an operation name")
    check.add_argument("resource", nargs="+", help="table:realm/catalog.schema.table")
    check.add_argument("--snapshot", metavar="FILE", help="decide by this snapshot, without the console")
    check.set_defaults(do=_check)
    why = commands.add_parser("why", help="explain one decision as a tree")
    why.add_argument("subject", help="user:NAME, group:NAME or service:NAME")
    why.add_argument("action", help="read, write, use … or an operation name")
    why.add_argument("resource", help="table:realm/catalog.schema.table")
    why.set_defaults(do=_why)
    snapshot = commands.add_parser("snapshot", help="fetch the access of a principal in a realm")
    snapshot.add_argument("realm")
    snapshot.add_argument("--for", dest="principal", metavar="KIND:NAME", help="default: the token's own")
    snapshot.add_argument("--out", metavar="FILE", help="where to save it, for `check --snapshot`")
    snapshot.set_defaults(do=_snapshot)


def _add_requests_and_cdap(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    request = commands.add_parser("request", help="request access, or show the state of a request")
    request.add_argument(
        "words", nargs="+", metavar="word", help="a request's number; or a principal, an action and objects"
    )
    request.add_argument("--reason", default="", help="why the access is needed")
    request.add_argument("--lasts", default="", metavar="P30D", help="for how long; default: no end")
    request.add_argument("--ticket", default="")
    request.add_argument("--key", default="", help="a key; requests sent again with it count as one")
    request.add_argument("--withdraw", action="store_true", help="withdraw the request with that number")
    request.set_defaults(do=_request)
    cdap = commands.add_parser(
        "cdap",
        help="CDAP's own security commands",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=described(),
    )
    cdap.add_argument("words", nargs="+", metavar="command", help="one of the commands below, quoted or not")
    cdap.set_defaults(do=_cdap)


def _add_simulate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    simulate = commands.add_parser("simulate", help="preview the effect of changes; nothing is changed")
    simulate.add_argument("realm")
    simulate.add_argument(
        "words", nargs="*", metavar="word", help="a change and its fields: revoke principal=user:ana …"
    )
    simulate.add_argument("--file", metavar="FILE", help="a JSON list of changes; - for standard input")
    simulate.add_argument("--replay", type=int, metavar="DAYS", help="also uses that would be refused")
    simulate.add_argument("--json", action="store_true", help="print the answer as JSON")
    simulate.set_defaults(do=_simulate)


def _add_policies(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = commands.add_parser("export", help="export a realm as a policy file")
    export.add_argument("realm")
    where = export.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="FILE")
    where.add_argument("--tree", metavar="FOLDER", help="a file for each role, catalog or namespace")
    export.add_argument(
        "--without-objects", action="store_true", help="only objects with access of their own"
    )
    export.set_defaults(do=_export)
    importing = commands.add_parser(
        "import", help="convert access of another system to a policy file, with a report"
    )
    importing.add_argument(
        "source", help="ranger, postgresql, mariadb, unity, lakeformation, gravitino or csv"
    )
    importing.add_argument(
        "file",
        metavar="FILE",
        help="the export of the other system, or the address of a metalake; - for standard input",
    )
    importing.add_argument("--realm", required=True, help="the realm of the policy file")
    importing.add_argument(
        "--catalog", default="", help="the catalog of the schemas, if the source has no catalogs"
    )
    importing.add_argument("--out", required=True, metavar="FILE", help="the policy file")
    importing.set_defaults(do=_import)
    plan = commands.add_parser(
        "plan", help="show what a policy file would change; exits 0: nothing, 3: adds or changes, 4: removals"
    )
    plan.add_argument("file", metavar="FILE", help="a policy file or a folder of them; - for standard input")
    plan.add_argument("--replay", type=int, metavar="DAYS", help="also uses that would be refused")
    plan.add_argument("--json", action="store_true", help="print the plan as JSON")
    plan.set_defaults(do=_plan)
    apply = commands.add_parser(
        "apply", help="apply a plan as it was reviewed; exits 5 if it waits for approval"
    )
    apply.add_argument("file", metavar="FILE", help="the file or folder that was planned")
    apply.add_argument("--plan", required=True, metavar="DIGEST", help="the digest that `plan` printed")
    apply.add_argument("--reason", default="", help="why, such as the commit and its author")
    apply.add_argument("--json", action="store_true", help="print what was applied or waits, as JSON")
    apply.set_defaults(do=_apply)


def _add_drift(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    drift = commands.add_parser(
        "drift", help="show changes made outside a realm's policy files; exits 3 if there are any"
    )
    drift.add_argument("realm")
    drift.add_argument("--sections", action="store_true", help="also what to paste into each file")
    drift.add_argument("--json", action="store_true", help="print everything as JSON, with the files")
    drift.set_defaults(do=_drift)


def _add_connect_server(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser("connect-server", help="a Spark Connect server with the guard inside")
    serve.add_argument("--realm", required=True, help="the realm whose rules decide")
    serve.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on; default: this machine only"
    )
    serve.add_argument("--port", type=int, default=15002)
    serve.add_argument(
        "--catalog",
        action="append",
        default=[],
        metavar="NAME=REALM/CATALOG",
        help="the governed catalog behind a catalog of Spark",
    )
    serve.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="settings of Spark")
    serve.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="a further variable for Spark to inherit; functions of its clients can read it",
    )
    serve.set_defaults(do=_connect_server)


if __name__ == "__main__":
    sys.exit(main())
