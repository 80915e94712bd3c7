"""An explanation in words: the tree of the decision, the ways out of a no, what a yes rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import DiffLine, Moment, Timeline, TreeNode
from authzsite.console.kit.display.terms import Labels
from catalog.nodes import Node as Place
from lakewarden.law.evidence import Lack
from lakewarden.law.explain import Explanation, Node
from lakewarden.law.facts import OWNER, Key, Rule, Station
from policies.decisions.personal_role_names import is_personal

MISSING_NOTE = gettext_lazy("Not granted to %(who)s, to a group or to a role, here or on a parent.")


@dataclass(frozen=True)
class Words:
    """Who and what an explanation is about, and the names it needs."""

    person: Principal
    place: Place
    owners: Mapping[Any, Principal] = field(default_factory=dict)
    groups: Labels = field(default_factory=dict)
    since: Mapping[int, datetime] = field(default_factory=dict)

    # The tree

    def tree(self, explanation: Explanation, heading: str) -> TreeNode:
        root = explanation.tree
        children = tuple(self.nodes(root.children)) if root.children else (self.leaf(root),)
        return TreeNode(_mark(root), heading, need=_("needs all of these"), strong=True, children=children)

    def nodes(self, parts: Sequence[Node]) -> Iterable[TreeNode]:
        """What is needed first; owners who could also do it are named together at the end."""
        owners = [part for part in parts if _is_owner(part) and not part.needed and not part.holds]
        for part in parts:
            if part not in owners:
                yield self.branch(part) if part.children else self.leaf(part)
        if owners:
            yield self.other_owners(owners)

    def branch(self, part: Node) -> TreeNode:
        children = tuple(self.nodes(part.children))
        need = _("needs one of these") if part.kind == "any" else _("needs all of these")
        return TreeNode(_mark(part), self._branch_words(part), need=need, line=_line(part), children=children)

    def _branch_words(self, part: Node) -> str:
        if part.kind == "all":
            return (
                _("As the owner") if any(child.kind == "owner" for child in part.children) else _("By grants")
            )
        rights = [
            child for child in part.children if child.kind == "right" and (child.needed or not part.needed)
        ]
        return f"{_(rights[0].label)} {self.place.name}" if rights else _("A way to it")

    def leaf(self, part: Node) -> TreeNode:
        path = terms.path(part.rules[:1], self.place, self.groups, origin=False) if part.rules else None
        return TreeNode(_mark(part), self._leaf_words(part), self._note(part), line=_line(part), path=path)

    def _leaf_words(self, part: Node) -> str:
        where = f"{terms.type_of(part.object_type) if part.object_type else ''} {part.name}".strip()
        values = {
            "member": _("Member of metalake %(realm)s") % {"realm": self.place.realm},
            "owner": _("Owner of %(where)s") % {"where": where},
            "no_denial": _("%(label)s is denied") % {"label": _(part.label)}
            if part.denied
            else _("No denial of %(label)s") % {"label": terms.lower(_(part.label))},
            "service_admin": _("Site admin of this site"),
            "self": _("About yourself"),
            "mode": _("Authorization is %(label)s") % {"label": _(part.label)},
            "unknown": _("No rule covers this"),
        }
        if part.kind in values:
            return values[part.kind]
        if part.denied:
            return _("%(label)s is denied on %(where)s") % {"label": _(part.label), "where": where}
        words_ = terms.right(part.privilege, part.object_type or self.place.type, self.place.kind)
        return (
            f"{words_} {part.name}"
            if _uses(part.privilege)
            else _("%(known)s on %(where)s") % {"known": words_, "where": where}
        )

    def _note(self, part: Node) -> str:
        if part.denied:
            return _("A grant does not lift a denial; its author can.")
        if part.kind == "right" and not part.holds and part.needed:
            return str(MISSING_NOTE) % {"who": self.person.label}
        if part.kind == "owner" and not part.holds:
            return self._owned([part])
        if part.kind == "member" and not part.holds:
            return _("Its owner can admit %(label)s.") % {"label": self.person.label}
        return ""

    def other_owners(self, parts: Sequence[Node]) -> TreeNode:
        atoms = [_owner_atom(part) for part in parts]
        names = [atom.name for atom in reversed(atoms)]
        either = (
            _("%(names)s or %(names2)s") % {"names": ", ".join(names[:-1]), "names2": names[-1]}
            if len(names) > 1
            else names[0]
        )
        return TreeNode("na", _("Owner of %(either)s") % {"either": either}, self._owned(atoms))

    def _owned(self, atoms: Sequence[Node]) -> str:
        owned: dict[str, list[str]] = {}
        for atom in reversed(atoms):
            if atom.object in self.owners:
                owned.setdefault(self.owners[atom.object].label, []).append(atom.name)
        sentences = (
            _("%(who)s owns %(what)s") % {"who": who, "what": words.listed(what)}
            for who, what in owned.items()
        )
        return "; ".join(sentences) or _("no owner of its own")

    # The ways out of a no

    def lines(self, lacks: Sequence[Lack]) -> tuple[DiffLine, ...]:
        return tuple(map(self.line, lacks))

    def line(self, lack: Lack) -> DiffLine:
        if lack.kind == "denied":
            return DiffLine(
                "stop",
                "",
                _("%(lack)s is denied %(lack2)s") % {"lack": self.right(lack), "lack2": self.denier(lack)},
                _("It must be lifted by the author of the denial."),
            )
        if lack.kind == "ownership":
            return DiffLine(
                "gain",
                "",
                _("Owner of %(object_type)s %(name)s")
                % {"object_type": terms.type_of(lack.object_type), "name": lack.name},
                _("everything, on it and below it"),
            )
        if lack.kind == "membership":
            return DiffLine(
                "gain",
                "",
                _("Member of metalake %(realm)s") % {"realm": self.place.realm},
                _("gives no access by itself"),
            )
        if lack.kind != "privilege":
            return DiffLine("gain", "", lack.kind.replace("_", " ").capitalize())
        alone = lack.privilege.startswith("USE_") and lack.object != self.place.id
        note = (
            _("gives no access by itself")
            if alone
            else _("on 1 %(object_type)s") % {"object_type": terms.type_of(lack.object_type)}
            if lack.object == self.place.id
            else ""
        )
        return DiffLine("gain", "", self._given(lack), note)

    def right(self, lack: Lack) -> str:
        return terms.right(lack.privilege, self.place.type, self.place.kind)

    def _given(self, lack: Lack) -> str:
        label = terms.right(lack.privilege, lack.object_type, self.place.kind)
        return (
            f"{label} {lack.name}"
            if _uses(lack.privilege)
            else _("%(label)s on %(name)s") % {"label": label, "name": lack.name}
        )

    def denier(self, lack: Lack) -> str:
        """by role no_contractors on schema sales"""
        roles = [station.name for station in lack.via if station.kind == "role"]
        where = {"type": terms.type_of(lack.object_type), "name": lack.name}
        if roles and not is_personal(roles[-1]):
            return _("by role %(role)s on %(type)s %(name)s") % {"role": roles[-1], **where}
        return _("on %(type)s %(name)s") % where

    def heading(self, lacks: Sequence[Lack]) -> str:
        owned = [lack for lack in lacks if lack.kind == "ownership"]
        if owned:
            return _("As the owner of %(object_type)s %(name)s") % {
                "object_type": terms.type_of(owned[0].object_type),
                "name": owned[0].name,
            }
        if any(lack.kind == "denied" for lack in lacks):
            return _("By lifting the denial")
        given = [
            self._given(lack) for lack in lacks if lack.kind == "privilege" and lack.object == self.place.id
        ]
        return (
            _("With %(given)s") % {"given": terms.lower(given[0])}
            if given
            else _("For %(name)s") % {"name": self.place.name}
        )

    def givers(self, lacks: Sequence[Lack]) -> list[Principal]:
        """Who owns what is lacking, or the nearest above it: who can give it."""
        principals: dict[int, Principal] = {}
        for lack in lacks:
            owner = self._owner_at(lack.object)
            if owner:
                principals[owner.pk] = owner
        return list(principals.values())

    def _owner_at(self, key: Key) -> Principal | None:
        lineage = self.place.lineage
        depth = lineage.index(key) if key in lineage else 0
        return next(
            (self.owners[item] for item in reversed(lineage[: depth + 1]) if item in self.owners), None
        )

    # What a yes rests on

    def rests_on(self, rules: Sequence[Rule]) -> Timeline:
        return Timeline(tuple(dict.fromkeys(moment for rule in rules for moment in self._facts(rule))))

    def _facts(self, rule: Rule) -> Iterable[Moment]:
        holder = self.person.label
        for station in rule.via:
            yield from self._station(holder, station)
            if station.kind == "role" and is_personal(station.name):
                continue
            holder = self.spoken(station)
        type_, name = terms.level_of(self.place, rule.object)
        since = self.since.get(rule.opened)
        when = _("since %(since)s") % {"since": words.day(since, within=True)} if since else ""
        ends = terms.from_seconds(rule.valid_until)
        until = _("until %(ends)s") % {"ends": words.moment(ends, within=True)} if ends else ""
        note = " · ".join(filter(None, (when, until)))
        yield Moment(
            f"{holder} {self._gives(rule, type_, name, direct=holder == self.person.label)}", note, "now"
        )

    def _station(self, holder: str, station: Station) -> Iterable[Moment]:
        if station.kind == "group":
            yield Moment(
                _("%(holder)s is in %(station)s")
                % {"holder": holder, "station": self.spoken(station, inside=True)},
                "",
                "now",
            )
        elif not is_personal(station.name):
            yield Moment(
                _("%(holder)s holds role %(name)s") % {"holder": holder, "name": station.name}, "", "now"
            )

    def spoken(self, station: Station, *, inside: bool = False) -> str:
        """Group Analysts; `inside` a sentence: group Analysts."""
        if station.kind == "group":
            named = {"key": self.groups.get(station.key, station.name)}
            return _("group %(key)s") % named if inside else _("Group %(key)s") % named
        role = {"name": station.name}
        return _("role %(name)s") % role if inside else _("Role %(name)s") % role

    def _gives(self, rule: Rule, type_: str, name: str, *, direct: bool) -> str:
        if rule.privilege == OWNER:
            return _("owns %(type)s %(name)s") % {"type": terms.type_of(type_), "name": name}
        label = terms.right(rule.privilege, type_, self.place.kind)
        given = {"label": label, "type": terms.type_of(type_), "name": name}
        if _uses(rule.privilege):
            return _("has %(label)s %(name)s") % given if direct else _("gives %(label)s %(name)s") % given
        if direct:
            return _("has %(label)s on %(type)s %(name)s") % given
        return _("gives %(label)s on %(type)s %(name)s") % given


def _uses(privilege: str) -> bool:
    """Whether its label is followed by a name at once: Use schema sales."""
    return privilege.startswith("USE_")


def _is_owner(part: Node) -> bool:
    """An owner atom, or a branch that is about an owner and only leads there."""
    return part.kind == "owner" or (
        part.kind == "all" and any(child.kind == "owner" for child in part.children)
    )


def _owner_atom(part: Node) -> Node:
    return part if part.kind == "owner" else next(child for child in part.children if child.kind == "owner")


def _mark(part: Node) -> str:
    if part.denied:
        return "deny"
    if part.holds:
        return "yes"
    return "no" if part.needed else "na"


def _line(part: Node) -> str:
    if not part.needed:
        return ""
    return "lit" if part.holds else "gap"


def verdict_text(explanation: Explanation, speak: Words) -> str:
    """What is missing or denied, all of it at once; for a yes, by which way."""
    if explanation.decision.allowed:
        via = [
            speak.spoken(item, inside=True)
            for rule in explanation.because[-1:]
            for item in rule.via
            if not is_personal(item.name)
        ]
        return (
            _("Through %(listed)s.") % {"listed": words.listed(via)}
            if via
            else _("By direct grants to this person.")
        )
    denied = [lack for lack in explanation.missing if lack.kind == "denied"]
    missing = [lack for lack in explanation.missing if lack.kind != "denied"]
    parts = []
    if missing:
        text = ngettext(
            "%(many)s right is missing: %(names)s.", "%(many)s rights are missing: %(names)s.", len(missing)
        )
        names = words.listed([str(speak.line(lack).text) for lack in missing])
        parts.append(text % {"many": words.spelled(len(missing)), "names": names})
    if denied:
        parts += [
            _("%(lack)s is denied %(lack2)s. A grant does not lift a denial.")
            % {"lack": speak.right(lack), "lack2": speak.denier(lack)}
            for lack in denied
        ]
    elif missing:
        parts.append(_("Nothing denies it."))
    return " ".join(parts) or _("No grant would allow it.")


def rules_in(explanation: Explanation) -> Iterable[Rule]:
    """Every rule that an explanation speaks of."""
    yield from explanation.because
    yield from _rules_of(explanation.tree)


def _rules_of(part: Node) -> Iterable[Rule]:
    yield from part.rules
    for child in part.children:
        yield from _rules_of(child)


def group_labels(rules: Iterable[Rule]) -> dict[Any, str]:
    """The names of the groups that rules are reached by.  One query, none for none."""
    keys: set[Any] = {station.key for rule in rules for station in rule.via if station.kind == "group"}
    return {row.pk: row.label for row in Principal.objects.filter(pk__in=keys)} if keys else {}
