"""Entities of a CDAP as the console makes and deletes them, by the same law as CDAP's own calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.cdap.context import InstanceContext, desk_at
from authzsite.console.kit.change_view import ChangeView, Plan
from authzsite.console.kit.display.parts import Diff, DiffLine
from authzsite.console.kit.forms import ConfirmForm, ConsoleForm, TextField
from authzsite.console.kit.refusal import refused
from authzsite.console.kit.replay import Proposal
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.authority import Actor
from policies.decisions import ask
from policies.errors import PolicyError, Refused
from policies.record import access_log
from policies.services import entities, patterns
from policies.simulation.changes import DropObject


class RegisterForm(ConsoleForm):
    """The text of an entity, and whom it runs as or belongs to."""

    entity = TextField(
        max_length=patterns.LONGEST,
        help_text=gettext_lazy("Kind and name, such as namespace:ns1 or dataset:ns1.orders."),
        error_messages={"required": gettext_lazy("Enter the entity.")},
    )
    principal = TextField(
        required=False,
        label=gettext_lazy("Runs as, or belongs to"),
        help_text=gettext_lazy("Optional. The principal that is impersonated."),
    )

    def __init__(self, data: Any, *, root: Node) -> None:
        self.root = root
        super().__init__(data)

    def clean_entity(self) -> Authorizable:
        try:
            return patterns.named(self.root, self.cleaned_data["entity"])
        except PolicyError as problem:
            raise ValidationError(str(problem)) from None


class EntityChangeView(ChangeView):
    """A change to what exists in an instance; the law is asked when it is made."""

    object: InstanceContext

    @property
    def desk(self) -> InstanceContext:
        return self.object

    def may_undo(self) -> bool:
        return False

    def get_object(self) -> InstanceContext:
        return desk_at(self.request, self.kwargs["id"])

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return self.desk.show(self.request, self.template_name, context, status=status)

    def note_refusal(self, entity: Authorizable, action: str) -> None:
        name = f"{self.desk.root.name}/{entity}"
        access_log.refused(self.asker, action, None, name=name, via="console")


class RegisterEntityView(EntityChangeView):
    """Anybody may ask; what they lack is said in the form."""

    form_class = RegisterForm
    not_saved = gettext_lazy("Not registered.")

    def get_form_arguments(self) -> dict[str, Any]:
        return {"root": self.desk.root}

    def save(self, form: RegisterForm, actor: Actor) -> Node:
        entity, principal = form.cleaned_data["entity"], form.cleaned_data["principal"]
        try:
            return entities.create(self.desk.root, entity, by=actor, principal=principal)
        except Refused:
            self.note_refusal(entity, f"create_{entity.type}")
            raise

    def success_message(self, form: RegisterForm) -> str:
        return _("%(cleaned_data)s is registered") % {"cleaned_data": form.cleaned_data["entity"]}

    def get_success_url(self) -> str:
        return self.back()

    def heading(self, form: RegisterForm) -> str:
        return _("Register an entity in %(name)s") % {"name": self.desk.root.name}

    def lead(self) -> str:
        if self.desk.by_pattern:
            return _("You need rights on its name; they can be granted before it exists.")
        return _("You need Write on the object that it is in, and get Everything on the new one.")

    def button(self, form: RegisterForm) -> str:
        return _("Register")

    def back(self) -> str:
        return self.desk.url("cdap_entities")

    def page_context(self, form: RegisterForm) -> dict[str, Any]:
        return {"title": _("Register an entity")}


class DeleteEntityView(EntityChangeView):
    """What goes with it; then it goes."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not deleted.")

    def get_object(self) -> InstanceContext:
        desk = super().get_object()
        self.entity = desk.named(self.request.GET.get("text", ""))
        if self.entity.is_pattern or not desk.sees(self.entity):
            raise Http404
        return desk

    def refusal(self) -> HttpResponse | None:
        if may_delete(self.desk, self.entity):
            return None
        self.note_refusal(self.entity, "drop")
        return refused(self.request, self.desk.place, "drop")

    def plan(self, form: ConfirmForm) -> Plan:
        later = _("Rights on the name stay.") if self.desk.by_pattern else _("Rights on it go too.")
        return Plan(diff=Diff((DiffLine("lose", str(self.entity), _("no longer exists"), later),)))

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        node = entities.found(self.desk.root, self.entity)
        if node is not None:
            yield self.desk.root, [DropObject(node)]

    def save(self, form: ConfirmForm, actor: Actor) -> int:
        return entities.delete(self.desk.root, self.entity, by=actor, reason=form.cleaned_data["reason"])

    def success_message(self, form: ConfirmForm) -> str:
        return _("%(entity)s is deleted; its history is kept") % {"entity": self.entity}

    def heading(self, form: ConfirmForm) -> str:
        return _("Delete %(name)s?") % {"name": self.entity}

    def lead(self) -> str:
        return _("In %(name)s") % {"name": self.desk.root.name}

    def button(self, form: ConfirmForm) -> str:
        return _("Delete %(entity)s") % {"entity": self.entity}

    def get_success_url(self) -> str:
        return self.desk.url("cdap_entities")

    def back(self) -> str:
        return self.desk.text_url(str(self.entity))


def may_delete(desk: InstanceContext, entity: Authorizable) -> bool:
    """Whether the viewer may delete an entity that is there."""
    node = ask.entity_node(desk.root, entity)
    entity_node = entities.found(desk.root, entity)
    return entity_node is not None and bool(ask.answer(desk.place.slice, "drop", node, now=desk.place.now))
