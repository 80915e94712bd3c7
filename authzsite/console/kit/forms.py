"""The forms of the console: Django's own, with the fields and the words that our pages need.

A form is looked at before it is saved.  While it is only looked at nothing is complained of but a name that
nobody bears; what is valid so far is in `cleaned_data`, for the preview.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as noop

from accounts.models import Principal
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.parts import StrOrPromise
from authzsite.console.kit.http import nonce_in, number_in, numbers_in
from policies.services.grants import revision_now

LONGEST_REASON = 2000
TOO_LONG = gettext_lazy("Enter at most {number} characters.")
OUT_OF_RANGE = gettext_lazy("A number from {least} to {most}.")
REASON_HELP = gettext_lazy("Optional. Name the purpose or a ticket; kept in the history permanently.")
OFFERED = 8
MANY = 10
"""From more people than this something is only taken after its name was typed."""
MAY_BE_EMPTY = gettext_lazy("Optional. Kept in the history permanently.")
NOBODY_HERE = gettext_lazy("No person here has that name.")
NOT_KEPT = gettext_lazy("It contains a character that cannot be stored.")
LABELS = (
    *(noop("Charge code"), noop("Date"), noop("Days"), noop("Duty"), noop("Every"), noop("May")),
    *(noop("Message"), noop("Mode"), noop("Name"), noop("Note"), noop("Owner"), noop("Purpose")),
    *(noop("Reason"), noop("Role"), noop("Roles"), noop("Sample"), noop("Text"), noop("Title"), noop("Who")),
    *(noop("Admin group"), noop("Master user"), noop("Authentication"), noop("Grants"), noop("Kind")),
)
"""What fields are called that no form calls otherwise, for the catalogues."""
AT_ONCE = "at_once"
"""The code of errors that are told before anything is saved."""
PLAIN = {"class": "input", "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class BoundField(forms.BoundField):
    """A field as a page draws it; help and error are tied to the input by the ids that our pages use."""

    def __init__(self, form: Any, field: Any, name: str) -> None:
        super().__init__(form, field, name)
        if field.label is None:
            self.label = _(str(self.label))

    @property
    def help_id(self) -> str:
        return f"{self.auto_id}-help"

    @property
    def error_id(self) -> str:
        return f"{self.auto_id}-error"

    @property
    def aria_describedby(self) -> str:
        if self.is_hidden:
            return ""
        return " ".join([self.help_id] * bool(self.help_text) + [self.error_id] * bool(self.errors))


class ConsoleForm(forms.Form):
    """A form of the console: sent once (`nonce`), judged against what was looked at (`seen`)."""

    bound_field_class = BoundField
    data: QueryDict
    fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name)

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(QueryDict() if data is None else data, auto_id="%s", **kwargs)
        self.look_again = False

    @cached_property
    def nonce(self) -> str:
        """What tells a form sent twice from two forms."""
        return nonce_in(self.data)

    @property
    def seen(self) -> int:
        """The revision at which the plan was looked at."""
        sent = self.sent_seen
        return revision_now() if sent is None or self.look_again else sent

    @property
    def sent_seen(self) -> int | None:
        return number_in(self.data.get("seen", ""))

    def look(self, *, begin: bool = False) -> None:
        """Read what is filled in so far and complain of little; to `begin`, with initial values beside it."""
        if begin:
            self.data = self._begun()
        self.full_clean()
        for name, errors in [(name, errors.as_data()) for name, errors in self.errors.items()]:
            urgent = [error for error in errors if error.code == AT_ONCE]
            if urgent:
                self.errors[name] = self.error_class(urgent, renderer=self.renderer)
            else:
                del self.errors[name]

    def _begun(self) -> QueryDict:
        data: QueryDict = self.data.copy()
        for name, field in self.fields.items():
            initial = self.get_initial_for_field(field, name)
            if name not in data and initial is not None:
                data.setlist(name, list(initial) if isinstance(initial, (list, tuple)) else [initial])
        return data


# Text


class TextField(forms.CharField):
    """One line, as it was typed but for spaces around it."""

    def __init__(self, *, max_length: int = 255, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.TextInput(attrs=PLAIN))
        limits = {"max_length": format_lazy(TOO_LONG, number=max_length)}
        messages = {**limits, **kwargs.pop("error_messages", {})}
        super().__init__(max_length=max_length, error_messages=messages, **kwargs)
        self.validators = [*self.validators[:-1], ProhibitNullCharactersValidator(NOT_KEPT)]

    def prepare_value(self, value: Any) -> Any:
        return value.replace("\0", "") if isinstance(value, str) else value


class ReasonField(TextField):
    """Why something is changed; what is longer than the record keeps is cut."""

    def __init__(
        self,
        *,
        help_text: StrOrPromise = MAY_BE_EMPTY,
        **kwargs: Any,
    ):
        area = forms.Textarea(attrs={"class": "input", "rows": 2, "maxlength": LONGEST_REASON})
        kwargs = {"required": False, "widget": area, **kwargs}
        super().__init__(max_length=LONGEST_REASON, help_text=help_text, **kwargs)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(str(value or "").replace("\0", "")))[:LONGEST_REASON]


class NumberInput(forms.TextInput):
    """A short field for a number, which phones ask for by digits."""

    def __init__(self, size: int) -> None:
        super().__init__(attrs={"class": "input fit", "inputmode": "numeric", "size": size})


class WholeNumberField(TextField):
    """A whole number from `least` to `most`; an empty field stands for `empty`."""

    def __init__(
        self,
        *,
        wrong: StrOrPromise = "",
        least: int = 0,
        most: int = 0,
        empty: int | None = None,
        **kwargs: Any,
    ) -> None:
        wrong = wrong or format_lazy(OUT_OF_RANGE, least=least, most=most)
        kwargs.setdefault("error_messages", {"required": wrong, "max_length": wrong})
        kwargs.setdefault("widget", NumberInput(kwargs.get("max_length", 6)))
        super().__init__(**kwargs)
        self.wrong, self.least, self.most, self.empty = wrong, least, most, empty

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        number = number_in(text)
        if not text:
            return self.empty
        if number is None or number < self.least or (self.most and number > self.most):
            raise ValidationError(str(self.wrong), code="invalid")
        return number


# Choices


class Segments(forms.RadioSelect):
    """A few short choices beside each other."""


class Choices(forms.CheckboxSelectMultiple):
    """Boxes to tick, each with a line of what it means."""

    texts: Mapping[str, str] = {}

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(*args, **kwargs)
        return {**option, "text": self.texts.get(str(option["value"]), "")}


class SegmentsField(forms.ChoiceField):
    """One of a few; what is none of them counts as `otherwise`, where that is given."""

    def __init__(self, *, otherwise: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("widget", Segments)
        if otherwise is not None:
            kwargs.setdefault("initial", otherwise)
        super().__init__(**kwargs)
        self.otherwise = otherwise

    def to_python(self, value: Any) -> str:
        values = super().to_python(value)
        return values if self.otherwise is None or self.valid_value(values) else self.otherwise

    def bound_data(self, data: Any, initial: Any) -> Any:
        return self.to_python(data)


class ChoicesField(forms.MultipleChoiceField):
    """Some of many, each once; a code that is not offered is passed over, or refused by a `strict` one."""

    def __init__(self, *, strict: bool = False, **kwargs: Any) -> None:
        messages = {"invalid_choice": gettext_lazy("Choose from these."), **kwargs.pop("error_messages", {})}
        super().__init__(widget=Choices(), error_messages=messages, **kwargs)
        self.strict = strict

    def offer(self, choices: Iterable[tuple[str, str, str]]) -> None:
        """What can be chosen: code, label, and a line of what it means."""
        offered = list(choices)
        self.choices = [(code, label) for code, label, _ in offered]
        self.widget.texts = {code: text for code, _, text in offered}

    def to_python(self, value: Any) -> list[str]:
        codes = dict.fromkeys(super().to_python(value))
        return [code for code in codes if self.strict or self.valid_value(code)]


class NumbersField(forms.Field):
    """The numbers of some rows, each once, unseen on the page; what is no number is passed over."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[int]:
        return numbers_in(value or ())


