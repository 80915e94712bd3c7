"""How expensive 50,000 patterns of one principal are: a decision beside trying each of them.

python bench/patterns.py; fails when a decision takes longer than its limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from timeit import repeat

sys.path.insert(0, str(Path(__file__).parent.parent))

from lakewarden.law import dialects, engine
from lakewarden.law.dialects.cdap.authorizable import Authorizable, matches, parse
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import Level, Rule
from lakewarden.law.principals import Principal

MANY, LIMIT = 50_000, 50.0  # patterns; microseconds
FORMS = {
    "the beginning told": "dataset:ns1.team{0:05d}_*",
    "the end told": "dataset:ns1.*_{0:05d}",
    "the middle told": "dataset:ns1.*q{0:05d}x*",
    "many namespaces": "dataset:n{0:05d}*.orders?",
    "no pattern at all": "dataset:ns1.team{0:05d}_orders",
}
NAME = parse("dataset:ns1.team04711_q04711x_04711")


def microseconds(question: Callable[[], object], rounds: int) -> float:
    return min(repeat(question, number=rounds, repeat=5)) / rounds * 1e6


def measured(form: str) -> tuple[float, float]:
    """What a decision takes, and what trying each pattern takes."""
    texts = [form.format(number) for number in range(MANY)]
    rules = [Rule(text, "READ") for text in texts]
    slice_ = engine.build(Principal("user", "ana"), "c", "cdap43", 1, rules, member=True, now=0.0)
    law = dialects.get("cdap43")
    assert isinstance(law, TextDialect)
    levels = law.lineage(Level("instance", 1, "c"), NAME.type, NAME.parts)
    targets: list[Authorizable] = [parse(text) for text in texts]
    decided = microseconds(lambda: engine.decide(slice_, "dataset.read", levels, now=0.0), 2_000)
    naive = microseconds(lambda: [target for target in targets if matches(target, NAME)], 1)
    return decided, naive


def main() -> int:
    over = False
    for name, form in FORMS.items():
        decided, naive = measured(form)
        over |= decided > LIMIT
        print(
            f"{name:20}{decided:8.1f} us a decision {naive:12.0f} us one by one {naive / decided:8.0f} times"
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
