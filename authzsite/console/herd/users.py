"""One user id across a Herd: every entry that speaks of it, and taking all of them away at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from accounts.text import holdable, in_capitals
from authzsite.console.herd.context import ANY_DATA_OWNER, GRANTING, REVIEW, HerdContext, herd_at
from authzsite.console.herd.effects import labels
from authzsite.console.herd.grid import KINDS, everybody_like, user_url
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.herd.views import EntryRow, crumbs, show
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import words
from authzsite.console.kit.display.parts import (
    Action,
    Diff,
    DiffLine,
    Empty,
    Face,
    Fact,
    Facts,
    Note,
    Reason,
    Who,
)
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.nodes import Node, nodes
from policies.authority import Actor, require
from policies.decisions.ask import ask
from policies.decisions.lookups.entries import Entry, bearers, entries
from policies.events import GRANT_REMOVED
from policies.models import Grant
from policies.record import access_log
from policies.services import entries as entry_services
from policies.services.authorities import authorized
from policies.simulation import endings


class User:
    """Every entry of one user id that the viewer may review; the user sees all of their own."""

    def __init__(self, desk: HerdContext, name: str):
        self.desk, self.name = desk, name.strip()[:255]

    @cached_property
    def own(self) -> bool:
        return in_capitals(self.name) == in_capitals(self.desk.place.asker.name)

    @cached_property
    def every(self) -> list[Entry]:
        if not self.name or not holdable(self.name):
            return []
        holder_ids = [bearer.pk for bearer in bearers(self.name, KINDS)]
        rows = entries(self.desk.herd, holders=holder_ids, now=self.desk.place.now) if holder_ids else []
        return sorted(rows, key=lambda entry: entry.object_name)

    @cached_property
    def places(self) -> dict[int, Node]:
        return nodes({item.object for item in self.every})

    def may(self, operation: str, entry: Entry) -> bool:
        return entry.object in self.places and self.desk.may(operation, self.places[entry.object])

    @cached_property
    def shown(self) -> list[Entry]:
        return [item for item in self.every if self.own or self.may(REVIEW, item)]

    @cached_property
    def beyond(self) -> list[Entry]:
        """Those that the viewer may not take."""
        return [item for item in self.every if not self.may(GRANTING, item)]

    @property
    def told(self) -> bool:
        """Whether the viewer may look the user id up at all: a data owner any, and everybody their own."""
        return self.desk.is_data_owner or bool(self.own and self.name)

    def record(self) -> None:
        """That the viewer looked at somebody else."""
        if self.shown and not self.own:
            what = f"review access of a user on {len(self.shown)}"
            access_log.looked(self.desk.place.asker, what, self.desk.herd, via="console")

    @property
    def heading(self) -> str:
        return _("What %(name)s has") % {"name": self.name} if self.name else _("Look up a user id")

    def rows(self) -> Iterable[EntryRow]:
        for item in self.shown:
            url = reverse("console:namespace", args=[item.object])
            how = _("By wildcard") if item.kind == Principal.Kind.PATTERN else _("By an entry of its own")
            yield EntryRow(
                Who(item.object_name, Face("thing", "schema"), url=url), labels(item.privileges), how
            )


def user_at(request: Request, id: int) -> User:
    """The user id that the address names, in the Herd of that number.  Raises Http404."""
    return User(herd_at(request, id), request.GET.get("id", ""))


@reads
@login_required
def user_entries(request: Request, id: int) -> HttpResponse:
    """The entries of a user id, on the namespaces the viewer may read."""
    user = user_at(request, id)
    desk = user.desk
    if not user.told:
        return refused(request, desk.place, ANY_DATA_OWNER)
    user.record()
    context: dict[str, Any] = {
        "heading": user.heading,
        "crumbs": crumbs(desk, here=False),
        "user": user.name,
        "lead": everybody_like(user.name).capitalize() if user.name.startswith("*") else "",
        "actions": [_removing(user)] if user.shown else [],
        "facts": Facts((Fact(_("Namespaces"), words.number(len(user.shown))),)) if user.name else None,
        "rows": list(user.rows()),
        "csv": f"{reverse('console:herd_user_csv', args=[id])}?{_asked(user)}",
        "locked": _locked(user),
        "empty": Empty(
            _("No entry of %(name)s that you can see") % {"name": user.name}
            if user.name
            else _("Enter a user id"),
            _("You see entries on namespaces that you may read as their data owner."),
            drawn=False,
        ),
    }
    return show(request, "console/herd/user.html", desk, context)


def _removing(user: User) -> Action:
    label = (
        _("Remove from %(every)s") % {"every": words.count(len(user.every), "namespace")}
        if not user.beyond
        else _("Remove everywhere")
    )
    url = f"{reverse('console:herd_user_remove', args=[user.desk.herd.id])}?{_asked(user)}"
    return Action(label, url, "danger", reason="why-not-remove" if user.beyond else "")


def _asked(user: User) -> str:
    return user_url(user.desk, user.name).partition("?")[2]


def _locked(user: User) -> Reason | None:
    if not user.shown or not user.beyond:
        return None
    seen = [item.object_name for item in user.beyond if item in user.shown]
    where = words.listed(seen, 3) if seen else _("other namespaces")
    return Reason("why-not-remove", _("All or nothing: you lack Grant on %(where)s.") % {"where": where})


class RemoveUserView(HerdChangeView):
    """Everything the user id has, taken in one change; all or nothing."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Nothing was removed.")
    object: User

    def get_object(self) -> User:
        return user_at(self.request, self.kwargs["id"])

    @property
    def desk(self) -> HerdContext:
        return self.object.desk

    def refusal(self) -> HttpResponse | None:
        if not self.desk.is_data_owner:
            return refused(self.request, self.desk.place, ANY_DATA_OWNER)
        if not self.object.shown:
            raise Http404
        return None

    def post(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if self.object.beyond:
            return self.look(self.make_form(self.data))
        return super().post(request, *args, **kwargs)

    def plan(self, form: ConfirmForm) -> Plan:
        if self.object.beyond:
            locked = _locked(self.object)
            return Plan(nothing=True, notes=(Note("bad", self.not_saved, locked.text if locked else ""),))
        name = self.object.name
        lines = [
            DiffLine(
                "lose",
                name,
                _("loses %(privileges)s on %(object_name)s")
                % {"privileges": labels(item.privileges), "object_name": item.object_name},
            )
            for item in self.object.shown
        ]
        return Plan(diff=Diff(tuple(lines)))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        user, herd = self.object, self.desk.herd
        shown = Grant.objects.open().filter(
            holder__in={item.holder for item in user.shown},
            securable__in={item.object for item in user.shown},
        )
        yield herd, endings.of_grants(herd, shown)

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        herd, reason = self.desk.herd, form.cleaned_data["reason"]
        with authorized(GRANT_REMOVED, herd, ANY_DATA_OWNER, by=actor, reason=reason):
            # under the lock, so that what is checked is what is taken. Raises Refused.
            user = self.object
            fresh = User(user.desk, user.name)
            for item in fresh.every:
                node = fresh.places[item.object]
                answer = ask(user.desk.place.asker, GRANTING, node)
                authority = require(
                    answer.decision, actor, otherwise=_("You lack Grant on %(name)s.") % {"name": node.name}
                )
                holder = Principal.objects.get(pk=item.holder)
                entry_services.take(node, holder, by=actor, authority=authority)

    def success_message(self, form: ConfirmForm) -> str:
        return _("%(name)s has no entry left on %(many)s") % {"name": self.object.name, "many": self._many()}

    def may_undo(self) -> bool:
        return True

    def _many(self) -> str:
        return words.count(len(self.object.every), "namespace")

    def heading(self, form: ConfirmForm) -> str:
        return f"{self.button(form)}?"

    def lead(self) -> str:
        return _("Rights from wildcards stay.")

    def button(self, form: ConfirmForm) -> str:
        return _("Remove %(name)s from %(many)s") % {"name": self.object.name, "many": self._many()}

    def back(self) -> str:
        return user_url(self.desk, self.object.name)
