"""Taking direct grants on many objects back as one change, with who really loses before it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from accounts.record import Origin
from authzsite.console.access.chosen_objects import ChosenObjectsView
from authzsite.console.access.merged_preview import Together
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.conflicts import changed_meanwhile
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Empty, Note
from authzsite.console.kit.forms import MANY, ChoicesField, ConfirmForm
from authzsite.console.kit.inputs.object_selection import on_context
from authzsite.console.kit.replay import Proposal, root_of
from catalog.nodes import Node, any_of
from policies.authority import Actor
from policies.errors import Conflict
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.previews import grants as previews
from policies.services import grants
from policies.simulation.changes import RevokeAccess, Target

NOBODY_HOLDS = Empty(
    gettext_lazy("Nobody has direct access to these"),
    gettext_lazy("All access comes through roles, groups or parent objects."),
    drawn=False,
    level=2,
)


class Removal:
    """The direct grants of those who are asked for, on the chosen objects, that are to end."""

    def __init__(self, nodes: Sequence[Node], codes: Collection[str]) -> None:
        self.nodes, self.asked = nodes, codes

    @cached_property
    def held(self) -> list[tuple[Principal, Grant]]:
        """Every direct grant on them, with its holder.  Three queries."""
        rows = Grant.objects.open().filter(
            any_of("securable_id", [node.id for node in self.nodes]), effect=Effect.ALLOW
        )
        system = Q(role__in=rows.values("role"), origin=Origin.SYSTEM)
        personal = Assignment.objects.open().filter(system).values("holder")
        wanted = Q(pk__in=personal) | Q(pk__in=rows.filter(holder__isnull=False).values("holder"))
        holders = list(Principal.objects.filter(wanted))
        return grants.direct_of(self.nodes, holders) if holders else []

    @cached_property
    def holders(self) -> list[Principal]:
        every = {holder.pk: holder for holder, _ in self.held}
        return sorted(every.values(), key=lambda holder: holder.label.casefold())

    @cached_property
    def chosen(self) -> list[Principal]:
        return [holder for holder in self.holders if str(holder) in self.asked]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(sorted({grant.privilege for holder, grant in self.held if holder in self.chosen}))

    @cached_property
    def preview(self) -> Together:
        removed = [(node, self.codes) for node in self.nodes]
        return Together(previews.of_removals(removed, self.chosen), removal=True)

    @property
    def losing(self) -> int:
        return self.preview.count("lose") if self.chosen else 0

    @property
    def typed(self) -> str:
        """What is typed where many lose something: the name of what holds the objects."""
        names = self.nodes[0].names
        return names[-2 if len(names) > 1 else -1] if self.losing > MANY else ""

    def choices(self) -> Iterable[tuple[str, str, str]]:
        """Everybody who has something directly: code, label, and on how many of the objects."""
        pairs = {(holder.pk, grant.securable_id) for holder, grant in self.held}
        objects = Counter(holder for holder, _ in pairs)
        for holder in self.holders:
            on = words.count(objects[holder.pk], "object")
            yield (
                str(holder),
                holder.label,
                gettext("%(holder)s, directly on %(on)s")
                % {"holder": terms.principal_name(holder), "on": on},
            )


class RemovalForm(ConfirmForm):
    """From whom, and why; the name of what holds the objects where many lose something."""

    who = ChoicesField(
        label=gettext_lazy("From"), error_messages={"required": gettext_lazy("Choose at least one of them.")}
    )
    field_order = ("who", "reason", "name")

    def __init__(self, data: Any = None, *, removal: Removal, **kwargs: Any) -> None:
        super().__init__(data, typed=removal.typed, **kwargs)
        self.removal = removal
        self.fields["who"].offer(removal.choices())


class BulkRevokeView(ChosenObjectsView):
    """From whom, with what it takes; then it is done."""

    template_name = "console/access/bulk_revoke.html"
    looks_first = True
    not_saved = gettext_lazy("Nothing was revoked on any of them.")

    def make_form(self, data: Any) -> RemovalForm:
        nodes = [place.node for place in self.chosen.mine]
        return RemovalForm(data, removal=Removal(nodes, data.getlist("who")))

    def plan(self, form: RemovalForm) -> Plan:
        notes, removal = tuple(self.chosen.notes()), form.removal
        if not removal.chosen:
            return Plan(empty=gettext("Choose from whom, then preview the change."), notes=notes)
        return Plan(diff=removal.preview.diff(), tally=removal.preview.tally(), notes=notes)

    def proposals(self, form: RemovalForm) -> Iterable[Proposal]:
        removal = form.removal
        yield (
            root_of(removal.nodes[0]),
            [
                RevokeAccess(Target(node), holder, removal.codes)
                for node in removal.nodes
                for holder in removal.chosen
            ],
        )

    def save(self, form: RemovalForm, actor: Actor) -> None:
        removal, reason, seen = form.removal, form.cleaned_data["reason"], form.sent_seen
        grants.remove_all(removal.nodes, removal.chosen, removal.codes, by=actor, reason=reason, seen=seen)

    def note_of(self, form: RemovalForm, problem: Exception) -> Note:
        form.look_again = True
        if not isinstance(problem, Conflict):
            return super().note_of(form, problem)
        return changed_meanwhile(self.object.node, form.sent_seen or 0)

    def success_message(self, form: RemovalForm) -> str:
        names = words.listed([holder.label for holder in form.removal.chosen], 3)
        return gettext("Revoked on %(mine)s from %(names)s") % {
            "mine": words.count(len(self.chosen.mine), "object"),
            "names": names,
        }

    def heading(self, form: RemovalForm) -> str:
        return gettext("Revoke on %(mine)s") % {"mine": words.count(len(self.chosen.mine), "object")}

    def button(self, form: RemovalForm) -> str:
        return gettext("Revoke from %(losing)s") % {
            "losing": words.count(form.removal.losing, "person", "people")
        }

    def page_context(self, form: RemovalForm) -> dict[str, Any]:
        return {**on_context(self.chosen, self.chosen.mine), "empty": NOBODY_HOLDS}
