"""One name that rights are given on: what it matches, who was given what on it, who reaches it otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from authzsite.console.cdap.context import (
    InstanceContext,
    MatchCounts,
    PatternGrant,
    desk_at,
    held_on,
    noun_of,
    reaches,
)
from authzsite.console.cdap.links import text_of
from authzsite.console.cdap.register import may_delete
from authzsite.console.history import timeline
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Chip, Empty, Face, Fact, Facts, Note, Path, State, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads
from catalog.nodes import Node
from lakewarden.law.dialects.cdap.authorizable import Authorizable
from policies.decisions import ask
from policies.decisions.lookups import pattern_matches
from policies.record import access_log

SHOWN = 50


@dataclass(frozen=True)
class HolderRow:
    """A holder of rights on the very name."""

    who: Who
    may: str
    since: str
    action: Action | None


@dataclass(frozen=True)
class OtherPathRow:
    """A holder who reaches the entity by another name."""

    who: Who
    may: str
    how: Path


@dataclass
class Name:
    """One name as one viewer meets it."""

    desk: InstanceContext
    target: Authorizable

    @property
    def text(self) -> str:
        return str(self.target)

    @cached_property
    def may_grant(self) -> bool:
        return self.desk.may_grant(self.target)

    @cached_property
    def held(self) -> list[PatternGrant]:
        rows = self.desk.grants().filter(pattern=self.text).select_related("holder").order_by("opened")
        return held_on(self.desk, rows)

    @cached_property
    def reach(self) -> MatchCounts:
        if self.held:
            return reaches(self.desk, [self.text])[self.text]
        [now] = pattern_matches.counted(self.desk.root, [(self.target, None)])
        return MatchCounts(now, now, not self.target.is_pattern)

    @cached_property
    def matched(self) -> list[Node]:
        """The first entities that are like it and exist for the viewer."""
        return self.desk.entities(pattern_matches.entities(self.desk.root, self.target)[:SHOWN])

    def facts(self) -> Facts:
        node = ask.entity_node(self.desk.root, self.target)
        slice_, now = self.desk.place.slice, self.desk.place.now
        able = [code for code in self.desk.actions if ask.answer(slice_, code, node, now=now)]
        facts = [Fact(_("Kind"), terms.kind_of(self.target.type))]
        if self.desk.looks or self.target.is_pattern:
            state = (
                self.reach.state(noun_of(self.target))
                if self.target.is_pattern or not self.reach.now
                else State("ok", _("Yes"))
            )
            facts.append(Fact(_("Matches now") if self.target.is_pattern else _("There"), state=state))
        if not self.target.is_pattern:
            facts.append(Fact(_("You may"), self.desk.labels(able) or _("Nothing")))
        if self.reach.warning and self.reach.now:
            facts.append(Fact(_("When granted"), words.count(self.reach.then, noun_of(self.target))))
        return Facts(tuple(facts))

    def warning(self) -> Note | None:
        if not self.held or not self.reach.warning:
            return None
        if self.reach.now:
            more = words.count(self.reach.now - self.reach.then, noun_of(self.target))
            note = _("%(more)s added since it was first granted.") % {"more": more}
            return Note("warn", note, _("Rights on this name count on those too."))
        if self.target.is_pattern:
            return Note("warn", _("It matches nothing now."), _("Later names that match are covered."))
        text = _("A new entity of this name has these rights; revoke them if that is not intended.")
        return Note("warn", _("There is no such entity."), text)

    def rows(self) -> list[HolderRow]:
        moments = timeline.moments_of({item.since for item in self.held})
        return [self._row(item, moments) for item in self.held]

    def _row(self, pattern_grant: PatternGrant, moments: dict[int, datetime]) -> HolderRow:
        url = self.desk.url("cdap_revoke", text=self.text, who=pattern_grant.code)
        revoke = (
            Action(_("Revoke"), url, "mini", more=_("from %(name)s") % {"name": pattern_grant.who.name})
            if self.may_grant
            else None
        )
        return HolderRow(
            pattern_grant.who,
            pattern_grant.may,
            words.day(moments[pattern_grant.since]) if pattern_grant.since in moments else "",
            revoke,
        )

    def others(self) -> list[OtherPathRow]:
        """Who reaches the entity by names that are like it, or that stand above it where rights come down."""
        if self.target.is_pattern:
            return []
        return [item for text in self._texts() for item in self._by(text)]

    def _texts(self) -> Iterable[str]:
        levels: list[Authorizable] = [self.target]
        while self.desk.comes_down and levels[-1].parent is not None:
            levels.append(levels[-1].parent)
        for level in levels:
            yield from (text for text in pattern_matches.texts_on(self.desk.root, level) if text != self.text)
        if self.desk.comes_down:
            yield f"instance:{self.desk.root.name}"

    def _by(self, text: str) -> Iterable[OtherPathRow]:
        rows = self.desk.grants().filter(pattern=text).select_related("holder")
        for item in held_on(self.desk, rows):
            yield OtherPathRow(item.who, item.may, Path((Chip("from", text, self.desk.text_url(text)),)))


@reads
@login_required
def name_detail(request: Request, id: int) -> HttpResponse:
    """What it matches now, and who was given what on it."""
    desk = desk_at(request, id)
    target = desk.named(request.GET.get("text", ""))
    if not desk.sees(target):
        access_log.refused(desk.place.asker, "look", None, name=f"{desk.root.name}/{target}", via="console")
        raise Http404
    name = Name(desk, target)
    if desk.looks:
        access_log.looked(desk.place.asker, f"access to {target}"[:64], desk.root, via="console")
    return desk.show(request, "console/cdap/name.html", _context(name))


def _context(name: Name) -> dict[str, object]:
    desk, target = name.desk, name.target
    reason = "" if name.may_grant else "why-not-grant"
    warning = name.warning()
    return {
        "heading": name.text,
        "kind": _("Pattern") if target.is_pattern else _("Entity"),
        "crumbs": desk.crumbs(),
        "actions": _actions(name, reason),
        "no_grant": desk.no_grant(name.text) if reason else None,
        "facts": name.facts(),
        "notes": [warning] if warning else [],
        "rows": name.rows(),
        "nobody": Empty(_("Nothing is granted on exactly this name"), drawn=False),
        "others": name.others(),
        "pattern": target.is_pattern,
        "matched": [_matched(desk, item) for item in name.matched],
        "more": max(0, name.reach.now - SHOWN),
        "nothing": Empty(_("Nothing matches it now"), drawn=False),
    }


def _actions(name: Name, reason: str) -> list[Action]:
    desk = name.desk
    give = Action(_("Grant access"), desk.url("cdap_grant", text=name.text), "primary", reason=reason)
    if name.target.is_pattern or not may_delete(desk, name.target):
        return [give]
    return [Action(_("Delete"), desk.url("cdap_delete", text=name.text)), give]


def _matched(desk: InstanceContext, node: Node) -> Who:
    text = text_of(node)
    return Who(text, Face("thing", terms.icon_of(node.type)), url=desk.text_url(text))
