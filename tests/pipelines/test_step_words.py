"""What a run is doing is kept in English and read in the reader's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from policies.analytics.pipelines import step_words

ROOT = Path(__file__).resolve().parents[2]
SPARK, REMOVAL = "lakewarden/spark/pipelines", "policies/record/archive/removal.py"
TELLING = {"tell", "step"}
"""What the steps of a run are said with."""
OF_RUNS = (
    ("starting", "beginnt"),
    ("reading the rights of shop", "liest die Rechte in shop"),
    ("asking about 1,204 objects", "fragt nach 1.204 Objekten"),
    (
        "removing what is archived: up to revision 12 of 400",
        "entfernt, was archiviert ist: bis Revision 12 von 400",
    ),
    ("comparing", "vergleicht"),
    ("comparing shop", "vergleicht shop"),
    ("counting sheep", "counting sheep"),
)


@pytest.mark.parametrize("kept, german", OF_RUNS)
def test_what_a_run_is_doing_is_translated(kept: str, german: str) -> None:
    with translation.override("en"):
        assert step_words.in_readers_language(kept) == kept
    with translation.override("de"):
        assert step_words.in_readers_language(kept) == german


def test_every_step_of_a_pipeline_has_its_words() -> None:
    """As they are written in the pipelines of the console and of Spark, with 12 for what is filled in."""
    modules = [*(ROOT / "policies/analytics/pipelines").glob("*.py"), *(ROOT / SPARK).glob("*.py")]
    steps = {step for path in (*modules, ROOT / REMOVAL) for step in steps_of(ast.parse(path.read_text()))}
    assert len(steps) >= 15
    with translation.override("de"):
        assert [step for step in sorted(steps) if step_words.in_readers_language(step) == step] == []


def steps_of(tree: ast.Module) -> Iterator[str]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in calls:
        if getattr(call.func, "attr", getattr(call.func, "id", "")) not in TELLING:
            continue
        for given in call.args:
            match given:
                case ast.Constant(value=str(text)):
                    yield text
                case ast.JoinedStr(values=parts):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "12" for part in parts
                    )
