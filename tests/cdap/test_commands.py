"""CDAP's commands at the operator's shell: what each answers, what it changes, what it refuses."""

from __future__ import annotations

import pytest

from catalog.nodes import Node
from lakewarden.cdap.commands import COMMANDS, described, table
from policies.models import Change
from tests.cdap.world import Caller
from tests.commands.test_commands import Shell, shell

__all__ = ["shell"]

CHANGES: list[tuple[str, str]] = [
    ("create role ns1_administrator", "Successfully created role 'ns1_administrator'"),
    (
        "grant actions ADMIN on entity namespace:ns1 to role ns1_administrator",
        "Successfully granted action(s) 'ADMIN' on entity 'namespace:ns1' to ROLE 'ns1_administrator'",
    ),
    (
        "GRANT ACTIONS read,Write on ENTITY dataset:ns1.* to Role ns1_administrator",
        "Successfully granted action(s) 'READ,WRITE' on entity 'dataset:ns1.*' to ROLE 'ns1_administrator'",
    ),
    (
        "grant actions 'READ, EXECUTE, read' on entity Program:ns1.app1.* to user bob",
        "Successfully granted action(s) 'READ,EXECUTE' on entity 'program:ns1.app1.*' to USER 'bob'",
    ),
    (
        "add role ns1_administrator to group admin",
        "Successfully added role 'ns1_administrator' to 'group' 'admin'",
    ),
    (
        "remove role ns1_administrator from Group admin",
        "Successfully removed role 'ns1_administrator' from Group 'admin'",
    ),
    (
        "revoke actions EXECUTE on entity program:ns1.app1.* from user bob",
        "Successfully revoked action(s) 'EXECUTE' on entity 'program:ns1.app1.*' for USER 'bob'",
    ),
    (
        "revoke all on entity dataset:ns1.*",
        "Successfully revoked all actions on entity 'dataset:ns1.*' for all principals",
    ),
    ("drop role ns1_administrator", "Successfully dropped role 'ns1_administrator'"),
]


@pytest.mark.seed("S1-115", "S1-116", "S1-117", "S1-118", "S1-124", "S1-125")
def test_every_change_is_one_change_and_answers_as_the_original(cdap: Node, shell: Shell) -> None:
    for line, answer in CHANGES:
        before = Change.objects.count()
        assert shell(f'cdap "{line}"') == (0, answer, "")
        assert Change.objects.count() == before + 1, line


def test_words_may_be_typed_without_quotes(cdap: Node, shell: Shell) -> None:
    assert shell("cdap create role 'two words'") == (0, "Successfully created role 'two words'", "")
    assert "two words" in shell("cdap list roles")[1]


@pytest.mark.seed("S1-119", "S1-121", "S1-122", "S1-123")
def test_privileges_are_listed(cdap: Node, shell: Shell) -> None:
    for line in (
        "create role reader",
        "grant actions READ on entity dataset:ns1.orders to role reader",
        "grant actions WRITE on entity stream:ns1.* to group analysts",
        "grant actions EXECUTE on entity program:ns1.app.* to user alice",
        "add role reader to user alice",
    ):
        assert shell(f"cdap {line}")[0] == 0
    assert shell("cdap list privileges for role reader")[1].splitlines() == [
        "+=============================+",
        "| Authorizable       | Action |",
        "+=============================+",
        "| dataset:ns1.orders | READ   |",
        "+=============================+",
    ]
    assert "| stream:ns1.* | WRITE  |" in shell("cdap list privileges for group analysts")[1]
    mine = shell("cdap list privileges for USER alice")[1]
    assert "| program:ns1.app.*  | EXECUTE |" in mine
    assert "| dataset:ns1.orders | READ    |" in mine, "those of a role are listed with the own"
    assert len(shell("cdap list privileges for user nobody")[1].splitlines()) == 4


def test_roles_are_listed(cdap: Node, shell: Shell) -> None:
    for name in ("b", "a"):
        shell(f"cdap create role {name}")
    shell("cdap add role b to group g")
    lines = ["+======+", "| Role |", "+======+", "| a    |", "| b    |", "+======+"]
    assert shell("cdap list roles")[1].splitlines() == lines
    assert shell("cdap list roles for group g")[1].splitlines() == [*lines[:3], *lines[4:]]
    assert shell("cdap list roles for user g")[1].splitlines() == [*lines[:3], lines[-1]]


