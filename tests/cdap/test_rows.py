"""Every row of every generation's table, asked of `enforce` and `isVisible` as CDAP itself would ask it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from catalog.nodes import Node
from lakewarden.cdap.wire import write_entity
from lakewarden.law.dialects.cdap.authorizable import parse
from policies.authority import OPERATOR
from policies.services import entities
from tests.cdap.world import Caller, a_cdap, give
from tests.cdap_law.tables import ENTITIES, PRIVILEGES, ROWS, Need, Row

POLICIES = {"cdap34": "3.4", "cdap35": "3.5", "cdap43": "4.3"}
VISIBLE = "/v1/execute/isVisible"


class World:
    """A realm of one generation in which everything of the tables is there, and people who hold sets."""

    def __init__(self, law: str) -> None:
        self.law, self.root, self.pdp = law, a_cdap(POLICIES[law]), Caller("pdp", kind="service")
        self.names: dict[frozenset[tuple[str, str]], str] = {}
        self.answers: dict[tuple[str, Need], bool] = {}
        for text in sorted(
            ENTITIES.values(), key=lambda entity: (entity.count("."), "namespace" not in entity)
        ):
            if not text.startswith("instance:"):
                entities.create(self.root, parse(text), by=OPERATOR)

    def holder(self, held: Iterable[tuple[str, str]]) -> str:
        """Somebody who holds exactly these."""
        mine = frozenset(held)
        if mine not in self.names:
            self.names[mine] = f"holder{len(self.names)}"
            for code, text in mine:
                give(self.root, text, self.names[mine], code)
        return self.names[mine]

    def answered(self, name: str, need: Need) -> bool:
        key = (name, need)
        if key not in self.answers:
            self.answers[key] = self._ask(name, need)
        return self.answers[key]

    def _ask(self, name: str, need: Need) -> bool:
        entity = write_entity(parse(ENTITIES[need.type]))
        if not need.any:
            return all(self.pdp.may(name, code, entity) for code in need.privileges)
        if need.inside:
            asked = {"principal": {"name": name, "type": "USER"}, "entityIds": [entity]}
            return bool(self.pdp.send("POST", VISIBLE, asked).json() == [entity])
        return any(self.pdp.may(name, code, entity) for code in need.privileges)


def sets(row: Row) -> Iterable[frozenset[tuple[str, str]]]:
    """What is enough, each part of it alone, what is just not enough, and everything else on the entities."""
    enough = row.enough()
    yield enough
    for item in enough:
        yield enough - {item}
    places = {text for _, text in enough}
    wanted = {code for way in row.ways for need in way for code in need.privileges} | {"ALL"}
    yield frozenset((code, text) for code in PRIVILEGES[row.law] if code not in wanted for text in places)


@pytest.mark.parametrize("law", POLICIES)
def test_each_row_is_answered_by_status(db: None, law: str) -> None:
    world, wrong = World(law), []
    for row in {(item.ways, item.operation): item for item in ROWS[law]}.values():
        # where a level above must not count, and for what is in a namespace, CDAP asks more than once
        if any(need.itself for way in row.ways for need in way):
            continue
        for held in sets(row):
            name = world.holder(held)
            allowed = any(all(world.answered(name, need) for need in way) for way in row.ways)
            if allowed != row._replace(every="").allows(held):
                wrong.append((row.operation, sorted(held), allowed))
    assert not wrong


def test_the_world_is_asked_about_at_all(db: None) -> None:
    world: Any = World("cdap43")
    assert isinstance(world.root, Node)
    need = Need(("READ",), False, "dataset")
    assert not world.answered(world.holder([]), need)
    assert world.answered(world.holder([("READ", ENTITIES["dataset"])]), need)
