"""What the site wrote down of facts that were taken away past the console is itself altered past it.

A denial is closed or deleted, and the note of that is hidden: the answer stays no, and the site tells again.
"""

from __future__ import annotations

import pytest

from policies import tasks
from policies.decisions import slices
from policies.models import Grant, UnsealedFact
from policies.record.deleted_facts import DeletedFacts
from tests.kept import kept
from tests.policies.superuser import past_triggers
from tests.policies.test_forgeries import World, make

pytestmark = pytest.mark.django_db
world = kept(make)
TABLE = "policies_unsealedfact"
TAKEN = {
    "deleted": "DELETE FROM policies_grant WHERE id = {row}",
    "closed": "UPDATE policies_grant SET closed = opened + 1 WHERE id = {row}",
}
DECOY = (
    f"INSERT INTO {TABLE} (model, row, key, content, writer, found)"
    " VALUES ('grant', {row}, 'p0', '{{}}', '7', now())"
)
HIDDEN = {
    "deleted": f"DELETE FROM {TABLE}",
    "about somebody else": f"UPDATE {TABLE} SET key = 'p0'",
    "of a row that is open": f"""UPDATE {TABLE} SET writer = '7', content = content - 'closed'""",
    "about another row": f"UPDATE {TABLE} SET row = row + 1000000",
}


@pytest.fixture(autouse=True)
def _a_worker_that_looked(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(slices, "_inside_a_change", lambda: False)
    monkeypatch.setattr(tasks, "deleted_facts", DeletedFacts())
    tasks.hold_ended_facts()


def denial() -> int:
    return Grant.objects.open().get(effect="deny").pk


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
def test_a_note_that_was_there_before_hides_nothing(world: World, taken: str) -> None:
    row, before = denial(), world.yes()
    past_triggers(DECOY.format(row=row))
    past_triggers(taken.format(row=row))
    tasks.hold_ended_facts()
    assert world.yes() <= before
    assert UnsealedFact.objects.get(model="grant", row=row).key != "p0"


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
def test_a_note_that_is_altered_is_written_again(world: World, taken: str, hidden: str) -> None:
    row, before = denial(), world.yes()
    past_triggers(taken.format(row=row))
    tasks.hold_ended_facts()
    past_triggers(hidden)
    tasks.hold_ended_facts()
    assert world.yes() <= before
    assert UnsealedFact.objects.filter(model="grant", row=row).exists()


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
def test_what_was_taken_while_no_worker_ran_is_found_by_the_next(
    world: World, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, before = denial(), world.yes()
    past_triggers(taken.format(row=row))
    monkeypatch.setattr(tasks, "_looked_at", None)
    monkeypatch.setattr(tasks, "deleted_facts", DeletedFacts())
    tasks.hold_ended_facts()
    assert world.yes() <= before
    assert UnsealedFact.objects.filter(model="grant", row=row).exists()
