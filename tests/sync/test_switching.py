"""What is switched off here can be used by nobody in the backend either, until it is switched on again."""

from __future__ import annotations

import pytest

from policies.models import Backend, OutboxEntry
from policies.services import object_details
from policies.sync import worker
from policies.sync.reconcile import Report
from policies.sync.safeguards import loss_limit
from tests.factories import AUTHORITY, BY, the
from tests.sync.conftest import Source

EVERYBODY = ("olivia", "mia", "legacy")
"""Who reads in the beginning: the owner, an analyst, and one to whom another program gave it."""


def readers(source: Source) -> set[str]:
    return {name for name in EVERYBODY if source.reads(name)}


def delivered(backend: Backend) -> Report:
    report = worker.deliver(backend)
    assert report is not None
    return report


def switch(type_: str, name: str, *, on: bool) -> None:
    assert object_details.switch(the(type_, name) if name else the(type_), on=on, by=BY, authority=AUTHORITY)


def test_a_catalog_that_is_off_has_no_readers_of_ours(governed: Backend, source: Source) -> None:
    worker.deliver(governed)
    assert readers(source) == {"olivia", "mia", "legacy"}
    for type_, name in (("catalog", "shop"), ("metalake", "")):
        switch(type_, name, on=False)
        assert OutboxEntry.objects.get().revokes
        assert delivered(governed).settled
        assert readers(source) == {"legacy"}  # what others gave is told, not taken
        switch(type_, name, on=True)
        assert not OutboxEntry.objects.get().revokes
        assert delivered(governed).settled
        assert readers(source) == {"olivia", "mia", "legacy"}


def test_it_is_not_held_as_a_mistake(
    governed: Backend, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.deliver(governed)
    monkeypatch.setattr(loss_limit, "too_much", lambda *_: True)
    switch("catalog", "shop", on=False)
    assert not delivered(governed).held
    assert readers(source) == {"legacy"}
