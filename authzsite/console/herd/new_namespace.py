"""Making a namespace in a Herd: the first of four steps, which anybody may take."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.herd.context import CREATE
from authzsite.console.herd.herd_change import HerdChangeView
from authzsite.console.kit.forms import ConsoleForm, TextField
from catalog.nodes import Node
from policies.authority import Actor
from policies.events import OBJECT_REGISTERED
from policies.services import objects
from policies.services.authorities import authorized
from policies.services.objects import NewObject


class NewNamespaceForm(ConsoleForm):
    """A name, and who is charged for it."""

    name = TextField(
        help_text=gettext_lazy("Such as NEW_APP. Upper and lower case are the same."),
        error_messages={"required": gettext_lazy("Enter a name.")},
    )
    charge_code = TextField(required=False, help_text=gettext_lazy("Optional."))

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if "/" in name or "\\" in name:
            raise ValidationError(_("A namespace cannot contain slashes."))
        return name

    def clean_charge_code(self) -> str:
        code: str = self.cleaned_data["charge_code"]
        if not code.isprintable():
            raise ValidationError(_("A charge code must be printable text."))
        return code


class NewNamespaceView(HerdChangeView):
    """Who makes it gets no access to it."""

    form_class = NewNamespaceForm
    not_saved = gettext_lazy("Not created.")

    def save(self, form: NewNamespaceForm, actor: Actor) -> Node:
        herd, name, charge = self.desk.herd, form.cleaned_data["name"], form.cleaned_data["charge_code"]
        content = NewObject("namespace", name, content={"charge_code": charge} if charge else {})
        with authorized(OBJECT_REGISTERED, herd, CREATE, by=actor) as authority:
            [made] = objects.register(herd, [content], by=actor, authority=authority)
        return made

    def success_message(self, form: NewNamespaceForm) -> str:
        if self.result is None:
            return ""
        return _("Namespace %(name)s is created; nobody has access to it yet") % {"name": self.result.name}

    def get_success_url(self) -> str:
        return reverse("console:namespace", args=[self.result.id]) if self.result else self.back()

    def heading(self, form: NewNamespaceForm) -> str:
        return _("Create a namespace in %(name)s") % {"name": self.desk.herd.name}

    def lead(self) -> str:
        who = self.desk.administrator
        name = who.label if who else _("The administrator")
        return _("Creating it gives you no access. %(name)s then decides who looks after it.") % {
            "name": name
        }

    def button(self, form: NewNamespaceForm) -> str:
        return _("Create the namespace")

    def back(self) -> str:
        return reverse("console:herd", args=[self.desk.herd.id])

    def page_context(self, form: NewNamespaceForm) -> dict[str, Any]:
        return {"title": _("Create a namespace")}
