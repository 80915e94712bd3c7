"""One account: whose it is, whether it is open, its password link, its sessions; disabling it, binding it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.auth.tokens import default_token_generator
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache

from accounts import sessions
from accounts.models import Keeping, Membership, Principal, Token, User
from authzsite.console.accounts.admin_change import AdminChangeView, PrincipalForm
from authzsite.console.accounts.views import admin_only, state_of
from authzsite.console.history import timeline
from authzsite.console.kit import step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Fact, Facts, Note, Reason
from authzsite.console.kit.forms import ConfirmForm
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from catalog.nodes import nodes
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.models import Assignment, Grant, Ownership
from policies.record import history
from policies.services import accounts
from policies.services.grants import revision_now

OWN = "why-own"
DAYS = 3


def _account(id: int) -> User:
    """A person's account; that of a service account has a page of its own."""
    rows = User.objects.exclude(principal__kind=Principal.Kind.SERVICE).select_related("principal")
    user = rows.filter(pk=id).first()
    if user is None:
        raise Http404
    return user


@never_cache
@reads_and_writes
@login_required
@admin_only
def account_detail(request: Request, id: int) -> HttpResponse:
    """What it is; enabling it again and making a link to set a password are buttons here."""
    account = _account(id)
    if request.method != "POST":
        return _show(request, account)
    actor, do = Actor(asker_of(request), "console"), request.POST.get("do", "")
    if do == "link":
        if answer := step_up.asked(request):
            return answer
        accounts.begin_password(account, by=actor, authority=site_permissions.of_admin(actor))
        return _show(request, account, link=_link(request, account))
    if do == "enable" and accounts.open_again(account, by=actor, authority=site_permissions.of_admin(actor)):
        say(request, _("%(username)s can sign in again") % {"username": account.username})
    return redirect("console:account", id=id)


def _link(request: Request, account: User) -> str:
    number = urlsafe_base64_encode(force_bytes(account.pk))
    token = default_token_generator.make_token(account)
    return request.build_absolute_uri(reverse("console:welcome", args=[number, token]))


def _show(request: Request, account: User, link: str = "") -> HttpResponse:
    principal, own = account.principal, account.pk == request.user.pk
    places = sessions.of(account)
    latest = (
        history.page(history.Filter(person=principal), history.sight(asker_of(request), []), limit=5).entries
        if principal
        else ()
    )
    context = {
        "crumbs": Crumbs(((_("Accounts"), reverse("console:accounts")),)),
        "heading": account.username,
        "kind": _("Account"),
        "lead": _("Signs in as %(label)s.") % {"label": principal.label}
        if principal
        else _("Not linked to a person: it can do nothing yet."),
        "actions": _actions(account, own=own),
        "facts": _facts(account, len(places)),
        "reason": Reason(OWN, _("Nobody can disable their own account; another site admin can."))
        if own
        else None,
        "account": account,
        "link": link,
        "link_note": Note("warn", _("Copy the link now and hand it over."), _LINK_WORDS),
        "person_url": reverse("console:person", args=[principal.pk]) if principal else "",
        "latest": timeline.timeline(timeline.rows(latest)[:8]),
    }
    return page(
        request, "console/accounts/account.html", context, section="accounts", revision=revision_now()
    )


_LINK_WORDS = format_lazy(
    gettext_lazy(
        "It is shown only now, works once within {days} days, and signs in anyone who has it as this person."
    ),
    days=DAYS,
)


def _actions(account: User, *, own: bool) -> list[Action]:
    bind = Action(_("Link to a person"), reverse("console:account_bind", args=[account.pk]))
    if not account.is_active:
        return [bind]
    disable = reverse("console:account_disable", args=[account.pk])
    return [bind, Action(_("Disable"), disable, "danger", reason=OWN if own else "")]


def _facts(account: User, places: int) -> Facts:
    principal = account.principal
    tokens = (
        Token.objects.filter(principal=principal, revoked__isnull=True, run="").count() if principal else 0
    )
    url = reverse("console:person", args=[principal.pk]) if principal else ""
    rows = [
        Fact(_("State"), state=state_of(account)),
        Fact(_("Acts as"), str(principal) if principal else _("Nobody"), url),
        Fact(_("Last sign-in"), words.moment(account.last_login) if account.last_login else _("Never")),
        Fact(_("Signed in"), words.count(places, "browser") if places else _("Nowhere")),
        Fact(_("Tokens"), words.count(tokens, "token") if tokens else _("None")),
    ]
    return Facts(tuple(rows))


# Disabling


