"""`/authz/v1/policies`: a realm as a policy file, what a file would change, and applying what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.models import Principal
from authzsite.api.strictjson import BadBody
from authzsite.api.surface import Forbidden, respond
from authzsite.api.v1 import named
from authzsite.api.v1.call import Call
from authzsite.api.v1.describing import described
from authzsite.api.v1.fields import (
    Answer,
    AnyObject,
    Body,
    Flag,
    Listed,
    Moment,
    OptionalText,
    PrincipalName,
    Text,
    Whole,
)
from authzsite.api.v1.simulate import (
    CalculationSerializer,
    ReplaySerializer,
    ReplayWish,
    TotalsSerializer,
    accepted,
    replay_answer,
    visible_realm,
)
from catalog.nodes import Node
from policies.data_views.visibility import sees_all_access
from policies.errors import Invalid, NotFound
from policies.models import PlannedFile
from policies.policy_files import document, drift, imports
from policies.policy_files.applying import apply_or_ask, needs_approval
from policies.policy_files.comparison import ADD, CHANGE, REMOVE, Step
from policies.policy_files.document import PolicyFile
from policies.policy_files.drift import DriftLine, FileDrift
from policies.policy_files.effects import Effects
from policies.policy_files.plan import Plan
from policies.policy_files.statements import of_realm
from policies.record.history import Names
from policies.requests import notifications, visibility
from policies.requests.plan_approvals import is_as_asked
from policies.requests.visibility import VisibleRequest
from policies.simulation.difference import TooLarge

ACTIONS = {ADD: "adds", CHANGE: "changes", REMOVE: "removals"}
LISTED = 1000
"""So many steps of each kind are listed; how many there are stands beside them."""
NOT_YOURS = (
    "you need the right to see all access in the realm: as its owner, or by a duty for the whole realm"
)


class PlanWish(Body):
    file = Text(help_text="the text of a policy file, YAML")
    effects = Flag(
        default=False, help_text="also calculate who gains and loses access, and which uses are refused"
    )
    replay = ReplayWish(required=False)


class ApplyWish(Body):
    file = Text(help_text="the text that was planned")
    plan = Text(help_text="the digest of the plan that was reviewed")
    reason = OptionalText(help_text="why, such as the commit and its author")


class ImportWish(Body):
    system = Text(help_text=", ".join(imports.SOURCES))
    text = Text(help_text="the export of the other system")
    realm = Text(help_text="the realm that the policy file is for")
    catalog = OptionalText(help_text="the catalog of the schemas, if the source has no catalogs")


class LeftOutSerializer(Answer):
    what = Text()
    why = Text()


class ImportSerializer(Answer):
    """`left_out` is what the file does not say, `added` what it says beyond the source, each with why."""

    realm = Text()
    file = Text()
    left_out = Listed(child=LeftOutSerializer())
    added = Listed(child=LeftOutSerializer())


class PolicyFileSerializer(Answer):
    """`file` is the text of the policy file, YAML."""

    realm = Text()
    file = Text()


class StepsSerializer(Answer):
    count = Whole()
    results = Listed(child=Text())


class PlanSerializer(Answer):
    """What a file changes; `removals` stand apart.  `plan` names this very plan.

    Where `calculation` is not null, a worker works out the totals and the replay.
    """

    realm = Text()
    revision = Whole()
    plan = Text()
    adds = StepsSerializer()
    changes = StepsSerializer()
    removals = StepsSerializer()
    totals = TotalsSerializer(allow_null=True)
    replay = ReplaySerializer(allow_null=True)
    calculation = CalculationSerializer(allow_null=True)
    needs_approval = Flag(help_text="whether another person has to approve it before it is applied")


class WaitsSerializer(Answer):
    """The request for approval; `deciders` may approve it, as far as the caller may know."""

    request = Whole()
    page = Text(help_text="where it is decided, below the address of the console")
    deciders = Listed(child=PrincipalName())
    lapses_at = Moment()


class AppliedSerializer(Answer):
    """What was applied; where another person has to approve it first nothing was, and `waits_for` says whom
    it waits for.  The same call applies it once it is approved."""

    realm = Text()
    plan = Text()
    revision = Whole(allow_null=True)
    adds = StepsSerializer(allow_null=True)
    changes = StepsSerializer(allow_null=True)
    removals = StepsSerializer(allow_null=True)
    waits_for = WaitsSerializer(allow_null=True)


class RequestedPlanSerializer(PlanSerializer):
    """The plan that a request is about; `current` while it can be approved and applied."""

    file = Text()
    current = Flag()


class MadeBySerializer(Answer):
    """The change by which it came to differ."""

    revision = Whole()
    at = Moment()
    by = Text(help_text="a principal, or operator, system, directory or review")
    on_behalf_of = Text()
    via = Text()
    reason = Text()


class DriftLineSerializer(Answer):
    """One thing that is not as the file says; `change` is null where the live record does not tell it."""

    action = Text(help_text="added, changed or removed outside the file")
    text = Text()
    is_so = Listed(child=Text())
    file_says = Listed(child=Text())
    change = MadeBySerializer(allow_null=True)


class FileDriftSerializer(Answer):
    """One file: what it `owns`, the change that applied it, and what was changed since.

    `file` is what it said, to plan it again; `file_with_drift` the same with all changes taken into it, of
    which `sections` are the parts that differ and `gone` the roles and objects to take out.  `kept` is false
    where what it said is lost; then apply it again.
    """

    owns = Listed(child=Text())
    revision = Whole()
    at = Moment()
    kept = Flag()
    count = Whole()
    results = Listed(child=DriftLineSerializer())
    file = Text()
    file_with_drift = Text()
    sections = Text()
    gone = Listed(child=Text())


class DriftSerializer(Answer):
    """The files of a realm that own parts of it, those applied last first."""

    realm = Text()
    count = Whole(help_text="how many things differ from the files")
    files = Listed(child=FileDriftSerializer())


class Policies(Call):
    http_method_names = ["get"]

    @described(
        "A realm as a policy file, the same text each time; `all` names every object, `tree` makes a file of "
        "each role and catalog, as documents of one text",
        "check",
        PolicyFileSerializer,
        query=("realm!", "all", "tree"),
    )
    def get(self, request: Request) -> HttpResponse:
        caller, query = self.require_scope("check").principal, request._request.GET.dict()
        whole, tree = query.get("all", "true"), query.get("tree", "false")
        if {whole, tree} - {"true", "false"}:
            raise BadBody("all and tree must be true or false")
        top = _governed(named.needed(query, "realm"), caller)
        write = document.tree_of if tree == "true" else document.write
        text = write(top, of_realm(top), objects=whole == "true")
        return respond({"realm": top.name, "file": text})


class PolicyDrift(Call):
    http_method_names = ["get"]

    @described(
        "Changes made outside the policy files of a realm since they were applied",
        "check",
        DriftSerializer,
        query=("realm!",),
    )
    def get(self, request: Request) -> HttpResponse:
        caller, asked = self.require_scope("check").principal, request._request.GET.dict()
        top = _governed(named.needed(asked, "realm"), caller)
        files = drift.of_root(top)
        changes = [line.change for file in files for line in file.lines[:LISTED] if line.change]
        names = Names(changes, ())
        count = sum(len(file.lines) for file in files)
        listed = [_drifted(file, names) for file in files]
        return respond({"realm": top.name, "count": count, "files": listed})


def _drifted(file: FileDrift, names: Names) -> dict[str, Any]:
    return {
        "owns": list(file.kept.owns),
        "revision": file.kept.revision,
        "at": file.kept.at.isoformat(),
        "kept": file.kept.file is not None,
        "count": len(file.lines),
        "results": [_drift_line(line, names) for line in file.lines[:LISTED]],
        "file": file.text,
        "file_with_drift": file.text_with_drift,
        "sections": file.sections,
        "gone": file.gone,
    }


def _drift_line(line: DriftLine, names: Names) -> dict[str, Any]:
    sides = {"is_so": [*map(str, line.is_so)], "file_says": [*map(str, line.file_says)]}
    made = line.change and {
        "revision": line.change.revision,
        "at": line.change.at.isoformat(),
        "by": names.principal(line.change.actor),
        "on_behalf_of": names.principal(line.change.on_behalf_of),
        "via": line.change.via,
        "reason": line.change.reason,
    }
    return {"action": line.action, "text": str(line), **sides, "change": made}


class PolicySchema(Call):
    http_method_names = ["get"]

    @described("The JSON Schema of policy files, for editors", "check", AnyObject)
    def get(self, request: Request) -> HttpResponse:
        return respond(document.SCHEMA)


class ImportPolicies(Call):
    http_method_names = ["post"]

    @described(
        "Convert the access of another system to a policy file; nothing is written",
        "check",
        ImportSerializer,
        body=ImportWish,
    )
    def post(self, request: Request) -> HttpResponse:
        self.require_scope("check")
        body = ImportWish.read(request)
        draft = imports.read(body["system"], body["text"], realm=body["realm"], catalog=body["catalog"])
        answer = {"realm": draft.realm, "file": draft.text()}
        return respond({**answer, "left_out": _reported(draft.left_out), "added": _reported(draft.added)})


def _reported(some: Sequence[imports.LeftOut]) -> list[dict[str, str]]:
    return [{"what": problem.what, "why": problem.why} for problem in some]


class PlanPolicies(Call):
    http_method_names = ["post"]

    @described(
        "What a policy file would change; nothing is written",
        "check",
        PlanSerializer,
        body=PlanWish,
        also=(202,),
    )
    def post(self, request: Request) -> HttpResponse:
        caller, body = self.require_scope("check").principal, PlanWish.read(request)
        file = document.read(body["file"])
        plan = Plan(_governed(file.realm, caller), file)
        wanted = body["effects"] or "replay" in body
        effects = Effects(plan, **body.get("replay", {})) if wanted else None
        answer = {**_applied(plan), "needs_approval": needs_approval(plan)}
        return _with_effects(answer, effects, caller)


class ApplyPolicies(Call):
    http_method_names = ["post"]

    @described(
        "Apply a policy file as it was planned, as one change, or ask another person to approve it",
        "manage",
        AppliedSerializer,
        body=ApplyWish,
        also=(202,),
        others={409: "the realm or the file changed since; nothing was done"},
    )
    def post(self, request: Request) -> HttpResponse:
        caller, body = self.require_scope("manage"), ApplyWish.read(request)
        file: PolicyFile = document.read(body["file"])
        top = _governed(file.realm, caller.principal)
        done = apply_or_ask(top, file, seen=body["plan"], by=caller.actor(), reason=body["reason"])
        if done.waits is None:
            return respond({**_applied(done.plan), "waits_for": None})
        nothing = dict.fromkeys(("revision", "adds", "changes", "removals"))
        waits = _waits(visibility.get(done.waits.pk, caller.principal))
        return respond({**_applied(done.plan), **nothing, "waits_for": waits}, 202)


class RequestedPlan(Call):
    http_method_names = ["get"]

    @described(
        "The plan of a policy file that a request is about, with its effect on people and its replay",
        "manage or audit",
        RequestedPlanSerializer,
        also=(202,),
        others={404: "no such request, you may not see it, or it is not about a plan"},
    )
    def get(self, request: Request, id: int) -> HttpResponse:
        if not self.caller.covers("audit"):
            self.require_scope("manage")
        seen = visibility.get(id, self.caller.principal)
        planned = seen.planned
        if planned is None:
            raise NotFound(f"request {id} is not about a plan")
        top = _governed(seen.request.realm_name, self.caller.principal)
        plan = _same(planned, top)
        effects = Effects(plan) if plan is not None else None
        return _with_effects(_requested(planned, plan, top), effects, self.caller.principal)


def _requested(planned: PlannedFile, plan: Plan | None, top: Node) -> dict[str, Any]:
    """The plan as it was asked for; what it would do to people while it is the same plan still."""
    by_action = {
        word: [text for action, text, _statements in planned.steps if action == word] for word in ACTIONS
    }
    listed = {
        name: {"count": len(by_action[word]), "results": by_action[word][:LISTED]}
        for word, name in ACTIONS.items()
    }
    return {
        "realm": top.name,
        "revision": planned.revision,
        "plan": planned.plan,
        **listed,
        "needs_approval": plan is not None and needs_approval(plan),
        "file": planned.file,
        "current": plan is not None,
    }


def _same(planned: PlannedFile, top: Node) -> Plan | None:
    """The plan, worked out again; None when it is another by now."""
    try:
        plan = Plan(top, document.read(planned.file))
    except Invalid:
        return None
    return plan if plan.digest == planned.plan and is_as_asked(planned) else None


def _applied(plan: Plan) -> dict[str, Any]:
    steps = {"adds": plan.adds, "changes": plan.changes, "removals": plan.removals}
    named = {name: _steps(some) for name, some in steps.items()}
    return {"realm": plan.root.name, "plan": plan.digest, "revision": plan.revision, **named}


def _waits(seen: VisibleRequest) -> dict[str, Any]:
    deciders = seen.deciders(seen.parts[0]) or ()
    return {
        "request": seen.request.pk,
        "page": notifications.link(seen.request),
        "deciders": [str(decider.principal) for decider in deciders],
        "lapses_at": seen.request.lapses_at.isoformat(),
    }


def _governed(name: str, caller: Principal) -> Node:
    """The realm, to people who may see all access in it.  Raises NotFound, Forbidden."""
    top = visible_realm(name, caller)
    if not sees_all_access(caller, top):
        raise Forbidden(NOT_YOURS)
    return top


def _with_effects(answer: dict[str, Any], effects: Effects | None, caller: Principal) -> HttpResponse:
    """The answer with what the plan would do to people, or with where that can be asked for."""
    nothing = {"totals": None, "replay": None}
    if effects is None:
        return respond({**answer, **nothing, "calculation": None})
    try:
        totals, replayed = effects.difference.totals, replay_answer(effects.replay.outcome)
    except TooLarge:
        return accepted({**answer, **nothing}, effects.ask(by=caller))
    worked_out = {"totals": TotalsSerializer(totals).data, "replay": replayed}
    return respond({**answer, **worked_out, "calculation": None})


def _steps(steps: Sequence[Step]) -> dict[str, Any]:
    return {"count": len(steps), "results": [str(step) for step in steps[:LISTED]]}
