"""Who somebody is elsewhere: at identity providers, and in the company's directory.

The record holds a mark of whom a provider knows, never who that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accounts import directory
from accounts.marks import subject_mark
from accounts.models import DirectoryEntry, DirectoryMember, ExternalSignIn
from policies import events
from policies.models import Event
from policies.record.replay.differences import NOTHING, Difference


@dataclass(frozen=True)
class _Entry:
    """What the directory last said of somebody; events of before do not tell, which is None."""

    active: bool | None
    kept: bool | None
    revision: int


class OutsideReplay:
    """Takes every event of `KINDS` in order; `differences` then compares."""

    KINDS = frozenset(
        {
            *(events.ACCOUNT_JOINED, events.ACCOUNT_PARTED, events.ACCOUNT_BOUND, events.ACCOUNT_UNBOUND),
            *(events.PERSON_ERASED, events.DIRECTORY_PERSON, events.DIRECTORY_GROUP),
            events.DIRECTORY_GROUP_ENDED,
        }
    )

    def __init__(self) -> None:
        self.joined: dict[str, str] = {}
        self.entries: dict[str, _Entry] = {}
        self._left: tuple[int, str] = (0, "")

    def take(self, event: Event) -> None:
        person = event.people[0] if event.people else ""
        match event.kind:
            case events.ACCOUNT_JOINED:
                self.joined[event.data["mark"]] = person
            case events.ACCOUNT_PARTED:
                self.joined.pop(event.data["mark"], None)
            case events.ACCOUNT_UNBOUND:
                self._left = event.change_id, person
            case events.ACCOUNT_BOUND if self._left[0] == event.change_id:
                # an account goes to another person with the ways to sign in to it
                before = self._left[1]
                self.joined = {mark: person if who == before else who for mark, who in self.joined.items()}
            case events.PERSON_ERASED:
                self.joined = {mark: who for mark, who in self.joined.items() if who != person}
            case events.DIRECTORY_PERSON:
                active = event.data.get("active")
                kept = None if active is None else event.data.get("kept", True)
                self.entries[person] = _Entry(active, kept, event.change_id)
            case events.DIRECTORY_GROUP | events.DIRECTORY_GROUP_ENDED:
                kept = event.kind == events.DIRECTORY_GROUP
                self.entries[person] = _Entry(kept, kept, event.change_id)

    def differences(self) -> Iterator[Difference]:
        yield from self._sign_ins()
        yield from self._directory()
        yield from _members()

    def _sign_ins(self) -> Iterator[Difference]:
        table, left = ExternalSignIn._meta.db_table, dict(self.joined)
        rows = ExternalSignIn.objects.select_related("account__principal").order_by("pk")
        for row in rows.iterator(chunk_size=2000):
            who = row.account.principal.pseudonym if row.account.principal else "nobody"
            recorded = left.pop(subject_mark(row.issuer, row.subject), None)
            if recorded != who:
                record = f"that it is {recorded}'s" if recorded else NOTHING
                claim = f"that {who} signs in so by {row.provider}"
                yield Difference(f"externalsignin {row.pk}", record, claim, table)
        for mark, who in left.items():
            yield Difference(f"the way to sign in {mark}", f"that it is {who}'s", "no such row", table)

    def _directory(self) -> Iterator[Difference]:
        table, left = DirectoryEntry._meta.db_table, dict(self.entries)
        rows = DirectoryEntry.objects.select_related("principal").order_by("pk")
        for row in rows.iterator(chunk_size=2000):
            what, claim = f"directoryentry {row.pk}", _in_words(row.is_active, row.ended is None)
            recorded = left.pop(row.principal.pseudonym, None)
            if recorded is None:
                yield Difference(what, NOTHING, f"{row.principal.pseudonym} {claim}", table)
            elif recorded.active is not None and (recorded.active, recorded.kept) != (
                row.is_active,
                row.ended is None,
            ):
                record = (
                    f"{_in_words(recorded.active, bool(recorded.kept))} since revision {recorded.revision}"
                )
                yield Difference(what, record, claim, table)
        for who, entry in left.items():
            yield Difference(
                f"the entry of {who}", f"one since revision {entry.revision}", "no such row", table
            )


def _members() -> Iterator[Difference]:
    """Who is in which group by the directory, where the console did not write that."""
    rows = DirectoryMember.objects.select_related("group", "member").order_by("pk")
    for row in rows.iterator(chunk_size=2000):
        if not directory.is_sealed(row):
            claim = f"that the directory says {row.member.pseudonym} is in {row.group.pseudonym}"
            yield Difference(f"directorymember {row.pk}", NOTHING, claim, DirectoryMember._meta.db_table)


def _in_words(active: bool, kept: bool) -> str:
    return f"{'active' if active else 'not active'}, {'kept' if kept else 'ended'}"
