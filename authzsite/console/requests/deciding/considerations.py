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
        tuple(_present(item, seen) for item in found.present),
        tuple(_alike(peer, seen) for peer in found.peers if peer.share.of),
        tuple(_earlier(item, seen) for item in found.earlier),
        found.roles,
        _ends(found, seen),
    )


def _notes(found: Consideration, seen: VisibleRequest) -> Iterable[Note]:
    """What stands against it; the form says no more than these, and the law decides."""
    for text in found.clashes:
        yield Note("bad", "Separation of duties.", text)
    for denial in found.denials:
        label = terms.right(denial.privilege, denial.ref.type, requests_rows.law_of(seen.request))
        by = f" by role {denial.role}" if denial.role else ""
        name = denial.ref.full_name or denial.ref.realm
        text = "A yes does not lift a denial; its author can."
        yield Note("warn", f"{label} on {name} is denied{by}.", text)


def _present(present: Present, seen: VisibleRequest) -> str:
    """Ana can already use schema sales; Ana can do nothing with orders."""
    who, name = seen.request.holder.label, requests_rows.short(present.want.name)
    if present.node is None:
        return f"There is nothing called {present.want.name} (yet)."
    can = [requests_rows.verb(action, present.want.type) for action in TOLD if action in present.can]
    can = list(dict.fromkeys(can))
    return f"{who} can {words.listed(can)} {name}." if can else f"{who} can do nothing with {name}."


def _alike(peers: Peers, seen: VisibleRequest) -> str:
    what = requests_rows.part_words(peers.part, requests_rows.law_of(seen.request))
    share = peers.share
    return f"{what}: {words.number(share.have)} of {words.number(share.of)} comparable people have it."


def _earlier(access_request: AccessRequest, seen: VisibleRequest) -> Earlier:
    wants = list(access_request.wants.all())
    who = "" if access_request.asker_id == access_request.holder_id else f" by {access_request.asker.label}"
    note = f"{words.day(access_request.asked_at)}{who} · “{requests_rows.cut(access_request.reason)}”"
    text = f"To {requests_rows.wants_words(wants)} {requests_rows.lasts_words(access_request)}"
    return Earlier(text, note, requests_rows.state_of(access_request), requests_rows.url_of(access_request))


def _ends(found: Consideration, seen: VisibleRequest) -> str:
    if found.end is None:
        return "Approved now, it would have no end."
    return f"Approved now, it would end on {words.moment(found.end)}, {words.zone()}."
