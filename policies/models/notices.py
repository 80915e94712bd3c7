"""What people are told: each once, in their inbox and, as they like it, by mail; and what leaves the site."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from policies.models.states import Move, States
from policies.sentences import in_words

OPEN = Q(read__isnull=True, done__isnull=True)

LETTER = States(
    "letter",
    "due",
    {
        "due": "waiting",
        "claimed": "taken up",
        "handing": "on its way",
        "sent": "sent",
        "unsure": "perhaps sent",
        "failed": "given up",
        "dropped": "not needed any more",
    },
    (
        Move("claim", ("due",), "claimed", "A worker takes it up; no other does."),
        Move("hand", ("claimed",), "handing", "The mail server listens: from here on it may have arrived."),
        Move("sent", ("claimed", "handing"), "sent", "It was taken."),
        Move("again", ("claimed", "handing"), "due", "It was not taken, or the worker died before it began."),
        Move("lost", ("handing",), "unsure", "The worker died on the way: it is not sent a second time."),
        Move("give_up", ("claimed", "handing"), "failed", "It was refused for good, or too often."),
        Move("drop", ("due", "claimed"), "dropped", "Nobody needs it any more, or nobody may have it."),
    ),
)
"""A mail is handed over at most once; its notice stays in the inbox whatever becomes of it."""


class How(models.TextChoices):
    """How somebody wants to be told."""

    MAIL = "mail", gettext_lazy("inbox, and mail at once")
    DIGEST = "digest", gettext_lazy("inbox, and a mail once a day")
    INBOX = "inbox", gettext_lazy("inbox only")
    NOTHING = "nothing", gettext_lazy("nothing")


class Letter(models.Model):
    """One thing that leaves the site: a mail to `recipient`, or a call of the hook that `channel` names.

    `key` makes it one of a kind in its channel; `lease` is until when a worker has it for itself.
    """

    channel = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    recipient = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="letters")
    data = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=LETTER.choices, default=LETTER.initial)
    tries = models.SmallIntegerField(default=0)
    due = models.DateTimeField()
    lease = models.DateTimeField(null=True)
    trouble = models.TextField(blank=True)
    made = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["channel", "key"], name="one_letter_a_key")]
        indexes = [
            models.Index(
                fields=["due"],
                condition=Q(state__in=("due", "claimed", "handing")),
                name="letters_to_send",
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.key}"


class Notice(models.Model):
    """Something one person is told, once for each `key`; `{who}` in it stands for the person `who`.

    `text` is English; where there is a `code`, that sentence is read with what `data` fills in.
    `done`: nothing is left to do about it, whoever did it.
    """

    recipient = models.ForeignKey(Principal, models.PROTECT, related_name="notices")
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    text = models.TextField()
    code = models.CharField(max_length=60, blank=True, default="", db_default="")
    data = models.JSONField(default=dict, db_default={})
    link = models.CharField(max_length=500, blank=True)
    who = models.ForeignKey(Principal, models.PROTECT, null=True, related_name="+")
    until = models.DateTimeField(null=True)
    urgent = models.BooleanField(default=False)
    made = models.DateTimeField()
    read = models.DateTimeField(null=True)
    done = models.DateTimeField(null=True)
    how = models.CharField(max_length=8, choices=How)
    letter = models.ForeignKey(Letter, models.SET_NULL, null=True, related_name="notices")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["recipient", "key"], name="one_notice_a_key")]
        indexes = [
            models.Index(fields=["recipient", "-id"], name="notices_of_person"),
            models.Index(fields=["recipient", "-id"], condition=OPEN, name="notices_to_read"),
            models.Index(fields=["key"], name="notices_by_key"),
            models.Index(
                fields=["how", "recipient"],
                condition=OPEN & Q(letter__isnull=True) & ~Q(how=How.INBOX),
                name="notices_to_send",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.recipient_id}"

    @property
    def sentence(self) -> str:
        """It in the language that is spoken now, with the name of the person as they are called now."""
        who = self.who.label if self.who else gettext("someone")
        return in_words(self.code, {**self.data, "who": who}) or self.text.replace("{who}", who)


class NoticeChoice(models.Model):
    """How a person wants to be told of one kind; without a choice, the kind says."""

    person = models.ForeignKey(Principal, models.PROTECT, related_name="notice_choices")
    kind = models.CharField(max_length=40)
    how = models.CharField(max_length=8, choices=How)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "kind"], name="one_choice_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.how}"
