"""Beside every plan: which reported uses of the last days the change would refuse, or newly allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Diff, DiffLine, StrOrPromise
from catalog.nodes import Node
from policies.data_views.visibility import governed
from policies.errors import PolicyError
from policies.simulation.changes import Change
from policies.simulation.difference import Difference
from policies.simulation.replay import DAYS, Replay, ReplayedUse, ReplayOutcome, Uses
from policies.simulation.simulation import Simulation

LINES = 8
"""So many uses are written out; of the rest the page says how many there are."""
NO_LONGER = {
    "read": gettext_lazy("could no longer read %(name)s"),
    "write": gettext_lazy("could no longer write %(name)s"),
    "use": gettext_lazy("could no longer use %(name)s"),
    "execute": gettext_lazy("could no longer execute %(name)s"),
    "": gettext_lazy("could no longer do %(action)s on %(name)s"),
}
NEWLY = {
    "read": gettext_lazy("could read %(name)s"),
    "write": gettext_lazy("could write %(name)s"),
    "use": gettext_lazy("could use %(name)s"),
    "execute": gettext_lazy("could execute %(name)s"),
    "": gettext_lazy("could do %(action)s on %(name)s"),
}
"""What is said of a use, by its action; without one, of any other."""
Proposal = tuple[Node, Sequence[Change]]
"""What a form would change in one realm, given by its root."""


@dataclass(frozen=True)
class ReplaySection:
    """What a page says of uses: lines for those refused and allowed, and how much the reports cover."""

    diff: Diff
    coverage: str
    days: int = DAYS


def section(viewer: Principal, proposals: Iterable[Proposal], *, whole: bool = False) -> ReplaySection | None:
    """The uses that a form's changes touch, as far as the viewer may see them; None where there is nothing
    to say: no changes, or no objects with data.

    `whole`: the form tells its viewer of everybody's access in these realms, wherever they may see it else.
    """
    replays = [_replay(viewer, root, changes, whole=whole) for root, changes in proposals if changes]
    try:
        return section_of([replay.outcome for replay in replays])
    except PolicyError:
        return None  # what cannot be done is said by the form itself


def section_of(outcomes: Sequence[ReplayOutcome]) -> ReplaySection | None:
    """What is said of replays that were worked out."""
    objects, reported = sum(each.objects for each in outcomes), sum(each.reported for each in outcomes)
    refused, allowed, vanished = (
        _together([getattr(each, part) for each in outcomes]) for part in ("refused", "allowed", "gone")
    )
    if not objects and not refused.count and not allowed.count and not vanished.count:
        return None
    coverage = ngettext(
        "Usage is reported for %(reported)s of %(objects)s object with data.",
        "Usage is reported for %(reported)s of the %(objects)s objects with data.",
        objects,
    ) % {"reported": words.number(reported), "objects": words.number(objects)}
    days = outcomes[0].days
    return ReplaySection(Diff((*_lines(refused, allowed), *_gone(vanished))), coverage, days)


def _together(some: Sequence[Uses]) -> Uses:
    return Uses(sum(uses.count for uses in some), tuple(use for uses in some for use in uses.latest))


def root_of(node: Node) -> Node:
    """The root of the realm that an object is in."""
    return next(iter(node.above()), node)


def _replay(viewer: Principal, root: Node, changes: Sequence[Change], *, whole: bool) -> Replay:
    now = timezone.now()
    at = max([now, *(change.begins for change in changes if change.begins)])
    within = None if whole else governed(viewer, root) or frozenset()
    return Replay(Difference(Simulation(root, changes, at=at), viewer=viewer, governed=within))


def _lines(refused: Uses, allowed: Uses) -> Iterator[DiffLine]:
    for use in refused.latest[:LINES]:
        yield DiffLine("lose", use.person.label, _text(NO_LONGER, use), _when(use))
    if refused.count > LINES:
        yield DiffLine("lose", words.number(refused.count - LINES), _("more uses would be refused."))
    if not refused.count:
        yield DiffLine("same", _("No reported use"), _("would be refused."))
    for use in allowed.latest[:LINES]:
        yield DiffLine("gain", use.person.label, _text(NEWLY, use), _when(use))
    if allowed.count > LINES:
        yield DiffLine("gain", words.number(allowed.count - LINES), _("more uses would be allowed."))


def _gone(vanished: Uses) -> Iterator[DiffLine]:
    """Uses of what is gone are named, as nothing can be decided on them."""
    for use in vanished.latest[:LINES]:
        text = _("used %(name)s, which no longer exists") % {"name": use.node.ref.full_name or use.node.name}
        when = words.count(use.times, "run")
        yield DiffLine("same", use.person.label, text, f"{when}, {words.ago(use.last)}")
    if vanished.count > LINES:
        yield DiffLine(
            "same",
            words.number(vanished.count - LINES),
            _("more uses concerned objects that no longer exist"),
        )


def _text(texts: Mapping[str, StrOrPromise], use: ReplayedUse) -> str:
    values = {"action": use.action, "name": use.node.ref.full_name or use.node.name}
    return str(texts.get(use.action, texts[""])) % values


def _when(use: ReplayedUse) -> str:
    times = words.count(use.times, "time")
    if not use.jobs:
        return _("Refused %(times)s, last %(last)s.") % {"times": times, "last": words.ago(use.last)}
    jobs = words.listed([job.label for job in use.jobs], 3)
    return _("Used in %(times)s, last %(last)s. Reported by %(jobs)s.") % {
        "times": words.count(use.times, "run"),
        "last": words.ago(use.last),
        "jobs": jobs,
    }
