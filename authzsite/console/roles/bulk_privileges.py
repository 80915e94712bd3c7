"""One set of privileges on many objects at once: which objects, which privileges, and what that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.text import holdable
from authzsite.console.access.grant_form import privileges_for
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Empty, Face, Note, Who
from authzsite.console.kit.forms import REASON_HELP, ConsoleForm, ReasonField, SegmentsField
from authzsite.console.kit.http import Request, number_in, numbers_in
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, circle_of
from authzsite.console.kit.methods import reads
from authzsite.console.objects.access import ObjectAccess
from authzsite.console.roles.privileges import NOTHING_CHOSEN, RolePrivilegesView, StatesForm, role_page
from authzsite.console.roles.role import VisibleRole, visit_role
from catalog.models import Placement
from catalog.nodes import Node, any_of, nodes, on_or_below
from policies.authority import Actor
from policies.decisions import ask
from policies.previews.roles import RoleChange
from policies.requests.rules import Rules, rules_of_grants
from policies.services.role_privileges import Turn, set_on_all, turns
from policies.services.roles import Privilege

LISTED, MOST = 100, 1000
TYPES = ("table", "view", "schema", "catalog", "topic", "fileset", "model", "function")
STATES = (
    ("keep", gettext_lazy("No change")),
    ("none", gettext_lazy("Nothing")),
    ("allow", gettext_lazy("Allow")),
    ("deny", gettext_lazy("Deny")),
)


@dataclass(frozen=True)
class Picked:
    """The objects of one type that an address names, all of which the viewer may give access to."""

    seen: VisibleRole
    circle: VisiblePrincipals
    data: QueryDict

    @cached_property
    def type(self) -> str:
        typed = self.data.get("type", "")
        return typed if typed in TYPES else "table"

    @property
    def text(self) -> str:
        return self.data.get("q", "").strip()[:255]

    @cached_property
    def marked(self) -> list[int]:
        return numbers_in(self.data.getlist("o")[:MOST])

    @cached_property
    def found(self) -> list[Node]:
        """By name; of those that lie in what they govern only where the law lets them give access."""
        governed = self.circle.sight.objects
        rows = Placement.objects.open().filter(securable__realm=self.seen.node.realm_id, type=self.type)
        rows = rows.filter(on_or_below(governed))
        if self.marked:
            rows = rows.filter(any_of("securable_id", self.marked))
        if self.text:
            rows = rows.filter(name__icontains=self.text) if holdable(self.text) else rows.none()
        keys = list(rows.order_by("name", "pk").values_list("securable", flat=True)[: MOST + 1])
        by_id, place = nodes(keys), self.seen.place
        some = [by_id[key] for key in keys if key in by_id]
        return [item for item in some if ask.answer(place.slice, "grant", item, now=place.now)]

    def address(self) -> str:
        query = [("type", self.type), ("q", self.text), *(("o", key) for key in self.marked)]
        return "?" + urlencode([(name, value) for name, value in query if value])


# Which objects


@reads
@login_required
def choose(request: Request, id: int) -> HttpResponse:
    """Objects of one type, marked or all that a name finds."""
    picked = Picked(visit_role(request, id), circle_of(request), request.GET)
    role, shown = picked.seen.node, picked.found[:LISTED]
    back = reverse("console:role", args=[id])
    context = {
        "crumbs": Crumbs(((_("Roles"), reverse("console:roles")), (role.name, back))),
        "heading": _("What %(name)s gives on many objects") % {"name": role.name},
        "kind": "",
        "lead": _("Choose the objects, or continue with all that match the filter."),
        "asked": picked.text,
        "type": picked.type,
        "types": TYPES,
        "rows": [_row(item) for item in shown],
        "next_url": reverse("console:role_many_give", args=[id]),
        "all_words": _("all %(found)s that match the filter")
        % {"found": words.count(len(picked.found), picked.type)},
        "more": words.number(len(picked.found) - len(shown)) if len(picked.found) > len(shown) else "",
        "empty": Empty(
            _("You cannot grant access to anything of that kind"),
            drawn=False,
            actions=(Action(_("Show all"), "?"),),
            level=2,
        ),
    }
    return role_page(request, "console/roles/bulk_privileges.html", picked.seen, context)


def _row(node: Node) -> dict[str, Any]:
    icon, url = terms.icon_of(node.type), terms.page_of(node.id, node.type)
    return {"id": node.id, "who": Who(node.name, Face("thing", icon), " / ".join(node.names[:-1]), url)}


# Which privileges


class BulkStatesForm(StatesForm):
    """For each privilege that fits the objects: as it is, nothing, allowed or denied on all of them."""

    def __init__(self, data: Any = None, *, role: Node, nodes: Sequence[Node], **kwargs: Any) -> None:
        ConsoleForm.__init__(self, data, **kwargs)
        self.role, self.nodes = role, nodes
        for privilege in privileges_for(nodes[0]) if nodes else ():
            label = terms.right(privilege.code, nodes[0].type, nodes[0].kind)
            self.fields[privilege.code] = SegmentsField(
                label=label,
                help_text=_(privilege.description),
                choices=STATES,
                otherwise="keep",
                required=False,
            )
        self.fields["reason"] = ReasonField(help_text=REASON_HELP)
        self.ask_for_reason()

    def rules_of_gift(self) -> Rules:
        return rules_of_grants(self.nodes)

    @property
    def gives(self) -> bool:
        return "allow" in self.wanted.values()

    @property
    def wanted(self) -> dict[str, str]:
        """What is to be said on all of them, by privilege: allow, deny, or nothing."""
        states = {code: state for code, state in self.cleaned_data.items() if code != "reason"}
        return {code: {"none": ""}.get(state, state) for code, state in states.items() if state != "keep"}

    @cached_property
    def turns(self) -> list[Turn]:
        return turns(self.role, self.nodes, self.wanted)

    @property
    def change(self) -> RoleChange | None:
        adds = tuple((turn.node, Privilege(turn.privilege, turn.after)) for turn in self.turns if turn.after)
        removes = tuple(
            (turn.node, Privilege(turn.privilege, turn.before)) for turn in self.turns if turn.before
        )
        return RoleChange(adds=adds, removes=removes) if self.turns else None


class BulkPrivilegesView(RolePrivilegesView):
    """Each privilege on all the picked objects; who gains and who loses; then it is done."""

    def get_object(self) -> ObjectAccess:
        self.role = visit_role(self.request, self.kwargs["id"])
        self.picked = Picked(self.role, circle_of(self.request), self.request.GET)
        return self.role.place

    def refusal(self) -> HttpResponse | None:
        return None if self.picked.found else redirect(self.back())

    @property
    def too_many(self) -> bool:
        return len(self.picked.found) > MOST

    def make_form(self, data: Any) -> BulkStatesForm:
        return BulkStatesForm(data, role=self.role.node, nodes=[] if self.too_many else self.picked.found)

    def plan(self, form: Any) -> Plan:
        if self.too_many:
            text = _("Choose fewer, or filter by name: at most %(most)s are set in one change.") % {
                "most": words.number(MOST)
            }
            return Plan(empty=NOTHING_CHOSEN, notes=(Note("warn", _("That is too many objects."), text),))
        return super().plan(form)

    def save(self, form: Any, actor: Actor) -> None:
        reason, foretold = form.cleaned_data["reason"], number_in(form.data.get("foretold", "")) or None
        set_on_all(self.role.node, form.nodes, form.wanted, by=actor, reason=reason, foretold=foretold)

    def note_of(self, form: Any, problem: Exception) -> Note:
        form.look_again = True
        return ChangeView.note_of(self, form, problem)

    @property
    def what(self) -> str:
        return words.count(len(self.picked.found), self.picked.type)

    def success_message(self, form: Any) -> str:
        return _("Role %(name)s is changed on %(what)s") % {"name": self.role.node.name, "what": self.what}

    def get_success_url(self) -> str:
        return reverse("console:role", args=[self.role.node.id])

    def heading(self, form: Any) -> str:
        return _("What %(name)s gives on %(what)s") % {"name": self.role.node.name, "what": self.what}

    def lead(self) -> str:
        return words.listed([node.ref.full_name for node in self.picked.found], 6)

    def button(self, form: Any) -> str:
        return _("Change %(name)s on %(what)s") % {"name": self.role.node.name, "what": self.what}

    def back(self) -> str:
        return f"{reverse('console:role_many', args=[self.role.node.id])}{self.picked.address()}"

    def page_context(self, form: Any) -> dict[str, Any]:
        return {"here": self.request.get_full_path(), "foretold": len(form.turns)}
