"""Readings of the record, run by a worker: of all of it on request, of what is new each hour.

What is found is told at once: to site admins in the inbox and by mail, on Home, in `/health/ready` and in
`/metrics`; while something is wrong every reading is of the whole record.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from accounts.models import Principal
from policies import notices
from policies.models import Counter, Notice, Verification
from policies.record import session_locks, wakeups
from policies.record.verify import Verdict, verify, verify_parts
from policies.sentences import Said, say, sentence

LOCKS = 0x7665_7269

EVERY, KEPT = timedelta(hours=1), timedelta(days=7)
TURNS = 24
"""In so many readings by itself the site has read all that is older again."""
LEAST = 2_000
"""Changes of a turn, where the record is short."""
DIFFERS = notices.kind("record.differs", "a damaged audit log, or tables that differ from it")
BROKEN = sentence("record.broken", "The audit log is damaged: {broken}.")
TABLES_DIFFER = sentence(
    "record.tables",
    "{many} row is not as the audit log says: the tables were written outside the console.",
    "{many} rows are not as the audit log says: the tables were written outside the console.",
)

logger = logging.getLogger(__name__)


def ask(by: Principal) -> Verification:
    """A new reading, or the one that waits or is under way; a worker is told."""
    unfinished = Verification.objects.filter(finished__isnull=True, whole=True).first()
    if unfinished is not None:
        return unfinished
    made = Verification.objects.create(by=by.pseudonym, total=Counter.objects.get().revision)
    wakeups.send("policies.tasks.verify")
    return made


def ask_hourly() -> Verification | None:
    """The reading that the site does by itself, when it is time; none while one waits or is under way."""
    now = timezone.now()
    if Verification.objects.filter(Q(finished__isnull=True) | Q(by="", asked__gt=now - EVERY)).exists():
        return None
    Verification.objects.filter(by="", broken="", differences=0, asked__lt=now - KEPT).delete()
    last = last_finished()
    whole = last is None or not last.is_good
    return Verification.objects.create(by="", whole=whole, total=Counter.objects.get().revision)


def run_waiting() -> None:
    """Read the record for those who wait for it; each reading is run by one worker."""
    session_locks.run_each(Verification.objects.all(), LOCKS, _run)


def latest() -> Verification | None:
    return Verification.objects.order_by("-pk").first()


def last_finished() -> Verification | None:
    return Verification.objects.filter(finished__isnull=False).order_by("-finished", "-pk").first()


def _run(row: Verification) -> None:
    rows = Verification.objects.filter(pk=row.pk)
    before = last_finished()
    if row.whole or before is None or not before.is_good:
        verdict, turn = verify(tell=lambda changes: rows.update(changes=changes)), 0
    else:
        verdict, turn = _read_parts(before)
    rows.update(
        finished=timezone.now(),
        changes=verdict.changes,
        looks=verdict.looks,
        signed=verdict.signed,
        broken=verdict.broken or "",
        facts=verdict.facts,
        differences=verdict.differences,
        differing=list(verdict.differing),
        lost=list(verdict.lost),
        upto=verdict.changes if verdict else 0,
        turn=turn,
    )
    _tell(row, verdict)


def _read_parts(before: Verification) -> tuple[Verdict, int]:
    """What is new, and of what is older the part whose turn it is; and where the next turn begins."""
    now, upto = Counter.objects.get().revision, before.upto
    end = min(before.turn + max(-(-upto // TURNS), LEAST), upto)
    verdict = verify_parts([(before.turn, end), (upto, now)], looks=before.turn == 0)
    return verdict, 0 if end >= upto else end


def _tell(row: Verification, verdict: Verdict) -> None:
    open_ = Notice.objects.filter(kind=DIFFERS, done__isnull=True)
    if verdict:
        if row.whole:  # a part that is good says nothing of the rest
            notices.settle(*open_.values_list("key", flat=True).distinct())
        return
    text = _verdict_sentence(verdict.broken, verdict.differences)
    logger.error("%s %s", text.english, " ".join([verdict.broken or "", *verdict.differing]))
    if not open_.exists():
        admins = Principal.objects.filter(
            kind=Principal.Kind.USER, name__in=settings.LAKEWARDEN_SERVICE_ADMINS
        )
        notices.tell(admins, DIFFERS, text, key=f"{DIFFERS}:{row.pk}", link="/history/integrity", urgent=True)


def trouble() -> Verification | None:
    """The last reading, if it found that something is wrong."""
    last = last_finished()
    return last if last is not None and not last.is_good else None


def in_words(broken: str | None, differences: int) -> str:
    """What a reading found, in a sentence."""
    return str(_verdict_sentence(broken, differences))


def _verdict_sentence(broken: str | None, differences: int) -> Said:
    return say(BROKEN, broken=broken) if broken else say(TABLES_DIFFER, many=differences)
