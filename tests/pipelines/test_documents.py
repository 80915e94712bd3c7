"""The page about figures and hints draws the states from the code, and names every pipeline and hint."""

from __future__ import annotations

from pathlib import Path

from policies.analytics.hint_kinds import KINDS
from policies.analytics.pipelines import known
from policies.models.pipelines import RUNS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "figures.md").read_text()


def test_the_states_of_a_run_are_drawn_from_the_code() -> None:
    assert RUNS.drawn() in PAGE


def test_every_pipeline_and_hint_is_told_of() -> None:
    assert [item.name for item in known.every() if f"`{item.name}`" not in PAGE] == []
    labels = {kind.label.replace("Dormant service account", "Dormant access") for kind in KINDS.values()}
    assert [label for label in labels if f"| {label} |" not in PAGE] == []
