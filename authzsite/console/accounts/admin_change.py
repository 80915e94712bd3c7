"""Changes that only site admins make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Principal
from authzsite.console.accounts import site_admins
from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.forms import REASON_HELP, ConsoleForm, PrincipalField, ReasonField
from authzsite.console.kit.page import page
from authzsite.console.kit.replay import Proposal
from policies.decisions.lookups.visible_objects import realms_of
from policies.decisions.site import named
from policies.record import access_log
from policies.simulation.changes import CloseAccount


class AdminChangeView(ChangeView):
    """Lets in site admins, and tells everybody else who they are."""

    section = "accounts"
    cannot = gettext_lazy("You cannot manage accounts")

    def site_refusal(self) -> HttpResponse | None:
        if site_admins.may(self.request):
            return None
        url, text = self.way_back()
        return site_admins.refused(self.request, str(self.cannot), back=url, back_words=text)

    def way_back(self) -> tuple[str, str]:
        """Where somebody who is not let in goes on: an address and its words."""
        return reverse("console:profile"), _("Your own settings")

    def may_undo(self) -> bool:
        return False

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(self.request, self.template_name, context, section=self.section, status=status)


class PrincipalForm(ConsoleForm):
    """One person or group of the site, and why."""

    who = PrincipalField(at_most=1)
    reason = ReasonField(help_text=REASON_HELP)

    def __init__(self, data: Any = None, *, kinds: Sequence[str], nobody: str, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["who"].search = lambda text: named(kinds, text)
        self.fields["who"].nobody = nobody


def closing(service: Principal, asker: Principal) -> Iterator[Proposal]:
    """What disabling a service account takes from the jobs that ask by it, in each realm that it is in.

    That its uses were looked at is recorded, realm by realm.
    """
    for root in realms_of(service):
        access_log.looked(asker, f"access of {service.pseudonym}", root, via="console")
        yield root, [CloseAccount(service)]
