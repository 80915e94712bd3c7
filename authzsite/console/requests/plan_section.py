"""What the plan of a request would do, for viewers who may see all access in its realm; with its replay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from authzsite.console.kit import large_effect
from authzsite.console.kit.display import plan_steps, words
from authzsite.console.kit.display.parts import Diff, Note, Tally
from authzsite.console.kit.large_effect import EffectSection
from authzsite.console.kit.replay import Proposal, ReplaySection, section
from catalog.nodes import node as node_of
from policies.data_views.visibility import sees_all_access
from policies.errors import PolicyError
from policies.models import PlannedFile
from policies.models.requests import GRANTED
from policies.policy_files import document
from policies.policy_files.effects import Effects
from policies.policy_files.plan import Plan
from policies.requests.plan_approvals import is_as_asked, last_change_of_access
from policies.requests.visibility import VisibleRequest


@dataclass(frozen=True)
class PlanSection:
    """`diff` and `replay` are None for viewers who may not see all access in the realm.

    `current`: nothing changed since the plan was worked out, so it can be approved and applied.
    """

    note: Note
    tally: Tally
    diff: Diff | None
    replay: ReplaySection | None
    current: bool
    may_apply: bool
    effect: EffectSection | None = None
    """How far it is worked out, where that takes a worker."""


def section_of(seen: VisibleRequest) -> PlanSection | None:
    """What a request's page says of its plan; None for requests of other kinds."""
    planned = seen.planned
    if planned is None or seen.request.realm is None:
        return None
    current = planned.revision == last_change_of_access(seen.request.realm.pk) and is_as_asked(planned)
    used = seen.wants[0].revision
    open_or_approved = seen.request.open or seen.request.state in GRANTED
    live = current and used is None and open_or_approved and timezone.now() < seen.request.lapses_at
    shown = _may_see(seen)
    effects = _effects(planned) if shown and live else None
    steps = [(action, text) for action, text, _statements in planned.steps]
    return PlanSection(
        _note(seen, used, live),
        plan_steps.tally(steps),
        Diff(tuple(plan_steps.lines(steps))) if shown else None,
        section(seen.viewer, _proposals(effects)) if effects is not None and not effects.is_long else None,
        live,
        live and seen.mine and seen.request.state in GRANTED,
        large_effect.ask(effects, seen.viewer) if effects is not None and effects.is_long else None,
    )


def _may_see(seen: VisibleRequest) -> bool:
    root = node_of(seen.request.lineage[0]) if seen.request.lineage else None
    return root is not None and sees_all_access(seen.viewer, root)


def _note(seen: VisibleRequest, used: int | None, live: bool) -> Note:
    if used is not None:
        return Note("", _("Applied."), _("It is revision %(number)s.") % {"number": words.number(used)})
    if not live:
        text = _("The realm has changed since the plan, or the plan has expired. Its author must plan again.")
        return Note("warn", _("This plan can no longer be applied."), text)
    if seen.request.state in GRANTED:
        return Note("", _("Approved, not applied yet."), _("Its author applies it."))
    return Note("", _("Nothing is changed yet."), _("Once approved, its author applies exactly this plan."))


def _effects(planned: PlannedFile) -> Effects | None:
    """What the very plan would do; None when it is another by now."""
    root = node_of(planned.request.lineage[0])
    try:
        plan = Plan(root, document.read(planned.file)) if root is not None else None
    except PolicyError:
        return None
    return Effects(plan) if plan is not None and plan.digest == planned.plan else None


def _proposals(effects: Effects) -> Iterable[Proposal]:
    yield effects.plan.root, effects.changes
