"""The page of a role: what it allows and denies on which objects, and who holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import Membership, Principal
from authzsite.console.access.grant_form import ORDER
from authzsite.console.history import timeline
from authzsite.console.insights.object_hints import on_role
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Chip, Crumbs, Face, Fact, Facts, Reason, State, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import ObjectAccess, get_object_or_404, get_past_object_or_404
from authzsite.console.requests.links import ask_for
from authzsite.console.sync import applied
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import nodes
from lakewarden.law import dialects
from policies.decisions import ask
from policies.decisions.lookups.visible_objects import owner_of
from policies.decisions.personal_role_names import is_personal
from policies.models import Assignment, Grant
from policies.models.grants import Effect
from policies.record import history
from policies.services import roles
from policies.sync.status import StatusQuestion, names_behind

INSIDE = 12


@dataclass(frozen=True)
class PrivilegeRow:
    what: Who
    allows: str
    denies: Chip | None
    ends: Chip | None
    action: Action
    applied: State | None = None


@dataclass(frozen=True)
class Holder:
    who: Who
    people: str
    ends: Chip | None
    action: Action


@dataclass(frozen=True)
class VisibleRole:
    """A role as one viewer sees it."""

    place: ObjectAccess

    @property
    def node(self) -> Node:
        return self.place.node

    @cached_property
    def personal(self) -> bool:
        return is_personal(self.node.name)

    @cached_property
    def root(self) -> Node:
        return next(iter(self.node.above()))

    @cached_property
    def may_assign(self) -> bool:
        return self.place.may(roles.operation(self.node, "assign")) and not self.personal

    @cached_property
    def may_delete(self) -> bool:
        return self.place.may(roles.operation(self.node, "delete")) and not self.personal

    @cached_property
    def owner(self) -> Principal | None:
        return owner_of(self.node)

    @cached_property
    def all_holders(self) -> bool:
        """Whether they may know who else holds it."""
        sight = history.sight(self.place.asker, [self.root])
        return self.place.may(roles.operation(self.node, "assign")) or sight.sees(self.node)

    # What it gives

    @cached_property
    def grants(self) -> dict[int, list[Grant]]:
        rows: dict[int, list[Grant]] = {}
        for row in Grant.objects.open().filter(role=self.node.id, securable__isnull=False):
            rows.setdefault(row.securable_id or 0, []).append(row)
        return rows

    @property
    def gives_nothing(self) -> bool:
        """Whether there is nothing at all that it gives, for viewers who may know all of a role."""
        return self.all_holders and not Grant.objects.open().filter(role=self.node.id).exists()

    @cached_property
    def objects(self) -> list[Node]:
        """Those of its objects that the viewer may see, by name."""
        now, slice_ = self.place.now, self.place.slice
        seen = [node for node in nodes(self.grants).values() if ask.may_see(slice_, node, now=now)]
        return sorted(seen, key=lambda node: (node.names, node.type))

    def gives(self) -> list[PrivilegeRow]:
        given = (replace(self._given(item), applied=self.applied.get(item.id)) for item in self.objects)
        return [*given, *self._on_names()]

    @cached_property
    def applied(self) -> dict[int, State | None]:
        """How far what it allows has come outside, by object; for viewers who may count the people."""
        if not self.all_holders:
            return {}
        rows = {
            item.id: [row for row in self.grants[item.id] if row.effect == Effect.ALLOW]
            for item in self.objects
        }
        names = frozenset().union(*names_behind(row.holder for row in self.assigned).values())
        given = [item for item in self.objects if rows[item.id]]
        questions = [
            StatusQuestion(
                item.lineage,
                names,
                max(row.opened for row in rows[item.id]),
                frozenset(row.privilege for row in rows[item.id]),
            )
            for item in given
        ]
        return dict(zip((item.id for item in given), applied.of(questions), strict=True))

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """The names of a CDAP that it gives something on, with the codes of what it gives."""
        held: dict[str, list[str]] = {}
        if self.by_name:
            rows = Grant.objects.open().filter(role=self.node.id, securable__isnull=True)
            for row in rows.order_by("pattern"):
                held.setdefault(row.pattern, []).append(row.privilege)
        return held

    @property
    def description(self) -> str:
        """What it is for, where somebody wrote that."""
        detail = Detail.objects.filter(securable=self.node.id).first()
        return str((detail.properties if detail else {}).get("description", ""))[:500]

    @property
    def by_name(self) -> bool:
        return dialects.get(self.node.kind).by_text

    def _on_names(self) -> Iterable[PrivilegeRow]:
        privileges = dialects.get(self.node.kind).privileges
        for text, codes in self.names.items():
            url = f"{reverse('console:cdap_text', args=[self.root.id])}?{urlencode({'text': text})}"
            labels = words.listed(
                [privilege.label for code, privilege in privileges.items() if code in codes]
            )
            change = Action(_("Open"), url, "mini", more=text)
            yield PrivilegeRow(Who(text, Face("thing", "role"), url=url), labels, None, None, change)

    def _given(self, node: Node) -> PrivilegeRow:
        rows = self.grants[node.id]
        above = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
        icon, url = terms.icon_of(node.type), terms.page_of(node.id, node.type)
        ends = [row.valid_until for row in rows if row.valid_until]
        begins = [row.valid_from for row in rows if row.valid_from]
        denied = rights(node, rows, Effect.DENY)
        return PrivilegeRow(
            Who(node.name, Face("thing", icon), above, url),
            rights(node, rows, Effect.ALLOW),
            Chip("denied", _("%(denied)s denied") % {"denied": denied}) if denied else None,
            terms.window_chip(max(begins, default=None), min(ends, default=None)),
            self._change(node),
        )

    def _change(self, node: Node) -> Action:
        may = ask.answer(self.place.slice, "grant", node, now=self.place.now)
        url = reverse("console:role_give_on", args=[self.node.id, node.id])
        more, reason = _("what it gives on %(name)s") % {"name": node.name}, "" if may else "why-not-give"
        return Action(_("Change"), url, "mini", more=more, reason=reason)

    # Who holds it

    @cached_property
    def assigned(self) -> list[Assignment]:
        """Who holds it, by name; of others only where the viewer may know."""
        rows = Assignment.objects.open().filter(role=self.node.id).select_related("holder")
        if not self.all_holders:
            own = Membership.objects.open().within(self.place.now).filter(member=self.place.asker)
            rows = rows.filter(holder__in=[self.place.asker.pk, *own.values_list("group", flat=True)])
        return list(rows.order_by("holder__display_name", "holder__name"))

    def holders(self) -> list[Holder]:
        holders = self.assigned
        groups = [
            holder.pk for holder in [row.holder for row in holders] if holder.kind == Principal.Kind.GROUP
        ]
        rows = Membership.objects.open().within(self.place.now).filter(group__in=groups)
        people: dict[int, list[str]] = {}
        for row in rows.select_related("member").order_by("member__display_name", "member__name"):
            people.setdefault(row.group_id, []).append(row.member.label)
        return [self._holder(row, people.get(row.holder_id, [])) for row in holders]

    def _holder(self, row: Assignment, people: list[str]) -> Holder:
        holder = row.holder
        note = words.count(len(people), "person", "people") if holder.kind == "group" else holder.name
        who = terms.who(holder, note, reverse("console:person", args=[holder.pk]))
        url = f"{reverse('console:role_unassign', args=[self.node.id])}?{urlencode({'who': str(holder)})}"
        reason = "" if self.may_assign else "why-not-assign"
        action = Action(
            _("Revoke"), url, "mini", more=_("from %(label)s") % {"label": holder.label}, reason=reason
        )
        when = terms.window_chip(row.valid_from, row.valid_until)
        return Holder(who, words.listed(people, INSIDE), when, action)

    # What the viewer may do

    def actions(self) -> list[Action]:
        number = [self.node.id]
        no_assign = "" if self.may_assign else "why-not-assign"
        no_delete = "" if self.may_delete else "why-not-delete"
        compare = f"{reverse('console:role_compare')}?{urlencode({'a': self.node.name})}"
        many = Action(_("Set on many objects"), reverse("console:role_many", args=number))
        give = Action(
            _("Assign the role"), reverse("console:role_assign", args=number), "primary", reason=no_assign
        )
        asking = [Action(_("Request this role"), ask_for([self.node]), "primary")]
        if no_assign:
            give = Action(_("Assign the role"), reason=no_assign)
        return [
            Action(_("Compare"), compare, "plain"),
            Action(_("History"), f"{reverse('console:history')}?object={self.node.id}", "plain"),
            Action(_("Past"), reverse("console:role_then", args=number), "plain"),
            Action(_("Delete"), reverse("console:role_delete", args=number), "danger", reason=no_delete),
            *([] if self.by_name else [many]),
            Action(_("Change what it gives"), reverse("console:role_give", args=number)),
            give,
            *(asking if no_assign and not self.personal else []),
        ]

    def reasons(self) -> list[Reason]:
        if self.personal:
            text = _("A personal role holds a person’s direct grants; it changes only with their grants.")
            return [
                Reason(code, text) for code in ("why-not-assign", "why-not-delete")
            ] + self._object_reason()
        reasons = []
        givers = _("the owner of %(name)s and holders of Manage grants on it") % {"name": self.root.name}
        if not self.may_assign:
            reasons.append(
                Reason(
                    "why-not-assign", _("Roles are assigned and revoked by %(givers)s.") % {"givers": givers}
                )
            )
        if not self.may_delete:
            text = (
                _("A role is deleted by its owner, %(label)s, or the owner of %(name)s.")
                if self.owner
                else _("A role is deleted by the owner of %(name)s.")
            )
            names = {"label": self.owner.label if self.owner else "", "name": self.root.name}
            reasons.append(Reason("why-not-delete", text % names))
        return reasons + self._object_reason()

    def _object_reason(self) -> list[Reason]:
        text = _("Only people who may grant access to an object can change what a role gives on it.")
        locked = any(self._change(item).reason for item in self.objects)
        return [Reason("why-not-give", text)] if locked else []

    def _gives_words(self) -> str:
        if self.by_name:
            return words.count(len(self.names), "name") if self.names else _("Nothing")
        return words.count(len(self.objects), "object") if self.objects else _("Nothing")

    def facts(self, holders: list[Holder]) -> Facts:
        denies = sum(any(row.effect == Effect.DENY for row in self.grants[item.id]) for item in self.objects)
        url = "" if self.personal or not self.place.may("set_owner") else "console:object_owner"
        hand = reverse(url, args=[self.node.id]) if url else ""
        owner = Fact(_("Owner"), self.owner.label if self.owner else _("No owner"), hand)
        return Facts(
            (
                owner,
                Fact(_("Held by"), words.count(len(holders), "holder") if holders else _("Nobody")),
                Fact(_("Gives on"), self._gives_words()),
                Fact(_("Denies on"), words.count(denies, "object") if denies else _("Nothing")),
            )
        )


def rights(node: Node, rows: list[Grant], effect: str) -> str:
    law = dialects.get(node.kind)
    privileges = [law.privilege(row.privilege) for row in rows if row.effect == effect]
    ordered = sorted(
        (item for item in privileges if item),
        key=lambda privilege: (ORDER.index(privilege.category), privilege.bit),
    )
    labels = [terms.right(item.code, node.type, node.kind) for item in ordered]
    return terms.sentence_list(list(dict.fromkeys(labels)))


def visit_role(request: Request, id: int, *, past: bool = False) -> VisibleRole:
    """The role of that number, or only its `past`; not found when it is none or hidden."""
    place = get_past_object_or_404(request, id) if past else get_object_or_404(request, id)
    if place.node.type != "role":
        raise Http404
    return VisibleRole(place)


@reads
@login_required
def role_detail(request: Request, id: int) -> HttpResponse:
    """What it gives and who holds it."""
    seen = visit_role(request, id)
    holders, gives = seen.holders(), seen.gives()
    latest = history.page(
        history.Filter(object=seen.node),
        history.sight(seen.place.asker, [seen.root]),
        limit=4,
        lines=timeline.LINES,
    )
    context: dict[str, Any] = {
        "crumbs": Crumbs(((_("Roles"), reverse("console:roles")),)),
        "heading": seen.node.name,
        "lead": seen.description,
        "kind": _("Personal role") if seen.personal else _("Role"),
        "actions": seen.actions(),
        "facts": seen.facts(holders),
        "reasons": seen.reasons(),
        "gives": gives,
        "gives_empty": _("Nothing that you can see.")
        if gives or not seen.gives_nothing
        else _("Nothing yet."),
        "holders": holders,
        "holders_csv": reverse("console:role_holders_csv", args=[id]),
        "gives_csv": reverse("console:role_gives_csv", args=[id]),
        "others": "" if seen.all_holders else _("Other members are shown to people who may assign the role."),
        "latest": timeline.timeline(timeline.rows(latest.entries)[:6]),
        **on_role(seen.place),
    }
    return page(
        request,
        "console/roles/role.html",
        context,
        section="roles",
        realm=seen.node.realm,
        kind=seen.root.type,
        revision=seen.place.slice.revision,
    )
