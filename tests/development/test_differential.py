"""The harness that compares two systems sees a difference, and leaves out whatever it does not need."""

from __future__ import annotations

from tests.real.differential.compare import Answer, Call, Comparison
from tests.real.differential.shrink import smallest


class Shelf:
    """Remembers what was put on it; `forgetful` loses b once c is there."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.forgetful, self.lakes = forgetful, {}

    def answer(self, call: Call, lake: str) -> Answer:
        held = self.lakes.setdefault(lake, set())
        if call.method == "PUT":
            held.add(call.path)
            return Answer(True)
        lost = self.forgetful and call.path == "b" and "c" in held
        return Answer(call.path in held and not lost)


MADE = [Call("ana", "PUT", name) for name in "xaybzcw"]


def test_systems_that_are_alike_do_not_differ():
    compared = Comparison(Shelf(), Shelf())
    compared.world(MADE, [Call("ana", "GET", name, operation="read") for name in "abq"], "one")
    assert compared.differences == []
    assert (compared.asked["read"], compared.allowed) == (3, 2)


def test_the_smallest_world_that_still_differs_is_left():
    compared = Comparison(Shelf(), Shelf(forgetful=True))
    compared.world(MADE, [Call("ana", "GET", name) for name in "abc"], "one")
    [difference] = compared.differences
    least = smallest(compared.ours, compared.theirs, difference)
    assert [call.path for call in least.before] == ["b", "c"]
    assert (least.ours.allowed, least.theirs.allowed) == (True, False)
