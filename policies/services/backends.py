"""Connecting a catalog to the system behind it."""

from __future__ import annotations

from accounts.models import Principal
from catalog.models import Detail
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.objects import ObjectRef
from policies import decisions
from policies.authority import Actor, Authority, of_duty
from policies.changes import change
from policies.errors import Invalid
from policies.events import BACKEND_CONNECTED
from policies.models import Backend
from policies.saying import said
from policies.services import duties, objects, realm_of
from policies.services.objects import NewObject
from policies.sync.seal import place_of, seal, unseal

DUTY = "connect_backend"
PROVIDERS = {Backend.Kind.POSTGRESQL: "jdbc-postgresql", Backend.Kind.MARIADB: "jdbc-mysql"}
SCHEMES = {
    Backend.Kind.POSTGRESQL: ("postgresql://", "postgres://"),
    Backend.Kind.MARIADB: ("mariadb://",),
}


def may_connect(actor: Actor, place: Node) -> bool:
    """Whether somebody may connect catalogs of a realm, or renew one: by duty, or as an owner above it."""
    who = actor.decides_as
    if who is None:
        return actor.via == "operator"
    return duties.has(who, DUTY, place) or bool(decisions.ask(who, "set_owner", place))


def authority_to_connect(actor: Actor, place: Node) -> Authority:
    """The right to do so.  Raises Refused."""
    otherwise = f"You may not connect {place.name}: its owner may, and who has the duty for it."
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
) -> Backend:
    """Connect a catalog, made when absent, to a backend; connecting again renews the URL.  Raises Invalid."""
    if kind not in PROVIDERS:
        raise Invalid(f"Backends of kind {kind} are not built in; known are {', '.join(PROVIDERS)}.")
    if not url.startswith(SCHEMES[Backend.Kind(kind)]):
        raise Invalid(f"The URL of a {kind} backend begins with {' or '.join(SCHEMES[Backend.Kind(kind)])}.")
    with change(BACKEND_CONNECTED, realm=realm_of(root), by=by) as current:
        catalog = find(ObjectRef("catalog", root.name, (catalog_name,)))
        if catalog is None:
            properties = {"type": "relational", "provider": PROVIDERS[Backend.Kind(kind)]}
            new = NewObject("catalog", catalog_name, properties=properties)
            catalog = objects.register(root, [new], by=by, authority=authority, owner=owner)[0]
        before = Backend.objects.filter(catalog=catalog.id).first()
        if before and (unseal(before.sealed_url), before.kind, before.policy) == (url, kind, policy):
            return before
        row, _ = Backend.objects.update_or_create(
            catalog_id=catalog.id,
            defaults={
                "realm_id": root.realm_id,
                "kind": kind,
                "sealed_url": seal(url),
                "place": place_of(url),
                "policy": policy,
                "state": Backend.State.NEW,
                "error": "",
            },
        )
        _mark_connected(catalog)
        current.say(said(BACKEND_CONNECTED, catalog, backend=str(row), policy=policy), by=authority)
    return row


def _mark_connected(catalog: Node) -> None:
    detail, _ = Detail.objects.get_or_create(securable_id=catalog.id)
    detail.properties = {**detail.properties, "connected": True}
    detail.save(update_fields=["properties"])