@dataclass(frozen=True)
class AccountClosing:
    """What disabling an account leaves behind."""

    account: User

    @cached_property
    def owned(self) -> list[str]:
        rows = Ownership.objects.open().filter(owner=self.account.principal)
        places = nodes(rows.values_list("securable", flat=True))
        return sorted(node.ref.id for node in places.values())

    @cached_property
    def kept(self) -> list[Principal]:
        """The service accounts that this person alone answers for."""
        rows = Keeping.objects.open().filter(keeper=self.account.principal).select_related("service")
        return [row.service for row in rows.order_by("service__name")]

    @cached_property
    def tokens(self) -> int:
        return Token.objects.filter(principal=self.account.principal, revoked__isnull=True).count()

    @cached_property
    def groups(self) -> list[str]:
        rows = Membership.objects.open().filter(member=self.account.principal).select_related("group")
        return sorted(row.group.label for row in rows)

    @cached_property
    def has_access(self) -> bool:
        """Whether anything was given to them or to a group of theirs, or is theirs."""
        person = self.account.principal
        groups = Membership.objects.open().filter(member=person).values("group")
        theirs = Q(holder=person) | Q(holder__in=groups)
        given = (rows.objects.open().filter(theirs).exists() for rows in (Assignment, Grant))
        return any(given) or Ownership.objects.open().filter(Q(owner=person) | Q(owner__in=groups)).exists()

    def lines(self) -> Iterable[DiffLine]:
        principal = self.account.principal
        name, places = principal.label if principal else self.account.username, len(sessions.of(self.account))
        text = (
            _("can no longer sign in and is signed out in %(places)s")
            if places
            else _("can no longer sign in")
        )
        yield DiffLine("lose", name, text % {"places": words.count(places, "browser")})
        if principal is not None:
            yield from self._left(name)

    def _left(self, name: str) -> Iterable[DiffLine]:
        if self.tokens:
            many = words.count(self.tokens, "token")
            yield DiffLine(
                "lose",
                name,
                _("has %(many)s that do not work while the account is disabled") % {"many": many},
            )
        if self.owned:
            what = words.count(len(self.owned), "object")
            text = _("still owns %(what)s; nobody can act as its owner") % {"what": what}
            yield DiffLine("same", name, text, words.listed(self.owned, 6))
        for service in self.kept:
            text = _("goes on; nobody is responsible for it")
            yield DiffLine("same", service.label, text, _("Enter another, or disable it."))
        if self.groups:
            yield DiffLine("same", name, _("stays in %(groups)s") % {"groups": words.listed(self.groups, 6)})
        if self.has_access:
            yield DiffLine(
                "same",
                name,
                _("keeps access outside this console"),
                _(
                    "Databases, files, Spark jobs and programs that ask Lakewarden still let them in. To "
                    "end that, an owner uses Leaving on the person's page."
                ),
                reverse("console:person", args=[self.account.principal_id]),
                _("Open the person's page"),
            )


class DisableAccountView(AdminChangeView):
    """What ends with it and what it leaves behind; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    not_saved = gettext_lazy("Not disabled.")

    def get_object(self) -> User:
        return _account(self.kwargs["id"])

    @cached_property
    def closing(self) -> AccountClosing:
        return AccountClosing(self.object)

    def plan(self, form: ConfirmForm) -> Plan:
        return Plan(diff=Diff(tuple(self.closing.lines())))

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        authority, reason = site_permissions.of_admin(actor), form.cleaned_data["reason"]
        accounts.close(self.object, by=actor, authority=authority, reason=reason)

    def success_message(self, form: ConfirmForm) -> str:
        many = len(self.closing.owned)
        text = (
            _("Account %(username)s is disabled; %(many)s wait for another owner")
            if many
            else _("Account %(username)s is disabled")
        )
        return text % {"username": self.object.username, "many": words.count(many, "object")}

    def heading(self, form: ConfirmForm) -> str:
        return _("Disable account %(name)s?") % {"name": self.object.username}

    def lead(self) -> str:
        return _("Its grants and its history stay.")

    def button(self, form: ConfirmForm) -> str:
        return _("Disable %(username)s") % {"username": self.object.username}

    def back(self) -> str:
        return reverse("console:account", args=[self.object.pk])


# Binding


class BindAccountView(AdminChangeView):
    """As whom it acts from now on; who used it is signed out."""

    steps_up = True
    template_name = "console/kit/planned.html"
    looks_first = True

    def get_object(self) -> User:
        return _account(self.kwargs["id"])

    def make_form(self, data: Any) -> PrincipalForm:
        return PrincipalForm(data, kinds=("user",), nobody=_("No person has that name yet."))

    def plan(self, form: PrincipalForm) -> Plan:
        if not form["who"].chosen:
            return Plan(empty=_("Enter the person. Access that realms granted to this name applies at once."))
        return Plan(diff=Diff(tuple(_bound(self.object, form["who"].chosen[0]))))

    def save(self, form: PrincipalForm, actor: Actor) -> None:
        (person,), reason = form.cleaned_data["who"], form.cleaned_data["reason"]
        authority = site_permissions.of_admin(actor)
        accounts.bind(self.object, person, by=actor, authority=authority, reason=reason)

    def success_message(self, form: PrincipalForm) -> str:
        return _("%(username)s now acts as %(label)s") % {
            "username": self.object.username,
            "label": form.cleaned_data["who"][0].label,
        }

    def heading(self, form: PrincipalForm) -> str:
        return _("Link account %(username)s") % {"username": self.object.username}

    def lead(self) -> str:
        return _("An account acts as one person; a person has one account.")

    def button(self, form: PrincipalForm) -> str:
        chosen = form["who"].chosen
        return _("Link to %(chosen)s") % {"chosen": terms.principal_name(chosen[0])} if chosen else _("Link")

    def back(self) -> str:
        return reverse("console:account", args=[self.object.pk])


def _bound(account: User, new: Principal) -> Iterable[DiffLine]:
    name, principal = account.username, account.principal
    if principal == new:
        yield DiffLine("same", name, _("acts as %(label)s already") % {"label": new.label})
        return
    if principal is not None:
        held = Token.objects.filter(principal=principal, revoked__isnull=True).count()
        revoked = ngettext(
            "%(held)s token of %(label)s is revoked.", "%(held)s tokens of %(label)s are revoked.", held
        ) % {"held": words.number(held), "label": principal.label}
        signed_out = _("It is signed out everywhere.")
        signed_out = f"{signed_out} {revoked}" if held else signed_out
        yield DiffLine(
            "lose", name, _("no longer acts as %(label)s") % {"label": principal.label}, signed_out
        )
    yield DiffLine(
        "gain",
        name,
        _("acts as %(label)s") % {"label": new.label},
        _("With everything that was granted to them."),
    )
