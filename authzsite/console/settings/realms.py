"""The realms of the site, each in its own kind's words; making one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from accounts import people
from accounts.models import Principal
from accounts.people import BadName
from authzsite.console.accounts import site_admins
from authzsite.console.accounts.admin_change import AdminChangeView
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Empty, Face, Reason, State, Who
from authzsite.console.kit.forms import ConsoleForm, SegmentsField, TextField
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings import modes
from catalog.models import Mode, Placement
from catalog.nodes import Node, nodes
from lakewarden.law import dialects
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.lookups.visible_objects import count_admitted, realms_of
from policies.events import REALM_CREATED
from policies.models import Backend, Ownership
from policies.record.change import change
from policies.services import realms
from policies.services.grants import revision_now

KINDS = (
    (
        "gravitino",
        gettext_lazy("Metalake"),
        gettext_lazy("Catalogs, schemas and tables, as Apache Gravitino knows them."),
    ),
    (
        "herd",
        gettext_lazy("Herd"),
        gettext_lazy("Flat namespaces with Read, Write, Execute and Grant, as FINRA Herd knows them."),
    ),
    (
        "cdap",
        gettext_lazy("CDAP instance"),
        gettext_lazy("Privileges on the names of entities, as CDAP knows them."),
    ),
)
POLICIES = ("4.3", "3.5", "3.4")
WHICH = gettext_lazy("Choose which rules it follows.")
NO_SLASH = gettext_lazy("Enter a name without a slash.")
LENGTH = format_lazy(gettext_lazy("A name must have 1 to {number} characters."), number=people.NAME_LENGTH)


@dataclass(frozen=True)
class RealmRow:
    what: Who
    owner: str
    state: State
    members: str
    backends: str


def kind_words(root: Node) -> str:
    """What a realm is called in its own kind's words."""
    named = {"metalake": "Metalake", "herd": "Herd", "instance": gettext("CDAP instance")}
    return named.get(root.type, terms.kind_of(root.type))


def every_root() -> list[Node]:
    """The root of every realm there is, by name."""
    rows = Placement.objects.open().filter(parent__isnull=True, securable__realm__closed__isnull=True)
    roots = nodes(rows.values_list("securable", flat=True))
    return sorted(roots.values(), key=lambda root: root.name)


def seen_by(request: Request) -> Sequence[Node]:
    """The realms that admit somebody; for who runs the site all of them."""
    return every_root() if site_admins.may(request) else realms_of(asker_of(request))


@reads
@login_required
def realm_list(request: Request) -> HttpResponse:
    """Every realm that the viewer knows, with its owner and whether its law is enforced."""
    roots = seen_by(request)
    may = site_admins.may(request)
    context = {
        "heading": gettext("Realms"),
        "lead": gettext("Each realm has its own rules. Access in one realm does not apply in another."),
        "actions": [
            Action(
                gettext("Create a realm"),
                reverse("console:realm_new"),
                "primary",
                reason="" if may else "why-no-realm",
            )
        ],
        "reason": None
        if may
        else Reason(
            "why-no-realm",
            gettext("Only a site admin can create a realm. %(admin_names)s")
            % {"admin_names": site_admins.admin_names()},
        ),
        "rows": _rows(roots),
        "count_words": words.count(len(roots), "realm"),
        "empty": Empty(
            gettext("There is no realm yet") if may else gettext("No realm has admitted you yet"),
            gettext("The owner of a realm can add you.")
            if not may
            else gettext("Create the first one; its owner does the rest."),
            level=2,
        ),
    }
    return page(request, "console/settings/realms.html", context, section="realms", revision=revision_now())


def _rows(roots: Sequence[Node]) -> list[RealmRow]:
    """Four queries, however many realms."""
    ids = [item.realm_id for item in roots]
    modes_ = dict(Mode.objects.open().filter(realm__in=ids).values_list("realm", "mode"))
    inside = count_admitted(ids, timezone.now())
    backends = Counter(Backend.objects.filter(realm__in=ids).values_list("realm", flat=True))
    owned = Ownership.objects.open().filter(securable__in=[item.id for item in roots]).select_related("owner")
    owners = {row.securable_id: row.owner.label for row in owned}
    return [
        RealmRow(
            Who(
                item.name,
                Face("thing", "lake"),
                kind_words(item),
                reverse("console:realm", args=[item.id]),
            ),
            owners.get(item.id, ""),
            modes.state(modes_.get(item.realm_id, "off")),
            members_words(item, *inside[item.realm_id]),
            words.number(backends[item.realm_id]) if backends[item.realm_id] else gettext("None"),
        )
        for item in roots
    ]


