"""Whether the record is whole: verified on demand, signed at intervals, followed by others."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.history import unsealed_facts
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.lists import Tile
from authzsite.console.kit.display.parts import Empty, Note, Reason
from authzsite.console.kit.error_pages import show
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.page import page
from authzsite.downloads import checker
from policies import signing
from policies.decisions.facts import is_service_admin
from policies.models import Checkpoint, Feed, Verification
from policies.record import history, verifications
from policies.record.exports import feeds
from policies.services.grants import revision_now

CHECKPOINTS = 20
REASON = Reason(
    "why-not-verify",
    gettext_lazy(
        "Only people with the duty to view the history of a realm can verify. Its owner assigns the duty."
    ),
)


@reads
@login_required
def integrity_page(request: Request) -> HttpResponse:
    """Checkpoints, followers, the key, and the last reading of the whole record."""
    asker = asker_of(request)
    last, may = Checkpoint.objects.order_by("-pk").first(), may_verify(asker)
    context = {
        "heading": _("History"),
        "lead": _("Each change carries the digest of the one before; the log is signed at intervals."),
        "tiles": _tiles(last),
        "reading": _reading(verifications.latest()),
        "unsealed": unsealed_facts.rows() if may else (),
        "reason": None if may else REASON,
        "checkpoints": list(Checkpoint.objects.order_by("-pk")[:CHECKPOINTS]),
        "no_checkpoint": Empty(
            _("Nothing was signed yet"), _("The first is signed within a minute of a change.")
        ),
        "followers": _followers(),
        "key": str(signing.public_key()),
    }
    return page(
        request, "console/history/integrity.html", context, section="history", revision=revision_now()
    )


@reads
@login_required
def checker_file(request: Request) -> HttpResponse:
    """The program that checks evidence without this site."""
    response = HttpResponse(checker.checker(), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{checker.NAME}"'
    return response


def may_verify(asker: Principal) -> bool:
    """Viewers of the whole history of a realm, and site admins."""
    return is_service_admin(asker) or history.views_a_realm(asker)


@writes
@login_required
def verify(request: Request) -> HttpResponse:
    """Have the whole record read by a worker."""
    asker = asker_of(request)
    if not may_verify(asker):
        return show(request, 403)
    verifications.ask(asker)
    return redirect("console:integrity")


@reads
@login_required
def progress(request: Request) -> HttpResponse:
    """How far the last reading is."""
    reading = _reading(verifications.latest())
    return render(
        request, "console/history/reading.html", {"reading": reading, "may": may_verify(asker_of(request))}
    )


def _tiles(last: Checkpoint | None) -> list[Tile]:
    every = words.number(settings.LAKEWARDEN_CHECKPOINT_EVERY // 60)
    signed = words.ago(last.at) if last else _("not yet")
    return [
        Tile(_("Changes"), words.number(revision_now()), _("numbered without gaps")),
        Tile(_("Signed"), signed, _("every %(every)s min when there are changes") % {"every": every}),
        Tile(
            _("Kept at"),
            words.count(len(settings.LAKEWARDEN_CHECKPOINTS), "place"),
            _("outside the database"),
        ),
        Tile(
            _("Followed by"),
            words.count(len(settings.LAKEWARDEN_AUDIT_FEEDS), "program"),
            _("files and webhooks"),
        ),
    ]


@dataclass(frozen=True)
class Reading:
    """The last reading of the record: a note about it, and its progress while it runs."""

    note: Note
    going: bool = False
    done: int = 0
    total: int = 0
    text: str = ""
    lines: tuple[str, ...] = ()


def _reading(row: Verification | None) -> Reading | None:
    if row is None:
        return None
    if row.finished is None:
        text = _("%(changes)s of %(total)s changes") % {
            "changes": words.number(row.changes),
            "total": words.number(row.total),
        }
        return Reading(
            Note("plain", _("Reading the whole audit log"), text), True, row.changes, max(row.total, 1), text
        )
    when = words.moment(row.finished)
    if row.broken:
        return Reading(
            Note(
                "bad",
                _("The audit log is damaged"),
                _("%(broken)s. Found %(when)s.") % {"broken": row.broken, "when": when},
            ),
            lines=tuple(row.lost),
        )
    if row.differences:
        rows = _("row is") if row.differences == 1 else _("rows are")
        text = _("%(differences)s %(rows)s not as the audit log says. Found %(when)s.") % {
            "differences": words.number(row.differences),
            "rows": rows,
            "when": when,
        }
        note = Note("bad", _("Something was written outside the console"), text)
        return Reading(note, lines=(*row.differing, *row.lost))
    return Reading(
        Note("plain", _("The audit log is intact"), f"{_fitting(row)} {when}."), lines=tuple(row.lost)
    )


def _fitting(row: Verification) -> str:
    signed, facts = words.count(row.signed, "signed checkpoint"), words.count(row.facts, "fact")
    if row.whole:
        counted = f"{words.count(row.changes, 'change')}, {words.count(row.looks, 'access record')}"
        return _("%(counted)s, %(signed)s and %(facts)s were read and match.") % {
            "counted": counted,
            "signed": signed,
            "facts": facts,
        }
    changes = words.count(row.changes, "change")
    return _(
        "%(changes)s and %(signed)s follow from one another; %(facts)s, with all new ones, were read and "
        "match."
    ) % {"changes": changes, "signed": signed, "facts": facts}


@dataclass(frozen=True)
class FollowerRow:
    name: str
    behind: str
    trouble: str


def _followers() -> list[FollowerRow]:
    rows = {row.name: row for row in Feed.objects.all()}
    now = revision_now()
    return [_follower(item, rows.get(item.name), now) for item in feeds.configured()]


def _follower(follower: feeds.Follower, row: Feed | None, now: int) -> FollowerRow:
    behind = now - (row.changes if row else 0)
    text = (
        _("up to date") if behind <= 0 else _("%(behind)s behind") % {"behind": words.count(behind, "change")}
    )
    return FollowerRow(follower.name, text, row.trouble if row else "")
