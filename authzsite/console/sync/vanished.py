"""Objects that their source no longer has: listed with what goes with them before anybody closes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Crumbs, Empty, Note, Reason
from authzsite.console.kit.forms import ConsoleForm, ReasonField
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal, root_of
from authzsite.console.sync.backend import BackendAccess, there
from authzsite.downloads import csv_file
from catalog.nodes import Node
from catalog.queries import nodes
from lakewarden.backends.errors import BackendError
from policies.authority import Actor
from policies.decisions.personal_role_names import is_personal
from policies.errors import Invalid, Refused
from policies.models import Assignment
from policies.record import access_log
from policies.simulation.changes import DropObject
from policies.sync.connections import registration
from policies.sync.discovery.vanished import Gone, close, vanished

NAMED = 5


@dataclass(frozen=True)
class VanishedRow:
    """One object that is gone, with what closing it ends."""

    id: int
    name: str
    url: str
    kind: str
    goes: str


def _visit(request: Request, id: int) -> tuple[BackendAccess, bool]:
    """The backend, and whether the asker closes what is gone there.  Raises Http404."""
    backend_access = there(request, id)
    may = registration.may_connect(backend_access.place.actor, backend_access.place.node)
    if not (may or backend_access.may_look):
        raise Http404
    return backend_access, may


@reads
@login_required
def as_csv(request: Request, id: int) -> HttpResponseBase:
    """The same list as a file."""
    backend_access, _ = _visit(request, id)
    access_log.looked(
        backend_access.place.asker, "what is gone as a file", backend_access.place.node, via="console"
    )
    head = ["object", "type", "grants on it", "objects in it", "what goes with it"]
    return csv_file.answer(f"gone-{id}", head, _csv_rows(vanished(backend_access.row)))


def _csv_rows(vanished_items: Sequence[Gone]) -> Iterator[list[object]]:
    for line_node, line in zip(vanished_items, _lines(vanished_items), strict=True):
        yield [line_node.node.ref.id, line_node.node.type, len(line_node.grants), line_node.below, line.goes]


# Closing them


class VanishedForm(ConsoleForm):
    """Which of them are to be closed, and why."""

    reason = ReasonField(
        help_text=gettext_lazy(
            "Kept in the history permanently. May be left empty. Everything is checked once more before "
            "it is closed; renamed objects stay."
        )
    )

    def clean(self) -> dict[str, Any]:
        chosen = {number for text in self.data.getlist("object") if (number := number_in(text))}
        if not chosen:
            raise ValidationError(gettext("Choose what to close here."))
        return {**self.cleaned_data, "object": chosen}


class VanishedView(ChangeView):
    """What is gone there and what hangs on it; what was chosen is closed."""

    form_class = VanishedForm
    template_name = "console/sync/vanished.html"
    not_saved = gettext_lazy("Nothing was closed.")
    object: BackendAccess

    def get_object(self) -> BackendAccess:
        backend_access, self.may = _visit(self.request, self.kwargs["id"])
        return backend_access

    def plan(self, form: VanishedForm) -> None:
        return None

    @cached_property
    def vanished(self) -> list[Gone]:
        return vanished(self.object.row)

    def proposals(self, form: VanishedForm) -> Iterable[Proposal]:
        yield root_of(self.object.place.node), [DropObject(item.node) for item in self.vanished]

    def save(self, form: VanishedForm, actor: Actor) -> list[Node]:
        chosen, reason = form.cleaned_data["object"], form.cleaned_data["reason"]
        try:
            return close(self.object.row, chosen, by=actor, reason=reason)
        except BackendError as problem:
            raise Invalid(str(problem)) from problem

    def form_invalid(self, form: VanishedForm) -> HttpResponse:
        self.notes.append(Note("warn", gettext("Nothing is chosen."), gettext("Choose what to close here.")))
        return self.show(form, 422)

    def form_refused(self, form: VanishedForm, problem: Exception) -> HttpResponse:
        if not isinstance(problem, Refused):
            return super().form_refused(form, problem)
        access_log.refused(self.asker, registration.DUTY, self.object.place.node, via="console")
        self.may = False
        return self.show(form, 403)

    def note_of(self, form: VanishedForm, problem: Exception) -> Note:
        return Note("bad", self.not_saved, str(problem))

    def success_message(self, form: VanishedForm) -> str:
        if self.result is None:
            return gettext("The selected objects are closed")
        closed = len(self.result)
        kept = len(form.cleaned_data["object"]) - closed
        values = {"closed": words.count(closed, "object"), "kept": words.number(kept)}
        if kept and closed:
            return gettext("%(closed)s closed; %(kept)s found again and kept") % values
        return gettext("%(closed)s closed") % values

    def may_undo(self) -> bool:
        return False

    def get_success_url(self) -> str:
        return reverse("console:sync_vanished", args=[self.object.row.pk])

    def heading(self, form: VanishedForm) -> str:
        return gettext("Gone from %(name)s") % {"name": self.object.name}

    def lead(self) -> str:
        system = self.object.row.get_kind_display()
        return gettext(
            "%(system)s no longer has these. They stay here, with all decisions about them, until closed."
        ) % {"system": system}

    def button(self, form: VanishedForm) -> str:
        return gettext("Close them and their grants")

    def back(self) -> str:
        return reverse("console:sync_backend", args=[self.object.row.pk])

    def page_context(self, form: VanishedForm) -> dict[str, Any]:
        row, owned = self.object.row, self.object.place.node.name
        why_not = gettext("Only the owner of %(owned)s or a holder of the connect duty can close them.") % {
            "owned": owned
        }
        return {
            "crumbs": Crumbs(((self.object.name, self.back()),)),
            "rows": _lines(self.vanished),
            "replay": self.replay(form),
            "csv": reverse("console:sync_vanished_csv", args=[row.pk]),
            "may": self.may,
            "locked": None if self.may else Reason("why-not-close", why_not),
            "nothing": Empty(
                gettext("No vanished objects"),
                gettext("Everything here was found there."),
                drawn=False,
                level=2,
            ),
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        realm = self.object.place.node.realm
        return page(self.request, self.template_name, context, section="sync", realm=realm, status=status)


# As rows


def _lines(vanished_items: Sequence[Gone]) -> list[VanishedRow]:
    """One for each, with the names of all whom something is given.  Three queries."""
    grants = [row for item in vanished_items for row in item.grants]
    keys = {row.role_id for row in grants if row.role_id}
    roles = {key: node.name for key, node in nodes(keys).items()} if keys else {}
    personal = [key for key, name in roles.items() if is_personal(name)]
    holders = Assignment.objects.open().filter(role__in=personal).select_related("holder")
    named = {key: gettext("role %(name)s") % {"name": name} for key, name in roles.items()}
    named |= {row.role_id: row.holder.label for row in holders} if personal else {}
    return [_line(item, named) for item in vanished_items]


def _line(vanished_item: Gone, roles: Mapping[int, str]) -> VanishedRow:
    node, page_of = vanished_item.node, terms.page_of
    kind, goes = terms.kind_of(node.type), _goes(vanished_item, roles)
    return VanishedRow(node.id, node.ref.full_name, page_of(node.id, node.type), kind, goes)


def _goes(vanished_item: Gone, roles: Mapping[int, str]) -> str:
    """3 grants go with it: to Ana Analyst and Analysts; 4 objects in it."""
    sentences = []
    if vanished_item.grants:
        many = words.count(len(vanished_item.grants), "grant goes", "grants go")
        named = [
            row.holder.label if row.holder else roles.get(row.role_id or 0, "")
            for row in vanished_item.grants
        ]
        sentences.append(
            gettext("%(many)s with it: %(filter)s")
            % {"many": many, "filter": words.listed(list(dict.fromkeys(filter(None, named))), NAMED)}
        )
    if vanished_item.below:
        sentences.append(gettext("%(below)s in it") % {"below": words.count(vanished_item.below, "object")})
    return "; ".join(sentences) or gettext("Nothing was granted on it")
