"""What somebody fills in to ask for access, read from an address or from the form itself.

An address says `resource`, `type` and `action`, each once for every thing wanted (the last `type` and
`action` go on counting), and `for`.  The form says `on` (`table demo/shop.sales.orders`) and `do` (`0 read`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.http import QueryDict

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.inputs.dates import When
from authzsite.console.requests.links import usual
from lakewarden.law import dialects
from lakewarden.law.objects import BadName, ObjectRef
from policies.requests.needs import HOLD, MOST_WANTED, WantedAction
from policies.requests.submission import Asking

LASTS = (("P7D", "7 days"), ("P30D", "30 days"), ("P90D", "90 days"), ("date", "A date"), ("never", "No end"))
USUAL = "P30D"
LONGEST = {"resource": 1500, "type": 24, "action": 64, "reason": 4000, "ticket": 64}
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


@dataclass
class Form:
    """A request in the making; `kinds` says what law each realm has that may be spoken of."""

    data: QueryDict
    asker: Principal
    holders: Sequence[Principal]
    kinds: Mapping[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    # What

    @cached_property
    def things(self) -> list[RequestedObject]:
        """The objects wanted, each once."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for item in self._asked():
            found.setdefault((item.type, item.name), {}).update(
                dict.fromkeys((item.action,) if item.action else ())
            )
        dropped = self.data.get("drop", "")
        kept = [key for key in found if f"{key[0]} {key[1]}" != dropped]
        return [RequestedObject(type_, name, tuple(found[type_, name])) for type_, name in kept[:MOST_WANTED]]

    def _asked(self) -> Iterator[WantedAction]:
        if "nonce" in self.data:
            yield from self._ticked()
        else:
            yield from self._linked()
        if self.named:
            yield self.named

    def _ticked(self) -> Iterator[WantedAction]:
        on = [text.partition(" ") for text in self.data.getlist("on")]
        for type_, _, name in on:
            yield WantedAction(_told(type_, "type"), _told(name, "resource"), "")
        for text in self.data.getlist("do"):
            at, _, action = text.partition(" ")
            if at.isdecimal() and len(at) < 4 and int(at) < len(on):
                type_, _, name = on[int(at)]
                yield WantedAction(_told(type_, "type"), _told(name, "resource"), _told(action, "action"))

    def _linked(self) -> Iterator[WantedAction]:
        types, actions = self.data.getlist("type"), self.data.getlist("action")
        for at, name in enumerate(self.data.getlist("resource")[: MOST_WANTED + 1]):
            type_ = types[min(at, len(types) - 1)] if types else shape_of(name)
            action = actions[min(at, len(actions) - 1)] if actions else usual(type_)
            yield WantedAction(_told(type_, "type"), _told(name, "resource"), _told(action, "action"))

    @cached_property
    def named(self) -> WantedAction | None:
        """What was typed to be added."""
        typed = _told(self.data.get("more", ""), "resource").strip()
        if not typed:
            return None
        realm = next(iter(self.kinds)) if len(self.kinds) == 1 and "/" not in typed else ""
        name = f"{realm}/{typed}" if realm and typed != realm else typed
        type_ = _told(self.data.get("more_type", ""), "type") or shape_of(name)
        return WantedAction(type_, name, usual(type_))

    @property
    def wanted(self) -> tuple[WantedAction, ...]:
        return tuple(
            WantedAction(thing.type, thing.name, action) for thing in self.things for action in thing.actions
        )

    # Who, until when, why

    @cached_property
    def holder(self) -> Principal:
        asked = self.data.get("for", "")
        return next((holder for holder in self.holders if str(holder) == asked), self.asker)

    @cached_property
    def when(self) -> When:
        data = self.data.copy()
        data["until"] = "date" if self.lasts == "date" else "never"
        return When(data)

    @cached_property
    def lasts(self) -> str:
        asked = self.data.get("lasts", "")
        return asked if asked in dict(LASTS) else USUAL

    @cached_property
    def reason(self) -> str:
        return _told(self.data.get("reason", ""), "reason").strip()

    @cached_property
    def ticket(self) -> str:
        return _told(self.data.get("ticket", ""), "ticket").strip()

    @cached_property
    def nonce(self) -> str:
        asked = self.data.get("nonce", "")
        return asked if 10 <= len(asked) <= 40 and asked.isalnum() else secrets.token_hex(12)

    @property
    def sending(self) -> bool:
        return self.data.get("step") == "send" and "drop" not in self.data and not self.named

    @property
    def complete(self) -> bool:
        """Whether it can be foretold what it would come to."""
        return bool(self.wanted) and self.when.whole

    @property
    def asking(self) -> Asking:
        return Asking(
            self.wanted,
            self.holder,
            reason=self.reason,
            ticket=self.ticket,
            lasts=self.lasts if self.lasts.startswith("P") else "",
            until=self.when.end,
            starts=self.when.begin,
            zone=words.zone(),
            key=f"console:{self.nonce}",
        )

    def check(self) -> bool:
        """Whether it can be sent as far as the form knows; else the problems are named."""
        if not self.things:
            self.problems["more"] = "Name at least one object."
        elif not all(thing.actions for thing in self.things):
            self.problems["do"] = "Choose the access you need on each of these."
        self.problems |= self.when.check()
        return not self.problems

    # What the page draws

    def fields(self) -> dict[str, Any]:
        when = self.when.fields()
        return {
            "nonce": self.nonce,
            "things": [self._thing(at, one) for at, one in enumerate(self.things)],
            "holders": [
                {
                    "code": str(holder),
                    "name": _holder_words(holder, self.asker),
                    "chosen": holder == self.holder,
                }
                for holder in self.holders
            ],
            "starts": (("now", "When it is approved"), ("date", "A date")),
            "start": when["start"],
            "begin": when["begin"],
            "lasts_known": LASTS,
            "lasts": self.lasts,
            "date": when["date"],
            "zone": words.zone(),
            "reason": self.reason,
            "ticket": self.ticket,
            "problems": {**self.when.problems, **self.problems},
        }

    def _thing(self, at: int, requested_object: RequestedObject) -> dict[str, Any]:
        known = actions_of(
            requested_object.type, self.kinds.get(requested_object.name.partition("/")[0], "gravitino")
        )
        offered = [*known, *(name for name in requested_object.actions if name not in known)]
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


def _told(text: str, field_: str) -> str:
    return text.replace("\0", "")[: LONGEST[field_]]


def _holder_words(principal: Principal, asker: Principal) -> str:
    return f"{principal.label} (you)" if principal == asker else terms.principal_name(principal)


def shape_of(name: str) -> str:
    """What a name most likely is, by its parts; said alike of what is hidden and what is not there."""
    rest = name.partition("/")[2]
    return SHAPES.get(rest.count(".") + 1 if rest else 0, "table")


def actions_of(type_: str, kind: str) -> list[str]:
    """What can be asked for on such an object, the usual first; operations of the law are left out."""
    if type_ == "role":
        return [HOLD]
    law = dialects.get(kind)
    known = [name for name in law.actions_for(type_) if name in PLAIN or name.startswith("create_")]
    by_operation = {law.action(type_, name): name for name in sorted(known, key=_order, reverse=True)}
    return sorted(by_operation.values(), key=_order)


def _order(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def action_words(name: str, type_: str) -> str:
    return "Hold this role" if name == HOLD else terms.action(name, type_)
