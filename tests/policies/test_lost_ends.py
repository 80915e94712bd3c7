"""A copy older than the last checkpoint was restored: an operator says so, and every report repeats it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts import people
from catalog.nodes import Node
from lakewarden.record import bundle
from lakewarden.record.expected import Expected
from policies import signing
from policies.errors import Invalid
from policies.models import Backend, Checkpoint, Counter, Event
from policies.record import access_log, checkpoints, lost_ends
from policies.record.access_log import AccessLookup
from policies.record.exports import signed_archives
from policies.record.verify import verify
from tests.factories import AUTHORITY, admit
from tests.policies.superuser import LAST, hostile, made_to_fit
from tests.policies.test_checkpoints import kept

pytestmark = pytest.mark.django_db
__all__ = ["kept"]  # a fixture
REASON = "The disk of the database broke; the copy of the night was restored."


@pytest.fixture
def ended(shop: Node, kept: Path) -> int:
    """The record after a copy of some changes ago was restored: the file of checkpoints knows of more."""
    copy = Counter.objects.get().revision
    admit(shop, "lost1", "lost2", "lost3")
    access_log.looked_all([AccessLookup(people.ensure("user", "mia"), "access", shop)], via="console")
    checkpoints.make()
    assert checkpoints.send() == [] and verify()
    put_back(copy, 2)
    return copy


def put_back(revision: int, looks: int) -> None:
    """What the copy did not have is gone: changes, their facts, checkpoints."""
    hostile(
        f"DELETE FROM policies_event WHERE change_id > {revision}",
        f"DELETE FROM policies_change WHERE revision > {revision}",
        "DELETE FROM policies_accessrepeat",
        f"DELETE FROM policies_accessrecord WHERE id > "
        f"(SELECT min(id) FROM policies_accessrecord) + {looks - 1}",
        f"DELETE FROM policies_checkpoint WHERE size > {revision} AND log = 'changes'",
        f"DELETE FROM policies_checkpoint WHERE size > {looks} AND log = 'access'",
        "ALTER TABLE policies_realmmember DISABLE TRIGGER USER",
        f"DELETE FROM policies_realmmember WHERE opened > {revision}",
        f"UPDATE policies_counter SET revision = {revision}, digest ="
        f" (SELECT digest FROM policies_change WHERE revision = {LAST})",
        f"UPDATE policies_accesscounter SET size = {looks}, digest ="
        " (SELECT digest FROM policies_accessrecord ORDER BY id DESC LIMIT 1)",
    )


def command(*arguments: Any) -> None:
    call_command("restored", *arguments)


def test_it_is_broken_until_somebody_answers_for_it(ended: int) -> None:
    assert "its end was cut off" in (verify().broken or "")


def test_the_command_says_what_is_lost_and_changes_nothing_of_the_record(
    ended: int, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    output = capsys.readouterr().out
    assert (
        f"the audit log ends at {ended}, was signed until {ended + 3}: lost is what followed {ended}"
        in output
    )
    assert "the log of refusals and views ends at 2, was signed until 3: lost is what followed 2" in output
    assert f"manage.py restored --accept-end {ended} --reason TEXT" in output
    assert Counter.objects.get().revision == ended and not verify()


def test_an_operator_answers_for_it_and_the_record_is_whole_and_tells_the_gap(
    ended: int, shop: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    command("--accept-end", ended, "--reason", REASON)
    lost = f"lost: revisions {ended + 1} to {ended + 3}"
    gap = f"{lost}, when the database was restored from a backup: {REASON}"
    assert gap in capsys.readouterr().out
    admit(shop, "xenia", "yara", "zoe", "zack")  # past what was signed then
    checkpoints.make()
    verdict = verify()
    assert verdict, verdict.broken or verdict.differing
    assert verdict.lost[0] == gap and "refusals and views 3 to 3" in verdict.lost[1]
    call_command("verify_audit")
    assert gap in capsys.readouterr().out
    event = Event.objects.get(kind="record.restored")
    assert event.change.reason == REASON and event.change.actor == "operator"
    assert event.data["lost"][0]["notes"], "the lost checkpoints, by size and root"


def test_whoever_checks_it_elsewhere_is_told_the_gap_too(ended: int, kept: Path, tmp_path: Path) -> None:
    notes = kept.read_text()
    command("--accept-end", ended, "--reason", REASON)
    archive = tmp_path / "record.zip"
    with archive.open("wb") as file:
        signed_archives.record(file)
    lines = bundle.check(archive, signing.public_key(), expected=Expected(checkpoints=notes)).lines
    assert lines[0].startswith("intact: ") and any(REASON in line for line in lines)


def test_changes_made_since_do_not_keep_it_from_being_said(ended: int, shop: Node) -> None:
    """The system itself writes first: it sets the backends to report."""
    admit(shop, "after1")
    assert "are not those that were signed" in (verify().broken or "") or verify().broken
    command("--accept-end", ended, "--reason", REASON)
    assert verify()


def test_a_second_end_that_is_cut_off_is_found(ended: int, shop: Node) -> None:
    command("--accept-end", ended, "--reason", REASON)
    admit(shop, *(f"u{number}" for number in range(6)))
    checkpoints.make()
    checkpoints.send()
    put_back(ended + 2, 2)
    assert "its end was cut off" in (verify().broken or "")


def test_who_owns_the_database_cannot_say_it(ended: int) -> None:
    command("--accept-end", ended, "--reason", REASON)
    text = json.dumps(REASON)
    hostile(f"""UPDATE policies_event SET data = jsonb_set(data, '{{lost,0,reason}}', '{text[:-2]} 2"')
                 WHERE kind = 'record.restored'""")
    made_to_fit()
    assert "the signature is not by" in (verify().broken or "")


def test_without_the_statement_the_cut_shows_again(ended: int) -> None:
    command("--accept-end", ended, "--reason", REASON)
    Checkpoint.objects.all().delete()
    hostile(
        "DELETE FROM policies_event WHERE kind = 'record.restored'",
        "DELETE FROM policies_change WHERE kind = 'record.restored'",
    )
    made_to_fit()
    assert not verify()


@pytest.mark.parametrize(
    ("revision", "reason", "words"),
    [
        (0, "", "Say why the database was restored"),
        (-2, REASON, "The copy ended between revision"),
        (1, REASON, "The copy ended between revision"),
    ],
)
def test_what_cannot_be_is_refused(ended: int, revision: int, reason: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        lost_ends.accept(ended + revision, reason, authority=AUTHORITY)


def test_nothing_is_accepted_where_nothing_is_lost(shop: Node, kept: Path) -> None:
    with pytest.raises(Invalid, match="Nothing that was signed is lost"):
        lost_ends.accept(Counter.objects.get().revision, REASON, authority=AUTHORITY)
    assert not Backend.objects.filter(restored=True).exists()
