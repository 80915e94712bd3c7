"""Starting a review: who may grant there may ask whether what was granted is still needed."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from catalog.models import Realm
from policies.authority import Actor, Authority, require
from policies.decisions import ask
from policies.errors import Refused
from policies.events import REVIEW_STARTED
from policies.models import Counter, Review
from policies.record import wakeups
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.reviews.campaign_plans import Plan, Scope
from policies.services.grants import GRANT


def authority(scope: Scope, by: Actor) -> Authority:
    """The right to review: to grant on each object, to give each role away.  Raises Refused."""
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    places = (*scope.where, *scope.roles)
    if not places:
        raise Refused(gettext("The objects to review are gone."))
    for place in places:
        answer = ask.ask(by.decides_as, GRANT, place)
        name = place.ref.full_name or place.name
        said_ = gettext("You may not review access to %(name)s: only people who may grant there may.") % {
            "name": name
        }
        may = require(answer.decision, by, otherwise=said_)
    return may


def start(plan: Plan, *, by: Actor, reason: str = "", series: Review | None = None) -> Review:
    """Start a review of the access there is at this very revision; a worker writes the population down.

    Raises Refused, Invalid.
    """
    plan.check()
    place = (*plan.scope.where, *plan.scope.roles)[0]
    with change(REVIEW_STARTED, realm=Realm(pk=place.realm_id), by=by, reason=reason) as current:
        may = authority(plan.scope, by)
        if by.decides_as is None:
            raise Refused(gettext("Nobody is signed in."))
        now = timezone.now()
        stages = plan.kept_stages(now)
        review = Review.objects.create(
            realm_id=place.realm_id,
            title=plan.title.strip(),
            purpose=plan.purpose.strip(),
            starter=by.decides_as,
            scope=plan.scope.kept(),
            stages=stages,
            fallback=plan.fallback,
            silence=plan.silence,
            reasons=plan.reasons,
            bulk=plan.bulk,
            pace=plan.pace,
            sample=plan.sample,
            every=plan.every,
            series=series,
            previous=previous(plan.scope, place.realm_id),
            revision=Counter.objects.get().revision,
            started=now,
            due=stages[-1]["until"],
        )
        draft = make_event(REVIEW_STARTED, place, by.decides_as, review=review.pk, title=review.title)
        current.say(draft, by=may)
        transaction.on_commit(lambda: nudge("policies.tasks.build_reviews"), robust=True)
    review.refresh_from_db()
    return review


def previous(scope: Scope, realm: int) -> Review | None:
    """The last closed review over the same objects, people and roles."""
    same = {name: value for name, value in scope.kept().items() if name != "risks"}
    rows = Review.objects.filter(realm=realm, state="closed", scope__contains=same)
    return rows.order_by("-closed").first()


def nudge(task: str) -> None:
    """Have a worker look now.  A broker that is away costs nothing but the time until the beat looks."""
    wakeups.send(task)
