"""Privileges on texts: `dataset:ns1.orders`, or whatever is like `dataset:ns1.*`, in the realms of CDAP."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import Principal
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.law import dialects
from lakewarden.law.dialects.cdap import by_settings
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity, parse
from lakewarden.law.dialects.patterns import TextDialect
from lakewarden.law.facts import OWNER
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, Authority, of_operator, origin_of, require
from policies.decisions import ask, authorizers, slices
from policies.errors import Invalid, NotFound, Refused
from policies.events import GRANT_ADDED, GRANT_REMOVED, EventDraft
from policies.models import Grant
from policies.record.change import ChangeInProgress, change
from policies.record.event_drafts import make_event
from policies.services import realm_of

Holder = Principal | Node
"""Somebody, or a role."""
LONGEST = 2000  # bytes of a text; an index holds no more


def law_of(root: Node) -> TextDialect:
    """The law of a CDAP realm.  Raises Invalid for any other realm."""
    law = dialects.get(root.kind)
    if not isinstance(law, TextDialect):
        raise Invalid(gettext("%(realm)s is no CDAP instance") % {"realm": root.name})
    return law


def named(root: Node, text: str) -> Authorizable:
    """The entity or pattern that a text names in a realm.  Raises Invalid."""
    try:
        return parse(text, others=bool(law_of(root).other))
    except BadEntity as problem:
        raise Invalid(str(problem)) from None


def authority(root: Node, target: Authorizable | None, *, by: Actor) -> Authority:
    """The right to say who may do what on a target, or in the whole realm.  Raises Refused, NotFound.

    Up to generation 3.5 the target must exist, whoever asks.
    """
    node = root if target is None else ask.entity_node(root, target)
    if target is not None and must_exist(root) and not exists(root, target):
        raise NotFound(gettext("'%(target)s' was not found.") % {"target": target})
    if by.principal is None and by.decides_as is None:
        return of_operator(by)
    answer = ask.ask(_person(by), "grant", node)
    refusal = f"Principal '{_person(by).name}' is not authorized to perform action 'ADMIN' on entity "
    return require(answer.decision, by, otherwise=f"{refusal}'{target or f'instance:{root.name}'}'")


def must_exist(root: Node) -> bool:
    """Whether rights can be given only on what is there."""
    return "ALL" in law_of(root).privileges


def exists(root: Node, entity: Authorizable) -> bool:
    """Whether there is an entity of that name; the instance always is."""
    node = ask.entity_node(root, entity)
    return node.id == root.id or find(ObjectRef(entity.type, root.name, entity.parts)) is not None


def grant(
    root: Node,
    target: Authorizable,
    holder: Holder,
    actions: Collection[str] | None = None,
    *,
    by: Actor,
    reason: str = "",
    valid_until: datetime | None = None,
    right: Authority | None = None,
) -> int:
    """Let a principal or a role have privileges, all when none are named; answers how many are new.

    Raises Refused, NotFound, Invalid.
    """
    codes = checked(root, target, actions)
    with change(GRANT_ADDED, realm=realm_of(root), by=by, reason=reason) as current:
        may = right or authority(root, target, by=by)
        return give(current, root, target, holder, codes, by=by, authority=may, valid_until=valid_until)


def give(
    current: ChangeInProgress,
    root: Node,
    target: Authorizable,
    holder: Holder,
    codes: Iterable[str],
    *,
    by: Actor,
    authority: Authority,
    valid_until: datetime | None = None,
) -> int:
    """Open a grant for each privilege that the holder was not given on this text before for as long."""
    same = Q(valid_from__isnull=True, valid_until=valid_until) | _LASTING
    has = set(open_on(root, str(target), holder).filter(same).values_list("privilege", flat=True))
    new = [code for code in dict.fromkeys(codes) if code not in has]
    for code in new:
        row = Grant(
            **_held_by(holder),
            realm_id=root.realm_id,
            pattern=str(target),
            privilege=code,
            valid_until=valid_until,
            origin=origin_of(by),
        )
        current.begin(row, said_of(GRANT_ADDED, root, row, holder), by=authority)
    return len(new)


_LASTING = Q(valid_from__isnull=True, valid_until__isnull=True)


def revoke(
    root: Node,
    target: Authorizable,
    holder: Holder | None = None,
    actions: Collection[str] | None = None,
    *,
    by: Actor,
    reason: str = "",
) -> int:
    """Take privileges on this very text back, from a holder or from everybody; answers how many were there.

    What was given on other texts stays, above, below and alike.  Raises Refused, NotFound, Invalid.
    """
    if holder is None and actions is not None:
        raise Invalid(gettext("Principal is required when actions is provided"))
    codes = checked(root, target, actions)
    with change(GRANT_REMOVED, realm=realm_of(root), by=by, reason=reason) as current:
        may = authority(root, target, by=by)
        rows = list(open_on(root, str(target), holder).filter(privilege__in=codes))
        end(current, root, rows, by=may)
    return len(rows)


def end(current: ChangeInProgress, root: Node, rows: Iterable[Grant], *, by: Authority) -> None:
    """Close grants on texts."""
    for row in rows:
        current.end(row, said_of(GRANT_REMOVED, root, row, row.holder), by=by)


def open_on(root: Node, text: str, holder: Holder | None = None) -> QuerySet[Grant]:
    """The open grants on a text, of one holder or of all."""
    rows = Grant.objects.open().filter(realm=root.realm_id, pattern=text).select_related("holder")
    return rows if holder is None else rows.filter(**_held_by(holder))


def privileges(root: Node, holder: Holder) -> list[tuple[Authorizable, str]]:
    """What a holder has, text by text; a principal's include those through roles and groups."""
    if isinstance(holder, Node):
        rows = Grant.objects.open().within(timezone.now()).filter(role=holder.id)
        privileges_ = set(rows.values_list("pattern", "privilege"))
    else:
        slice_ = slices.current(holder, root)
        now = timezone.now().timestamp()
        live = (rule for rule in slice_.rules if rule.holds_at(now) and rule.fact not in by_settings.GROUNDS)
        privileges_ = {(str(rule.object), rule.privilege) for rule in live if rule.privilege != OWNER}
    order = list(law_of(root).privileges)
    listed = sorted(privileges_, key=lambda pair: (pair[0], order.index(pair[1])))
    return [(named(root, text), code) for text, code in listed]


