"""The commands as an operator types them: what they print, how they exit, and that errors are one line."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import load_command_class

from accounts import people, tokens
from catalog.nodes import Node
from policies.decisions import duties
from policies.decisions.lookups.visible_objects import owner_of
from policies.models import Change
from tests.factories import the
from tests.sync.conftest import Source

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Shell:
    def __init__(self, captured: pytest.CaptureFixture[str]):
        self.captured = captured

    def __call__(self, line: str) -> tuple[int, str, str]:
        code = 0
        try:
            name, *arguments = shlex.split(line)
            # as run_from_argv does, but without closing the test's connection at the end
            command = load_command_class("authzsite", name)
            options = vars(command.create_parser("manage.py", name).parse_args(arguments))
            command.execute(*options.pop("args", ()), **options)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self.captured.readouterr()
        return code, out.strip(), err.strip()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_the_commands_of_the_page_about_sync_run_as_they_stand(
    db: None, shell: Shell, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "sync.md").read_text()
    block = re.search(r"## Realms.*?```\n(.*?)```", page, re.S)
    assert block
    lines = [line.removeprefix("python manage.py ") for line in block[1].strip().splitlines()]
    assert len(lines) == 9
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    people.make_account("ada")
    for line in lines:
        typed = line.replace("postgresql://lakewarden:$SHOP_PASSWORD@db/shop", source.url())
        code, out, err = shell(typed)
        expected = (
            1 if "sync" in line and the("catalog", "shop", "prod") and json.loads(out)["missing"] else 0
        )
        assert (code, err) == (expected, ""), line
        assert out, line


BAD_USE = [
    "createrealm oracle x",
    "createrealm",
    "createrealm herd ''",
    "createrealm gravitino 'nul\x01' --owner x",
    f"createrealm herd {'x' * 256}",
    "addmember demo alice",
    "addmember demo robot:r2",
    "duty demo fly user:ana",
    "createtoken ana --scope everything",
    "createtoken ana --days 0",
    "createtoken ana --days 99999999999",
    "connect demo/shop oracle --url x",
    "connect demo/shop postgresql --url postgresql://u:$NOT_SET@localhost/x",
    "connect demo/shop postgresql --url postgresql://u@example.org/x",
    "discover demo/..",
    "connect demo postgresql --url postgresql://u@localhost/x",
    "connect demo/shop postgresql --url postgresql://u@localhost:99999/x",
    "createrealm gravitino a/b --owner x",
    "createrealm gravitino c --owner ''",
    "createtoken ''",
    "createtoken ana --days soon",
    "sync --wait nan",
    "sync --wait -1",
    "assignrole demo browse user:ana robot:r2",
    "duty demo view_history user:ana robot:r2",
]
FAILURES = [
    "createrealm gravitino demo --owner x",
    "addmember nowhere user:ana",
    "assignrole demo no_such_role user:ana",
    "assignrole demo browse user:nobody",
    "duty demo/shop.nothing view_history user:ana",
    "discover demo/nothing",
    "discover demo/shop",
    "discover demo",
    "sync demo/shop",
    "addmember demo user:marek --remove",
]


@pytest.mark.parametrize(
    ("code", "line"), [*((2, line) for line in BAD_USE), *((1, line) for line in FAILURES)]
)
def test_errors_are_one_line_without_a_traceback_and_change_nothing(
    shop: Node, shell: Shell, code: int, line: str
) -> None:
    before = Change.objects.count()
    got, out, err = shell(line)
    assert (got, out) == (code, ""), err
    assert "Traceback" not in err
    assert err
    assert "\n" not in err
    assert Change.objects.count() == before


def test_a_console_database_that_does_not_answer_is_one_line() -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_audit"],
        cwd=DOCS.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "database" in done.stderr


def test_a_token_is_printed_alone_and_kept_as_a_digest(shop: Node, shell: Shell) -> None:
    code, text, err = shell("createtoken ana --scope check --days 3")
    assert (code, err) == (0, "")
    bearer = tokens.recognise(text)
    assert bearer
    assert bearer.principal.name == "ana"
    assert bearer.covers("check")
    assert not bearer.covers("manage")
    from accounts.models import Token

    row = Token.objects.get()
    assert text not in str(row.__dict__)
    assert tokens.revoke(row)
    assert not tokens.revoke(row)
    assert tokens.recognise(text) is None


def test_a_token_is_bound_to_addresses_and_replaced(shop: Node, shell: Shell) -> None:
    code, old, _ = shell("createtoken etl --service --scope report --address 10.1.0.0/16 --days 90")
    assert code == 0
    assert tokens.recognise(old) is None
    assert tokens.recognise(old, "10.1.2.3")
    code, new, err = shell(f"createtoken etl --service --replace {old[:10]} --days 90 --overlap 0")
    assert (code, err) == (0, "")
    assert tokens.recognise(old, "10.1.2.3") is None
    bearer = tokens.recognise(new, "10.1.2.3")
    assert bearer
    assert bearer.scopes == {"report"}
    assert shell(f"createtoken etl --service --replace {old[:10]}")[0] == 1
    assert shell("createtoken nobody --replace lw_x")[0] == 1
    assert people.find("user", "nobody") is None
    assert shell("createtoken etl --service --address here")[0] == 2


@pytest.mark.parametrize("text", ["", "lw_", "nonsense", "lw_" + "x" * 5000, "lw_\x00"])
def test_what_is_no_token_is_nobody(db: None, text: str) -> None:
    assert tokens.recognise(text) is None


def test_a_duty_covers_what_is_below_and_gives_no_data(shop: Node, shell: Shell) -> None:
    people.make_account("ana")
    ana = people.ensure("user", "ana")
    assert shell("duty demo/shop.sales view_history user:ana")[0] == 0
    assert duties.has(ana, "view_history", the("table", "shop.sales.orders"))
    assert not duties.has(ana, "view_history", the("table", "shop.stock.items"))
    assert not duties.has(ana, "export_history", the("table", "shop.sales.orders"))
    from policies.decisions import ask

    assert not ask.ask(ana, "read", the("table", "shop.sales.orders"))
    assert shell("duty demo/shop.sales view_history user:ana --remove")[0] == 0
    assert not duties.has(ana, "view_history", the("table", "shop.sales.orders"))


def test_commands_say_who_did_it_in_the_record(shop: Node, shell: Shell) -> None:
    shell("addmember demo user:newcomer")
    assert Change.objects.order_by("-revision").values_list("actor", "via").first() == (
        "operator",
        "operator",
    )


def test_the_lines_that_repair_a_lock_out_run_as_they_stand(shop: Node, shell: Shell) -> None:
    block = re.search(r"Without a browser.*?```\n(.*?)```", (DOCS / "sign-in.md").read_text(), re.S)
    assert block
    lines = [line.removeprefix("python manage.py ") for line in block[1].strip().splitlines()]
    people.make_account("ada", password="a-lake-is-deep-4711")
    listed, repaired, let_in = (shell(line.replace("prod", "demo")) for line in lines)
    assert listed == (0, "demo: user:marek owns it and cannot sign in", "")
    assert repaired == (0, "user:ada now owns demo; the repair is in its history", "")
    assert let_in == (0, "marek was not blocked", "")
    assert owner_of(the("metalake")) == people.find("user", "ada")
    assert Change.objects.order_by("-revision")[0].reason == "Marek left on Friday"
    assert shell("repair") == (0, "every realm has an owner who can sign in", "")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("repair demo", 2, "name the new owner with --owner"),
        ("repair --owner user:ada", 2, "name the realm that is to get another owner"),
        ("repair nowhere --owner user:ada --reason 'They left on Friday'", 1, "there is no realm `nowhere`"),
        ("repair demo --owner user:nobody --reason 'They left on Friday'", 1, "there is no user:nobody"),
        (
            "repair demo --owner user:ada --reason short",
            1,
            "A repair needs a reason of at least 10 characters.",
        ),
        ("repair demo --owner user:mia --reason 'They left on Friday'", 1, "mia cannot sign in either."),
    ],
)
def test_a_repair_that_cannot_be_is_said_in_a_line(
    line: str, code: int, said: str, shop: Node, shell: Shell
) -> None:
    people.make_account("ada", password="a-lake-is-deep-4711")
    before = Change.objects.count()
    assert shell(line) == (code, "", said)
    assert Change.objects.count() == before


def test_a_repair_is_refused_while_the_owner_can_come_in(shop: Node, shell: Shell) -> None:
    for name in ("marek", "ada"):
        people.make_account(name, password="a-lake-is-deep-4711")
    code, _, error = shell("repair demo --owner user:ada --reason 'They left on Friday'")
    assert (code, error) == (1, "marek, who owns demo, can sign in, and can hand it over.")


def test_verify_audit_says_whole_or_names_the_break(shop: Node, shell: Shell) -> None:
    code, out, _ = shell("verify_audit")
    assert code == 0
    assert out.startswith("intact: ")
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE policies_change DISABLE TRIGGER USER")
        cursor.execute("UPDATE policies_change SET reason = 'x' WHERE revision = 2")
    code, out, err = shell("verify_audit")
    assert (code, out) == (1, "")
    assert "revision 2 was changed" in err
