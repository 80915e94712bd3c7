"""Changing somebody's entry in an access list: exactly theirs, and never what anybody else can do."""

from __future__ import annotations

import random

import pytest

from policies.sync.backends.files.acl import Acl, changed, inherited
from policies.sync.backends.posix.tree import packed, unpacked

ANA, BO, TEAM = ("user", "1001"), ("user", "1002"), ("group", "50")

CASES = {
    "nobody is named yet: the group keeps what it has": (
        Acl(7, 5, 0),
        {ANA: 7},
        Acl(7, 5, 0, 7, {ANA: 7}),
    ),
    "the mask holds nobody down and is wide enough: it stays": (
        Acl(7, 5, 0, 7, {BO: 6}),
        {ANA: 5},
        Acl(7, 5, 0, 7, {BO: 6, ANA: 5}),
    ),
    "the mask must be widened: what it held down in others is cut off": (
        Acl(7, 7, 0, 4, {BO: 7, TEAM: 6}),
        {ANA: 5},
        Acl(7, 4, 0, 5, {BO: 4, TEAM: 4, ANA: 5}),
    ),
    "a mask that holds others down and is wide enough: theirs is left as it is": (
        Acl(7, 7, 0, 5, {BO: 7}),
        {ANA: 5},
        Acl(7, 7, 0, 5, {BO: 7, ANA: 5}),
    ),
    "a file made for its owner alone": (
        Acl(6, 5, 0, 0, {ANA: 5, BO: 7}),
        {ANA: 4},
        Acl(6, 0, 0, 4, {ANA: 4, BO: 0}),
    ),
    "the last entry goes: no mask is left, the group has what it had": (
        Acl(7, 7, 4, 5, {ANA: 5}),
        {ANA: None},
        Acl(7, 5, 4),
    ),
    "an entry goes: the mask is narrowed by what only it needed": (
        Acl(7, 5, 0, 7, {ANA: 7, BO: 5}),
        {ANA: None},
        Acl(7, 5, 0, 5, {BO: 5}),
    ),
    "an entry goes: a mask wider than anybody needs was so before us": (
        Acl(7, 4, 0, 7, {ANA: 5, BO: 5}),
        {ANA: None},
        Acl(7, 4, 0, 7, {BO: 5}),
    ),
    "who is shut out by name stays shut out": (
        Acl(7, 5, 5, 5, {BO: 0}),
        {ANA: 5},
        Acl(7, 5, 5, 5, {BO: 0, ANA: 5}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_entry_changes(case):
    before, entries, after = CASES[case]
    assert changed(before, entries) == after


def test_what_new_files_get_where_nothing_was_said_is_what_the_folder_has():
    assert inherited(Acl(7, 7, 1, 5, {ANA: 7})) == Acl(7, 5, 1)


@pytest.mark.parametrize("seed", range(50))
def test_nobody_else_can_do_more_or_less_whatever_is_changed(seed):
    rng = random.Random(seed)
    names = [(kind, str(number)) for kind in ("user", "group") for number in range(4)]
    for _ in range(40):
        theirs = {name: rng.randrange(8) for name in rng.sample(names, rng.randrange(5))}
        mask = rng.randrange(8) if theirs or rng.random() < 0.3 else None
        acl = start = Acl(rng.randrange(8), rng.randrange(8), rng.randrange(8), mask, theirs)
        ours = rng.sample([name for name in names if name not in theirs], 3)
        given = dict.fromkeys(ours)
        for _ in range(6):
            entries = {name: rng.choice([None, *range(8)]) for name in rng.sample(ours, rng.randint(1, 3))}
            acl, given = changed(acl, entries), {**given, **entries}
            assert {name: acl.has(name) for name in theirs} == {name: start.has(name) for name in theirs}
            assert (acl.owner, acl.group_has, acl.other) == (start.owner, start.group_has, start.other)
            assert {name: acl.has(name) for name in ours} == {name: given[name] or 0 for name in ours}
            assert {name for name in ours if name in acl.named} == {
                name for name, bits in given.items() if bits is not None
            }
            assert acl.mask is not None or not acl.named
            assert unpacked(packed(acl)) == acl
        acl = changed(acl, dict.fromkeys(ours))
        assert acl.named.keys() == start.named.keys()
        if start.mask is None:
            assert acl == start


def test_a_list_of_a_form_that_is_not_known_is_refused():
    from lakewarden.backends.errors import Rejected

    for raw in (b"", b"\x03\x00\x00\x00", b"\x02\x00\x00\x00\x01"):
        with pytest.raises(Rejected):
            unpacked(raw)
