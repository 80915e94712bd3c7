"""A joiner: what a colleague has and they do not, picked line by line, foretold, and given at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Empty, Fact, Facts, Note, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.principal_picker import Among
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals, realm_words
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.lifecycle import effects
from authzsite.console.lifecycle.done import done_by
from authzsite.console.lifecycle.leaver import crumbs_of, leaver_or_404
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions.lookups.visible_objects import realms_of
from policies.lifecycle.actions import COPY, LifecycleAction, Outcome, copy_all
from policies.lifecycle.entitlements import COPIED, SITE, Entitlement, Holdings, askable
from policies.models import Grant
from policies.record import access_log
from policies.services.grants import revision_now

SHOWN = 60
FAR = ("write", "manage")


@dataclass(frozen=True)
class JoinerRow:
    """One thing that the colleague has and the other has not."""

    code: str
    what: Who
    gives: str
    ends: Chip | None
    picked: bool = False
    far: bool = False
    needed: bool = False
    reason: str = ""
    trouble: str = ""


@dataclass
class Alike:
    """Compare two people, and what of the one is picked for the other."""

    circle: VisiblePrincipals
    person: Principal
    data: QueryDict
    outcomes: Sequence[Outcome] = ()
    notes: list[Note] = field(default_factory=list)

    @cached_property
    def asked(self) -> Among:
        told_ = "You know nobody of that name."
        return Among(self._named, search=self._colleagues, nobody_words=told_, at_most=1)

    @cached_property
    def _named(self) -> QueryDict:
        """An address says `as`, a form `who`."""
        if "as" not in self.data or "who" in self.data:
            return self.data
        named = self.data.copy()
        named.setlist("who", self.data.getlist("as"))
        return named

    def _colleagues(self, text: str) -> QuerySet[Principal]:
        rows = self.circle.people(text).exclude(pk=self.person.pk)
        return rows.filter(Q(kind="user") | Q(kind="service"))

    @property
    def like(self) -> Principal | None:
        return next(iter(self.asked.chosen), None)

    def _of(self, principal: Principal) -> Holdings:
        circle = self.circle
        return Holdings(principal, circle.asker, circle.realms, lambda node: circle.sees(principal, node))

    @cached_property
    def theirs(self) -> tuple[Entitlement, ...]:
        return self._of(self.like).all if self.like else ()

    @cached_property
    def has(self) -> dict[tuple[object, ...], Entitlement]:
        return {_key(item): item for item in self._of(self.person).all}

    @cached_property
    def lacking(self) -> list[Entitlement]:
        """What the colleague has and this one has not, as far as it can be given at all."""
        rows = (self._rest(item) for item in self.theirs if item.kind in COPIED)
        return [row for row in rows if row is not None]

    def _rest(self, entitlement: Entitlement) -> Entitlement | None:
        mine = self.has.get(_key(entitlement))
        if mine is None:
            return entitlement
        grants = tuple(row for row in entitlement.grants if row.privilege not in mine.privileges)
        return replace(entitlement, grants=grants) if grants else None

    @property
    def same(self) -> int:
        return sum(item.kind in COPIED for item in self.theirs) - len(self.lacking)

    @property
    def owned(self) -> int:
        return sum(item.kind == "own" for item in self.theirs)

    # What is picked

    @cached_property
    def may(self) -> list[Entitlement]:
        """What of it the viewer may give; where the joiner is no member yet, only if they may admit."""
        shut = {item.realm_id for item in self.lacking if item.kind == "member" and not item.may_give}
        return [item for item in self.lacking if item.may_give and item.realm_id not in shut]

    @cached_property
    def picked(self) -> list[Entitlement]:
        chosen = self._chosen
        mine = [item for item in self.may if item.code in chosen and item.kind != "member"]
        needed = {item.realm_id for item in mine if item.realm_id}
        alone = [item for item in self.may if item.kind == "member"]
        admitted = [item for item in alone if item.realm_id in needed or item.code in chosen]
        return [*admitted, *mine]

    @cached_property
    def _chosen(self) -> frozenset[str]:
        if self.data.get("step"):
            return frozenset(self.data.getlist("pick"))
        return frozenset(item.code for item in self.may if item.code not in self.far)

    @cached_property
    def far(self) -> frozenset[str]:
        """Codes of what lets one write or manage; it is not ticked by itself."""
        roles = [item.node.id for item in self.lacking if item.kind == "role" and item.node]
        rows = Grant.objects.open().filter(role__in=roles, effect="allow").values_list("role", "privilege")
        by_role: dict[int, set[str]] = {}
        for role, privilege in rows:
            by_role.setdefault(role or 0, set()).add(privilege)
        return frozenset(item.code for item in self.lacking if self._far(item, by_role))

    def _far(self, entitlement: Entitlement, by_role: dict[int, set[str]]) -> bool:
        if entitlement.node is None or entitlement.kind == "duty":
            return entitlement.kind == "duty"
        codes = (
            by_role.get(entitlement.node.id, set())
            if entitlement.kind == "role"
            else set(entitlement.privileges)
        )
        known = (dialects.get(entitlement.node.kind).privilege(code) for code in codes)
        return any(found is not None and found.category in FAR for found in known)

    @cached_property
    def deeds(self) -> list[LifecycleAction]:
        return [LifecycleAction(item, COPY, self.person) for item in self.picked]

    @cached_property
    def told(self) -> effects.LifecycleEffects | None:
        if self.like is None or not self.deeds:
            return None
        realms = {realm.id: realm for realm in self.circle.realms}
        if self.circle.runs_the_site:
            realms |= {item.id: item for item in realms_of(self.like)}
        return effects.LifecycleEffects(self.like, self.deeds, list(realms.values()))

    # What is shown

    def lines(self) -> list[JoinerRow]:
        return [self._line(item) for item in self.lacking[:SHOWN]]

    def _line(self, entitlement: Entitlement) -> JoinerRow:
        base = (
            entitlement.code,
            effects.what(entitlement),
            effects.gives(entitlement),
            terms.ends_chip(entitlement.until),
        )
        far = entitlement.code in self.far
        if entitlement not in self.may:
            return JoinerRow(*base, far=far, reason=self._reason(entitlement))
        needed = entitlement.kind == "member" and any(
            it.realm_id == entitlement.realm_id for it in self.picked if it != entitlement
        )
        trouble = next((it.trouble for it in self.outcomes if it.deed.holding.code == entitlement.code), "")
        return JoinerRow(*base, entitlement in self.picked, far, needed, "", trouble)

    def _reason(self, entitlement: Entitlement) -> str:
        if entitlement.kind in SITE:
            return f"Ask a site admin. {site_admins.admin_names()}"
        if entitlement.may_give:
            return f"{self.person.label} is no member there yet. Ask the realm's owner."
        owner = self._askable.get(entitlement.code)
        return f"Ask {owner.label}." if owner else "Ask the realm's owner."

    @cached_property
    def _askable(self) -> dict[str, Principal]:
        return askable(item for item in self.lacking if not item.may_give)


def _key(entitlement: Entitlement) -> tuple[object, ...]:
    if entitlement.kind in ("text", "duty"):
        return (entitlement.kind, entitlement.node and entitlement.node.id, entitlement.text)
    return (entitlement.kind, entitlement.code)


@reads_and_writes
@login_required
def joiner_form(request: Request, id: int) -> HttpResponse:
    """As whom; what differs; what it changes; then it is given, each realm as one change."""
    circle, person = leaver_or_404(request, id)
    alike = Alike(circle, person, request.POST if request.method == "POST" else request.GET)
    _looked_at(alike)
    if request.method != "POST" or not alike.asked.saving:
        alike.asked.tell_nobody()
        return _show(request, alike)
    if alike.asked.find or alike.like is None:
        alike.asked.problems["who"] = "Name the colleague to copy from."
    elif not alike.deeds:
        alike.notes = [Note("", "Nothing is picked.", "Mark what is to be given.")]
    if alike.asked.problems or alike.notes:
        return _show(request, alike)
    return _give(request, alike)


def _looked_at(alike: Alike) -> None:
    if alike.like is None or alike.circle.is_own(alike.like):
        return
    for realm in alike.circle.realms:
        about = f"access of {alike.like.pseudonym}"
        access_log.looked(alike.circle.asker, about, realm, via="console")


def _give(request: Request, alike: Alike) -> HttpResponse:
    asked, like = alike.asked, alike.like
    actor = Actor(alike.circle.asker, "console", request_id=asked.nonce)
    outcomes = copy_all(alike.person, alike.deeds, by=actor, reason=asked.reason)
    failed = [outcome for outcome in outcomes if outcome.trouble]
    if failed:
        strong = f"{words.count(len(failed), 'line')} not given."
        why = f"{failed[0].trouble} The rest of that realm was left out with it. Your form is kept."
        again = Alike(alike.circle, alike.person, alike.data, outcomes, [Note("bad", strong, why)])
        return _show(request, again)
    name = like.label if like else ""
    say(request, f"{alike.person.label} has {words.count(len(outcomes), 'line')} more of what {name} has")
    url = reverse("console:person_done", args=[asked.nonce])
    return redirect(f"{url}?{urlencode({'who': alike.person.pk})}")


def _show(request: Request, alike: Alike) -> HttpResponse:
    asked, person, like = alike.asked, alike.person, alike.like
    foretold = alike.told
    done = done_by(alike.circle.asker, asked.nonce if alike.outcomes else "")
    name = person.label
    heading = f"Give {name} the same as {like.label}" if like else f"Give {name} the same as a colleague"
    context: dict[str, Any] = {
        "crumbs": crumbs_of(person),
        "heading": heading,
        "lead": LEAD,
        "facts": Facts(tuple(_facts(alike))) if like else None,
        "notes": alike.notes,
        "person": person,
        "like": like,
        "lines": alike.lines(),
        "more": words.number(len(alike.lacking) - SHOWN) if len(alike.lacking) > SHOWN else "",
        "here": reverse("console:person_same", args=[person.pk]),
        "back": reverse("console:person", args=[person.pk]),
        "nonce": asked.nonce,
        **asked.fields(),
        "who_label": "The same as",
        "reason": asked.reason,
        "problems": asked.problems,
        "tally": foretold.tally() if foretold else None,
        "diff": foretold.diff() if foretold else None,
        "sum": foretold.sum() if foretold else "",
        "preview_empty": "Name a colleague: the preview shows what it allows, object by object.",
        "button": f"Give {words.count(len(alike.deeds), 'line')} to {name}" if alike.deeds else "Give it",
        "done": done,
        "empty": _empty(alike),
    }
    failed = bool(asked.problems) and asked.data.get("step") == "save"
    bad = any(note.kind == "bad" for note in alike.notes)
    realm, revision = realm_words(alike.circle), revision_now()
    template = "console/lifecycle/joiner.html"
    status = 422 if failed or bad else 200
    return page(request, template, context, section="people", realm=realm, revision=revision, status=status)


LEAD = (
    "Access of the colleague that you can give is listed; write and manage rights are not preselected. "
    "An object has one owner, so ownership is not copied."
)


def _facts(alike: Alike) -> Iterable[Fact]:
    yield Fact("Has already", words.count(alike.same, "line") if alike.same else "Nothing of it")
    yield Fact("Lacks", words.count(len(alike.lacking), "line") if alike.lacking else "Nothing")
    waits = len(alike.lacking) - len(alike.may)
    if waits:
        yield Fact("You cannot give this", words.count(waits, "line"))
    if alike.owned:
        yield Fact("Owned by the colleague", words.count(alike.owned, "object"), note="stays so")


def _empty(alike: Alike) -> Empty | None:
    if alike.like is None:
        return None
    text = "They may still differ in access that you cannot see."
    heading = f"{alike.person.label} has all that {alike.like.label} has, as far as you can see"
    return Empty(heading, text, level=2)
