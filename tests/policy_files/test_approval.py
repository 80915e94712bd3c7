"""A plan that another person has to approve: asked for once, decided by somebody else, applied once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from catalog.nodes import Node
from policies.authority import OPERATOR, Actor
from policies.errors import Conflict, Invalid, NotFound, PolicyError, Refused
from policies.models import AccessRequest, Change, Event, PlannedFile, RequestRule
from policies.policy_files import document
from policies.policy_files.applying import NeedsApproval, apply
from policies.policy_files.plan import Plan
from policies.requests import decisions, plan_approvals, rules, submission, visibility
from policies.services import roles
from tests.factories import AUTHORITY, BY, acting, the
from tests.kept import kept
from tests.policies.superuser import past_triggers
from tests.policy_files.world import GATED, WHY, a_gated_world, holders, named, submit, waiting
from tests.simulation.databases import contents

ADDS = GATED.replace("owns: [role:reader]\n", "")

world = kept(a_gated_world)


def give_to_hana() -> None:
    """Something that changes access in the realm, and that no file knows of."""
    roles.assign(the("role", "granting"), named("hana"), by=BY, authority=AUTHORITY)


def test_a_plan_that_removes_waits_and_changes_nothing_until_it_is_approved_and_applied(world: Node) -> None:
    request = waiting(world)
    assert (holders(), request.state) == ({"ana"}, "asked")
    assert [step[1] for step in PlannedFile.objects.get(request=request).steps] == [
        "user:bo holds role reader",
        "user:ana holds role reader",
    ]
    decisions.approve(request.pk, by=acting("gil"), note="as agreed")
    assert holders() == {"ana"}
    outcome = submit(world)
    assert (holders(), outcome.waits) == ({"bo"}, None)
    last = Change.objects.order_by("-revision").first()
    assert last is not None and (last.kind, last.reason) == ("policy.applied", WHY)
    kinds = Event.objects.filter(change=last).values_list("kind", flat=True)
    assert {"policy.applied", "request.applied", "role.assigned"} <= set(kinds)
    [want] = request.wants.all()
    assert want.revision == last.revision
    assert request.parts.get().seal is None


@pytest.mark.parametrize(
    ("needed", "text", "waits"),
    [
        ("never", GATED, False),
        ("never", ADDS, False),
        ("removals", GATED, True),
        ("removals", ADDS, False),
        ("always", GATED, True),
        ("always", ADDS, True),
    ],
)
def test_the_realm_says_which_plans_wait(world: Node, needed: str, text: str, waits: bool) -> None:
    rules.set_rule(world, by=acting("marek"), plan_approval=needed)
    assert (submit(world, text).waits is not None) == waits
    assert ("bo" in holders()) == (not waits)


@pytest.mark.parametrize(
    "deed",
    [
        "UPDATE policies_requestrule SET plan_approval = 'never' WHERE securable_id = {}",
        "DELETE FROM policies_requestrule WHERE securable_id = {}",
    ],
)
def test_a_rule_weakened_past_the_console_still_holds(world: Node, deed: str) -> None:
    past_triggers(deed.format(world.id))
    assert submit(world).waits is not None
    assert holders() == {"ana"}


def test_a_realm_that_says_nothing_waits_for_nobody(world: Node) -> None:
    rules.set_rule(world, by=acting("marek"))
    assert submit(world).waits is None


@pytest.mark.parametrize("by", ["hana", "gil"])
def test_who_may_grant_or_has_the_duty_approves(world: Node, by: str) -> None:
    request = waiting(world)
    assert request in visibility.waiting_for(named(by))
    decisions.approve(request.pk, by=acting(by))
    assert submit(world).waits is None


@pytest.mark.parametrize(
    ("by", "error"),
    [("marek", Refused), ("ana", NotFound), ("bo", NotFound)],
)
def test_the_author_and_strangers_do_not_approve(world: Node, by: str, error: type[PolicyError]) -> None:
    request = waiting(world)
    with pytest.raises(error):
        decisions.approve(request.pk, by=acting(by))
    assert (request.parts.get().state, holders()) == ("asked", {"ana"})


def test_who_answers_for_the_service_that_applies_does_not_approve(world: Node) -> None:
    ci = Actor(named("ci", "service"), "api")
    request = waiting(world, by=ci)
    with pytest.raises(Refused):
        decisions.approve(request.pk, by=acting("marek"))
    decisions.approve(request.pk, by=acting("hana"))
    with pytest.raises(Refused):
        decisions.approve(waiting(world, by="gil").pk, by=ci)
    assert submit(world, by=ci).waits is None
    assert holders() == {"bo"}


def test_an_approval_counts_for_its_author_alone(world: Node) -> None:
    decisions.approve(waiting(world).pk, by=acting("hana"))
    assert submit(world, by="gil").waits is not None
    assert holders() == {"ana"}


def test_the_same_plan_asks_once_and_is_applied_once(world: Node) -> None:
    request = waiting(world)
    assert waiting(world) == request
    decisions.approve(request.pk, by=acting("gil"))
    file = document.read(GATED)
    seen = Plan(world, file).digest
    apply(world, file, seen=seen, by=acting("marek"))
    roles.assign(the("role", "reader"), named("ana"), by=BY, authority=AUTHORITY)
    with pytest.raises(Conflict, match="Plan again"):
        apply(world, file, seen=seen, by=acting("marek"))
    with pytest.raises(NeedsApproval):
        apply(world, file, seen=Plan(world, file).digest, by=acting("marek"))


def test_when_the_world_moved_nobody_approves_and_nothing_is_applied(world: Node) -> None:
    request, seen = waiting(world), Plan(world, document.read(GATED)).digest
    decisions.approve(request.pk, by=acting("gil"))
    give_to_hana()
    with pytest.raises(Conflict, match="Plan again"):
        apply(world, document.read(GATED), seen=seen, by=acting("marek"))
    newer = waiting(world)
    give_to_bo = the("role", "granting")
    roles.assign(give_to_bo, named("bo"), by=BY, authority=AUTHORITY)
    with pytest.raises(Conflict, match="can no longer be applied"):
        decisions.approve(newer.pk, by=acting("gil"))
    decisions.refuse(newer.pk, "plan it again", by=acting("gil"))
    assert holders() == {"ana"}


def test_requests_for_access_that_give_nothing_leave_an_approval_standing(world: Node) -> None:
    decisions.approve(waiting(world).pk, by=acting("gil"))
    wish = submission.Asking(
        (submission.WantedAction("table", "demo/shop.sales.orders", "read"),), named("ana"), WHY
    )
    submission.ask(wish, by=acting("ana"))
    assert submit(world).waits is None


def test_a_file_edited_after_its_approval_is_another_plan(world: Node) -> None:
    decisions.approve(waiting(world).pk, by=acting("gil"))
    edited = GATED.replace("user:bo", "user:hana")
    assert submit(world, edited).waits is not None
    assert holders() == {"ana"}


def test_a_newer_plan_takes_the_place_of_one_that_can_no_longer_be_applied(world: Node) -> None:
    other = waiting(world, GATED.replace("user:bo", "user:hana"))
    older = waiting(world)
    give_to_hana()
    waiting(world)
    states = AccessRequest.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["withdrawn", "withdrawn", "asked"]
    assert {other.pk, older.pk} < set(AccessRequest.objects.values_list("pk", flat=True))


def test_what_was_refused_is_refused_to_its_author_with_the_reason(world: Node) -> None:
    decisions.refuse(waiting(world).pk, "ana still needs it", by=acting("gil"))
    with pytest.raises(Refused, match=r"refused this plan: ana still needs it"):
        submit(world)
    assert holders() == {"ana"}


def disabled() -> None:
    """Without a change, so that the plan is the same and only its approval is gone."""
    User.objects.filter(principal=named("gil")).update(is_active=False)


def without_right() -> None:
    roles.unassign(the("role", "granting"), named("gil"), by=BY, authority=AUTHORITY)


def unsealed() -> None:
    PlannedFile.objects.update(plan=PlannedFile.objects.get().plan[::-1])
    PlannedFile.objects.update(plan=PlannedFile.objects.get().plan[::-1], revision=1)


def lapsed() -> None:
    AccessRequest.objects.update(lapses_at=timezone.now() - timedelta(hours=1))


@pytest.mark.parametrize("happens", [disabled, without_right, unsealed, lapsed])
def test_an_approval_that_counts_no_more_lets_nothing_through(world: Node, happens) -> None:
    decisions.approve(waiting(world).pk, by=acting("gil"))
    happens()
    again = waiting(world)
    assert (again.state, holders()) == ("asked", {"ana"})


@pytest.mark.parametrize(
    "given",
    [{"lasts": "P1D"}, {"until": timezone.now() + timedelta(days=1)}, {"give": {0: ["MANAGE_GRANTS"]}}],
)
def test_a_plan_is_approved_whole_or_not(world: Node, given) -> None:
    with pytest.raises(Invalid):
        decisions.approve(waiting(world).pk, by=acting("gil"), **given)


def test_nobody_asks_for_what_they_could_not_carry_out(world: Node) -> None:
    before = contents()
    with pytest.raises(Refused):
        submit(world, by="ana")
    with pytest.raises(Refused, match="Another person"):
        submit(world, by=OPERATOR)
    with pytest.raises(Invalid, match="Give a reason"):
        submit(world, reason="")
    assert contents() == before


def test_only_a_realm_says_which_plans_need_approval(world: Node) -> None:
    with pytest.raises(Invalid, match="set for a whole realm"):
        rules.set_rule(the("schema", "shop.sales"), by=acting("marek"), plan_approval="always")
    with pytest.raises(Invalid, match="never, removals, always"):
        rules.set_rule(world, by=acting("marek"), plan_approval="sometimes")
    with pytest.raises(Refused):
        rules.set_rule(world, by=acting("ana"), plan_approval="never")
    assert RequestRule.objects.get(securable=world.id).plan_approval == "removals"


def test_a_change_by_hand_moves_the_state_of_access_and_a_request_does_not(world: Node) -> None:
    before = plan_approvals.last_change_of_access(world.realm_id)
    waiting(world)
    assert plan_approvals.last_change_of_access(world.realm_id) == before
    give_to_hana()
    assert plan_approvals.last_change_of_access(world.realm_id) > before


A_CATALOG = (
    GATED
    + """
registers_objects: true
objects:
  catalog:lake: {kind: %s}
"""
)


def test_an_approval_is_of_the_kind_of_catalog_that_was_seen(world: Node) -> None:
    request = waiting(world, A_CATALOG % "fileset")
    steps = [step[1] for step in PlannedFile.objects.get(request=request).steps]
    assert "catalog:lake is there, of kind fileset" in steps
    decisions.approve(request.pk, by=acting("gil"))
    other = submit(world, A_CATALOG % "relational")
    assert other.waits is not None and holders() == {"ana"}


@pytest.mark.parametrize("part", [0, 1, 2], ids=["action", "sentence", "statements"])
def test_nobody_approves_a_plan_whose_steps_were_altered_past_the_console(world: Node, part: int) -> None:
    request = waiting(world)
    planned = PlannedFile.objects.get(request=request)
    planned.steps[-1][part] = planned.steps[0][part]
    planned.save()
    with pytest.raises(Conflict, match="differ from the requested ones"):
        decisions.approve(request.pk, by=acting("gil"))
    assert request.parts.get().state == "asked"
    decisions.refuse(request.pk, "not what it was", by=acting("gil"))
    assert request.parts.get().state == "refused"
