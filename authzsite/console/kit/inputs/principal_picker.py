"""Choosing people and groups in a form that works without scripts: named ones, and those that match."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict

from accounts.models import Principal
from authzsite.console.kit.display import terms

OFFERED = 8
LONGEST_REASON = 2000


@dataclass
class PrincipalPicker:
    """Who was chosen so far, read from an address or a form; a subclass says among whom one chooses."""

    data: QueryDict
    problems: dict[str, str] = field(default_factory=dict)

    def candidates(self, text: str = "") -> QuerySet[Principal]:
        """Those who may be chosen and whose name holds a text."""
        raise NotImplementedError

    def nobody(self) -> str:
        """Said when nobody bears the name that was typed."""
        raise NotImplementedError

    @cached_property
    def find(self) -> str:
        return self.data.get("find", "").strip()[:255].replace("\0", "")

    @cached_property
    def chosen(self) -> list[Principal]:
        """Those named in the form who may be chosen, in the order they were named."""
        codes = [code for code in dict.fromkeys(self.data.getlist("who")) if code != self.data.get("drop")]
        codes += [code for code in [self.data.get("add", "")] if code and code not in codes]
        found = self._known(codes[:200])
        if len(self.matches) == 1 and "add" not in self.data and self.typed_one:
            codes, found = [*codes, str(self.matches[0])], {**found, str(self.matches[0]): self.matches[0]}
        return list({found[code].pk: found[code] for code in codes if code in found}.values())

    def _known(self, codes: list[str]) -> dict[str, Principal]:
        wanted = Q(pk__in=[])
        for kind, _, name in (code.partition(":") for code in codes if "\0" not in code):
            wanted |= Q(kind=kind, name=name)
        return {str(row): row for row in self.candidates().filter(wanted)} if codes else {}

    @cached_property
    def typed_one(self) -> bool:
        """Whether what is typed was confirmed with Enter, so that a single match may be taken."""
        return bool(self.find) and self.data.get("step") == "look" and "drop" not in self.data

    @cached_property
    def matches(self) -> list[Principal]:
        if not self.find:
            return []
        named = self.data.getlist("who")
        rows = list(self.candidates(self.find)[: OFFERED + len(named)])
        exact = [row for row in rows if self.find.casefold() in (row.name.casefold(), row.label.casefold())]
        rows = exact if len(exact) == 1 and self.typed_one else rows
        return [row for row in rows if str(row) not in named][:OFFERED]

    @cached_property
    def reason(self) -> str:
        return self.data.get("reason", "").strip()[:LONGEST_REASON].replace("\0", "")

    @cached_property
    def nonce(self) -> str:
        asked = self.data.get("nonce", "")
        return asked if 10 <= len(asked) <= 40 and asked.isalnum() else secrets.token_hex(12)

    @property
    def saving(self) -> bool:
        """Whether the form was sent to be saved, and not to look at it or to change who is named."""
        return self.data.get("step") == "save" and not {"add", "drop"} & set(self.data)

    def check_who(self) -> bool:
        """Whether somebody is named and nothing half-typed is left; else the problem is."""
        if self.find:
            told = "Choose one of these, or clear the field." if self.matches else self.nobody()
            self.problems["who"] = told
        elif not self.chosen:
            self.problems["who"] = "Name at least one person or group."
        return "who" not in self.problems

    def tell_nobody(self) -> None:
        """Looking for a name that nobody bears is answered at once."""
        if self.find and not self.matches:
            self.problems["who"] = self.nobody()

    def fields(self) -> dict[str, Any]:
        """What `console/roles/holders.html` draws: the people chosen so far and those that match."""
        typed = "" if (self.typed_one and len(self.matches) == 1) or "add" in self.data else self.find
        options = [_option(match) for match in (self.matches if typed else [])]
        return {
            "chosen": [
                {"code": str(item), "name": item.label, "note": "" if item.kind == "user" else _kind(item)}
                for item in self.chosen
            ],
            "find": typed,
            "options": options,
            "nobody": self.nobody() if typed and not options else "",
        }


def _kind(principal: Principal) -> str:
    return str(principal.get_kind_display())


def _option(principal: Principal) -> dict[str, Any]:
    note = f"{_kind(principal)} {principal.name}"
    return {"code": str(principal), "name": principal.label, "note": note, "face": terms.avatar_of(principal)}


@dataclass
class Among(PrincipalPicker):
    """Choosing among those that a search by name answers; `which` is their word, `at_most` how many."""

    search: Callable[[str], QuerySet[Principal]] = lambda text: Principal.objects.none()
    nobody_words: str = "Nobody of that name is here."
    at_most: int = 0

    def candidates(self, text: str = "") -> QuerySet[Principal]:
        return self.search(text)

    def nobody(self) -> str:
        return self.nobody_words

    @cached_property
    def chosen(self) -> list[Principal]:
        """Those named; only the last of them where there can be no more."""
        return super().chosen[-self.at_most :] if self.at_most else super().chosen

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "at_most": self.at_most}
