"""How they want to be told of each kind of thing, and where mail goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display.parts import Action
from authzsite.console.kit.forms import ConsoleForm, TextField
from authzsite.console.kit.http import account_of
from authzsite.console.kit.page import page
from policies.authority import Actor
from policies.models.notices import How
from policies.notices import inbox
from policies.notices.mail import DIGEST_AT

NO_ADDRESS = gettext_lazy("This is not a valid mail address.")


class NoticeSettingsForm(ConsoleForm):
    """An address, and one choice for each kind; what is not sent stays as it is."""

    address = TextField(
        label=gettext_lazy("Your mail address"),
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"class": "input", "autocomplete": "email"}),
        error_messages={"max_length": NO_ADDRESS},
    )

    def __init__(self, data: Any = None, *, account: User, ways: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(data)
        self.fields["address"].initial = account.email
        self.fields["address"].help_text = _(
            "Without one, everything stays in your inbox. "
            "The mail once a day goes at %(time)s in your time zone, %(zone)s."
        ) % {"time": f"{DIGEST_AT:02}:00", "zone": account.time_zone}
        for code, (heading, how) in ways.items():
            self.fields[f"how-{code}"] = forms.ChoiceField(
                label=heading,
                required=False,
                choices=How.choices,
                initial=how,
                error_messages={"invalid_choice": _("That choice does not exist.")},
                widget=forms.Select(
                    attrs={
                        "class": "input fit",
                        "aria-label": _("Notify about: %(heading)s") % {"heading": heading},
                    }
                ),
            )

    @property
    def kinds(self) -> list[Any]:
        """The fields of the kinds, as the page lists them."""
        return [field for field in self.visible_fields() if field.name != "address"]

    @property
    def chosen(self) -> dict[str, str]:
        """How they want to be told of each kind that was sent, by its code."""
        ways = ((field.name, self.cleaned_data[field.name]) for field in self.kinds)
        return {name.removeprefix("how-"): how for name, how in ways if how}

    def clean_address(self) -> str | None:
        """None where none was sent."""
        address: str = self.cleaned_data["address"]
        try:
            if address:
                validate_email(address)
        except ValidationError:
            raise ValidationError(NO_ADDRESS) from None
        return address if "address" in self.data else None


class NoticeSettingsView(ChangeView):
    """One choice for each kind; saved together."""

    template_name = "console/inbox/settings.html"

    def make_form(self, data: Any) -> NoticeSettingsForm:
        ways = {kind.code: (_(kind.heading), how) for kind, how in inbox.choices_of(self.asker)}
        return NoticeSettingsForm(data, account=account_of(self.request), ways=ways)

    def save(self, form: NoticeSettingsForm, actor: Actor) -> None:
        inbox.choose(self.asker, form.chosen)
        account, address = account_of(self.request), form.cleaned_data["address"]
        if address is not None:
            account.email = address
            account.save(update_fields=["email"])

    def success_message(self, form: NoticeSettingsForm) -> str:
        return _("Saved: notices now reach you this way")

    def heading(self, form: NoticeSettingsForm) -> str:
        return _("Notification settings")

    def lead(self) -> str:
        return _("Urgent notices, such as emergency access, always come at once.")

    def button(self, form: NoticeSettingsForm) -> str:
        return _("Save")

    def back(self) -> str:
        return reverse("console:inbox_settings")

    def page_context(self, form: NoticeSettingsForm) -> dict[str, Any]:
        return {"actions": [Action(_("Your inbox"), reverse("console:inbox"))]}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section="inbox", status=status)
