"""Changes that are kept for a worker are the same changes when it reads them."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime

import pytest

from accounts.models import Principal
from catalog.nodes import Node
from lakewarden.law.facts import Level
from policies.errors import Gone
from policies.simulation import changes as proposals
from policies.simulation.changes import Target
from policies.simulation.stored_changes import KINDS, from_json, to_json
from tests.factories import a_person, a_shop, the

from .worlds import WORLDS


@pytest.mark.parametrize("law", WORLDS)
def test_changes_of_every_law_are_read_as_they_were_written(db: None, law: str) -> None:
    chance = random.Random(f"stored {law}")
    world = WORLDS[law](chance)
    changes = [world.propose(chance, world) for _ in range(60)]
    stored = json.loads(json.dumps(to_json(changes)))
    assert from_json(world.root, stored) == changes
    assert len({type(change) for change in changes}) > 4


def test_what_does_not_exist_yet_is_kept_by_its_name(db: None) -> None:
    root, ana = a_shop(), a_person("ana")
    levels = (root.levels[0], Level("role", -1))
    new = Node(-1, root.realm_id, root.kind, levels, (root.name, "new"))
    window = (None, datetime(2100, 1, 1, tzinfo=UTC))
    changes = [
        proposals.AssignRole(new, ana, window),
        proposals.AddToRole(new, Target(the("table", "shop.sales.orders")), ("SELECT_TABLE",)),
        proposals.GrantAccess(Target(new), ana, ("MANAGE_GRANTS",), window),
    ]
    assert from_json(root, to_json(changes)) == changes
    [joins] = from_json(root, to_json([proposals.AddMember(Principal(kind="user", name="nils"))]))
    assert [(who.pk, str(who)) for who in joins.people] == [(None, "user:nils")]


def test_what_is_gone_is_not_made_up(db: None) -> None:
    root = a_shop()
    with pytest.raises(Gone):
        from_json(root, [{"kind": "DropObject", "node": {"object": 10**9}}])


def test_every_kind_of_change_can_be_kept() -> None:
    assert set(KINDS) == {kind.__name__ for kind in vars(proposals).values() if _is_change(kind)}


def _is_change(value: object) -> bool:
    base = proposals.Change
    return isinstance(value, type) and issubclass(value, base) and value is not base
