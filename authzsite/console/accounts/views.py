"""Accounts: who can sign in and which programs act here, for the site's site admins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.entering import able
from accounts.models import Keeping, Principal, Token, User
from accounts.text import holdable
from authzsite.console.accounts import site_admins
from authzsite.console.accounts.admin_change import AdminChangeView
from authzsite.console.kit.auth import View, login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.keyset import KeysetPage, keyset_page, page_bounds
from authzsite.console.kit.display.lists import Toggle
from authzsite.console.kit.display.parts import Action, Empty, Face, State, Who
from authzsite.console.kit.forms import ConsoleForm, ReasonField, TextField
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.decisions.site import locked_out_realms
from policies.services import accounts
from policies.services.grants import revision_now

LISTED = 50
KINDS = (
    ("", gettext_lazy("People")),
    ("disabled", gettext_lazy("Disabled")),
    ("unbound", gettext_lazy("Not linked")),
    ("services", gettext_lazy("Service accounts")),
    ("unkept", gettext_lazy("Nobody is responsible")),
)


@dataclass(frozen=True)
class AccountRow:
    who: Who
    acts_as: str
    used: str
    tokens: str
    state: State


def admin_only(view: View) -> View:
    """Let in site admins; tell everybody else who they are."""

    @wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not site_admins.may(request):
            back = reverse("console:profile")
            return site_admins.refused(
                request, _("You cannot manage accounts"), back=back, back_words=_("Your own settings")
            )
        return view(request, *args, **kwargs)

    return guarded


# The list


@reads
@login_required
@admin_only
def account_list(request: Request) -> HttpResponse:
    """Accounts by name; who runs the site; realms that nobody can run any more."""
    text, kind = asked_in(request)
    after = number_in(request.GET.get("after", ""))
    account_page = _page(kind, text, after)
    rows = _lines(account_page, kind)
    context = {
        "heading": _("Accounts"),
        "lead": _("People who can sign in, and programs with their own accounts."),
        "actions": [
            Action(_("Create a service account"), reverse("console:service_new")),
            Action(_("Create an account"), reverse("console:account_new"), "primary"),
        ],
        "asked": text,
        "kind": kind,
        "toggles": _toggles(kind, text),
        "rows": rows,
        "pager": account_page.pager(
            page_bounds(rows[0].who.name, rows[-1].who.name) if rows else "",
            lambda after: _url(text, kind, after),
            reverse("console:accounts_csv") + _url(text, kind),
        ),
        "empty": Empty(_("No account fits"), drawn=False, actions=(Action(_("Show all"), "?"),)),
        "admins": _admins(),
        "repairs": _repairs(),
    }
    return page(request, "console/accounts/list.html", context, section="accounts", revision=revision_now())


def asked_in(request: Request) -> tuple[str, str]:
    """The text their names are to hold, and which of them."""
    kind = request.GET.get("kind", "")
    return request.GET.get("q", "").strip()[:255], kind if kind in dict(KINDS) else ""


def _url(text: str, kind: str, after: int = 0) -> str:
    query = {"q": text, "kind": kind, "after": after}
    return "?" + urlencode({name: value for name, value in query.items() if value})


def _people(text: str) -> QuerySet[User]:
    rows = User.objects.exclude(principal__kind=Principal.Kind.SERVICE)
    if not holdable(text):
        return rows.none()
    wanted = Q(username__icontains=text) | Q(principal__display_name__icontains=text)
    return rows.filter(wanted) if text else rows


def _services(text: str) -> QuerySet[Principal]:
    rows = Principal.objects.filter(kind=Principal.Kind.SERVICE)
    return rows.filter(name__icontains=text) if holdable(text) else rows.none()


def _unkept(rows: QuerySet[Principal]) -> QuerySet[Principal]:
    """Those for whom nobody answers who can still sign in."""
    kept = dict(Keeping.objects.open().values_list("service", "keeper"))
    able_people = able(set(kept.values()))
    return rows.exclude(pk__in=[service for service, keeper in kept.items() if keeper in able_people])


def _toggles(kind: str, text: str) -> tuple[Toggle, ...]:
    people, services = _people(text), _services(text)
    some = people.aggregate(
        all=Count("pk"),
        disabled=Count("pk", filter=Q(is_active=False)),
        unbound=Count("pk", filter=Q(principal__isnull=True)),
    )
    counts = {
        "": some["all"],
        "disabled": some["disabled"],
        "unbound": some["unbound"],
        "services": services.count(),
        "unkept": _unkept(services).count(),
    }
    return tuple(
        Toggle(word, _url(text, code), code == kind, words.number(counts[code]))
        for code, word in KINDS
        if counts[code] or code in ("", kind)
    )


def people_of(kind: str, text: str) -> QuerySet[Any]:
    """The accounts of people of a kind, with whom they are and whether a token of theirs is good."""
    rows = _people(text).select_related("principal")
    rows = rows.filter(is_active=False) if kind == "disabled" else rows
    rows = rows.filter(principal__isnull=True) if kind == "unbound" else rows
    return rows.annotate(tokens=_tokens("principal"))


def services_of(kind: str, text: str) -> QuerySet[Principal] | None:
    """The service accounts of a kind; None for a kind of people."""
    if kind not in ("services", "unkept"):
        return None
    return _services(text) if kind == "services" else _unkept(_services(text))


def _page(kind: str, text: str, after: int | None) -> KeysetPage[Any]:
    """One page of the accounts of people, or of service accounts."""
    services = services_of(kind, text)
    if services is not None:
        return keyset_page(services, ("name",), after, LISTED)
    return keyset_page(people_of(kind, text), ("username",), after, LISTED)


def _lines(account_page: KeysetPage[Any], kind: str) -> list[AccountRow]:
    if kind in ("services", "unkept"):
        return _service_lines(account_page.rows)
    return [_person_line(row) for row in account_page.rows]


def _tokens(principal: str) -> Exists:
    good = Q(expires__isnull=True) | Q(expires__gt=timezone.now())
    rows = Token.objects.filter(good, principal=OuterRef(principal), revoked__isnull=True, run="")
    return Exists(rows)


def _person_line(row: Any) -> AccountRow:
    url = reverse("console:account", args=[row.pk])
    name = row.principal.label if row.principal else row.username
    who = Who(name, Face("person", words.initials(name)), row.username, url)
    used = words.moment(row.last_login) if row.last_login else _("Never")
    acts = str(row.principal) if row.principal else _("Nobody")
    return AccountRow(who, acts, used, _("Yes") if row.tokens else _("None"), state_of(row))


def state_of(account: User) -> State:
    """Whether one can sign in with it, as a mark and a word."""
    if not account.is_active:
        return State("paused", _("Disabled"))
    if account.principal_id is None:
        return State("unknown", _("Not linked"))
    return (
        State("ok", _("Enabled")) if account.has_usable_password() else State("unknown", _("No password yet"))
    )


@dataclass(frozen=True)
class Program:
    """A service account, with who answers for it, and whether a token of its own is good."""

    row: Principal
    keeper: Principal | None
    tokens: bool
    state: State


def programs(rows: list[Principal]) -> list[Program]:
    """What is to be said of service accounts.  Four queries."""
    numbers = [row.pk for row in rows]
    kept = Keeping.objects.open().filter(service__in=numbers).select_related("keeper")
    keepers = {row.service_id: row.keeper for row in kept}
    closed = set(
        User.objects.filter(principal__in=numbers, is_active=False).values_list("principal", flat=True)
    )
    good = set(Principal.objects.filter(_tokens("pk"), pk__in=numbers).values_list("pk", flat=True))
    able_people = able({item.pk for item in keepers.values()})
    programs_ = []
    for row in rows:
        keeper = keepers.get(row.pk)
        answered = keeper is not None and keeper.pk in able_people
        state = service_state(enabled=row.pk not in closed, answered=answered)
        programs_.append(Program(row, keeper, row.pk in good, state))
    return programs_


def _service_lines(rows: list[Principal]) -> list[AccountRow]:
    lines = []
    for program in programs(rows):
        who = terms.who(program.row, _("service account"), reverse("console:service", args=[program.row.pk]))
        keeper = program.keeper.label if program.keeper else _("Nobody")
        lines.append(AccountRow(who, keeper, "", _("Yes") if program.tokens else _("None"), program.state))
    return lines


def service_state(*, enabled: bool, answered: bool) -> State:
    """Whether a service account acts, and whether somebody answers for what it does."""
    if not enabled:
        return State("paused", _("Disabled"))
    return State("ok", _("Enabled")) if answered else State("failed", _("Nobody is responsible for it"))


def _admins() -> list[dict[str, Any]]:
    """Each name in the variable, with what is known of it."""
    admins = {item.name: item for item in site_admins.named()}
    rows = User.objects.filter(username__in=admins).select_related("principal")
    accounts_ = {row.username: row for row in rows}
    admin_rows = []
    for name in sorted(settings.LAKEWARDEN_SERVICE_ADMINS):
        account, principal = accounts_.get(name), admins.get(name)
        url = reverse("console:account", args=[account.pk]) if account else ""
        face = Face("person", words.initials(principal.label if principal else name))
        state = state_of(account) if account else State("unknown", _("No account of that name"))
        admin_rows.append(
            {"who": Who(principal.label if principal else name, face, name, url), "state": state}
        )
    return admin_rows


def _repairs() -> list[dict[str, Any]]:
    return [
        {
            "who": Who(
                root.name,
                Face("thing", "lake"),
                _("owned by %(label)s, who cannot sign in") % {"label": owner.label},
            ),
            "how": "",
            "ends": None,
            "action": Action(
                _("Set another owner"),
                reverse("console:realm_repair", args=[root.id]),
                "mini",
                more=_("of %(name)s") % {"name": root.name},
            ),
        }
        for root, owner in locked_out_realms()
    ]


# Making


class NewAccountForm(ConsoleForm):
    """A name to sign in with and the name people know."""

    name = TextField(
        label=gettext_lazy("Name to sign in with"),
        max_length=150,
        help_text=gettext_lazy(
            "It cannot be changed later. Access that realms gave to this user name will apply."
        ),
        error_messages={"required": gettext_lazy("A name must have 1 to 255 characters.")},
    )
    display_name = TextField(
        label=gettext_lazy("Name that people know"),
        required=False,
        help_text=gettext_lazy("Optional, such as Ana Analyst."),
    )
    reason = ReasonField()


class NewAccountView(AdminChangeView):
    """An account; then the link by which its owner sets a password."""

    form_class = NewAccountForm
    not_saved = gettext_lazy("Not created.")

    def save(self, form: NewAccountForm, actor: Actor) -> User:
        authority, typed = site_permissions.of_admin(actor), form.cleaned_data
        return accounts.make_person(
            typed["name"], typed["display_name"], by=actor, authority=authority, reason=typed["reason"]
        )

    def success_message(self, form: NewAccountForm) -> str:
        return _("Account %(cleaned_data)s is created; it has no password yet") % {
            "cleaned_data": form.cleaned_data["name"]
        }

    def get_success_url(self) -> str:
        return reverse("console:account", args=[self.result.pk]) if self.result else self.back()

    def heading(self, form: NewAccountForm) -> str:
        return _("Create an account")

    def button(self, form: NewAccountForm) -> str:
        return _("Create the account")

    def back(self) -> str:
        return reverse("console:accounts")
