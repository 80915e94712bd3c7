"""What somebody fills in to ask for access, read from an address or from the form itself.

An address says `resource`, `type` and `action`, each once for every thing wanted (the last `type` and
`action` go on counting), and `for`.  The form says `on` (`table demo/shop.sales.orders`) and `do` (`0 read`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.forms import (
    ConsoleForm,
    SegmentsField,
    TextField,
)
from authzsite.console.kit.inputs.dates import When
from authzsite.console.kit.moment_fields import (
    BoundWindow,
    WindowField,
    WindowInput,
)
from authzsite.console.requests.links import usual
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.requests.needs import HOLD, MOST_WANTED, WantedAction
from policies.requests.submission import Asking

LASTS = (
    ("P7D", gettext_lazy("7 days")),
    ("P30D", gettext_lazy("30 days")),
    ("P90D", gettext_lazy("90 days")),
    ("date", gettext_lazy("A date")),
    ("never", gettext_lazy("No end")),
)
USUAL = "P30D"
LONGEST = {"resource": 1500, "type": 24, "action": 64}
LONGEST_REASON, LONGEST_TICKET = 4000, 64
SHAPES = {0: "metalake", 1: "catalog", 2: "schema", 3: "table"}
FIRST = ("use", "read", "write", HOLD)
"""What people ask for first; all else that can be done follows."""
PLAIN = ("read", "write", "execute", "use", "grant")


@dataclass(frozen=True)
class RequestedObject:
    """One object that access is asked to, as it was named, with the actions that are wanted on it."""

    type: str
    name: str
    actions: tuple[str, ...]

    @property
    def ref(self) -> ObjectRef | None:
        try:
            return ObjectRef.parse(self.type, self.name)
        except BadName:
            return None

    @property
    def short(self) -> str:
        return self.name.partition("/")[2] or self.name


@dataclass(frozen=True)
class RequestedObjects:
    """The objects that an address or a form names; `kinds` says what law each realm has."""

    data: QueryDict
    kinds: Mapping[str, str]

    @cached_property
    def things(self) -> list[RequestedObject]:
        """The objects wanted, each once."""
        rows: dict[tuple[str, str], dict[str, None]] = {}
        for item in self._asked():
            rows.setdefault((item.type, item.name), {}).update(
                dict.fromkeys((item.action,) if item.action else ())
            )
        dropped = self.data.get("drop", "")
        kept = [key for key in rows if f"{key[0]} {key[1]}" != dropped]
        return [RequestedObject(type_, name, tuple(rows[type_, name])) for type_, name in kept[:MOST_WANTED]]

    def _asked(self) -> Iterator[WantedAction]:
        if {"nonce", "on"} & set(self.data):
            on = [text.partition(" ") for text in self.data.getlist("on")]
            for type_, _, name in on:
                yield WantedAction(_cleaned_text(type_, "type"), _cleaned_text(name, "resource"), "")
            for text in self.data.getlist("do"):
                at, _, action = text.partition(" ")
                if at.isdecimal() and len(at) < 4 and int(at) < len(on):
                    type_, _, name = on[int(at)]
                    yield WantedAction(
                        _cleaned_text(type_, "type"),
                        _cleaned_text(name, "resource"),
                        _cleaned_text(action, "action"),
                    )
        else:
            yield from self._linked()
        if self.named:
            yield self.named

    def _linked(self) -> Iterator[WantedAction]:
        types, actions = self.data.getlist("type"), self.data.getlist("action")
        for at, name in enumerate(self.data.getlist("resource")[: MOST_WANTED + 1]):
            type_ = types[min(at, len(types) - 1)] if types else shape_of(name)
            action = actions[min(at, len(actions) - 1)] if actions else usual(type_)
            yield WantedAction(
                _cleaned_text(type_, "type"), _cleaned_text(name, "resource"), _cleaned_text(action, "action")
            )

    @cached_property
    def named(self) -> WantedAction | None:
        """What was typed to be added."""
        typed = _cleaned_text(self.data.get("more", ""), "resource").strip()
        if not typed:
            return None
        realm = next(iter(self.kinds)) if len(self.kinds) == 1 and "/" not in typed else ""
        name = f"{realm}/{typed}" if realm and typed != realm else typed
        type_ = _cleaned_text(self.data.get("more_type", ""), "type") or shape_of(name)
        return WantedAction(type_, name, usual(type_))


class LengthInput(WindowInput):
    """Reads `from`, `begin`, `lasts` and `date`."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> When:
        window = data.copy()
        window["until"] = "date" if data.get("lasts") == "date" else "never"
        return When(window)


class BoundLength(BoundWindow):
    """From when, and how long, as a page draws it."""

    @cached_property
    def data(self) -> When:
        return LengthInput().value_from_datadict(self.form.data, {}, self.name)


class LengthField(WindowField):
    """From when something is asked for, and until when where a date is chosen."""

    widget = LengthInput

    def get_bound_field(self, form: Any, field_name: str) -> BoundLength:
        return BoundLength(form, self, field_name)


