"""A realm as one viewer meets it, and its page: owner, switches, settings, what it is connected to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import (
    Action,
    Crumbs,
    Empty,
    Face,
    Fact,
    Facts,
    Reason,
    State,
    Tab,
    Tabs,
    Who,
)
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.inputs.visible_principals import VisiblePrincipals
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings import modes
from authzsite.console.settings.realms import kind_words, members_words
from authzsite.console.sync.backend_state import BackendState, waiting_for
from catalog.models import Detail, Mode, Realm, Securable
from catalog.nodes import Node, any_of, nodes
from catalog.queries import node as find_node
from lakewarden.backends import kinds
from lakewarden.backends.kinds import Kind
from lakewarden.law.facts import Slice
from policies.authority import Actor
from policies.decisions import ask, site_permissions, slices
from policies.decisions.lookups.visible_objects import count_admitted, owner_of
from policies.models import Backend
from policies.record import access_log
from policies.record.archive import retention
from policies.record.invariants import ROLES_ALONE
from policies.services.grants import revision_now
from policies.simulation.generations import later_than
from policies.sync.connections import registration

TABS = (
    ("realm", gettext_lazy("Realm")),
    ("object_duties", gettext_lazy("Duties")),
    ("separation", gettext_lazy("Separation")),
    ("request_rules", gettext_lazy("Request rules")),
    ("realm_retention", gettext_lazy("Retention")),
    ("policy_file", gettext_lazy("Policy file")),
)
CDAP = (
    (
        "authentication",
        gettext_lazy("Authentication"),
        gettext_lazy("Off: CDAP's own calls answer that security is not enabled."),
    ),
    (
        "master_user",
        gettext_lazy("Master user"),
        gettext_lazy(
            "The user that programs run as without impersonation; has full access in namespace system."
        ),
    ),
    ("admin_group", gettext_lazy("Admin group"), gettext_lazy("Its members may grant and revoke.")),
    (
        "grants",
        gettext_lazy("Grants"),
        gettext_lazy("To roles only: privileges go to roles, roles to groups, as with Apache Sentry."),
    ),
)


@dataclass(frozen=True)
class ConnectionRow:
    """One connection of the realm."""

    what: Who
    state: State
    does: str


@dataclass(frozen=True)
class Choice:
    """One way to set the authorization of a realm."""

    code: str
    word: str
    text: str
    current: bool
    action: Action | None


@dataclass(frozen=True)
class RealmAccess:
    """A realm as one viewer meets it."""

    asker: Principal
    root: Node

    @cached_property
    def realm(self) -> Realm:
        return Realm.objects.get(pk=self.root.realm_id)

    @cached_property
    def slice(self) -> Slice:
        return slices.current(self.asker, self.root)

    @cached_property
    def mode(self) -> str:
        return Mode.objects.open().get(realm=self.root.realm_id).mode

    @cached_property
    def members(self) -> tuple[int, int]:
        """How many people and how many service accounts are members."""
        return count_admitted([self.root.realm_id], timezone.now())[self.root.realm_id]

    @cached_property
    def owner(self) -> Principal | None:
        return owner_of(self.root)

    @cached_property
    def inside(self) -> bool:
        """Whether its pages are open to them."""
        return ask.may_see(self.slice, self.root, now=timezone.now())

    @cached_property
    def owns(self) -> bool:
        return bool(site_permissions.ask_switch(self.asker, self.root, enforced=False))

    @cached_property
    def knows_separation(self) -> bool:
        """Whether they see the rules of separation: they write them, or give access here."""
        if site_permissions.ask_realm(self.asker, self.root):
            return True
        sight = VisiblePrincipals(self.asker).sight
        inside = Securable.objects.filter(any_of("id", sight.objects), realm=self.root.realm_id)
        return inside.exists()

    def may_switch(self, mode: str) -> bool:
        return bool(site_permissions.ask_switch(self.asker, self.root, enforced=mode == "on"))

    @property
    def url(self) -> str:
        return reverse("console:realm", args=[self.root.id])

    def owner_words(self) -> str:
        return (
            gettext("its owner, %(owner)s") % {"owner": terms.principal_name(self.owner)}
            if self.owner
            else gettext("its owner (nobody yet)")
        )


def realm_at(request: Request, id: int) -> RealmAccess:
    """The realm of that number, for its viewers and for site admins; else the same Http404."""
    node = find_node(id)
    if node is None or len(node.levels) > 1:
        raise Http404
    ward = RealmAccess(asker_of(request), node)
    if not ward.inside and not site_admins.may(request):
        access_log.refused(ward.asker, ask.operation_for(node, "read"), node, via="console")
        raise Http404
    return ward


@reads
@login_required
def realm_detail(request: Request, id: int) -> HttpResponse:
    """The realm's own page."""
    ward = realm_at(request, id)
    root = ward.root
    detail = Detail.objects.filter(securable=root.id).first()
    connect = _connect(ward)
    context = {
        "heading": root.name,
        "kind": kind_words(root),
        "lead": detail.comment if detail else "",
        "crumbs": Crumbs(((gettext("Realms"), reverse("console:realms")),)),
        "actions": list(_actions(ward)),
        "facts": Facts(tuple(_facts(ward))),
        "tabs": realm_tabs(ward, "realm"),
        "choices": list(_choices(ward)),
        "locked": None if ward.owns else _locked(ward),
        "settings": _settings(ward),
        "settings_url": reverse("console:realm_settings", args=[root.id]) if ward.owns else "",
        "connectable": connect is not None,
        "connect": connect,
        "no_connect": _no_connect(ward) if connect and connect.reason else None,
        "lines": list(_lines(ward)),
        "no_lines": Empty(
            gettext("No catalog is connected"),
            gettext("Connect one to keep its rights in sync."),
            drawn=False,
        ),
    }
    return show(request, "console/settings/realm.html", ward, context)


