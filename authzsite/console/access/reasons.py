"""The reason of a change that gives access: as long as the rule of requests asks on what is given."""

from __future__ import annotations

from functools import cached_property

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import words
from authzsite.console.kit.forms import ConsoleForm
from policies.errors import Invalid
from policies.requests.rules import Rules

REQUIRED = gettext_lazy(
    "Required here: at least %(least)s characters. Name the purpose or a ticket; kept in the history "
    "permanently."
)
REQUIRED_TO_GIVE = gettext_lazy(
    "Required here to grant access: at least %(least)s characters. Name the purpose or a ticket; kept in the "
    "history permanently."
)


class GivingForm(ConsoleForm):
    """A form with a field `reason` that gives access; once its fields are there it calls `ask_for_reason`."""

    takes_too = False
    """Whether it may take access away as well, for which nothing is asked."""

    def rules_of_gift(self) -> Rules:
        """What is asked on what it gives, on whichever object most is asked."""
        raise NotImplementedError

    @property
    def gives(self) -> bool:
        """Whether what is filled in gives anything to anybody."""
        return True

    @cached_property
    def rules(self) -> Rules:
        return self.rules_of_gift()

    def ask_for_reason(self) -> None:
        """Say beside the field how long it must be."""
        if self.rules.min_reason:
            text = REQUIRED_TO_GIVE if self.takes_too else REQUIRED
            self.fields["reason"].help_text = text % {"least": words.number(self.rules.min_reason)}

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if self.rules.min_reason and self.gives:
            try:
                self.rules.check_reason(reason)
            except Invalid as exc:
                raise ValidationError(str(exc)) from exc
        return reason
