"""What speaks for and against a request, as its decider reads it: each with its ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

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


def _notes(consideration: Consideration, seen: VisibleRequest) -> Iterable[Note]:
    """What stands against it; the form says no more than these, and the law decides."""
    for text in consideration.clashes:
        yield Note("bad", _("Separation of duties."), text)
    for denial in consideration.denials:
        label = terms.right(denial.privilege, denial.ref.type, requests_rows.law_of(seen.request))
        denied = (
            _("%(label)s on %(name)s is denied by role %(role)s.")
            if denial.role
            else _("%(label)s on %(name)s is denied.")
        )
        name = denial.ref.full_name or denial.ref.realm
        text = _("Approving does not lift a denial; only its author can.")
        yield Note(
            "warn",
            denied % {"label": label, "name": name, "role": denial.role},
            text,
        )


def _present(present: Present, seen: VisibleRequest) -> str:
    """Ana can already use schema sales; Ana can do nothing with orders."""
    who, name = seen.request.holder.label, requests_rows.short(present.want.name)
    if present.node is None:
        return _("There is no object called %(name)s yet.") % {"name": present.want.name}
    can = [requests_rows.verb(action, present.want.type) for action in TOLD if action in present.can]
    can = list(dict.fromkeys(can))
    return (
        _("%(who)s can %(can)s %(name)s.") % {"who": who, "can": words.listed(can), "name": name}
        if can
        else _("%(who)s has no access to %(name)s.") % {"who": who, "name": name}
    )


def _alike(peers: Peers, seen: VisibleRequest) -> str:
    what = requests_rows.part_words(peers.part, requests_rows.law_of(seen.request))
    share = peers.share
    return _("%(what)s: %(have)s of %(of)s comparable people have it.") % {
        "what": what,
        "have": words.number(share.have),
        "of": words.number(share.of),
    }


def _earlier(access_request: AccessRequest, seen: VisibleRequest) -> Earlier:
    wants = list(access_request.wants.all())
    day_asked = words.day(access_request.asked_at)
    if access_request.asker_id != access_request.holder_id:
        day_asked = _("%(day)s by %(label)s") % {"day": day_asked, "label": access_request.asker.label}
    note = f"{day_asked} · {words.quoted(requests_rows.cut(access_request.reason))}"
    text = _("To %(wants)s %(access_request)s") % {
        "wants": requests_rows.wants_words(wants),
        "access_request": requests_rows.lasts_words(access_request),
    }
    return Earlier(text, note, requests_rows.state_of(access_request), requests_rows.url_of(access_request))


def _ends(consideration: Consideration, seen: VisibleRequest) -> str:
    if consideration.end is None:
        return _("Approved now, it would have no end.")
    return _("Approved now, it would end on %(end)s, %(zone)s.") % {
        "end": words.moment(consideration.end),
        "zone": words.zone(),
    }