def members_words(root: Node, people: int, services: int) -> str:
    """28 people and 1 service; everybody who signs in."""
    return gettext("Everyone") if dialects.get(root.kind).open_to_all else words.able_words(people, services)


# Making one


class RealmForm(ConsoleForm):
    """A kind, a name and an owner; for a CDAP instance also its generation of rules."""

    kind = SegmentsField(
        label=gettext_lazy("Its rules"),
        choices=[(code, word) for code, word, _ in KINDS],
        initial=KINDS[0][0],
        error_messages={"required": WHICH, "invalid_choice": WHICH},
    )
    policy = SegmentsField(
        label=gettext_lazy("Generation of rules"),
        choices=[(code, f"CDAP {code}") for code in POLICIES],
        initial=POLICIES[0],
        required=False,
        help_text=gettext_lazy("It cannot be changed later."),
        error_messages={"invalid_choice": gettext_lazy("Choose its generation of rules.")},
        widget=forms.Select(attrs={"class": "input"}),
    )
    name = TextField(
        help_text=gettext_lazy("Such as prod. Programs name it, so it is hard to change later."),
        error_messages={"required": NO_SLASH},
    )
    owner = TextField(
        help_text=gettext_lazy(
            "A user name. The owner decides everything in it; site admins have no access inside."
        ),
        error_messages={"required": gettext_lazy("Enter its owner."), "max_length": LENGTH},
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if "/" in name:
            raise ValidationError(NO_SLASH)
        return name

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("kind") != "cdap":
            self.errors.pop("policy", None)
        elif "policy" not in self.errors and not self.cleaned_data.get("policy"):
            self.add_error("policy", gettext("Choose its generation of rules."))
        return self.cleaned_data


class NewRealmView(AdminChangeView):
    """A kind, a name and an owner; for site admins."""

    form_class = RealmForm
    template_name = "console/settings/realm_new.html"
    section = "realms"
    cannot = gettext_lazy("You cannot create a realm")
    not_saved = gettext_lazy("Not created.")
    fields_of_errors = {BadName: "owner"}

    def way_back(self) -> tuple[str, str]:
        return reverse("console:realms"), gettext("The realms")

    def get_form_arguments(self) -> dict[str, Any]:
        return {"initial": {"owner": self.asker.name}}

    def save(self, form: RealmForm, actor: Actor) -> tuple[Node, Principal]:
        typed = form.cleaned_data
        settings = {"policy": typed["policy"], "authentication": "on"} if typed["kind"] == "cdap" else {}
        with change(REALM_CREATED, realm=None, by=actor):
            authority = site_permissions.of_admin(actor)
            owner = people.ensure("user", typed["owner"])
            made = realms.create(
                typed["kind"], typed["name"], owner=owner, by=actor, authority=authority, settings=settings
            )
        return made, owner

    def success_message(self, form: RealmForm) -> str:
        if self.result is None:
            return ""
        made, owner = self.result
        return gettext("%(made)s %(name)s is created; %(label)s owns it") % {
            "made": kind_words(made),
            "name": made.name,
            "label": owner.label,
        }

    def get_success_url(self) -> str:
        return reverse("console:realm", args=[self.result[0].id]) if self.result else self.back()

    def heading(self, form: RealmForm) -> str:
        return gettext("Create a realm")

    def button(self, form: RealmForm) -> str:
        return gettext("Create the realm")

    def back(self) -> str:
        return reverse("console:realms")

    def page_context(self, form: RealmForm) -> dict[str, Any]:
        return {"kinds": KINDS}

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        revision = revision_now()
        return page(
            self.request, self.template_name, context, section="realms", revision=revision, status=status
        )
