"""A tree of 100,000 files is walked in constant memory, and each list is read and written once."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired
from lakewarden.backends.testing.kit import look, settle
from tests.backends.files_world import READ, PosixSite, as_person, each, fileset

FOLDERS, FILES = 100, 1000
MEMORY = 2 * 1024 * 1024  # bytes: far less than a word for each file would take


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_large_tree_takes_no_more_memory_than_a_small_one():
    site = PosixSite()
    site.schema("sales")
    for folder in range(FOLDERS):
        inside = site.folder("sales", "orders", f"day {folder}")
        inside.mkdir(parents=True)
        for file in range(FILES):
            os.close(os.open(inside / f"{file}.csv", os.O_CREAT | os.O_WRONLY, 0o640))
    site.folder("sales", "orders").chmod(0o750)
    site.people += ["daemon", "games"]
    desired = each(daemon=fileset("sales", "orders", *READ), games=fileset("sales", "orders", *READ))
    try:
        for state in (desired, Desired({}, {})):
            tracemalloc.start()
            assert [item.error for item in settle(site, state) if item.error] == []
            assert planning.plan(state, look(site)).steps == ()
            assert tracemalloc.get_traced_memory()[1] < MEMORY
            tracemalloc.stop()
            last = site.folder("sales", "orders", f"day {FOLDERS - 1}", f"{FILES - 1}.csv")
            assert as_person("games", last.read_bytes) is (state is desired)
    finally:
        tracemalloc.stop()
        site.close()
