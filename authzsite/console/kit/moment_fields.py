"""Fields for moments and days, in the reader's own zone."""

from __future__ import annotations

from datetime import date, datetime
from functools import cached_property
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy

from authzsite.console.kit.forms import BoundField, ConsoleForm, TextField
from authzsite.console.kit.inputs.dates import Skipped, When, local_moment


class MomentInput(forms.TextInput):
    """A date and a time, in the browser's own calendar; the page offers dates to choose from beside it."""

    input_type = "datetime-local"


class MomentField(TextField):
    """A date and a time in the reader's own zone.  A time that its clock skips is refused.

    Of a time that the clock shows twice the earlier is meant, or the `later`.
    """

    wrong = gettext_lazy("Enter a date and a time.")

    def __init__(self, *, later: bool = False, **kwargs: Any) -> None:
        kwargs.setdefault("widget", MomentInput(attrs={"class": "input fit"}))
        kwargs.setdefault("error_messages", {"required": self.wrong})
        super().__init__(max_length=40, **kwargs)
        self.later = later

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            moment = local_moment(text, later=self.later)
        except Skipped as problem:
            raise ValidationError(str(problem), code="skipped") from problem
        if moment is None:
            raise ValidationError(self.error_messages["required"], code="invalid")
        return moment


class ExpirationField(MomentField):
    """When something ends: a moment that is still to come."""

    wrong = gettext_lazy("Enter a date and a time in the future.")

    def clean(self, value: Any) -> datetime | None:
        moment = super().clean(value)
        if moment is not None and moment <= timezone.now():
            raise ValidationError(self.error_messages["required"], code="past")
        return moment


class WindowInput(forms.Widget):
    """Reads `from`, `begin`, `until` and `date`."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> When:
        return When(data)


class BoundWindow(BoundField):
    """From when and until when, as a page draws it; `data` can be asked for a plan while it is not whole."""

    @cached_property
    def data(self) -> When:
        return When(cast("ConsoleForm", self.form).data)

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong, by the name of the input; on a mere look no more than a time that is skipped."""
        return self.data.check() if self.errors else self.data.problems


class WindowField(forms.Field):
    """From when and until when something is given: `When`, checked."""

    widget = WindowInput

    def get_bound_field(self, form: Any, field_name: str) -> BoundWindow:
        return BoundWindow(form, self, field_name)

    def clean(self, value: When) -> When:
        problems = When(value.data).check()  # its own problems are told only when it is saved
        if problems:
            raise ValidationError(list(problems.values()))
        return value


class DayField(TextField):
    """A day."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.DateInput(attrs={"class": "input fit", "type": "date"}))
        kwargs.setdefault("error_messages", {"invalid": gettext_lazy("Enter a day.")})
        super().__init__(max_length=40, **kwargs)

    def clean(self, value: Any) -> date | None:
        text = super().clean(value)
        try:
            day = parse_date(text) if text else None
        except ValueError:
            day = None
        if text and day is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return day
