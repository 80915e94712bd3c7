"""What speaks for and against a request, as its decider reads it: each with its ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from authzsite.console.access.merged_preview import Together
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, Note, State, Tally
from authzsite.console.requests import rows as requests_rows
from policies.models import AccessRequest
from policies.requests.decision_context import Consideration, Peers, Present
from policies.requests.role_proposals import Proposal
from policies.requests.visibility import VisibleRequest

TOLD = ("use", "read", "write", "grant")


@dataclass(frozen=True)
class Earlier:
    text: str
    note: str
    state: State
    url: str


@dataclass(frozen=True)
class Weighed:
    """`adds`: what a yes to everything would change, and for whom; `alike`: what comparable people have."""

    notes: tuple[Note, ...]
    tally: Tally | None
    adds: Diff | None
    present: tuple[str, ...]
    alike: tuple[str, ...]
    earlier: tuple[Earlier, ...]
    roles: tuple[Proposal, ...]
    ends: str


def weighed(found: Consideration, seen: VisibleRequest) -> Weighed:
    together = Together(found.effects) if found.effects else None
    return Weighed(
        tuple(_notes(found, seen)),
        together.tally() if together else None,
        together.diff() if together else None,
        tuple(_present(one, seen) for one in found.present),
        tuple(_alike(one, seen) for one in found.peers if one.share.of),
        tuple(_earlier(one, seen) for one in found.earlier),
        found.roles,
        _ends(found, seen),
    )


def _notes(found: Consideration, seen: VisibleRequest) -> Iterable[Note]:
    """What stands against it; the form says no more than these, and the law decides."""
    for text in found.clashes:
        yield Note("bad", "Separation of duties.", text)
    for one in found.denials:
        label = terms.right(one.privilege, one.ref.type, requests_rows.law_of(seen.request))
        by = f" by role {one.role}" if one.role else ""
        name = one.ref.full_name or one.ref.realm
        text = "A yes does not lift a denial; its author can."
        yield Note("warn", f"{label} on {name} is denied{by}.", text)


def _present(one: Present, seen: VisibleRequest) -> str:
    """Ana can already use schema sales; Ana can do nothing with orders."""
    who, name = seen.request.holder.label, requests_rows.short(one.want.name)
    if one.node is None:
        return f"There is nothing called {one.want.name} (yet)."
    can = [requests_rows.verb(action, one.want.type) for action in TOLD if action in one.can]
    can = list(dict.fromkeys(can))
    return f"{who} can {words.listed(can)} {name}." if can else f"{who} can do nothing with {name}."


def _alike(one: Peers, seen: VisibleRequest) -> str:
    what = requests_rows.part_words(one.part, requests_rows.law_of(seen.request))
    return (
        f"{what}: {words.number(one.share.have)} of {words.number(one.share.of)} comparable people have it."
    )


def _earlier(one: AccessRequest, seen: VisibleRequest) -> Earlier:
    wants = list(one.wants.all())
    who = "" if one.asker_id == one.holder_id else f" by {one.asker.label}"
    note = f"{words.day(one.asked_at)}{who} · “{requests_rows.cut(one.reason)}”"
    text = f"To {requests_rows.wants_words(wants)} {requests_rows.lasts_words(one)}"
    return Earlier(text, note, requests_rows.state_of(one), requests_rows.url_of(one))


def _ends(found: Consideration, seen: VisibleRequest) -> str:
    if found.end is None:
        return "Approved now, it would have no end."
    return f"Approved now, it would end on {words.moment(found.end)}, {words.zone()}."
