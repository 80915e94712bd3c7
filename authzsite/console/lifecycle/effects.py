"""What people have, in words, and what deeds about it change: and what stays by another path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Face, Tally, Who
from authzsite.console.people.group_members import DUTY
from authzsite.console.roles.effects import Foretold
from catalog.nodes import Node
from policies.lifecycle.actions import COPY, HAND, TAKE, LifecycleAction
from policies.lifecycle.entitlements import Entitlement
from policies.lifecycle.preview import of_deeds
from policies.previews.grants import Preview

NAMES = 8
SAID = ("use", "read", "write", "grant", "drop")
TITLES = {
    "own": "Owned",
    "give": "Given directly",
    "text": "Given on names",
    "role": "Roles",
    "duty": "Duties",
    "group": "Groups",
    "keep": "Service accounts answered for",
    "request": "Open requests",
    "seat": "Reviews that wait",
    "token": "Tokens",
    "member": "Realms",
    "account": "Account",
}
ICONS = {"token": "key", "account": "user", "member": "lake", "request": "policy", "seat": "review"}


def what(one: Entitlement) -> Who:
    """A thing with its face and where it is."""
    if one.kind in ("group", "keep") and one.other is not None:
        return terms.who(one.other, one.other.name)
    if one.kind in ICONS:
        return Who(_called(one), Face("thing", ICONS[one.kind]), _short(one))
    if one.node is None:
        return Who(one.text, Face("thing", "table"))
    if one.kind == "text":
        return Who(one.text, Face("thing", "table"), one.node.name)
    node = one.node
    place = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    return Who(node.name, Face("thing", terms.icon_of(node.type)), place, terms.page_of(node.id, node.type))


def _called(one: Entitlement) -> str:
    if one.kind == "request" and one.node is not None:
        return f"Request {one.number} for {one.node.ref.full_name or one.node.name}"
    if one.kind == "seat":
        return one.text
    if one.kind == "token":
        return f"{one.text}…"
    return one.node.name if one.node else one.text


def _short(one: Entitlement) -> str:
    if one.kind in ("request", "seat") and one.node is not None:
        return one.node.realm
    return {"token": "token", "account": "to sign in with"}.get(one.kind, "realm")


def gives(one: Entitlement) -> str:
    """What it lets somebody do, in a few words."""
    if one.kind in ("give", "text") and one.node is not None:
        rights = [terms.right(code, one.node.type, one.node.kind) for code in one.privileges]
        return terms.sentence_list(rights)
    if one.kind == "duty":
        return f"May {DUTY.get(one.text, one.text)} it"
    return {
        "own": "Everything",
        "role": "What the role gives",
        "group": "What the group has",
        "keep": "Makes its tokens",
        "token": f"Last used {words.ago(one.since)}" if one.since else "Never used",
        "request": "Waits for a decision",
        "seat": "Rows wait for a decision",
        "member": "Can be given something there",
        "account": "Signs in",
    }[one.kind]


@dataclass(frozen=True)
class LifecycleEffects:
    """A plan about one person's things, in counted lines."""

    person: Principal
    deeds: Sequence[LifecycleAction]
    realms: Sequence[Node]

    @cached_property
    def _foretold(self) -> Foretold:
        seen = of_deeds(self.person, self.deeds, self.realms)
        parts = [(node, self._concerned(preview)) for node, preview in seen.parts]
        return Foretold(parts, not self._copies, seen.left_out)

    @cached_property
    def _by_rules(self) -> Foretold:
        """Line by line what is not said by its number anyway, as ownership is."""
        owned = {one.holding.node.id for one in self.deeds if one.holding.kind == "own" and one.holding.node}
        return replace(self._foretold, parts=[one for one in self._foretold.parts if one[0].id not in owned])

    @property
    def _copies(self) -> bool:
        return any(one.what == COPY for one in self.deeds)

    def _concerned(self, preview: Preview) -> Preview:
        if not self._copies:
            return preview
        return replace(preview, effects=tuple(one for one in preview.effects if one.principal != self.person))

    def tally(self) -> Tally:
        return self._foretold.tally()

    def sum(self) -> str:
        return self._foretold.sum()

    def diff(self) -> Diff:
        rules = self._by_rules.diff().lines if self._by_rules.lines else ()
        plain = list(self._plain())
        losses = [one for one in (*plain, *rules) if one.kind == "lose"]
        rest = [one for one in (*plain, *rules) if one.kind != "lose"]
        return Diff((*losses, *rest, *self._kept()))

    def _kept(self) -> Iterable[DiffLine]:
        """Where they lose a path and not what it gives, because another path gives it too."""
        kept = [
            node.ref.full_name or node.name
            for node, preview in self._foretold.parts
            for one in preview.effects
            if one.principal == self.person and one.before & one.after & set(SAID)
        ]
        if kept:
            text = f"keeps some of it on {words.count(len(kept), 'object')}, by another path"
            yield DiffLine("same", self.person.label, text, words.listed(kept, NAMES))

    def _plain(self) -> Iterable[DiffLine]:
        """What is not worked out from rules: ownership by number, and all that is no right on data."""
        groups: dict[tuple[str, str, Principal | None], list[Entitlement]] = {}
        for deed in self.deeds:
            key = (deed.holding.kind, deed.what, deed.to)
            groups.setdefault(key, []).append(deed.holding)
        for (kind, how, to), some in groups.items():
            yield from self._lines(kind, how, to, some)

    def _lines(
        self, kind: str, how: str, to: Principal | None, some: Sequence[Entitlement]
    ) -> Iterable[DiffLine]:
        if kind in ("give", "role"):
            return
        names = words.listed([_named(one) for one in some], NAMES)
        loses, gets = _SAID[kind]
        many = words.count(len(some), *_NOUNS[kind])
        if how in (HAND, TAKE):
            yield DiffLine("lose", self.person.label, loses.format(many), names)
        if to is not None:
            yield DiffLine("gain", to.label, gets.format(many), names)


def _named(one: Entitlement) -> str:
    if one.other is not None:
        return one.other.label
    if one.node is None:
        return one.text
    name = one.node.ref.full_name or one.node.name
    if one.kind == "request":
        return _called(one)
    return f"{DUTY.get(one.text, one.text)} {name}" if one.kind == "duty" else one.text or name


_NOUNS = {
    "own": ("object",),
    "text": ("name",),
    "duty": ("duty", "duties"),
    "group": ("group",),
    "keep": ("service account",),
    "request": ("open request",),
    "seat": ("review",),
    "token": ("token",),
    "member": ("realm",),
    "account": ("account",),
}
_SAID = {
    "own": ("no longer owns {}", "becomes the owner of {}"),
    "text": ("loses what was given on {}", "is given the same on {}"),
    "duty": ("gives up {}", "takes on {}"),
    "group": ("is taken out of {}", "is put into {}"),
    "keep": ("no longer answers for {}", "answers for {}"),
    "request": ("has {} taken back or refused", ""),
    "seat": ("is no longer asked in {}", "is asked in {} instead"),
    "token": ("has {} that open nothing any more", ""),
    "member": ("is no longer admitted to {}", "is admitted to {}"),
    "account": ("cannot sign in any more, and no token opens anything", ""),
}
