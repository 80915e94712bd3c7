"""`make mutants` finds the places where it puts another law, wherever these moved to."""

from __future__ import annotations

import pytest

from tests.seeds import changed_wildcards
from tests.seeds.mutant import Mutant


@pytest.mark.parametrize("mutant", [*changed_wildcards.mutants()], ids=str)
def test_another_law_can_be_put_in_its_place(mutant: Mutant) -> None:
    with mutant.in_place():
        pass
