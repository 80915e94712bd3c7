"""What people have, in words, and what deeds about it change: and what stays by another path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Diff, DiffLine, Face, StrOrPromise, Tally, Who
from authzsite.console.kit.replay import Proposal
from authzsite.console.people.group_members import duty_words
from authzsite.console.roles.effects import Foretold
from catalog.nodes import Node
from policies.lifecycle import proposals
from policies.lifecycle.actions import COPY, HAND, TAKE, LifecycleAction
from policies.lifecycle.entitlements import Entitlement
from policies.lifecycle.preview import of_deeds
from policies.previews.grants import Preview

NAMES = 8
SAID = ("use", "read", "write", "grant", "drop")
TITLES = {
    "own": gettext_lazy("Owned"),
    "give": gettext_lazy("Granted directly"),
    "text": gettext_lazy("Granted on names"),
    "role": gettext_lazy("Roles"),
    "duty": gettext_lazy("Duties"),
    "group": gettext_lazy("Groups"),
    "keep": gettext_lazy("Responsible for service accounts"),
    "request": gettext_lazy("Open requests"),
    "seat": gettext_lazy("Reviews that wait"),
    "token": gettext_lazy("Tokens"),
    "member": gettext_lazy("Realms"),
    "account": gettext_lazy("Account"),
}
ICONS = {"token": "key", "account": "user", "member": "lake", "request": "policy", "seat": "review"}


def what(entitlement: Entitlement) -> Who:
    """A thing with its face and where it is."""
    if entitlement.kind in ("group", "keep") and entitlement.other is not None:
        return terms.who(entitlement.other, entitlement.other.name)
    if entitlement.kind in ICONS:
        short = (
            entitlement.node.realm
            if entitlement.kind in ("request", "seat") and entitlement.node is not None
            else {"token": _("token"), "account": _("to sign in with")}.get(entitlement.kind, _("realm"))
        )
        return Who(_called(entitlement), Face("thing", ICONS[entitlement.kind]), short)
    if entitlement.node is None:
        return Who(entitlement.text, Face("thing", "table"))
    if entitlement.kind == "text":
        return Who(entitlement.text, Face("thing", "table"), entitlement.node.name)
    node = entitlement.node
    place = " / ".join(node.names[:-1]) or terms.kind_of(node.type)
    return Who(node.name, Face("thing", terms.icon_of(node.type)), place, terms.page_of(node.id, node.type))


def _called(entitlement: Entitlement) -> str:
    if entitlement.kind == "request" and entitlement.node is not None:
        return _("Request %(number)s for %(part)s") % {
            "number": entitlement.number,
            "part": entitlement.node.ref.full_name or entitlement.node.name,
        }
    if entitlement.kind == "seat":
        return entitlement.text
    if entitlement.kind == "token":
        return f"{entitlement.text}…"
    return entitlement.node.name if entitlement.node else entitlement.text


MAY = {
    "view_history": gettext_lazy("May read the history of it"),
    "export_history": gettext_lazy("May export the history of it"),
    "review_access": gettext_lazy("May review access to it"),
    "approve_requests": gettext_lazy("May decide requests for it"),
    "operate_sync": gettext_lazy("May run and pause the sync of it"),
    "connect_backend": gettext_lazy("May connect a backend to it"),
    "break_glass": gettext_lazy("May open it in an emergency"),
}
"""What a duty lets somebody do with the object that it is held on."""


def gives(entitlement: Entitlement) -> str:
    """What it lets somebody do, in a few words."""
    if entitlement.kind in ("give", "text") and entitlement.node is not None:
        rights = [
            terms.right(code, entitlement.node.type, entitlement.node.kind) for code in entitlement.privileges
        ]
        return terms.sentence_list(rights)
    if entitlement.kind == "duty":
        return str(MAY.get(entitlement.text, entitlement.text))
    return {
        "own": _("Everything"),
        "role": _("What the role gives"),
        "group": _("What the group has"),
        "keep": _("Creates its tokens"),
        "token": _("Last used %(since)s") % {"since": words.ago(entitlement.since)}
        if entitlement.since
        else _("Never used"),
        "request": _("Waits for a decision"),
        "seat": _("Rows wait for a decision"),
        "member": _("Can be granted access there"),
        "account": _("Signs in"),
    }[entitlement.kind]


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
        owned = {
            deed.holding.node.id for deed in self.deeds if deed.holding.kind == "own" and deed.holding.node
        }
        return replace(
            self._foretold, parts=[part for part in self._foretold.parts if part[0].id not in owned]
        )

    @property
    def _copies(self) -> bool:
        return any(deed.what == COPY for deed in self.deeds)

    def _concerned(self, preview: Preview) -> Preview:
        if not self._copies:
            return preview
        return replace(
            preview, effects=tuple(effect for effect in preview.effects if effect.principal != self.person)
        )

    def proposals(self) -> Iterable[Proposal]:
        """The same as changes, realm by realm."""
        return proposals.of_deeds(self.person, self.deeds, self.realms)

    def tally(self) -> Tally:
        return self._foretold.tally()

    def sum(self) -> str:
        return self._foretold.sum()

    def diff(self) -> Diff:
        rules = self._by_rules.diff().lines if self._by_rules.lines else ()
        plain = list(self._plain())
        losses = [item for item in (*plain, *rules) if item.kind == "lose"]
        rest = [item for item in (*plain, *rules) if item.kind != "lose"]
        return Diff((*losses, *rest, *self._kept()))

    def _kept(self) -> Iterable[DiffLine]:
        """Where they lose a path and not what it gives, because another path gives it too."""
        kept = [
            node.ref.full_name or node.name
            for node, preview in self._foretold.parts
            for effect in preview.effects
            if effect.principal == self.person and effect.before & effect.after & set(SAID)
        ]
        if kept:
            text = _("keeps some of it on %(kept)s, by another path") % {
                "kept": words.count(len(kept), "object")
            }
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
        names = words.listed([_named(item) for item in some], NAMES)
        loses, gets = _SAID[kind]
        many = {"many": _counted(kind, len(some))}
        if how in (HAND, TAKE):
            yield DiffLine("lose", self.person.label, str(loses) % many, names)
        if to is not None:
            yield DiffLine("gain", to.label, str(gets) % many, names)


def _named(entitlement: Entitlement) -> str:
    if entitlement.other is not None:
        return entitlement.other.label
    if entitlement.node is None:
        return entitlement.text
    name = entitlement.node.ref.full_name or entitlement.node.name
    if entitlement.kind == "request":
        return _called(entitlement)
    return duty_words(entitlement.text, name) if entitlement.kind == "duty" else entitlement.text or name


_SAID: dict[str, tuple[StrOrPromise, StrOrPromise]] = {
    "own": (gettext_lazy("no longer owns %(many)s"), gettext_lazy("becomes the owner of %(many)s")),
    "text": (
        gettext_lazy("loses what was granted on %(many)s"),
        gettext_lazy("is granted the same on %(many)s"),
    ),
    "duty": (gettext_lazy("gives up %(many)s"), gettext_lazy("takes on %(many)s")),
    "group": (gettext_lazy("is removed from %(many)s"), gettext_lazy("is added to %(many)s")),
    "keep": (
        gettext_lazy("is no longer responsible for %(many)s"),
        gettext_lazy("is responsible for %(many)s"),
    ),
    "request": (gettext_lazy("has %(many)s withdrawn or refused"), ""),
    "seat": (gettext_lazy("is no longer asked in %(many)s"), gettext_lazy("is asked in %(many)s instead")),
    "token": (gettext_lazy("has %(many)s that no longer work"), ""),
    "member": (gettext_lazy("is no longer admitted to %(many)s"), gettext_lazy("is admitted to %(many)s")),
    "account": (
        gettext_lazy(
            "can no longer sign in, and tokens no longer work; the other lines end the access to data"
        ),
        "",
    ),
}
"""What becomes of the person who leaves, and of the one who takes it over."""


def _counted(kind: str, many: int) -> str:
    """3 objects; 1 open request."""
    return {
        "own": words.count(many, "object"),
        "text": words.count(many, "name"),
        "duty": words.count(many, "duty", "duties"),
        "group": words.count(many, "group"),
        "keep": words.count(many, "service account"),
        "request": words.count(many, "open request"),
        "seat": words.count(many, "review"),
        "token": words.count(many, "token"),
        "member": words.count(many, "realm"),
        "account": words.count(many, "account"),
    }[kind]
