"""Starting a review: over what, by whom, until when, what silence means; counted before it begins."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts.models import Principal
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Count, Crumbs, Diff, DiffLine, Note, Tally, Verdict
from authzsite.console.kit.http import Request, numbers_in
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of, giveable
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from catalog.nodes import Node, nodes
from policies.authority import Actor
from policies.decisions import ask, slices
from policies.decisions.lookups.visible_objects import search
from policies.decisions.personal_role_names import is_personal
from policies.errors import PolicyError
from policies.record import access_log
from policies.reviews import start
from policies.reviews.campaign_plans import BY, RISKS, Plan, Scope, Stage
from policies.reviews.estimates import Estimate, estimate
from policies.services import roles
from policies.services.grants import revision_now

OFFERED, MOST = 12, 40
DAYS = (7, 14, 21, 30)
EVERY = ((0, "Never"), (1, "Every month"), (3, "Every 3 months"), (6, "Every 6 months"), (12, "Every year"))
SILENCE = (
    ("keep", "Access stays", "Rows without a decision stay as they are."),
    ("remove", "Access is removed", "Rows without a decision are removed. People lose access."),
    ("escalate", "I decide", "Rows without a decision wait for you at the end."),
)
REASONS = (
    ("never", "Never"),
    ("changes", "For removals and other changes"),
    ("far", "For changes and high-risk rows"),
    ("always", "Always"),
)
WHO = (
    ("owner", "The owners", "Each row goes to the owner of the object, or to the nearest owner above."),
    (
        "keeper",
        "Those who answer for it",
        "Service accounts go to the people who answer for them, the rest to owners.",
    ),
    ("duty", "Holders of the duty", "People with the duty to review access there."),
    ("people", "People I name", ""),
    ("starter", "Only me", ""),
)


@dataclass
class Form:
    """What a review is to be, as it is filled in."""

    circle: VisiblePrincipals
    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    # What is looked at

    @cached_property
    def find(self) -> str:
        return self.data.get("what", "").strip()[:255].replace("\0", "")

    @cached_property
    def picked(self) -> list[Node]:
        """Objects and roles that were chosen and are this person's to review, all in one realm."""
        keys = [key for key in numbers_in(self.data.getlist("on")) if str(key) != self.data.get("off")]
        keys += [key for key in numbers_in([self.data.get("add_on", "")]) if key not in keys]
        if self.typed is not None and self.typed.id not in keys:
            keys.append(self.typed.id)
        known = nodes(keys[:MOST])
        mine = [known[key] for key in dict.fromkeys(keys) if key in known and self.may(known[key])]
        return [node for node in mine if node.realm_id == mine[0].realm_id]

    @cached_property
    def typed(self) -> Node | None:
        """What was typed and confirmed with Enter, where the name can mean one thing only."""
        if not self.find or self.data.get("step") != "look" or {"off", "add_on"} & set(self.data):
            return None
        found = self._called(self.find)
        sought = self.find.casefold()
        exact = [node for node in found if sought in (node.name.casefold(), node.ref.full_name.casefold())]
        return exact[0] if len(exact) == 1 else found[0] if len(found) == 1 else None

    def may(self, node: Node) -> bool:
        """Whether this person may give access to it, and so may have it reviewed."""
        realm = next((item for item in self.circle.realms if item.realm_id == node.realm_id), None)
        if realm is None or is_personal(node.name):
            return False
        slice_ = slices.current(self.circle.asker, realm)
        deed = roles.operation(node, "assign") if node.type == "role" else "grant"
        return bool(ask.answer(slice_, deed, node, now=timezone.now()))

    @cached_property
    def offered(self) -> list[Node]:
        """What may be chosen: what is called so, or without a name what this person governs."""
        chosen = {node.id for node in self.picked}
        found = [node for node in self._called("" if self.typed else self.find) if node.id not in chosen]
        root = self.picked[0].realm_id if self.picked else None
        return [node for node in found if root is None or node.realm_id == root][:OFFERED]

    def _called(self, text: str) -> list[Node]:
        """What this person may have reviewed whose name holds a text, what lies highest first."""
        last = text.rpartition(".")[2]
        found = [
            node for node in giveable(self.circle, last) if text.casefold() in node.ref.full_name.casefold()
        ]
        found += self._roles() if text else ()
        return sorted(found, key=lambda node: (len(node.levels), node.names))

    def _roles(self) -> Iterable[Node]:
        now = timezone.now()
        for realm in self.circle.realms:
            slice_ = slices.current(self.circle.asker, realm, now=now)
            rows = search(slice_, realm, self.find, now=now, types=("role",))[:OFFERED]
            yield from (node for node in nodes([row.securable_id for row in rows]).values() if self.may(node))

    # Who is asked, and about whom

    @cached_property
    def reviewers(self) -> Among:
        return Among(self.data, search=self._people, nobody_words="Nobody of that name can be asked.")

    def _people(self, text: str) -> QuerySet[Principal]:
        return self.circle.people(text, kind="user")

    @property
    def by(self) -> str:
        asked = self.data.get("by", "")
        return asked if asked in BY else "owner"

    def _number(self, name: str, usual: int, least: int, most: int) -> int:
        text = self.data.get(name, "")
        if not text:
            return usual
        if not text.isdecimal() or len(text) > 4 or not least <= int(text) <= most:
            self.problems[name] = f"A number from {least} to {most}."
            return usual
        return int(text)

    @cached_property
    def plan(self) -> Plan:
        second = self.data.get("second", "")
        stages = [
            Stage(self.by, tuple(self.reviewers.chosen) if self.by == "people" else (), self._days("days"))
        ]
        if second in BY and second != "people":
            stages.append(Stage(second, (), self._days("days2")))
        return Plan(
            title=self.title,
            scope=self.scope,
            stages=tuple(stages),
            purpose=self.data.get("purpose", "").strip()[:2000].replace("\0", ""),
            silence=self._one_of("silence", "keep", dict.fromkeys(item[0] for item in SILENCE)),
            reasons=self._one_of("reasons", "changes", dict(REASONS)),
            bulk=self._number("bulk", 20, 1, 200),
            pace=self._number("pace", 3, 0, 600),
            sample=self._number("sample", 10, 0, 100),
            every=self._number("every", 0, 0, 36) or None,
        )

    def _days(self, name: str) -> int:
        return self._number(name, 14, 1, 366)

    def _one_of(self, name: str, usual: str, known: Any) -> str:
        asked = self.data.get(name, "")
        return asked if asked in known else usual

    @property
    def title(self) -> str:
        return self.data.get("title", "").strip()[:200].replace("\0", "")

    @cached_property
    def risks(self) -> tuple[str, ...]:
        return tuple(risk for risk in RISKS if risk in self.data.getlist("risk"))

    @property
    def scope(self) -> Scope:
        where = tuple(item for item in self.picked if item.type != "role")
        some = tuple(item for item in self.picked if item.type == "role")
        services = self.data.get("services") == "on"
        return Scope(where, (), some, services, self.risks)

    # What is wrong, what it would be

    @property
    def starting(self) -> bool:
        others = {"add", "drop", "add_on", "off"} & set(self.data)
        return self.data.get("step") == "save" and not others

    def check(self) -> bool:
        if not self.title:
            self.problems["title"] = "Give it a name that reviewers know it by."
        if not self.picked:
            self.problems["what"] = "Choose what to review."
        if self.by == "people":
            self.reviewers.check_who()
            self.problems |= self.reviewers.problems
        _ = self.plan
        return not self.problems

    @cached_property
    def estimate(self) -> Estimate | None:
        if not self.picked:
            return None
        try:
            return estimate(self.plan, Actor(self.circle.asker, "console"))
        except PolicyError as problem:
            self.problems.setdefault("what", str(problem))
            return None


