"""Edit, remove, insert, re-order, cut off: what a superuser of the database does past the triggers.

Each is tried twice: crudely, and with every digest made anew, the counters set to fit and the checkpoints
deleted, which only what was signed and kept elsewhere still shows.  The command, the button's worker and the
program far from the site all see it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction

from accounts import people
from catalog.nodes import Node
from lakewarden.record import bundle
from lakewarden.record.archive import Broken
from lakewarden.record.expected import Expected
from policies import signing
from policies.models import AccessRecord, Verification
from policies.record import access_log, checkpoints, verifications
from policies.record.access_log import AccessLookup
from policies.record.exports import signed_archives
from policies.record.verify import verify
from tests.policies.superuser import LAST, hostile, made_to_fit
from tests.policies.test_checkpoints import kept

pytestmark = pytest.mark.django_db
__all__ = ["kept"]  # a fixture

SWAP = (
    "UPDATE {table} SET {key} = -1 WHERE {key} = {one}",
    "UPDATE {table} SET {key} = {one} WHERE {key} = {two}",
    "UPDATE {table} SET {key} = {two} WHERE {key} = -1",
)
"""Two rows change places."""
MADE_ROOM = (
    "UPDATE {table} SET {key} = -({key} + 1) WHERE {key} >= {one}",
    "UPDATE {table} SET {key} = -{key} WHERE {key} < 0",
)
"""Every row from one on moves on by one."""
CHANGE = "kind, realm, at, actor, on_behalf_of, via, reason, request_id, previous, digest"
LOOK = "kind, at, realm, actor, operation, object_type, object_name, lineage, via, previous, digest"


def changes(statements: tuple[str, ...], one: int, two: int = 0) -> tuple[str, ...]:
    """The same done to changes and to the events that hang on them."""
    places = (("policies_change", "revision"), ("policies_event", "change_id"))
    return tuple(
        text.format(table=table, key=key, one=one, two=two) for table, key in places for text in statements
    )


def looks(statements: tuple[str, ...], one: int, two: int = 0) -> tuple[str, ...]:
    table = "policies_accessrecord"
    return tuple(text.format(table=table, key="id", one=one, two=two) for text in statements)


@dataclass(frozen=True)
class Deed:
    """What is done, how it shows at once, and how when every digest was made to fit."""

    done: Callable[[int], tuple[str, ...]]
    crude: str
    fitting: str


NOT_SIGNED, CUT = "are not those that were signed", "its end was cut off"
DROP_LAST = (
    f"DELETE FROM policies_event WHERE change_id = {LAST}",
    f"DELETE FROM policies_change WHERE revision = {LAST}",
)
CHANGES = {
    "edited": Deed(
        lambda _: ("UPDATE policies_change SET reason = 'as agreed' WHERE revision = 3",),
        "revision 3 was changed after it was written",
        NOT_SIGNED,
    ),
    "an event edited": Deed(
        lambda _: ("UPDATE policies_event SET object_name = 'demo/other' WHERE change_id = 3",),
        "revision 3 was changed",
        NOT_SIGNED,
    ),
    "an event removed": Deed(
        lambda _: ("DELETE FROM policies_event WHERE change_id = 3",), "revision 3 was changed", NOT_SIGNED
    ),
    "an event inserted": Deed(
        lambda _: (
            "INSERT INTO policies_event"
            " (change_id, number, kind, object_type, object_name, lineage, people, data)"
            " VALUES (3, 99, 'realm.mode', '', '', '{}', '{}', '{}')",
        ),
        "revision 3 was changed",
        NOT_SIGNED,
    ),
    "removed": Deed(
        lambda _: (
            "DELETE FROM policies_event WHERE change_id = 4",
            "DELETE FROM policies_change WHERE revision = 4",
        ),
        "4 is missing",
        "4 is missing",
    ),
    "removed and closed up": Deed(
        lambda _: (
            "DELETE FROM policies_event WHERE change_id = 4",
            "DELETE FROM policies_change WHERE revision = 4",
            *changes(
                (
                    "UPDATE {table} SET {key} = -({key} - 1) WHERE {key} > {one}",
                    "UPDATE {table} SET {key} = -{key} WHERE {key} < 0",
                ),
                4,
            ),
        ),
        "revision 4 does not follow from the one before",
        CUT,
    ),
    "inserted": Deed(
        lambda _: (
            *changes(MADE_ROOM, 4),
            f"INSERT INTO policies_change (revision, {CHANGE}) SELECT 4, {CHANGE}"
            " FROM policies_change WHERE revision = 3",
        ),
        "is there, but the site is at",
        NOT_SIGNED,
    ),
    "inserted at the end": Deed(
        lambda _: (
            f"INSERT INTO policies_change (revision, {CHANGE}) SELECT revision + 1, {CHANGE}"
            f" FROM policies_change WHERE revision = {LAST}",
        ),
        "is there, but the site is at",
        "",  # to go on from the end is what a change does; nothing that was signed is touched
    ),
    "re-ordered": Deed(
        lambda _: changes(SWAP, 3, 4), "revision 3 does not follow from the one before", NOT_SIGNED
    ),
    "cut off": Deed(lambda _: DROP_LAST, "the record ends at revision", CUT),
}
LOOKS = {
    "edited": Deed(
        lambda first: (f"UPDATE policies_accessrecord SET actor = 'nobody' WHERE id = {first}",),
        "was changed after it was written",
        NOT_SIGNED,
    ),
    "removed": Deed(
        lambda first: (f"DELETE FROM policies_accessrecord WHERE id = {first + 1}",),
        "does not follow from the one before",
        NOT_SIGNED,
    ),
    "inserted": Deed(
        lambda first: (
            *looks(MADE_ROOM, first + 1),
            f"INSERT INTO policies_accessrecord (id, {LOOK}) SELECT {first + 1}, {LOOK}"
            f" FROM policies_accessrecord WHERE id = {first}",
        ),
        "access records are there, but the site counted",
        NOT_SIGNED,
    ),
    "re-ordered": Deed(
        lambda first: looks(SWAP, first, first + 1), "does not follow from the one before", NOT_SIGNED
    ),
    "cut off": Deed(
        lambda first: (f"DELETE FROM policies_accessrecord WHERE id = {first + 2}",),
        "the access log ends after 2 records, the site counted 3",
        CUT,
    ),
}


@pytest.fixture
def watched(kept: Path, shop: Node) -> int:
    """A third look, and all of it signed and kept elsewhere; the number of the first look."""
    access_log.looked_all([AccessLookup(people.ensure("user", "ana"), "groups", shop)], via="console")
    checkpoints.make()
    assert checkpoints.send() == [] and verify()
    return int(AccessRecord.objects.earliest("pk").pk)


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is never committed."""
    point = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


