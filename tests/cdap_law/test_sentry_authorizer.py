"""A realm whose privileges stand in a policy file of Apache Sentry: roles to groups, privileges to roles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from accounts import people
from catalog.nodes import Node
from lakewarden import authorizers, sentry_policies
from lakewarden.authorizers import BadConfiguration, Configured
from policies.decisions import ask
from policies.decisions import authorizers as fetching
from policies.errors import Invalid
from policies.services import members, patterns
from tests.cdap_law.world import BY, OPERATOR, a_cdap, held_by, text, user

PAGE = (Path(__file__).parents[2] / "docs/cdap.md").read_text()
pytestmark = pytest.mark.django_db


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """The file of the page."""
    [block] = re.findall(r"```text\n(\[groups\]\n.*?)```", PAGE, re.S)
    file = tmp_path / "sentry-provider.ini"
    file.write_text(block)
    return file


@pytest.fixture
def cdap(policy_file: Path, settings: Any) -> Node:
    """Its groups: alice is in `admin`, bob in `staff`."""
    config = {"file": str(policy_file), "instance": "cdap"}
    settings.LAKEWARDEN_AUTHORIZERS = {"cdap": Configured("sentry", config)}
    root = a_cdap("cdap")
    for who, group in (("alice", "admin"), ("bob", "staff")):
        members.join_group(people.ensure("group", group), user(who), **BY)
    return root


def may(root: Node, who: str, action: str, entity: str) -> bool:
    return bool(ask.ask_entity(user(who), action, root, text(entity)))


def forget() -> None:
    """As if the time had come to ask again."""
    known = fetching.of("cdap")
    assert known is not None
    known._kept.clear()


@pytest.mark.seed("S1-126", "S1-127", "S2-009")
def test_what_somebody_has_is_what_roles_give_their_groups(cdap: Node) -> None:
    for entity in ("namespace:ns1", "dataset:ns1.orders", "program:ns1.app.worker.etl"):
        assert may(cdap, "alice", "ADMIN", entity)
        assert not may(cdap, "bob", "ADMIN", entity)
        assert not may(cdap, "alice", "READ", entity)
    assert not may(cdap, "alice", "ADMIN", "dataset:ns2.orders")
    assert not may(cdap, "alice", "ADMIN", "stream:ns1.clicks"), "no role has it"
    assert held_by(cdap, "alice") == {
        ("ADMIN", held) for held in ("namespace:ns1", "program:ns1.*.*", "dataset:ns1.*")
    }


@pytest.mark.seed("S1-126", "S1-127")
@pytest.mark.parametrize(
    "line",
    [
        "[users]\nbob = admin",
        "[roles]\nx = user=bob->action=read",
        "[roles]\nx = instance=cdap->namespace=ns1",
        "[roles]\nx = instance=cdap->dataset=orders->action=read",
        "[roles]\nx = instance=cdap->namespace=ns1->action=fly",
        "[roles]\nx = instance=cdap->namespace=->action=read",
        "[groups]\nadmin = a\nadmin = b",
        "bob = admin",
    ],
)
def test_what_is_not_a_role_of_a_group_or_a_privilege_of_a_role_spoils_the_file(
    cdap: Node, policy_file: Path, line: str
) -> None:
    with pytest.raises(sentry_policies.NotUnderstood):
        sentry_policies.read(line, "cdap")
    policy_file.write_text(line)
    forget()
    assert not may(cdap, "alice", "ADMIN", "namespace:ns1")
    with pytest.raises(BadConfiguration, match="cannot be read"):
        authorizers.make("sentry", {"file": str(policy_file), "instance": "cdap"})


@pytest.mark.seed("S1-126", "S1-127")
def test_a_name_that_is_no_group_has_nothing_and_nothing_is_given_here(cdap: Node, policy_file: Path) -> None:
    policy_file.write_text(policy_file.read_text().replace("admin =", "bob =", 1))
    forget()
    assert not may(cdap, "bob", "ADMIN", "namespace:ns1")
    assert not may(cdap, "alice", "ADMIN", "namespace:ns1")
    with pytest.raises(Invalid, match="managed by its authorizer `sentry`"):
        patterns.grant(cdap, text("dataset:ns1.a"), user("bob"), ["READ"], by=OPERATOR)


@pytest.mark.seed("S1-159", "S2-009")
def test_the_file_is_read_again_with_each_fetch(cdap: Node, policy_file: Path) -> None:
    assert may(cdap, "alice", "ADMIN", "namespace:ns1")
    policy_file.write_text("[groups]\nstaff = r, gone\n[roles]\nr = instance=cdap->principal=etl->action=*")
    assert may(cdap, "alice", "ADMIN", "namespace:ns1"), "what was told a moment ago"
    forget()
    assert not may(cdap, "alice", "ADMIN", "namespace:ns1")
    assert all(may(cdap, "bob", action, "kerberosprincipal:etl") for action in ("READ", "ADMIN"))


def test_policies_of_another_instance_are_left_out() -> None:
    policies = sentry_policies.read(
        "[roles]\nr = instance=other->namespace=ns1->action=read, instance=cdap->action=admin", "cdap"
    )
    assert policies.roles == {"r": (("instance:cdap", "ADMIN"),)}


WRONG: list[dict[str, Any]] = [
    {},
    {"file": "/x"},
    {"file": "x.ini", "instance": "cdap"},
    {"file": "/nowhere/x.ini", "instance": "cdap"},
    {"file": "/etc/hostname", "instance": ""},
    {"file": "/etc/hostname", "instance": "cdap", "admin": "keepers"},
]


@pytest.mark.django_db(transaction=False)
@pytest.mark.parametrize("config", WRONG)
def test_a_wrong_configuration_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration, match="sentry"):
        authorizers.make("sentry", config)
