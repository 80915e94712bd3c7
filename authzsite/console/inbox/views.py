"""The inbox: notices, the newest first; following one marks it as read by a post."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.lists import Pager, Toggle
from authzsite.console.kit.display.parts import Action, Chip, Empty, Face
from authzsite.console.kit.http import Request, account_of, asker_of, number_in, numbers_in
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from policies.models import Notice
from policies.notices import KINDS, inbox


@dataclass(frozen=True)
class NoticeRow:
    """One notice; `fresh` until it is read or settled."""

    id: int
    face: Face
    text: str
    link: str
    note: str
    ends: Chip | None
    fresh: bool
    read: bool
    urgent: bool


@reads_and_writes
@login_required
def notice_list(request: Request) -> HttpResponse:
    """The list; a POST marks some of it, or all."""
    if request.method == "POST":
        return _mark(request)
    everything = request.GET.get("show") == "all"
    before = number_in(request.GET.get("before", "")) or 0
    notices = inbox.page(asker_of(request), unread=not everything, before=before)
    waiting = account_of(request).unread
    if not waiting:
        heading = _("Nothing new")
    else:
        text = ngettext("%(waiting)s new notice", "%(waiting)s new notices", waiting)
        heading = text % {"waiting": words.spelled(waiting)}
    context: dict[str, Any] = {
        "heading": heading,
        "lead": _("Your notices, the newest first."),
        "actions": [Action(_("Notification settings"), reverse("console:inbox_settings"))],
        "toggles": [
            Toggle(_("New"), reverse("console:inbox"), not everything, words.number(waiting)),
            Toggle(_("All"), _address({"show": "all"}), everything),
        ],
        "lines": [_line(row) for row in notices.rows],
        "waiting": waiting,
        "here": request.get_full_path(),
        "pager": _pager(notices, everything, begun=before),
        "empty": _empty(everything),
    }
    return page(request, "console/inbox/list.html", context, section="inbox")


def _empty(everything: bool) -> Empty:
    if everything:
        text = _("Requests, reviews and emergencies that concern you will be listed here.")
        return Empty(_("No notices yet"), text)
    older = Action(_("All notices"), _address({"show": "all"}))
    return Empty(_("You have read everything"), _("Settled notices are not listed here."), actions=(older,))


def _line(row: Notice) -> NoticeRow:
    kind = KINDS.get(row.kind)
    parts = [words.ago(row.made), _(kind.heading) if kind else row.kind]
    if row.done:
        parts.append(_("settled %(done)s") % {"done": words.moment(row.done, within=True)})
    elif row.read:
        parts.append(_("read %(read)s") % {"read": words.moment(row.read, within=True)})
    return NoticeRow(
        row.pk,
        terms.avatar_of(row.who) if row.who else Face("thing", "bell"),
        row.sentence,
        row.link,
        " · ".join(parts),
        terms.ends_chip(row.until),
        fresh=row.read is None and row.done is None,
        read=row.read is not None,
        urgent=row.urgent,
    )


def _address(query: Mapping[str, object]) -> str:
    return f"{reverse('console:inbox')}?{urlencode(query)}"


def _pager(notice_page: inbox.Page, everything: bool, *, begun: int) -> Pager | None:
    if not notice_page.before and not begun:
        return None
    kept = {"show": "all"} if everything else {}
    return Pager(
        _("%(rows)s here") % {"rows": words.count(len(notice_page.rows), "notice")},
        _address(kept) if begun else "",
        _address({**kept, "before": notice_page.before}) if notice_page.before else "",
    )


def _mark(request: Request) -> HttpResponse:
    person, do = asker_of(request), request.POST.get("do", "")
    if do == "all":
        many = inbox.mark_read(person)
        say(
            request,
            _("%(many)s marked as read") % {"many": words.count(many, "notice")}
            if many
            else _("Nothing was new"),
        )
    else:
        named, numbers = do.partition(":")[0], numbers_in([do.partition(":")[2]])
        (inbox.mark_unread if named == "unread" else inbox.mark_read)(person, numbers)
    everything = request.GET.get("show") == "all"
    return redirect(_address({"show": "all"}) if everything else reverse("console:inbox"))