@reads_and_writes
@login_required
def start_form(request: Request) -> HttpResponse:
    """What it is about, who is asked, what silence does; counted; then it begins in the background."""
    circle = circle_of(request)
    if not circle.gives_access:
        return _refused(request, circle)
    form = Form(circle, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST" or not form.starting or not form.check():
        return _show(request, form, [])
    try:
        review = start.start(form.plan, by=_actor(request, circle))
    except PolicyError as problem:
        return _show(request, form, [Note("bad", "Not started.", f"{problem} Your form is kept.")])
    say(request, f"{review.title} is being prepared; reviewers are notified when all rows are ready")
    return redirect("console:review", id=review.pk)


def _actor(request: Request, circle: VisiblePrincipals) -> Actor:
    nonce = request.POST.get("nonce", "")[:40]
    return Actor(circle.asker, "console", request_id=nonce if nonce.isalnum() else "")


def _refused(request: Request, circle: VisiblePrincipals) -> HttpResponse:
    access_log.refused(circle.asker, "review", None, name=request.path, via="console")
    text = "Only people who may give access to an object can start a review of it. Ask an owner."
    context = {
        "verdict": Verdict("no", "You cannot start a review", text, level=1),
        "actions": (Action("Back to Reviews", reverse("console:reviews")),),
    }
    return page(request, "errors/refused.html", context, section="reviews", status=403)


def _show(request: Request, form: Form, notes: list[Note]) -> HttpResponse:
    counted, plan = form.estimate, form.plan
    context: dict[str, Any] = {
        "crumbs": Crumbs((("Reviews", reverse("console:reviews")),)),
        "heading": "Start a review",
        "lead": "Reviewers see each access row and decide whether it is still needed.",
        "notes": notes,
        "nonce": secrets.token_hex(12),
        "here": request.path,
        "back": reverse("console:reviews"),
        "title": form.title,
        "purpose": plan.purpose,
        "find": "" if form.typed else form.find,
        "picking": bool(form.find or {"off", "add_on"} & set(form.data)),
        "picked": [_thing(item) for item in form.picked],
        "offered": [_thing(item) for item in form.offered],
        "risks": [(code, text, code in form.risks) for code, text in RISKS.items()],
        "services": plan.scope.services,
        "who": [(code, word, text, code == form.by) for code, word, text in WHO],
        "second": [("", "Nobody: one round"), *((code, word) for code, word, _ in WHO if code != "people")],
        "second_asked": form.data.get("second", ""),
        **{name: value for name, value in form.reviewers.fields().items() if name != "find"},
        "typed": form.reviewers.fields()["find"],
        "days": form.data.get("days", "14")[:4],
        "days2": form.data.get("days2", "7")[:4],
        "due": words.moment(timezone.now() + _spans(plan)),
        "zone": words.zone(),
        "silence": [(code, word, text, code == plan.silence) for code, word, text in SILENCE],
        "reasons": [(code, word, code == plan.reasons) for code, word in REASONS],
        "every": [(str(months), word, (plan.every or 0) == months) for months, word in EVERY],
        "bulk": plan.bulk,
        "pace": plan.pace,
        "sample": plan.sample,
        "problems": form.problems if form.data.get("step") else {},
        "tally": _tally(counted),
        "diff": _diff(counted),
        "preview_empty": "Choose what to review: the preview counts it before anything begins.",
        "button": f"Start it over {words.count(counted.rows, 'row')}" if counted else "Start the review",
    }
    saving = form.data.get("step") == "save"
    status = 422 if saving and (form.problems or notes) else 200
    realm = form.picked[0].realm if form.picked else ""
    template = "console/reviews/start.html"
    return page(
        request, template, context, section="reviews", realm=realm, revision=revision_now(), status=status
    )


def _spans(plan: Plan) -> timedelta:
    return timedelta(days=sum(stage.days for stage in plan.stages))


def _thing(node: Node) -> dict[str, Any]:
    kind = "role" if node.type == "role" else terms.kind_of(node.type).lower()
    return {
        "id": node.id,
        "name": node.ref.full_name or node.name,
        "kind": kind,
        "icon": terms.icon_of(node.type),
    }


def _tally(counted: Estimate | None) -> Tally | None:
    if counted is None:
        return None
    told = [Count(words.number(counted.rows), "row" if counted.rows == 1 else "rows")]
    if counted.people:
        told.append(Count(words.number(counted.people), "people, groups and services"))
    return Tally(tuple(told))


def _diff(counted: Estimate | None) -> Diff | None:
    if counted is None:
        return None
    lines = [
        DiffLine("same", words.number(many), KINDS.get(kind, kind)) for kind, many in counted.kinds if many
    ]
    if counted.narrowed:
        lines.append(DiffLine("lack", "Fewer", "than these: only rows with the chosen risks are included"))
    return Diff(tuple(lines) or (DiffLine("same", "Nobody", "has access there that could be reviewed."),))


KINDS = {
    "direct": "given directly",
    "assigned": "held through a role",
    "rules": "granted by roles that you cannot change",
    "members": "places in groups",
    "owned": "ownerships",
    "foreign": "found in a backend, not granted here",
}
