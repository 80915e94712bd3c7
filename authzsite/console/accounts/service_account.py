"""A service account: who answers for it, its tokens, whether it is enabled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from accounts.entering import able
from accounts.models import Keeping, Principal, Token, User
from authzsite.console.accounts import site_admins, tokens
from authzsite.console.accounts.admin_change import AdminChangeView, PrincipalForm, closing
from authzsite.console.accounts.tokens import RotateForm, TokenForm
from authzsite.console.accounts.views import service_state
from authzsite.console.history import timeline
from authzsite.console.kit import step_up
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.change_view import Plan
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Crumbs, Diff, DiffLine, Fact, Facts, Reason
from authzsite.console.kit.forms import ConfirmForm, TextField
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads_and_writes
from authzsite.console.kit.page import page, say
from authzsite.console.kit.replay import Proposal
from policies.authority import Actor
from policies.decisions import site_permissions
from policies.record import history
from policies.services import accounts
from policies.services.grants import revision_now

ADMIN = "why-not-admin"
KEEPERS = ("user", "group")


@dataclass(frozen=True)
class ServiceAccess:
    """A service account as one of its keepers, or a site admin, sees it."""

    service: Principal
    asker: Principal

    @cached_property
    def keeper(self) -> Principal | None:
        row = Keeping.objects.open().filter(service=self.service).select_related("keeper").first()
        return row.keeper if row else None

    @cached_property
    def enabled(self) -> bool:
        return not User.objects.filter(principal=self.service, is_active=False).exists()

    @cached_property
    def answered(self) -> bool:
        return self.keeper is not None and self.keeper.pk in able([self.keeper.pk])

    @cached_property
    def runs_the_site(self) -> bool:
        return bool(site_permissions.ask_admin(self.asker))

    def actions(self) -> list[Action]:
        number, locked = [self.service.pk], "" if self.runs_the_site else ADMIN
        links = [
            Action(_("Its access"), reverse("console:person", args=number), "plain"),
            Action(
                _("Set who is responsible"), reverse("console:service_keeper", args=number), reason=locked
            ),
        ]
        if self.enabled:
            url = reverse("console:service_disable", args=number)
            links.append(Action(_("Disable"), url, "danger", reason=locked))
        return links

    def facts(self) -> Facts:
        keeper = self.keeper
        url = reverse("console:person", args=[keeper.pk]) if keeper else ""
        note = _("can no longer sign in") if keeper and not self.answered else ""
        return Facts(
            (
                Fact(_("State"), state=service_state(enabled=self.enabled, answered=self.answered)),
                Fact(_("Responsible"), keeper.label if keeper else _("Nobody"), url, note),
                Fact(_("Last used"), self.used),
            )
        )

    @cached_property
    def last_used(self) -> datetime | None:
        rows = Token.objects.filter(principal=self.service, last_used__isnull=False).order_by("-last_used")
        return rows.values_list("last_used", flat=True).first()

    @property
    def used(self) -> str:
        return words.ago(self.last_used) if self.last_used else _("Never")


def _service(request: Request, id: int) -> ServiceAccess:
    """The service account; not found for who neither keeps it nor runs the site."""
    asker = asker_of(request)
    service = Principal.objects.filter(pk=id, kind=Principal.Kind.SERVICE).first()
    if service is None or not site_permissions.ask_keeper(asker, service):
        raise Http404
    return ServiceAccess(service, asker)


@never_cache
@reads_and_writes
@login_required
def service_detail(request: Request, id: int) -> HttpResponse:
    """Its tokens, made and taken back here; enabling it again is a button too."""
    kept = _service(request, id)
    if request.method != "POST":
        return _show(request, kept, TokenForm(), rotation=RotateForm.asked(request.GET))
    actor, do = Actor(kept.asker, "console"), request.POST.get("do", "")
    if do == "token":
        if answer := step_up.asked(request):
            return answer
        form = TokenForm(request.POST)
        form.full_clean()
        if not kept.enabled:
            form.add_error("scope", _("It is disabled, so a token would not work."))
        made = form.make(kept.service, by=actor)
        return _show(request, kept, TokenForm(made=made) if made else form, 200 if made else 422)
    if do == "rotate":
        if answer := step_up.asked(request):
            return answer
        made, wrong = RotateForm.sent(request.POST).rotate(kept.service, by=actor)
        if made:
            return _show(request, kept, TokenForm(made=made))
        say(request, wrong)
    if do == "revoke":
        say(request, tokens.revoke(request.POST, kept.service, by=actor))
    if do == "enable" and kept.runs_the_site:
        account = accounts.of_service(kept.service)
        accounts.open_again(account, by=actor, authority=site_permissions.of_admin(actor))
        say(request, _("%(label)s is enabled; its tokens work again") % {"label": kept.service.label})
    return redirect("console:service", id=id)


def _show(
    request: Request,
    kept: ServiceAccess,
    form: TokenForm,
    status: int = 200,
    rotation: RotateForm | None = None,
) -> HttpResponse:
    service = kept.service
    seen = history.sight(kept.asker, [])
    latest = history.page(history.Filter(person=service), seen, limit=5).entries
    text = _("Only a site admin can create, disable or hand over a service account. %(admin_names)s") % {
        "admin_names": site_admins.admin_names()
    }
    context = {
        "crumbs": Crumbs(((_("Accounts"), reverse("console:accounts")),) if kept.runs_the_site else ()),
        "heading": service.label,
        "kind": _("Service account"),
        "lead": _("A program that acts under its own name, with its own rights."),
        "actions": kept.actions(),
        "facts": kept.facts(),
        "reason": None if kept.runs_the_site else Reason(ADMIN, text),
        "kept": kept,
        "latest": timeline.timeline(timeline.rows(latest)[:8]),
        **tokens.shown(service, form, who=_("this account"), may=True, rotation=rotation),
    }
    revision = revision_now()
    return page(
        request,
        "console/accounts/service.html",
        context,
        section="accounts",
        revision=revision,
        status=status,
    )


# Making, naming who answers


class AnsweringView(AdminChangeView):
    """A change of who answers for a service account."""

    template_name = "console/kit/planned.html"
    looks_first = True
    empty = gettext_lazy("Enter a person or a group. A group stays when people leave.")

    def plan(self, form: PrincipalForm) -> Plan:
        if not form["who"].chosen:
            return Plan(empty=self.empty)
        return Plan(diff=Diff(tuple(self._effects(form["who"].chosen[0], *self.service(form)))))

    def service(self, form: PrincipalForm) -> tuple[str, Principal | None]:
        """What it is called, and who answers for it now."""
        raise NotImplementedError

    def _effects(self, new: Principal, name: str, before: Principal | None) -> Iterable[DiffLine]:
        if before == new:
            yield DiffLine("same", new.label, _("is responsible for %(name)s already") % {"name": name})
            return
        if before is not None:
            yield DiffLine("lose", before.label, _("is no longer responsible for %(name)s") % {"name": name})
        yield DiffLine(
            "gain",
            new.label,
            _("is responsible for %(name)s") % {"name": name},
            _("Creates and revokes its tokens."),
        )


class NewServiceForm(PrincipalForm):
    """A name, and who answers for it."""

    name = TextField(
        label=gettext_lazy("Name of the service account"),
        error_messages={"required": gettext_lazy("Enter a name.")},
    )

    field_order = ("name", "who", "reason")


class NewServiceView(AnsweringView):
    """A name, and who answers for it."""

    empty = gettext_lazy("Enter a person, or a group whose members create its tokens.")

    def make_form(self, data: Any) -> NewServiceForm:
        nobody = _("No person has that name. Create the account first.")
        return NewServiceForm(data, kinds=KEEPERS, nobody=nobody)

    def service(self, form: PrincipalForm) -> tuple[str, Principal | None]:
        return form.cleaned_data.get("name") or "it", None

    def save(self, form: NewServiceForm, actor: Actor) -> Principal:
        (keeper,), reason = form.cleaned_data["who"], form.cleaned_data["reason"]
        authority, name = site_permissions.of_admin(actor), form.cleaned_data["name"]
        return accounts.make_service(name, keeper, by=actor, authority=authority, reason=reason)

    def success_message(self, form: NewServiceForm) -> str:
        return _("Service account %(cleaned_data)s is created; it has no token yet") % {
            "cleaned_data": form.cleaned_data["name"]
        }

    def get_success_url(self) -> str:
        return reverse("console:service", args=[self.result.pk]) if self.result else self.back()

    def heading(self, form: NewServiceForm) -> str:
        return _("Create a service account")

    def lead(self) -> str:
        return _(
            "A program that acts under its own name. Prefer a group as keeper: a group stays when people "
            "leave."
        )

    def button(self, form: NewServiceForm) -> str:
        name = form.cleaned_data.get("name")
        return _("Create %(name)s") % {"name": name} if name else _("Create it")

    def back(self) -> str:
        return reverse("console:accounts")


class KeeperView(AnsweringView):
    """Who answers for it from now on."""

    def get_object(self) -> ServiceAccess:
        return _service(self.request, self.kwargs["id"])

    def make_form(self, data: Any) -> PrincipalForm:
        return PrincipalForm(data, kinds=KEEPERS, nobody=_("No person has that name."))

    def service(self, form: PrincipalForm) -> tuple[str, Principal | None]:
        return self.object.service.label, self.object.keeper

    def save(self, form: PrincipalForm, actor: Actor) -> None:
        (keeper,), reason = form.cleaned_data["who"], form.cleaned_data["reason"]
        authority = site_permissions.of_admin(actor)
        accounts.set_keeper(self.object.service, keeper, by=actor, authority=authority, reason=reason)

    def success_message(self, form: PrincipalForm) -> str:
        return _("%(label)s is responsible for %(label2)s") % {
            "label": form.cleaned_data["who"][0].label,
            "label2": self.object.service.label,
        }

    def heading(self, form: PrincipalForm) -> str:
        return _("Who is responsible for %(label)s") % {"label": self.object.service.label}

    def lead(self) -> str:
        return _("Its keeper makes the tokens of a service account and is responsible for what it does.")

    def button(self, form: PrincipalForm) -> str:
        chosen = form["who"].chosen
        return (
            _("Make %(chosen)s responsible") % {"chosen": terms.principal_name(chosen[0])}
            if chosen
            else _("Set who is responsible")
        )

    def back(self) -> str:
        return reverse("console:service", args=[self.object.service.pk])


# Disabling


class DisableServiceView(AdminChangeView):
    """Which tokens open nothing any more, and what would no longer be read by it; then it is done."""

    form_class = ConfirmForm
    template_name = "console/kit/confirm.html"
    shows_all_uses = True

    def get_object(self) -> ServiceAccess:
        return _service(self.request, self.kwargs["id"])

    def plan(self, form: ConfirmForm) -> Plan:
        service = self.object.service
        many = Token.objects.filter(principal=service, revoked__isnull=True).count()
        opened = words.count(many, "token") if many else _("no token")
        return Plan(
            diff=Diff(
                (
                    DiffLine(
                        "lose",
                        service.label,
                        _("cannot use this console while it is disabled; it has %(opened)s")
                        % {"opened": opened},
                        _("Last used %(used)s.") % {"used": self.object.used}
                        if self.object.last_used
                        else _("Never used."),
                    ),
                    DiffLine(
                        "same",
                        service.label,
                        _("keeps its access"),
                        _("Backends in which it has a login still let it in, until an owner revokes that."),
                    ),
                )
            )
        )

    def proposals(self, form: ConfirmForm) -> Iterable[Proposal]:
        return closing(self.object.service, self.asker)

    def save(self, form: ConfirmForm, actor: Actor) -> None:
        account, authority = accounts.of_service(self.object.service), site_permissions.of_admin(actor)
        accounts.close(account, by=actor, authority=authority, reason=form.cleaned_data["reason"])

    def success_message(self, form: ConfirmForm) -> str:
        return _("%(label)s is disabled; its tokens no longer work") % {"label": self.object.service.label}

    def heading(self, form: ConfirmForm) -> str:
        return _("Disable %(name)s?") % {"name": self.object.service.label}

    def lead(self) -> str:
        return _("Programs that use it stop working at their next call.")

    def button(self, form: ConfirmForm) -> str:
        return _("Disable %(label)s") % {"label": self.object.service.label}

    def back(self) -> str:
        return reverse("console:service", args=[self.object.service.pk])
