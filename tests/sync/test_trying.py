"""A connection is tried before it is kept; a source is read when somebody asks, with what became of it."""

from __future__ import annotations

import pytest

from accounts.models import Principal
from lakewarden.backends.errors import Misconfigured
from policies.errors import Refused
from policies.models import Backend, Discovery
from policies.sync.connections.trial import tried
from policies.sync.discovery import discoveries
from tests.factories import acting
from tests.sync.conftest import Source


def test_what_answers_is_told_from_what_does_not(db: None, source: Source) -> None:
    trial = tried("postgresql", source.url(), realm="demo")
    assert trial.reached
    assert "connected to database governed" in trial.findings[0].text
    silent = tried("postgresql", "postgresql://nobody@127.0.0.1:1/nothing", realm="demo")
    assert not silent.reached
    assert silent.findings[0].text
    with pytest.raises(Misconfigured):
        tried("postgresql", "postgresql://u@example.org/x", realm="demo")


def test_trying_leaves_nothing_behind(db: None, source: Source) -> None:
    tried("postgresql", source.url(), realm="demo")
    assert source.run("SELECT 1 FROM pg_roles WHERE rolname LIKE 'lw\\_%'") == []


def test_a_source_is_read_for_who_asked(governed: Backend, source: Source) -> None:
    source.run("CREATE TABLE sales.refunds (id int)")
    reading = discoveries.ask(governed, by=acting("marek"))
    assert discoveries.ask(governed, by=acting("marek")) == reading
    discoveries.run_waiting()
    reading = Discovery.objects.get(pk=reading.pk)
    assert (reading.error, reading.added) == ("", 1)
    assert reading.finished is not None
    assert reading.done == reading.total > 1


def test_only_owners_and_who_has_the_duty_ask(governed: Backend) -> None:
    for name in ("mia", "olivia"):
        with pytest.raises(Refused):
            discoveries.ask(governed, by=acting(name))
    assert not Discovery.objects.exists()


def test_who_lost_the_right_meanwhile_has_nothing_read(governed: Backend) -> None:
    mia = Principal.objects.get(name="mia")
    row = Discovery.objects.create(backend=governed, by=mia.pseudonym)
    discoveries.run_waiting()
    assert "may not connect" in Discovery.objects.get(pk=row.pk).error