def said_here(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the command and the worker behind the button say is broken."""
    problems = []
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit")
    assert ended.value.code == 1
    problems.append(capsys.readouterr().err)
    Verification.objects.all().delete()
    verifications.ask(people.ensure("user", "ana"))
    verifications.run_waiting()
    return [*problems, Verification.objects.get().broken]


def said_afar(folder: Path, notes: str) -> str:
    """What the program far from the site says of the whole record."""
    archive = folder / "record.zip"
    with archive.open("wb") as file:
        signed_archives.record(file)
    with pytest.raises(Broken) as broken:
        bundle.check(archive, signing.public_key(), expected=Expected(checkpoints=notes))
    return str(broken.value)


@pytest.mark.parametrize("deeds", [CHANGES, LOOKS], ids=["changes", "looks"])
def test_every_way_of_changing_the_record_shows(
    deeds: dict[str, Deed],
    watched: int,
    kept: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    notes = kept.read_text()
    for how, deed in deeds.items():
        with undone():
            hostile("DELETE FROM policies_accessrepeat", *deed.done(watched))
            assert [deed.crude in problem for problem in said_here(capsys)] == [True, True], how
            assert not deed.fitting or said_afar(tmp_path, notes), how
        with undone():
            hostile("DELETE FROM policies_accessrepeat", *deed.done(watched))
            made_to_fit()
            if deed.fitting:
                problems = [*said_here(capsys), said_afar(tmp_path, notes)]
                assert [deed.fitting in item for item in problems] == [True] * 3, (how, problems)
            else:
                assert verify(), how


def test_the_message_of_a_break_is_one_line(watched: int, capsys: pytest.CaptureFixture[str]) -> None:
    hostile("UPDATE policies_change SET reason = 'x' WHERE revision = 2")
    with pytest.raises(SystemExit):
        call_command("verify_audit")
    assert re.fullmatch(r"broken: revision 2 was changed after it was written\n", capsys.readouterr().err)
