"""What was changed beside a realm's policy files since they were applied, line by line, and the ways out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.history.timeline import actor_words
from authzsite.console.insights.access import refused
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Empty, Note
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings.realm import RealmAccess, realm_at
from authzsite.console.settings.realm_settings import RealmChangeView
from policies.authority import Actor
from policies.data_views.visibility import sees_all_access
from policies.policy_files import applied_files, drift
from policies.policy_files.applied_files import KeptFile
from policies.policy_files.drift import ADDED, CHANGED, REMOVED, DriftLine, FileDrift, PartsToPaste
from policies.policy_files.statements import Statement
from policies.record.history import Names
from policies.services.grants import revision_now

SHOWN = 200
"""So many lines of each file are written out; the command and the API list more."""
PASTED = 500
"""So many lines of a file are shown to paste; of longer parts those that differ, and the file has all."""
KINDS = (
    (REMOVED, "lose", gettext_lazy("Removed")),
    (CHANGED, "change", gettext_lazy("Changed")),
    (ADDED, "gain", gettext_lazy("Added")),
)


@dataclass(frozen=True)
class ShownFile:
    """One file as the page shows it: what differs, what to paste, and where its ways out lead."""

    title: str
    code: str
    applied: str
    applied_url: str
    note: Note
    diff: Diff | None
    parts: PartsToPaste
    long: str
    more: str
    gone: tuple[str, ...]
    plan_again: Action | None
    take_in: Action | None
    let_go: Action


@reads
@login_required
def file_drift(request: Request, id: int) -> HttpResponse:
    """Every file that owns a part of the realm, and what was changed there beside it."""
    ward = realm_at(request, id)
    if not sees_all_access(ward.asker, ward.root):
        return not_shown(request, ward)
    files = drift.of_root(ward.root)
    shown = [line.change for item in files for line in _first(item) if line.change]
    names = Names(shown, ())
    return page(
        request,
        "console/insights/drift.html",
        {
            "heading": _("Policy file drift in %(name)s") % {"name": ward.root.name},
            "lead": _("In the parts that a file owns, since it was applied last."),
            "crumbs": _crumbs(ward),
            "files": [_shown(ward, item, names) for item in files],
            "empty": Empty(
                _("No policy file decides a part of %(name)s") % {"name": ward.root.name},
                _("Once a file that owns something is applied, this page says what was changed beside it."),
                level=2,
            ),
        },
        section="overview",
        realm=ward.root.name,
        kind=ward.root.type,
        revision=revision_now(),
    )


@reads
@login_required
def file_with_drift(request: Request, id: int, scope: str) -> HttpResponse:
    """The file with all that was changed beside it taken in, to keep in its place."""
    ward = realm_at(request, id)
    item = _of_scope(ward, scope)
    answer = HttpResponse(item.text_with_drift, content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="access-{ward.root.id}.yaml"'
    return answer


class LetGoView(RealmChangeView):
    """Hold the realm no more against a file that nobody applies any more."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Nothing was changed.")

    def refusal(self) -> HttpResponseBase | None:
        if not sees_all_access(self.object.asker, self.object.root):
            return not_shown(self.request, self.object)
        self.file = _kept(self.object, self.kwargs["scope"])
        return None

    def get_form_arguments(self) -> dict[str, str]:
        return {"typed": ""}

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        reason = form.cleaned_data["reason"]
        applied_files.let_go(self.object.root, self.file.owns, by=actor, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        return _("No longer compared: %(parts)s") % {"parts": _parts(self.file)}

    def heading(self, form: ConfirmForm) -> str:
        return _("Stop comparing %(parts)s?") % {"parts": _parts(self.file)}

    def lead(self) -> str:
        return _("Access stays as it is. When a file that owns the same is applied, it is compared again.")

    def button(self, form: ConfirmForm) -> str:
        return _("Stop comparing")

    def back(self) -> str:
        return reverse("console:policy_drift", args=[self.object.root.id])


def not_shown(request: Request, ward: RealmAccess) -> HttpResponse:
    heading = _("You cannot see what differs from the policy files of %(name)s") % {"name": ward.root.name}
    text = _("This needs the right to see all access in the realm, which %(owner_words)s has.")
    return refused(request, ward, heading, text % {"owner_words": ward.owner_words()})


def _of_scope(ward: RealmAccess, scope: str) -> FileDrift:
    """The file that is known by this.  Raises Http404, also for viewers who may not see all access."""
    if sees_all_access(ward.asker, ward.root):
        for item in drift.of_root(ward.root):
            if item.kept.scope == scope and item.kept.file is not None:
                return item
    raise Http404


def _kept(ward: RealmAccess, scope: str) -> KeptFile:
    for kept in applied_files.of_realm(ward.root):
        if kept.scope == scope:
            return kept
    raise Http404


def _crumbs(ward: RealmAccess) -> Crumbs:
    above = reverse("console:overview_realm", args=[ward.root.id])
    return Crumbs(((_("Overview"), reverse("console:overview")), (ward.root.name, above)))


def _parts(kept: KeptFile) -> str:
    return ", ".join(kept.owns)


def _shown(ward: RealmAccess, item: FileDrift, names: Names) -> ShownFile:
    kept, place = item.kept, [ward.root.id, item.kept.scope]
    lines = tuple(_lines(item, names))
    again = f"{reverse('console:policy_file', args=[ward.root.id])}?applied={kept.scope}"
    more = _("of the file that owns %(parts)s") % {"parts": _parts(kept)}
    parts, gone = item.parts(PASTED), item.gone
    return ShownFile(
        title=_("Owns %(parts)s") % {"parts": _parts(kept)},
        code=f"f{kept.scope[:12]}",
        applied=_("Applied %(when)s") % {"when": words.ago(kept.at)},
        applied_url=_change_url(kept.revision),
        note=_note(item),
        diff=Diff(lines) if lines else None,
        parts=parts,
        long=_long(parts),
        more=_more(parts.more + len(gone[SHOWN:])),
        gone=tuple(gone[:SHOWN]),
        plan_again=Action(_("Plan the file again"), again, more=more) if lines else None,
        take_in=Action(
            _("Download the whole file"), reverse("console:policy_taken_in", args=place), more=more
        )
        if lines
        else None,
        let_go=Action(_("Stop comparing"), reverse("console:policy_let_go", args=place), "plain", more=more),
    )


def _note(item: FileDrift) -> Note:
    if item.kept.file is None:
        text = _("The stored copy of the file was changed, so nothing is compared. Apply the file again.")
        return Note("bad", _("Cannot be compared."), text)
    if not item.lines:
        return Note("", _("Nothing differs."), _("The realm matches the file."))
    many = len(item.lines)
    text = ngettext("%(many)s line differs.", "%(many)s lines differ.", many)
    return Note("warn", text % {"many": words.number(many)}, "")


def _long(parts: PartsToPaste) -> str:
    """Which parts are too long to be shown whole, the longest first."""
    lines = (
        ngettext("%(name)s (%(many)s line)", "%(name)s (%(many)s lines)", many)
        % {"name": name, "many": words.number(many)}
        for name, many in parts.long[: -SHOWN - 1 : -1]
    )
    return ", ".join(lines)


def _more(many: int) -> str:
    text = ngettext(
        "%(many)s more line differs. The whole file has it.",
        "%(many)s more lines differ. The whole file has them.",
        many,
    )
    return text % {"many": words.number(many)} if many else ""


def _first(item: FileDrift) -> Iterable[DriftLine]:
    return item.lines[:SHOWN]


def _lines(item: FileDrift, names: Names) -> Iterator[DiffLine]:
    for action, kind, word in KINDS:
        for line in _first(item):
            if line.action == action:
                yield _line(line, kind, str(word), names)
    if len(item.lines) > SHOWN:
        yield DiffLine("change", words.number(len(item.lines) - SHOWN), _("more lines"))


def _line(line: DriftLine, kind: str, word: str, names: Names) -> DiffLine:
    change, text = line.change, _text(line)
    if change is None:
        return DiffLine(kind, word, text, _("The live history does not show which change did it."))
    who, when = actor_words(names.of(change.actor)), words.moment(change.at)
    made = _("%(who)s, %(when)s: %(why)s") if change.reason else _("%(who)s, %(when)s")
    note = made % {"who": who, "when": when, "why": change.reason}
    number = _("Change %(number)s") % {"number": words.number(change.revision)}
    return DiffLine(kind, word, text, note, _change_url(change.revision), number)


def _text(line: DriftLine) -> str:
    so, stated = _all(line.is_so), _all(line.file_says)
    if line.action == CHANGED:
        return _("%(so)s. The file says: %(said)s.") % {"so": so, "said": stated}
    return so if line.action == ADDED else stated


def _all(some: Iterable[Statement]) -> str:
    return "; ".join(statement.words for statement in some)


def _change_url(revision: int) -> str:
    return f"{reverse('console:history')}?revision={revision}"
