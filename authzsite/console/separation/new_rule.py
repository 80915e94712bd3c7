"""Making a rule: its two sides, and who has both already, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Note
from authzsite.console.kit.forms import AT_ONCE, BoundField, ConsoleForm, ReasonField, TextField
from authzsite.console.kit.http import number_in
from authzsite.console.separation.context import SeparationContext, ViolationRow, desk_at, line, refused
from authzsite.console.settings.realm import show
from catalog.models import Placement
from catalog.nodes import Node
from catalog.queries import find_all
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef, split_name
from policies.authority import Actor
from policies.decisions.personal_role_names import MARK
from policies.errors import PolicyError
from policies.separation import Book
from policies.separation.sides import Side
from policies.services import separation

ROLES = 500
"""So many roles are offered by name; rights on an object can be named beside them."""


@dataclass
class TypedSide:
    """One side as it is filled in: a role's number, or an object's full name and codes of rights."""

    root: Node
    role: str
    what: str
    may: Sequence[str]

    @cached_property
    def node(self) -> Node | None:
        """The object that is named, whatever its type."""
        if not self.what or self.role:
            return None
        law = dialects.get(self.root.kind)
        if self.what == self.root.name:
            return self.root
        try:
            path = split_name(self.what)
        except BadName:
            return None
        types = [type_ for type_ in law.paths if type_ != "role"]
        nodes = [node for node in find_all([ObjectRef(item, self.root.name, path) for item in types]) if node]
        return nodes[0] if nodes else None

    @cached_property
    def rights(self) -> Sequence[Any]:
        """What may be kept apart there: rights on the object and on what it holds."""
        node = self.node
        if node is None:
            return ()
        law = dialects.get(node.kind)
        path = set(law.paths.get(node.type, (node.type,)))
        privileges = [privilege for privilege in law.privileges.values() if privilege.category != "use"]
        return [item for item in privileges if node.type in item.binds or not item.binds <= path]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        codes = {right.code for right in self.rights}
        return tuple(code for code in self.may if code in codes)

    def problem(self) -> str:
        """Why it is no side; empty where it is one."""
        if self.what and self.node is None:
            return _("There is no object called %(what)s here.") % {"what": self.what}
        if self.node is None:
            return _("Choose a role, or enter an object.")
        return "" if self.codes else _("Choose the rights that are kept apart.")


class SideInput(forms.Widget):
    """Reads `<name>_role`, `<name>_what` and `<name>_may`."""

    root: Node

    def value_from_datadict(self, data: Any, files: Any, name: str) -> TypedSide:
        what = data.get(f"{name}_what", "").strip()[:1000].replace("\0", "")
        return TypedSide(self.root, data.get(f"{name}_role", ""), what, data.getlist(f"{name}_may"))


class BoundSide(BoundField):
    """A side as a page draws it."""

    @cached_property
    def data(self) -> TypedSide:
        typed: TypedSide = super().data
        return typed

    @property
    def rights(self) -> list[tuple[str, str, bool]]:
        node, typed = self.data.node, self.data
        labels = (
            (right.code, terms.right(right.code, node.type, node.kind)) for right in typed.rights if node
        )
        return [(code, label, code in typed.codes) for code, label in labels]

    @property
    def on(self) -> str:
        node = self.data.node
        return node.ref.full_name or node.name if node else ""


class SideField(forms.Field):
    """A role, or rights on an object and everything inside."""

    widget = SideInput

    def get_bound_field(self, form: Any, field_name: str) -> BoundSide:
        return BoundSide(form, self, field_name)

    def clean(self, value: TypedSide) -> Side:
        number = number_in(value.role)
        if number is not None:
            return Side(role=number)
        problem = value.problem()
        if problem or value.node is None:
            raise ValidationError(problem, code=AT_ONCE)
        return Side(object=value.node.id, privileges=value.codes)


class RuleForm(ConsoleForm):
    """A name, the two sides, whether owners count, and why."""

    name = TextField(
        label=gettext_lazy("Name of the rule"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("People whom the rule stops see this name."),
        widget=forms.TextInput(attrs={"class": "input"}),
    )
    one = SideField(label=gettext_lazy("Nobody has both"))
    other = SideField(label=gettext_lazy("and"))
    owners = forms.BooleanField(required=False)
    reason = ReasonField(help_text=gettext_lazy("Kept in the history permanently."))

    def __init__(self, data: Any = None, *, root: Node, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        for name in ("one", "other"):
            self.fields[name].widget.root = root

    def look(self, *, begin: bool = False) -> None:
        super().look(begin=begin)
        if "step" not in self.data:
            self.errors.clear()  # nothing was filled in yet

    @property
    def owners_count(self) -> bool:
        """Whether owners count; they do unless the form that was seen says otherwise."""
        return "step" not in self.data or self.data.get("owners") == "on"

    @property
    def sides(self) -> tuple[Side, Side] | None:
        side, other = self.cleaned_data.get("one"), self.cleaned_data.get("other")
        return (side, other) if side and other else None


class NewRuleView(ChangeView):
    """Name, sides, who has both already; then it is made."""

    template_name = "console/separation/new.html"
    looks_first = True
    object: SeparationContext

    def get_object(self) -> SeparationContext:
        return desk_at(self.request, self.kwargs["id"])

    @property
    def root(self) -> Node:
        return self.object.ward.root

    def refusal(self) -> HttpResponse | None:
        return (
            None
            if self.object.writes
            else refused(self.request, self.object, _("create rules of separation"))
        )

    def make_form(self, data: Any) -> RuleForm:
        return RuleForm(data, root=self.root)

    def plan(self, form: RuleForm) -> Plan:
        self.violations: list[ViolationRow] | None = None
        if form.sides is None:
            return Plan()
        name = form.cleaned_data.get("name") or _("this rule")
        try:
            rule = separation.unsaved(self.root, name, *form.sides, owners=form.owners_count)
        except PolicyError as problem:
            return Plan(notes=(Note("bad", _("This is not a valid rule."), str(problem)),))
        book = Book([rule], {}, self.object.book.now)
        self.violations = [line(violation, book) for violation in self.object.found(book)]
        return Plan(sum=_foretold(len(self.violations)))

    def save(self, form: RuleForm, actor: Actor) -> None:
        name, reason = form.cleaned_data["name"], form.cleaned_data["reason"]
        side, other = form.cleaned_data["one"], form.cleaned_data["other"]
        separation.make(self.root, name, side, other, by=actor, reason=reason, owners=form.owners_count)

    def success_message(self, form: RuleForm) -> str:
        return _("The rule %(cleaned_data)s applies from now on") % {
            "cleaned_data": form.cleaned_data["name"]
        }

    def heading(self, form: RuleForm) -> str:
        return _("Create a rule for %(name)s") % {"name": self.root.name}

    def lead(self) -> str:
        return _("Nobody may hold both sides from now on.")

    def button(self, form: RuleForm) -> str:
        return _("Create the rule")

    def back(self) -> str:
        return reverse("console:separation", args=[self.root.id])

    def page_context(self, form: RuleForm) -> dict[str, Any]:
        rows = Placement.objects.open().filter(type="role", securable__realm=self.root.realm_id)
        roles = rows.exclude(name__startswith=MARK).order_by("name").values_list("securable", "name")
        return {
            "sides": (form["one"], form["other"]),
            "roles": [(str(number), name) for number, name in roles[:ROLES]],
            "lines": self.violations,
        }

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show(self.request, self.template_name, self.object.ward, context, status=status)


def _foretold(many: int) -> str:
    if not many:
        return _("Nobody holds both now.")
    return ngettext(
        "%(number)s person already has both. The rule revokes nothing; it lists them until this is resolved.",
        "%(number)s people already have both. The rule revokes nothing; it lists them until this is "
        "resolved.",
        many,
    ) % {"number": words.number(many)}
