"""How expensive a decision is: its time beside that of the bare look-ups it cannot do without, in one run.

python bench/decide.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from timeit import repeat

sys.path.insert(0, str(Path(__file__).parent.parent))

from lakewarden.law.engine import build, decide, visible
from lakewarden.law.explain import explain
from lakewarden.law.facts import Level, Rule
from lakewarden.law.principals import Principal

ROUNDS = 20_000
LINEAGE = (Level("metalake", 1), Level("catalog", 2), Level("schema", 3), Level("table", 4))
RULES = [Rule(2, "USE_CATALOG"), Rule(3, "USE_SCHEMA"), Rule(4, "SELECT_TABLE")]
OTHERS = [Rule(number, "SELECT_TABLE") for number in range(100, 10_100)]
SLICE = build(Principal("user", "ana"), "lake", "gravitino", 1, RULES + OTHERS, member=True, now=0.0)


def bare() -> bool:
    """Four look-ups and the bits of their answers, nothing else."""
    allow = deny = 0
    bits = SLICE.bits
    for level in LINEAGE:
        held_bits = bits.get(level.key)
        if held_bits is not None:
            allow |= held_bits[0]
            deny |= held_bits[1]
    return allow & ~deny & 7 == 7


def microseconds(question: object, rounds: int = ROUNDS) -> float:
    return min(repeat(question, number=rounds, repeat=7)) / rounds * 1e6  # type: ignore[arg-type]


def main() -> None:
    floor = microseconds(bare)
    print(f"{'bare look-ups':24}{floor:8.2f} us")
    for name, question, rounds in (
        ("decide, a yes", lambda: decide(SLICE, "Table.loadTable", LINEAGE, now=1.0), ROUNDS),
        ("decide, a no", lambda: decide(SLICE, "Table.dropTable", LINEAGE, now=1.0), ROUNDS),
        ("explain a no", lambda: explain(SLICE, "Table.dropTable", LINEAGE, now=1.0), 20),
        ("visible, 10,000 facts", lambda: visible(SLICE, LINEAGE[:3], "table", now=1.0), 5),
    ):
        took = microseconds(question, rounds)
        print(f"{name:24}{took:8.2f} us {took / floor:8.1f} times the bare look-ups")


if __name__ == "__main__":
    main()
