"""A Herd is made, and its roles are given, at the operator's shell."""

from __future__ import annotations

from catalog.nodes import Node
from tests.commands.test_commands import Shell, shell
from tests.herd.world import ENTRIES, REST, Caller, namespaces, the_herd

__all__ = ["shell"]


def test_a_herd_is_made_with_its_roles(db: None, shell: Shell) -> None:
    assert shell("createrealm herd herd --owner admin")[0] == 0
    namespaces(the_herd(), "SALES")
    admin, dana = Caller("admin"), Caller("dana")
    assert admin.create("dana", "SALES", "GRANT", "READ").status_code == 200
    assert dana.get(f"{ENTRIES}/namespaces/SALES").status_code == 403
    code, out, _ = shell("assignrole herd DATA_OWNER user:dana")
    assert (code, out) == (0, "assigned DATA_OWNER: user:dana"), "nobody need be admitted first"
    assert dana.get(f"{ENTRIES}/namespaces/SALES").status_code == 200
    assert dana.get(f"{REST}/currentUser").json()["securityRoles"] == ["DATA_OWNER"]
    assert shell("assignrole herd DATA_OWNER user:dana --remove")[0] == 0
    assert dana.get(f"{ENTRIES}/namespaces/SALES").status_code == 403


def test_groups_hold_roles_too(herd: Node, shell: Shell, pdp: Caller) -> None:
    assert shell("assignrole herd OPS group:keepers")[0] == 0
    assert shell("addmember herd group:keepers user:kim")[0] == 0
    assert pdp.may("kim", "storage_policy", "")
    assert not pdp.may("dana", "storage_policy", "")


def test_there_are_no_other_roles(herd: Node, shell: Shell) -> None:
    code, out, err = shell("assignrole herd OWNER user:dana")
    assert (code, out, err) == (1, "", "there is no role `OWNER` in herd")


def test_only_the_administrator_gives_roles(herd: Node, pdp: Caller, olivia: Caller) -> None:
    assert pdp.may("admin", "Role.assignRole", "")
    assert not pdp.may("olivia", "Role.assignRole", "")
    assert not pdp.may("nobody", "Role.assignRole", "")
