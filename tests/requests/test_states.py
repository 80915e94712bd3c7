"""States are one table: a move is one statement, its loser is told, and the table draws its own page."""

from __future__ import annotations

import pytest

from policies.errors import Conflict
from policies.models.states import Move, States

LAMP = States(
    "lamp",
    "off",
    {"off": "dark", "on": "lit", "broken": "broken"},
    (
        Move("light", ("off",), "on", "somebody lights it"),
        Move("darken", ("on",), "off", "somebody darkens it"),
        Move("break", ("off", "on"), "broken", "somebody drops it"),
    ),
)


class Rows:
    """One row, as a query set answers for it."""

    def __init__(self, state: str | None) -> None:
        self.state, self.values = state, {}

    def filter(self, state__in):
        return self if self.state in state__in else Rows(None)

    def update(self, *, state, **values):
        if self.state is None:
            return 0
        self.state, self.values = state, values
        return 1

    def values_list(self, _name, flat):
        return self

    def first(self):
        return self.state


@pytest.mark.parametrize(
    ("state", "move", "then"),
    [
        ("off", "light", "on"),
        ("on", "darken", "off"),
        ("off", "break", "broken"),
        ("on", "break", "broken"),
        ("on", "light", "This lamp is now lit; check it again."),
        ("broken", "break", "This lamp is now broken; check it again."),
        (None, "light", "This lamp no longer exists."),
    ],
)
def test_a_move_leads_on_or_says_how_things_stand(state, move, then):
    row = Rows(state)
    if then in LAMP.words:
        assert LAMP.move(row, move, by="ana") == 1
        assert (row.state, row.values) == (then, {"by": "ana"})
    else:
        with pytest.raises(Conflict, match=then):
            LAMP.move(row, move)
        assert row.state == state


def test_the_table_knows_its_ends_and_what_leads_out():
    assert LAMP.ends == {"broken"}
    assert LAMP.open_to("off") == ("light", "break")
    assert LAMP.open_to("broken") == ()
    assert LAMP.can("on", "darken") and not LAMP.can("off", "darken")


def test_the_table_draws_itself():
    assert (
        LAMP.drawn()
        == """\
```mermaid
stateDiagram-v2
    [*] --> off
    off --> on: light
    on --> off: darken
    off --> broken: break
    on --> broken: break
    broken --> [*]
```

| move | from | to | what it means |
| --- | --- | --- | --- |
| `light` | dark | lit | somebody lights it |
| `darken` | lit | dark | somebody darkens it |
| `break` | dark, lit | broken | somebody drops it |
"""
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"words": {"off": "dark"}},
        {"initial": "nowhere"},
        {"moves": (*LAMP.moves, LAMP.moves[0])},
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(broken):
    whole = {"name": "lamp", "initial": "off", "words": LAMP.words, "moves": LAMP.moves}
    with pytest.raises(ValueError):
        States(**{**whole, **broken})
