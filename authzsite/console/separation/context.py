"""Who sees the rules of a realm, who writes them, and how a conflict is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Principal
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Chip, Path, Reason, StrOrPromise, Verdict, Who
from authzsite.console.kit.http import Request
from authzsite.console.kit.inputs.visible_principals import circle_of
from authzsite.console.settings.realm import RealmAccess, realm_at, show
from catalog.queries import root as root_of
from lakewarden.law.facts import OWNER
from policies.decisions import site_permissions
from policies.decisions.personal_role_names import is_personal
from policies.models import SeparationRule
from policies.record import access_log
from policies.sentences import either
from policies.separation import Book, Violation, of_realm, visibility
from policies.separation.conflicts import OpenViolation, existing
from policies.separation.sides import Side, SidePath, sides_of
from policies.separation.visibility import Sight

LOOKED = "conflicts with rules of separation"


@dataclass(frozen=True)
class SeparationContext:
    """A realm's rules as one viewer meets them."""

    ward: RealmAccess

    @cached_property
    def writes(self) -> bool:
        """Whether they make and end rules: the realm's owner, and site admins."""
        return bool(site_permissions.ask_realm(self.ward.asker, self.ward.root))

    @property
    def sees(self) -> bool:
        return self.ward.knows_separation

    @cached_property
    def book(self) -> Book:
        book = of_realm(self.ward.root, timezone.now().timestamp())
        book.learn(side.key for side in book.sides())
        return book

    def seen(self, book: Book) -> Sight:
        """What of the rules they may know: all, if they write them, else what exists for them."""
        keys = [side.key for side in book.sides()]
        return Sight(book.places) if self.writes else visibility.of(self.ward.asker, keys)

    def found(self, book: Book) -> list[OpenViolation]:
        """Who is in conflict; looking at it is recorded."""
        access_log.looked(self.ward.asker, LOOKED, self.ward.root, via="console")
        return existing(self.ward.root, book)


def desk_at(request: Request, id: int) -> SeparationContext:
    """The rules of the realm of that number; the same Http404 where it is hidden or not there."""
    ward = realm_at(request, id)
    return SeparationContext(ward)


def rule_at(request: Request, id: int) -> tuple[SeparationContext, SeparationRule]:
    """A rule with its realm; Http404 also where it is hidden."""
    rule = SeparationRule.objects.filter(pk=id).select_related("realm").first()
    if rule is None:
        raise Http404
    desk = desk_at(request, root_of(rule.realm).id)
    if not desk.sees:
        raise Http404
    return desk, rule


def refused(request: Request, desk: SeparationContext, deed: StrOrPromise) -> HttpResponse:
    ward = desk.ward
    access_log.refused(ward.asker, site_permissions.REALM, ward.root, via="console")
    text = _("Only %(owner_words)s or a site admin can do that.") % {"owner_words": ward.owner_words()}
    verdict = Verdict(
        "no", _("You cannot %(deed)s of %(name)s") % {"deed": deed, "name": ward.root.name}, text, level=1
    )
    context = {
        "verdict": verdict,
        "actions": (Action(_("Back to %(name)s") % {"name": ward.root.name}, ward.url),),
    }
    return show(request, "errors/refused.html", ward, context, status=403)


def locked(desk: SeparationContext) -> Reason | None:
    if desk.writes:
        return None
    return Reason(
        "why-not-write",
        _("Only %(owner_words)s or a site admin can create rules.")
        % {"owner_words": desk.ward.owner_words()},
    )


# Words


def side_words(side: Side, seen: Sight, *, inside: bool = False) -> str:
    """Role payer; Write tables or Create tables on shop.stock; `inside` a sentence: role payer."""
    if seen.hides(side):
        return _("something that you cannot see") if inside else _("Something that you cannot see")
    node = seen.place(side.key)
    if node is None:
        return _("something that was dropped") if inside else _("Something that was dropped")
    if side.role is not None:
        role = {"name": node.name}
        return _("role %(name)s") % role if inside else _("Role %(name)s") % role
    rights = either(list(dict.fromkeys(terms.right(code, node.type, node.kind) for code in side.privileges)))
    return _("%(rights)s on %(part)s") % {
        "rights": terms.lower(rights) if inside else rights,
        "part": node.ref.full_name or node.name,
    }


@dataclass(frozen=True)
class ViolationRow:
    """Somebody with both sides: the path to each, since when, and until when an exception holds."""

    who: Who
    one: Path
    other: Path
    since: str
    let: Chip | None
    owner: str
    action: Action | None
    let_end: Action | None


def path_of(way: SidePath, seen: Sight) -> Path:
    chips = []
    node = seen.place(way.object)
    if way.privilege == OWNER and node:
        chips.append(Chip("owner", _("Owner of %(name)s") % {"name": node.name}))
    for station in way.via:
        if station.kind == "group":
            chips.append(Chip("group", _("Group %(name)s") % {"name": station.name}))
        elif station.kind == "role" and not is_personal(station.name):
            chips.append(Chip("role", _("Role %(name)s") % {"name": station.name}))
    if not chips:
        chips.append(Chip("direct", _("Direct")))
    if node and way.privilege != OWNER:
        chips.append(Chip("from", node.name, terms.page_of(node.id, node.type), hidden=_("on")))
    return Path(tuple(chips))


def line(
    found: OpenViolation, book: Book, *, action: Action | None = None, let_end: Action | None = None
) -> ViolationRow:
    clash, seen = found.clash, Sight(book.places)
    side, other = clash.both.pairs[0]
    let = clash.exception
    return ViolationRow(
        terms.who(clash.person, "" if clash.person.kind == "user" else str(clash.person)),
        path_of(side, seen),
        path_of(other, seen),
        words.moment(found.since) if found.since else "",
        Chip("ends", words.moment(let.valid_until), hidden=_("exception until"))
        if let and let.valid_until
        else None,
        _("%(label)s is responsible for it") % {"label": let.owner.label} if let else "",
        action,
        let_end,
    )


def clash_words(clash: Violation, seen: Sight) -> tuple[str, str]:
    """Who is stopped by which rule, and by what: for a note above a form."""
    first, second = sides_of(clash.rule)
    return (
        _("%(label)s would have both sides of the rule “%(name)s”.")
        % {"label": clash.person.label, "name": clash.rule.name},
        _("%(one)s, and %(other)s.")
        % {"one": side_words(first, seen), "other": side_words(second, seen, inside=True)},
    )


def candidates(request: Request, text: str) -> Any:
    return circle_of(request).people(text).filter(kind__in=(Principal.Kind.USER, Principal.Kind.SERVICE))
