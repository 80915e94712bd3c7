"""Connecting a catalog to the system behind it."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.utils.translation import gettext, gettext_lazy, ngettext

from accounts.models import Principal
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.backends import kinds
from lakewarden.backends.base import Source
from lakewarden.backends.errors import Misconfigured
from lakewarden.backends.kinds import Kind
from lakewarden.law.objects import ObjectRef
from policies.authority import Actor, Authority, of_duty
from policies.decisions import ask, duties, site_permissions
from policies.errors import Conflict, Invalid
from policies.events import BACKEND_CONNECTED
from policies.models import Backend
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.secrets import decrypt, encrypt, place_of
from policies.services import objects, realm_of
from policies.services.objects import NewObject
from policies.sync.connections import by_hand, needs, sources

DUTY = "connect_backend"
MOST_SHOWN = 5
ALREADY = gettext_lazy(
    "This system, or a part of it, is governed by another connection already. Only the operator of this "
    "Lakewarden may let a second one govern it: manage.py connect … --share REASON."
)


def may_connect(actor: Actor, place: Node) -> bool:
    """Whether somebody may connect catalogs of a realm, or renew one: by duty, or as an owner above it."""
    who = actor.decides_as
    if who is None:
        return actor.via == "operator"
    return duties.has(who, DUTY, place) or bool(ask.ask(who, "set_owner", place))


def authority_to_connect(actor: Actor, place: Node) -> Authority:
    """The right to do so.  Raises Refused."""
    otherwise = gettext("You may not connect %(name)s: only its owner or a holder of the duty may.") % {
        "name": place.name
    }
    return of_duty(actor, DUTY, held=may_connect(actor, place), otherwise=otherwise)


def connect(
    root: Node,
    catalog_name: str,
    kind: str,
    url: str,
    *,
    policy: str,
    by: Actor,
    authority: Authority,
    owner: Principal | None = None,
    source: Source | None = None,
    shared: bool = False,
    keeps_places: bool = False,
    registered: by_hand.Decision | None = None,
    reason: str = "",
) -> Backend:
    """Connect a catalog, made when absent, to a backend; connecting again renews the URL.

    A kind that stands for a whole realm is connected to the realm itself, with an empty `catalog_name`.
    `source` is which system it led to when it was tried; without it the first run asks.  `shared`: the
    site's operator lets it be governed by another connection too; `keeps_places`: they let objects lie where
    those who registered them said; `registered`: what becomes of objects that were registered by hand.
    Raises Invalid, Conflict, Refused.
    """
    known = _kind(kind, root, url)
    _refuse_other_place(known, catalog_name)
    if shared and not reason.strip():
        raise Invalid(gettext("Give a reason why a second connection may govern the same system."))
    with change(BACKEND_CONNECTED, realm=realm_of(root), by=by, reason=reason) as current:
        existing = find(ObjectRef("catalog", root.name, (catalog_name,))) if catalog_name else root
        catalog = existing
        if catalog is None:
            properties = {"type": known.catalog_type, "provider": known.provider}
            new = NewObject("catalog", catalog_name, properties=properties)
            catalog = objects.register(root, [new], by=by, authority=authority, owner=owner)[0]
        before = Backend.objects.filter(catalog=catalog.id).first()
        if before and _same(before, url, kind, policy) and (source is None or before.source == source.key):
            return before
        elsewhere = before is None or before.place != _place(known, url)
        if elsewhere and not keeps_places:
            _refuse_placed(catalog, known, url)
        decided: dict[str, object] = {}
        if existing is not None and (elsewhere or _agrees(before, by)):
            chosen = registered or by_hand.Decision()
            decided = by_hand.decide(current, existing, known, chosen, by=by, authority=authority)
        row, _ = Backend.objects.update_or_create(
            catalog_id=catalog.id,
            defaults={
                "realm_id": root.realm_id,
                "kind": kind,
                "sealed_url": encrypt(url),
                "place": _place(known, url),
                "policy": policy,
                "state": Backend.State.NEW,
                "error": "",
                **_governing(source, before, by, shared=shared),
            },
        )
        if not known.whole_realm:
            _mark_connected(catalog)
        draft = make_event(BACKEND_CONNECTED, catalog, backend=str(row), policy=policy, **decided)
        current.say(draft, by=authority)
    return row


def _refuse_other_place(kind: Kind, catalog_name: str) -> None:
    """A kind stands for a whole realm, or for a catalog of it."""
    if kind.whole_realm is bool(catalog_name):
        text = (
            gettext("A %(kind)s backend is connected to a whole realm: name no catalog.")
            if kind.whole_realm
            else gettext("A %(kind)s backend is connected to a catalog: name one.")
        )
        raise Invalid(text % {"kind": kind.label})


def _agrees(before: Backend | None, by: Actor) -> bool:
    """Whether an operator connects what has waited for one to agree."""
    return before is not None and before.awaits == Backend.Awaits.NEW and site_permissions.is_operator(by)


def placed(catalog: Node, kind: Kind, url: str) -> list[tuple[str, str]]:
    """The objects that are to lie in other folders of a tree of files than their own, as those said who
    registered them, by name."""
    if "places" not in kind.needs:
        return []
    top = urlsplit(url).path.rstrip("/")
    named = sorted(needs.places(catalog, kind).items())
    return [
        (".".join(path), location)
        for path, location in named
        if urlsplit(location).path.rstrip("/") != "/".join((top, *path))
    ]


def _refuse_placed(catalog: Node, kind: Kind, url: str) -> None:
    """Whoever may register a fileset names its folder, and would get it from a worker that may do anything.

    Raises Invalid.
    """
    try:
        objects_elsewhere = placed(catalog, kind, url)
    except Misconfigured as problem:
        raise Invalid(str(problem)) from problem
    if objects_elsewhere:
        shown = ", ".join(f"{name} ({location})" for name, location in objects_elsewhere[:MOST_SHOWN])
        raise Invalid(
            ngettext(
                "%(many)s object is to lie in a folder that someone named for it before: %(shown)s. Drop it, "
                "or let the operator look: manage.py connect … --keep-places.",
                "%(many)s objects are to lie in folders that someone named for them before: %(shown)s. Drop "
                "them, or let the operator look: manage.py connect … --keep-places.",
                len(objects_elsewhere),
            )
            % {"many": len(objects_elsewhere), "shown": shown}
        )


def _place(kind: Kind, url: str) -> str:
    return place_of(kind, url)[:255]


def _same(before: Backend, url: str, kind: str, policy: str) -> bool:
    return (decrypt(before.sealed_url), before.kind, before.policy) == (url, kind, policy)


def _governing(
    source: Source | None, before: Backend | None, by: Actor, *, shared: bool
) -> dict[str, object]:
    """What is kept of which system it is, and whether an operator has to agree.  Raises Conflict.

    Under the writers' lock, so that two who connect the same at once do not both see nobody.
    """
    runs_the_site = site_permissions.is_operator(by)
    awaits = "" if runs_the_site else Backend.Awaits.NEW
    if source is None:
        return {"source": "", "within": [], "sole": True, "awaits": awaits}
    same = before is not None and before.source == source.key
    near = sources.others(source, before)
    if near and not (same and before and not before.sole) and not (shared and runs_the_site):
        raise Conflict(str(ALREADY))
    sources.give_up(source, before)
    return {
        "source": source.key,
        "within": list(source.within),
        "sole": not (near or (shared and runs_the_site)),
        "awaits": before.awaits if same and before and not runs_the_site else awaits,
    }


def _kind(code: str, root: Node, url: str) -> Kind:
    try:
        known = kinds.get(code)
    except Misconfigured as problem:
        text = str(problem)
        raise Invalid(f"{text[:1].upper()}{text[1:]}.") from problem
    if root.kind not in known.realm_kinds:
        raise Invalid(
            gettext("A %(kind)s backend is for realms under the law of %(laws)s.")
            % {"kind": known.label, "laws": ", ".join(known.realm_kinds)}
        )
    if not known.takes(url):
        raise Invalid(
            gettext("The URL of a %(kind)s backend begins with %(schemes)s.")
            % {"kind": known.code, "schemes": ", ".join(known.schemes)}
        )
    return known


def _mark_connected(catalog: Node) -> None:
    detail, _ = Detail.objects.get_or_create(securable_id=catalog.id)
    detail.properties = {**detail.properties, "connected": True}
    detail.save(update_fields=["properties"])
