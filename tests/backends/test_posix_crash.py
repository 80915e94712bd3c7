"""A worker that dies anywhere between two writes to a tree of files is made good by the next."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Right
from lakewarden.backends.testing.kit import look, settle
from tests.backends.files_world import PosixSite, as_person, each, fileset, reads, setfacl, shown, writes
from tests.backends.worlds import ROUNDS

PEOPLE = ("daemon", "games", "mail")
RIGHTS = ([], ["READ", "ENTER"], ["READ", "WRITE", "ENTER"])
PLACES = (("sales", "orders"), ("sales", "costs"), ("sales", "far"))


@pytest.fixture
def lake():
    site = PosixSite()
    site.schema("sales")
    for path in PLACES[:2]:
        site.table(*path)
    site.fill(site.folder("data", "deep", "down"))
    site.places["sales", "far"] = f"{site.root}/data/deep/down"
    site.people += PEOPLE
    yield site
    site.close()


def folder_of(site: PosixSite, path: tuple[str, ...]) -> Path:
    return site.folder("data", "deep", "down") if path == PLACES[2] else site.folder(*path)


def decided(rng: random.Random) -> dict[str, dict[tuple[str, ...], list[str]]]:
    """Somebody decided something else for everybody."""
    return {person: {path: rng.choice(RIGHTS) for path in PLACES} for person in PEOPLE}


def wanted(choice: dict[str, dict[tuple[str, ...], list[str]]]) -> Desired:
    rights: dict[str, set[Right]] = {
        person: {right for path, words in on.items() if words for right in fileset(*path, *words)}
        for person, on in choice.items()
    }
    return each(**rights)


def by_hand(site: PosixSite, rng: random.Random) -> None:
    """Entries of others, some for people of ours; somewhere, as people do."""
    for path in PLACES:
        nodes = [folder_of(site, path), *sorted(folder_of(site, path).rglob("*"))]
        for node in rng.sample(nodes, rng.randint(0, len(nodes))):
            who = rng.choice([f"u:{name}" for name in (*PEOPLE, "news", "proxy")] + ["g:staff"])
            setfacl("-m", f"{who}:{rng.choice(['r', 'rw', 'rwx', 'x', '-'])}", node)
            if node.is_dir() and rng.random() < 0.4:
                setfacl("-d", "-m", f"{who}:rx", node)


def dying(site: PosixSite, desired: Desired, writes_left: int) -> bool:
    """Let a worker of its own process work until it is killed before so many writes; whether it was."""
    child = os.fork()
    if child == 0:
        left = [writes_left]

        def counted(deed):
            def run(*args, **more):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return deed(*args, **more)

            return run

        os.setxattr, os.removexattr = counted(os.setxattr), counted(os.removexattr)
        settle(site, desired)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def round_of(lake: PosixSite, seed: int) -> bool:
    """From one random state to another, dying twice on the way; whether anybody died."""
    rng = random.Random(seed)
    by_hand(lake, rng)
    before, foreign = shown(lake.root), look(lake).foreign
    settle(lake, wanted(decided(rng)))
    died = [dying(lake, wanted(decided(rng)), rng.randint(0, 60)) for _ in range(2)]
    choice = decided(rng)
    settle(lake, wanted(choice))
    assert planning.plan(wanted(choice), look(lake)).steps == ()
    assert look(lake).foreign == foreign
    tried(lake, choice)
    settle(lake, Desired({}, {}))
    assert shown(lake.root) == before
    return any(died)


def tried(lake: PosixSite, choice: dict[str, dict[tuple[str, ...], list[str]]]) -> None:
    for person, on in choice.items():
        for path, words in on.items():
            if words:
                assert as_person(person, reads(folder_of(lake, path))), (person, path)
            if "WRITE" in words:
                assert as_person(person, writes(folder_of(lake, path))), (person, path)


@pytest.mark.parametrize("seed", ROUNDS)
def test_a_worker_that_dies_anywhere_is_made_good(lake, seed):
    round_of(lake, seed)


def test_workers_do_die_in_these_tests(lake):
    assert dying(lake, each(daemon=fileset("sales", "far", "READ", "ENTER")), 3)


@pytest.mark.parametrize("number", range(12))
def test_dying_before_each_write_of_a_gift_and_of_its_taking(lake, number):
    """Each place once, with an entry of others on the way for the very person."""
    setfacl("-R", "-m", "u:daemon:r", folder_of(lake, PLACES[2]))
    before = shown(lake.root)
    desired = each(daemon=fileset("sales", "far", "READ", "ENTER"))
    dying(lake, desired, number)
    settle(lake, desired)
    assert planning.plan(desired, look(lake)).steps == ()
    dying(lake, Desired({}, {}), number)
    settle(lake, Desired({}, {}))
    assert shown(lake.root) == before
    assert look(lake).roles == {}