# Principals


@dataclass(frozen=True)
class TypedPrincipals:
    """What a form says of people and groups: those named so far, what is typed, the button that was used."""

    named: tuple[str, ...] = ()
    find: str = ""
    add: str = ""
    drop: str = ""
    entered: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether what is typed was confirmed with Enter, so that a single match may be taken."""
        return bool(self.find) and self.entered and not self.drop


@dataclass(frozen=True)
class ChosenPrincipals:
    """Those who are chosen, and those who match what is still being typed."""

    chosen: tuple[Principal, ...]
    matches: tuple[Principal, ...]
    find: str
    """What stays in the text field: nothing when it led to somebody."""


class PrincipalPicker(forms.Widget):
    """Reads `who`, `find`, `add` and `drop`; works without scripts."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> TypedPrincipals:
        find = data.get("find", "").strip()[:255].replace("\0", "")
        entered = data.get("step") == "look"
        return TypedPrincipals(
            tuple(data.getlist(name)), find, data.get("add", ""), data.get("drop", ""), entered
        )

    def id_for_label(self, id_: str | None, index: Any = None) -> str:
        return id_ or ""


class BoundPrincipals(BoundField):
    """People and groups as a page draws them."""

    field: PrincipalField

    @property
    def choice(self) -> ChosenPrincipals:
        return self.field.choose(self.data)

    @property
    def chosen(self) -> tuple[Principal, ...]:
        return self.choice.chosen

    @property
    def tokens(self) -> list[dict[str, str]]:
        """Those who are chosen, each with a note of what it is, if no person."""
        return [
            {"code": str(item), "name": item.label, "note": "" if item.kind == "user" else _kind(item)}
            for item in self.chosen
        ]

    @property
    def options(self) -> list[dict[str, Any]]:
        """Those who match, as buttons."""
        if not self.choice.find:
            return []
        return [
            {
                "code": str(match),
                "name": match.label,
                "note": f"{_kind(match)} {match.name}",
                "face": terms.avatar_of(match),
            }
            for match in self.choice.matches
        ]

    @property
    def picking(self) -> bool:
        """Whether somebody is just choosing, so that the field keeps the focus."""
        typed: TypedPrincipals = self.data
        return bool(typed.find or typed.add or typed.drop)

    @property
    def nobody(self) -> str:
        return str(self.field.nobody) if self.choice.find and not self.choice.matches else ""


