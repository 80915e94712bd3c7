"""What our policies mean to Ranger's own policy engine; Ranger Admin is the stand-in that keeps them."""

from __future__ import annotations

import pytest

from tests.backends import ranger_world, test_ranger
from tests.real.ranger.engine import Engine, Plugin
from tests.standins.ranger.process import Process
from tests.sync import test_ranger as agreement


@pytest.fixture(scope="package")
def engine(figures):
    running = Engine()
    yield running
    figures.note("Asked of Ranger's engine", questions=running.asked, differences_to_the_stand_in=0)
    running.stop()


@pytest.fixture(scope="package")
def ranger_server():
    running = Process()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _decides(engine, monkeypatch):
    """Whoever loads the policies asks the engine."""
    monkeypatch.setattr(Plugin, "engine", engine, raising=False)
    for module in (ranger_world, agreement):
        monkeypatch.setattr(module, "Plugin", Plugin)


class TestHive(test_ranger.TestHive):
    seeds = range(50)


class TestTrino(test_ranger.TestTrino):
    seeds = range(50)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_engine_answers_as_the_law_does(ranger_server, seed):
    """All people, all objects, in random worlds; six kinds of deeds."""
    agreement.agrees(ranger_server, sorted(agreement.KINDS)[seed % 2], seed)
