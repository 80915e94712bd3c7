"""Reminding by hand: who still owes decisions is told once a day at most."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from policies import notices
from policies.authority import Actor
from policies.errors import Conflict, Refused
from policies.models import Review, review_states
from policies.reviews import management, schedule
from policies.reviews.management import notice_key
from policies.sentences import say, sentence

REMINDS = sentence("review.reminds", "{who} reminds you of rows that still wait: {title}.")


def remind(review: Review, *, by: Actor) -> int:
    """Tell those who owe something; answers how many were told now.  Raises Refused, Conflict."""
    if not management.leads(review, by.principal):
        raise Refused(gettext("Only the lead of the review can remind its reviewers."))
    if review.state != "open":
        raise Conflict(review_states.REVIEW.too_late(review.state))
    with transaction.atomic():
        people = schedule.owing(review)
        if not people:
            return 0
        return notices.tell(
            people,
            schedule.REMIND,
            say(REMINDS, title=review.title),
            key=notice_key(review, f"{review.stage}:hand:{timezone.localdate()}"),
            link=f"/reviews/{review.pk}",
            who=by.principal,
            until=datetime.fromisoformat(review.stages[review.stage]["until"]),
        )