def show(
    request: Request, template: str, ward: RealmAccess, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page about a realm, with the loud banner where its law is not enforced."""
    return page(
        request,
        template,
        context,
        section="realms",
        realm=ward.root.name,
        kind=ward.root.type,
        revision=revision_now(),
        banner=modes.banner(ward.root.name, ward.mode),
        status=status,
    )


def _actions(ward: RealmAccess) -> Iterable[Action]:
    if not ward.inside:
        return
    root = ward.root
    reason = "" if ward.owns else "why-not-switch"
    yield Action(gettext("Set owner"), reverse("console:object_owner", args=[root.id]), reason=reason)
    for policy in later_than(str(ward.realm.settings.get("policy", ""))):
        url = f"{reverse('console:realm_raise', args=[root.id])}?to={policy}"
        yield Action(gettext("Raise to CDAP %(policy)s") % {"policy": policy}, url, reason=reason)
    yield Action(gettext("Open %(name)s") % {"name": root.name}, terms.page_of(root.id, root.type), "primary")


def realm_tabs(ward: RealmAccess, current: str) -> Tabs | None:
    """The settings of a realm, page by page; what only its owner may set is shown to its owner."""
    if not ward.inside:
        return None
    hidden = () if ward.owns else ("request_rules", "realm_retention", "policy_file")
    hidden = hidden if ward.knows_separation else (*hidden, "separation")
    shown = [(code, label) for code, label in TABS if code not in hidden]
    made = (
        Tab(label, reverse(f"console:{code}", args=[ward.root.id]), code == current) for code, label in shown
    )
    return Tabs(tuple(made), gettext("Settings of %(name)s") % {"name": ward.root.name})


def _facts(ward: RealmAccess) -> Iterable[Fact]:
    yield Fact(gettext("Owner"), ward.owner.label if ward.owner else gettext("No owner"))
    yield Fact(gettext("Authorization"), state=modes.state(ward.mode))
    yield Fact(gettext("Members"), members_words(ward.root, *ward.members), term="member")
    kept = retention.days(ward.realm)
    yield Fact(
        gettext("History stays live"),
        gettext("for %(kept)s") % {"kept": words.count(kept, "day")} if kept else gettext("permanently"),
    )
    if ward.realm.kind == Realm.Kind.CDAP:
        yield Fact(
            gettext("Rules"), gettext("of CDAP %(get)s") % {"get": ward.realm.settings.get("policy", "")}
        )


def _choices(ward: RealmAccess) -> Iterable[Choice]:
    for code, word in modes.WORDS.items():
        current = code == ward.mode
        yield Choice(
            code, str(word), str(modes.MEANS[code]), current, None if current else _switch(ward, code)
        )


def _switch(ward: RealmAccess, code: str) -> Action:
    url = f"{reverse('console:realm_mode', args=[ward.root.id])}?to={code}"
    reason = "" if ward.may_switch(code) else "why-not-switch"
    return Action(gettext("Set to %(words)s") % {"words": modes.INSIDE[code]}, url, reason=reason)


def _locked(ward: RealmAccess) -> Reason:
    who = ward.owner_words()
    return Reason(
        "why-not-switch",
        gettext("These settings are changed by %(who)s. Site admins can set authorization back to on.")
        % {"who": who},
    )


def _settings(ward: RealmAccess) -> list[tuple[str, str, str]]:
    if ward.realm.kind != Realm.Kind.CDAP:
        return []
    kept = ward.realm.settings
    shown = {code: kept.get(code) or gettext("Nobody") for code, _, _ in CDAP}
    shown["authentication"] = gettext("Off") if kept.get("authentication") == "off" else gettext("On")
    shown["grants"] = gettext("To roles only") if kept.get("grants") == ROLES_ALONE else gettext("To anyone")
    return [(str(label), str(shown[code]), str(text)) for code, label, text in CDAP]


def kinds_for(ward: RealmAccess) -> dict[str, Kind]:
    """The kinds of system that the realm can be connected to, by code."""
    law = ward.realm.kind
    return {code: kind for code, kind in kinds.built().items() if law in kind.realm_kinds}


def _connect(ward: RealmAccess) -> Action | None:
    kinds_ = kinds_for(ward)
    if not kinds_:
        return None
    may = registration.may_connect(Actor(ward.asker, "console"), ward.root)
    url, reason = reverse("console:connect", args=[ward.root.id]), "" if may else "why-not-connect"
    whole = all(kind.whole_realm for kind in kinds_.values())
    return Action(gettext("Connect a server") if whole else gettext("Connect a catalog"), url, reason=reason)


def _no_connect(ward: RealmAccess) -> Reason:
    text = gettext("Only %(owner_words)s or a holder of the connect duty can connect catalogs.") % {
        "owner_words": ward.owner_words()
    }
    return Reason("why-not-connect", text)


def _lines(ward: RealmAccess) -> Iterable[ConnectionRow]:
    """The connections of catalogs the viewer may see.  Three queries."""
    rows = Backend.objects.filter(realm=ward.root.realm_id).order_by("pk")
    rows_ = list(rows)
    waiting = waiting_for([row.pk for row in rows_])
    places = nodes(row.catalog_id for row in rows_)
    for row in rows_:
        node = places.get(row.catalog_id)
        if node is not None and ask.may_see(ward.slice, node, now=timezone.now()):
            url = reverse("console:sync_backend", args=[row.pk])
            what = Who(node.name, Face("thing", "catalog"), row.get_kind_display(), url)
            does = gettext("Repairs") if row.does == Backend.Policy.REPAIR else gettext("Only reports")
            yield ConnectionRow(what, BackendState(row, waiting.get(row.pk, 0)).plainly(), does)
