"""Rules of separation and conflicts with them, in words, without what the reader may not see."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils import dateformat
from django.utils.translation import gettext, gettext_lazy, ngettext

from accounts.models import Principal
from catalog.models import Realm
from catalog.queries import root
from lakewarden.law.facts import OWNER
from policies.models import Ownership
from policies.sentences import either, listed
from policies.separation import visibility
from policies.separation.rules import Violation
from policies.separation.sides import Side, SidePath, sides_of
from policies.separation.visibility import Sight

UNSEEN = gettext_lazy("something that you may not see")


def side(one: Side, seen: Sight) -> str:
    """role payer; MODIFY_TABLE on shop.sales and below."""
    if seen.hides(one):
        return str(UNSEEN)
    node = seen.place(one.key)
    name = node.ref.full_name or node.name if node else gettext("what was dropped")
    if one.role is not None:
        return gettext("role %(name)s") % {"name": name}
    rights = either(one.privileges)
    return gettext("%(right)s on %(name)s") % {"right": rights, "name": name}


def way(side_path: SidePath, seen: Sight) -> str:
    """through group finance and role payer; directly, as owner of sales."""
    named = [station for station in side_path.via if not station.name.startswith("~")]
    hidden = {station for station in named if station.kind == "role" and not seen.place(station.key)}
    worded = {
        "group": gettext("group %(name)s"),
        "role": gettext("role %(name)s"),
        "pattern": gettext("pattern %(name)s"),
    }
    stations = listed(
        [gettext("a role") if item in hidden else worded[item.kind] % {"name": item.name} for item in named]
    )
    through = gettext("through %(stations)s") % {"stations": stations} if named else gettext("directly")
    node = seen.place(side_path.object)
    if side_path.privilege == OWNER and node is not None:
        owned = {"through": through, "name": node.ref.full_name or node.name}
        return gettext("%(through)s, as owner of %(name)s") % owned
    return through


def refusal(
    new: Sequence[Violation], *, many: int, reader: Principal | None, now: datetime | None = None
) -> str:
    """Why a change is refused: who, which rule, both sides and how, and who may make an exception."""
    seen = visibility.of_clashes(reader, new[:many], now=now)
    sentences = [_clash(item, seen) for item in new[:many]]
    left = len(new) - many
    if left > 0:
        more = ngettext("The same for %(many)s more.", "The same for %(many)s more.", left)
        sentences.append(more % {"many": left})
    return " ".join([*sentences, whom_to_ask(new[0].rule.realm)])


def _clash(violation: Violation, seen: Sight) -> str:
    first, second = sides_of(violation.rule)
    by_one, by_other = violation.both.pairs[0]
    text = gettext("%(person)s would have both sides of the rule “%(rule)s”: %(one)s and %(other)s.")
    if violation.exception:
        text = gettext(
            "%(person)s would have both sides of the rule “%(rule)s”, beyond the exception that ends "
            "%(end)s: %(one)s and %(other)s."
        )
    return text % {
        "person": violation.person.label,
        "rule": violation.rule.name,
        "end": _end(violation),
        "one": _had(first, by_one, seen),
        "other": _had(second, by_other, seen),
    }


def _had(held_side: Side, by: SidePath, seen: Sight) -> str:
    # how somebody comes to a hidden object would tell the reader what it is
    return side(held_side, seen) if seen.hides(held_side) else f"{side(held_side, seen)} ({way(by, seen)})"


def _end(violation: Violation) -> str:
    end = violation.exception.valid_until if violation.exception else None
    return f"{dateformat.format(end, 'j M Y, H:i')} UTC" if end else gettext("never")


def whom_to_ask(realm: Realm) -> str:
    top = root(realm)
    row = Ownership.objects.open().filter(securable=top.id).select_related("owner").first()
    owner = row.owner.label if row else gettext("a site admin")
    return gettext("Only an exception lets someone have both; %(owner)s can create one.") % {"owner": owner}