MISUSED: list[tuple[str, str]] = [
    ("", "`` is not a command; `help` lists them"),
    ("make tea", "`make tea` is not a command; `help` lists them"),
    (
        "grant actions READ",
        "this command is incomplete; write: grant actions <actions> on entity <entity> to",
    ),
    ("grant actions READ on entity dataset:ns.a to user", "write: grant actions <actions> on entity"),
    ("list privileges", "write: list privileges for <principal-type> <principal-name>"),
    ("grant actions READ on entity dataset:ns.a to wizard merlin", "write user, group or role NAME"),
    (
        "grant actions READ,FLY on entity dataset:ns.a to user bob",
        "`FLY` is not an action; the actions are READ",
    ),
    ("grant actions , on entity dataset:ns.a to user bob", "`` is not an action"),
    ("grant actions READ on entity dataset to user bob", "Cannot extract the entity type from dataset"),
    (
        "grant actions READ on entity view:ns.a to user bob",
        "Entity type VIEW does not support authorization.",
    ),
    (
        "grant actions READ on entity application:ns.a.1 to user bob",
        "Privilege can only be granted at the artifact/application level. If you are including version "
        "please remove it. Given entity: [ns, a, 1]",
    ),
    (
        "grant actions READ on entity program:ns.app.P to user bob",
        "When program type is not given, a program name can only contain a *",
    ),
    (
        "grant actions READ on entity dataset:ns to user bob",
        "Entity value is missing some parts or containing more parts. Expected: "
        "<namespace-name>.<entity-name>, given entity: [ns]",
    ),
    ("list roles for elf legolas", "write user, group or role NAME"),
    ("create role 'open", "a quotation mark is not closed"),
]


@pytest.mark.parametrize(("line", "told"), MISUSED, ids=[line for line, _ in MISUSED])
def test_misuse_is_one_line_and_changes_nothing(cdap: Node, shell: Shell, line: str, told: str) -> None:
    before = Change.objects.count()
    code, out, err = shell(f'cdap "{line}"')
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1
    assert Change.objects.count() == before


FAILED: list[tuple[str, str]] = [
    ("grant actions ALL on entity dataset:ns.a to user bob", "ALL"),
    ("grant actions READ on entity dataset:ns.a to role ghost", "there is no role ghost in cdap"),
    ("list privileges for role ghost", "there is no role ghost in cdap"),
    ("drop role ghost", "there is no role ghost in cdap"),
    ("add role ghost to user bob", "there is no role ghost in cdap"),
    ("create role taken", "Role taken already exists."),
    ("add role taken to role taken", "roles are given to users and groups"),
]


@pytest.mark.parametrize(("line", "told"), FAILED, ids=[line for line, _ in FAILED])
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    cdap: Node, shell: Shell, line: str, told: str
) -> None:
    shell("cdap create role taken")
    before = Change.objects.count()
    code, out, err = shell(f'cdap "{line}"')
    assert (code, out) == (1, "")
    assert told in err
    assert len(err.splitlines()) == 1
    assert Change.objects.count() == before


def test_the_realm_may_be_named(cdap: Node, db: None, shell: Shell) -> None:
    assert shell("createrealm cdap other --policy 4.3")[0] == 0
    assert shell('cdap --realm other "create role r"')[0] == 0
    assert "r" not in shell("cdap list roles")[1].split()
    assert shell('cdap --realm nowhere "list roles"')[:2] == (1, "")
    assert shell("createrealm herd flock")[0] == 0
    assert shell('cdap --realm flock "list roles"')[2] == "flock is no CDAP instance"


@pytest.mark.seed("S1-120")
def test_every_command_is_listed(cdap: Node, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell("cdap help") == (0, described(), "")
    assert len(described().splitlines()) == len(COMMANDS) == 11
    code, out, _ = shell("cdap --help")
    assert code == 0
    for command in COMMANDS:
        assert command.pattern in out


def test_a_name_draws_nothing_on_the_screen() -> None:
    assert table(("Role",), [("a\x1b[2Jb\nc",)]).splitlines()[3] == "| a?[2Jb?c |"


def test_a_change_by_command_counts_at_once(cdap: Node, shell: Shell) -> None:
    entity = {"namespace": "ns1", "dataset": "orders", "entity": "DATASET"}
    alice = Caller("alice")
    assert not alice.may("alice", "READ", entity)
    shell("cdap grant actions READ on entity dataset:ns1.ord* to user alice")
    assert alice.may("alice", "READ", entity)
    shell("cdap revoke actions READ on entity dataset:ns1.ord* from user alice")
    assert not alice.may("alice", "READ", entity)
    assert Change.objects.latest("pk").via == "operator"