def managed_here(root: Node) -> None:
    """Raise Invalid where an authorizer says who has what: what is given here would mean nothing."""
    outside = authorizers.of(root.name)
    if outside is not None:
        raise Invalid(
            gettext(
                "Privileges in %(realm)s are managed by its authorizer `%(extension)s`; change them there."
            )
            % {"realm": root.name, "extension": outside.configured.extension}
        )


def checked(root: Node, target: Authorizable, actions: Collection[str] | None) -> tuple[str, ...]:
    """The privileges meant, all when none are named.  Raises Invalid for what this generation lacks."""
    law = law_of(root)
    managed_here(root)
    if len(str(target).encode(errors="replace")) > LONGEST:
        raise Invalid(gettext("An entity's name has at most %(most)s bytes.") % {"most": LONGEST})
    named(root, str(target))
    unknown = sorted(set(actions or ()) - law.privileges.keys())
    if unknown:
        raise Invalid(
            gettext("%(unknown)s is no action; known are %(privileges)s")
            % {"unknown": unknown[0], "privileges": ", ".join(law.privileges)}
        )
    return tuple(law.privileges) if actions is None else tuple(actions)


def said_of(kind: str, root: Node, row: Grant, holder: Holder | None) -> EventDraft:
    """An event about a grant on a text."""
    if isinstance(holder, Principal):
        about = make_event(kind, root, holder, privilege=row.privilege, holder=holder.pseudonym)
    else:
        name = holder.name if holder else _role_name(row)
        about = make_event(kind, root, privilege=row.privilege, holder=f"role {name}", role=row.role_id)
    type_, _, name = row.pattern.partition(":")
    return EventDraft(
        kind, type_, f"{root.name}/{name}", about.lineage, about.people, {**about.data, "text": row.pattern}
    )


def _role_name(row: Grant) -> str:
    return row.role.placements.latest("opened").name if row.role else ""


def _held_by(holder: Holder) -> dict[str, int]:
    return {"role_id": holder.id} if isinstance(holder, Node) else {"holder_id": holder.pk}


def _person(by: Actor) -> Principal:
    if by.decides_as is None:
        raise Refused(gettext("Nobody is signed in."))
    return by.decides_as
