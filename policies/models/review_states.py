"""The lives of a review and of one row in it; docs/reviews.md draws them from here."""

from __future__ import annotations

from django.utils.translation import gettext_noop as noop

from policies.models.states import Move, States

REVIEW = States(
    "review",
    "building",
    {
        "building": noop("being prepared"),
        "open": noop("open"),
        "closing": noop("being carried out"),
        "proving": noop("waiting for proof"),
        "closed": noop("closed"),
        "cancelled": noop("cancelled"),
    },
    (
        Move("open", ("building",), "open", "All rows are written; reviewers are notified."),
        Move("end", ("open",), "closing", "Its time is over, or the starter closed it early."),
        Move("carry", ("closing",), "proving", "Every removal was carried out, or has a reason why not."),
        Move("prove", ("proving",), "closed", "Every backend was read again, or it is listed as not proved."),
        Move("cancel", ("building", "open"), "cancelled", "Called off; nothing is removed."),
    ),
)

UNDECIDED = ("open", "again")
ROW = States(
    "row",
    "open",
    {
        "open": noop("not decided"),
        "decided": noop("decided"),
        "again": noop("to be looked at again"),
        "waiting": noop("to be carried out"),
        "kept": noop("kept"),
        "carried": noop("carried out"),
        "proved": noop("proved"),
        "gone": noop("ended by others"),
        "failed": noop("not carried out"),
    },
    (
        Move("decide", ("open", "decided", "again"), "decided", "A reviewer decides, or changes it."),
        Move("take_back", ("decided",), "open", "The reviewer withdraws the decision."),
        Move("pass_on", ("open", "decided"), "open", "A stage is over; the next one decides."),
        Move("look_again", ("decided",), "again", "Drawn from quick decisions; another person looks."),
        Move("keep", ("open", "decided", "again"), "kept", "The review ended and nothing is to change."),
        Move("order", ("open", "decided", "again"), "waiting", "The review ended; something is to go."),
        Move("carry", ("waiting",), "carried", "It was ended here, by the authority of the starter."),
        Move("miss", ("waiting",), "gone", "Somebody else had ended it meanwhile."),
        Move("fail", ("waiting",), "failed", "It could not be carried out; the row says why."),
        Move("prove", ("carried",), "proved", "It is in force, and the backend was read without it."),
    ),
)