class RequestForm(ConsoleForm):
    """A request in the making: what, for whom, how long and why."""

    do = forms.Field(required=False, widget=forms.SelectMultiple)
    more = TextField(required=False, max_length=LONGEST["resource"])
    lasts = SegmentsField(choices=LASTS, otherwise=USUAL, required=False)
    window = LengthField()
    reason = TextField(
        label=gettext_lazy("Why"),
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"class": "input", "rows": 3, "maxlength": LONGEST_REASON}),
    )
    ticket = TextField(
        label=gettext_lazy("Ticket"),
        required=False,
        max_length=LONGEST_TICKET,
        widget=forms.TextInput(
            attrs={
                "class": "input",
                "maxlength": LONGEST_TICKET,
                "autocapitalize": "characters",
                "spellcheck": "false",
            }
        ),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        asker: Principal,
        holders: Sequence[Principal],
        kinds: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        super().__init__(data, **kwargs)
        self.asker, self.holders, self.kinds = asker, holders, kinds
        self.objects = RequestedObjects(self.data, kinds)
        self.fields["for"] = SegmentsField(
            label=gettext("For"),
            choices=[(str(holder), _holder_words(holder, asker)) for holder in holders],
            otherwise=str(asker),
            required=False,
            help_text=gettext("Yourself, a group you are in, or a service account you are responsible for."),
            widget=forms.Select(attrs={"class": "input"}),
        )

    def clean(self) -> dict[str, Any]:
        if not self.things:
            self.add_error("more", gettext("Enter at least one object."))
        elif not all(thing.actions for thing in self.things):
            self.add_error("do", gettext("Choose the access you need on each of these."))
        return self.cleaned_data

    @property
    def things(self) -> list[RequestedObject]:
        return self.objects.things

    @property
    def wanted(self) -> tuple[WantedAction, ...]:
        return tuple(
            WantedAction(thing.type, thing.name, action) for thing in self.things for action in thing.actions
        )

    @property
    def holder(self) -> Principal:
        typed = self["for"].value()
        return next((holder for holder in self.holders if str(holder) == typed), self.asker)

    @property
    def when(self) -> When:
        when: When = self["window"].data
        return when

    @property
    def lasting(self) -> str:
        return str(self["lasts"].value())

    @property
    def complete(self) -> bool:
        """Whether it can be foretold what it would come to."""
        return bool(self.wanted) and self.when.whole

    @property
    def asking(self) -> Asking:
        typed = self.cleaned_data
        return Asking(
            self.wanted,
            self.holder,
            reason=typed.get("reason", ""),
            ticket=typed.get("ticket", ""),
            lasts=self.lasting if self.lasting.startswith("P") else "",
            until=self.when.end,
            starts=self.when.begin,
            zone=words.zone(),
            key=self.key,
        )

    @property
    def key(self) -> str:
        return f"console:{self.nonce}"

    # What the page draws

    def drawn(self) -> dict[str, Any]:
        """What the template needs beside the fields."""
        when = self.when.fields()
        return {
            "things": [self._thing(at, item) for at, item in enumerate(self.things)],
            "starts": (("now", gettext("When it is approved")), ("date", gettext("A date"))),
            "start": when["start"],
            "begin": when["begin"],
            "date": when["date"],
            "zone": words.zone(),
            "problems": self["window"].problems,
        }

    def _thing(self, at: int, requested_object: RequestedObject) -> dict[str, Any]:
        actions = actions_of(
            requested_object.type, self.kinds.get(requested_object.name.partition("/")[0], "gravitino")
        )
        offered = [*actions, *(name for name in requested_object.actions if name not in actions)]
        return {
            "at": at,
            "code": f"{requested_object.type} {requested_object.name}",
            "name": requested_object.short,
            "kind": terms.kind_of(requested_object.type),
            "realm": requested_object.name.partition("/")[0],
            "icon": terms.icon_of(requested_object.type),
            "actions": [
                {
                    "code": name,
                    "label": action_words(name, requested_object.type),
                    "checked": name in requested_object.actions,
                }
                for name in offered
            ],
        }


def _cleaned_text(text: str, field_: str) -> str:
    return text.replace("\0", "")[: LONGEST[field_]]


def _holder_words(principal: Principal, asker: Principal) -> str:
    return (
        gettext("%(name)s (you)") % {"name": principal.label}
        if principal == asker
        else terms.principal_name(principal)
    )


def shape_of(name: str) -> str:
    """What a name most likely is, by its parts; said alike of what is hidden and what is not there."""
    rest = name.partition("/")[2]
    return SHAPES.get(rest.count(".") + 1 if rest else 0, "table")


def actions_of(type_: str, kind: str) -> list[str]:
    """What can be asked for on such an object, the usual first; operations of the law are left out."""
    if type_ == "role":
        return [HOLD]
    law = dialects.get(kind)
    names = [name for name in law.actions_for(type_) if name in PLAIN or name.startswith("create_")]
    by_operation = {law.action(type_, name): name for name in sorted(names, key=_order, reverse=True)}
    return sorted(by_operation.values(), key=_order)


def _order(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def action_words(name: str, type_: str) -> str:
    return gettext("Hold this role") if name == HOLD else terms.action(name, type_)