def _kind(principal: Principal) -> str:
    return str(principal.get_kind_display())


class PrincipalField(forms.Field):
    """People and groups, found by name among those whom `search` answers; the last `at_most` of them."""

    widget = PrincipalPicker

    def __init__(
        self,
        *,
        search: Callable[[str], QuerySet[Principal]] = lambda text: Principal.objects.none(),
        nobody: StrOrPromise = NOBODY_HERE,
        at_most: int = 0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("label", gettext_lazy("Who"))
        kwargs.setdefault("help_text", gettext_lazy("Type a name and press Enter to choose."))
        super().__init__(**kwargs)
        self.search, self.nobody, self.at_most = search, nobody, at_most
        self._last: tuple[TypedPrincipals, ChosenPrincipals] | None = None

    def among(self, search: Callable[[str], QuerySet[Principal]], realm: str) -> None:
        """Search those whom a realm knows, and say who can add anybody else."""
        self.search = search
        self.nobody = _("No person in %(realm)s has that name. The owner of the realm can add people.") % {
            "realm": realm
        }

    def get_bound_field(self, form: Any, field_name: str) -> BoundPrincipals:
        return BoundPrincipals(form, self, field_name)

    def clean(self, value: TypedPrincipals) -> list[Principal]:
        choice = self.choose(value)
        if choice.find:
            problem = _("Choose one of these, or clear the field.")
            raise ValidationError(
                problem if choice.matches else str(self.nobody), code="half" if choice.matches else AT_ONCE
            )
        if self.required and not choice.chosen:
            raise ValidationError(_("Enter at least one person or group."), code="required")
        return list(choice.chosen)

    def choose(self, typed: TypedPrincipals) -> ChosenPrincipals:
        """Who is meant by what was typed.  Two queries at most, asked once."""
        if self._last is None or self._last[0] != typed:
            self._last = (typed, self._chosen(typed))
        return self._last[1]

    def _chosen(self, typed: TypedPrincipals) -> ChosenPrincipals:
        matches = self._matches(typed) if typed.find else []
        codes = [code for code in dict.fromkeys(typed.named) if code != typed.drop]
        codes += [typed.add] * (bool(typed.add) and typed.add not in codes)
        by_code = self._known(codes[:200])
        chosen = [by_code[code] for code in codes if code in by_code]
        is_chosen = typed.confirmed and not typed.add and len(matches) == 1
        chosen += [match for match in matches if is_chosen and match not in chosen]
        find = "" if is_chosen or typed.add else typed.find
        return ChosenPrincipals(tuple(chosen[-self.at_most :]), tuple(matches), find)

    def _known(self, codes: Sequence[str]) -> dict[str, Principal]:
        wanted = Q(pk__in=[])
        for kind, name in (code.split(":", 1) for code in codes if ":" in code and "\0" not in code):
            wanted |= Q(kind=kind, name=name)
        return {str(row): row for row in self.search("").filter(wanted)} if codes else {}

    def _matches(self, typed: TypedPrincipals) -> list[Principal]:
        rows = list(self.search(typed.find)[: OFFERED + len(typed.named)])
        exact = [row for row in rows if typed.find.casefold() in (row.name.casefold(), row.label.casefold())]
        rows = exact if len(exact) == 1 and typed.confirmed else rows
        return [row for row in rows if str(row) not in typed.named][:OFFERED]


# Forms that several changes use


class ConfirmForm(ConsoleForm):
    """Whether something is taken away, and why; with `typed` its name has to be typed."""

    reason = ReasonField()

    def __init__(self, data: Any = None, *, typed: str = "", **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.typed = typed
        if typed:
            label = format_html(_("Type <code>{}</code> to continue"), typed)
            self.fields["name"] = TextField(label=label, required=False, max_length=1000, strip=False)

    def clean_name(self) -> str:
        if self.cleaned_data["name"] != self.typed:
            raise ValidationError(_("Type %(name)s as it is written above.") % {"name": self.typed})
        return self.typed
