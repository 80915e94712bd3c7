"""First steps on an empty site: somebody who runs it, a realm, its owner, a connection; which are done."""

from __future__ import annotations

from functools import cached_property
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.entering import able
from accounts.models import Principal, User
from authzsite.console.accounts import site_admins
from authzsite.console.herd.steps import DONE, NEXT, OPEN, Step
from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Note, Reason
from authzsite.console.kit.http import Request, asker_of
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.settings.realms import every_root
from authzsite.console.sync.connections.views import address
from catalog.nodes import Node
from policies.models import Backend, Ownership
from policies.services.grants import revision_now


class First:
    """How far a new site is.  A handful of queries, however large it has grown."""

    def __init__(self, asker: Principal):
        self.asker = asker

    @cached_property
    def admins(self) -> list[Principal]:
        """The site admins who can sign in."""
        rows = Principal.objects.filter(kind="user", name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
        principals = list(rows.order_by("display_name", "name"))
        able_people = able([item.pk for item in principals])
        return [item for item in principals if item.pk in able_people]

    @cached_property
    def roots(self) -> list[Node]:
        return every_root()

    @cached_property
    def owners(self) -> dict[int, Principal]:
        """Who owns each realm."""
        keys = [root.id for root in self.roots]
        rows = Ownership.objects.open().filter(securable__in=keys).select_related("owner")
        return {row.securable_id: row.owner for row in rows}

    @cached_property
    def orphan(self) -> Node | None:
        """A realm whose owner cannot come in."""
        able_people = able({owner.pk for owner in self.owners.values()})
        kept = {key for key, owner in self.owners.items() if owner.pk in able_people}
        return next((root for root in self.roots if root.id not in kept), None)

    @cached_property
    def connected(self) -> bool:
        return Backend.objects.exists()

    @property
    def done(self) -> bool:
        return bool(self.roots) and self.orphan is None and self._needs_nothing

    @property
    def _needs_nothing(self) -> bool:
        """A connection is there, or no realm has catalogs to connect."""
        return self.connected or all(root.type != "metalake" for root in self.roots)

    def steps(self) -> list[Step]:
        has_realm = bool(self.roots)
        facts = (True, has_realm, has_realm and self.orphan is None, has_realm and self._needs_nothing)
        states = [DONE if fact else OPEN for fact in facts]
        if OPEN in states:
            states[states.index(OPEN)] = NEXT
        making = (self._admin, self._realm, self._owner, self._connection)
        return [make(state) for make, state in zip(making, states, strict=True)]

    def _admin(self, state: str) -> Step:
        names = words.listed([admin.label for admin in self.admins])
        text = ngettext(
            "%(names)s runs it. A second one helps when the first is away.",
            "%(names)s run it.",
            len(self.admins),
        )
        return Step(_("Site admins are set up"), state, text % {"names": names})

    def _realm(self, state: str) -> Step:
        title = _("Create the first realm")
        if state == DONE:
            return Step(title, state, f"{words.listed([root.name for root in self.roots], 3)}.")
        text = _("A metalake, a Herd or a CDAP instance: one governed area, with an owner.")
        return Step(title, state, text, Action(_("Create a realm"), reverse("console:realm_new"), "primary"))

    def _owner(self, state: str) -> Step:
        title, orphan = _("Give its owner an account"), self.orphan
        if state == DONE:
            names = dict.fromkeys(terms.principal_name(owner) for owner in self.owners.values())
            return Step(title, state, _("%(names)s can sign in.") % {"names": words.listed(list(names), 3)})
        if orphan is None:
            return Step(
                title, state, _("The owner decides everything in the realm; create an account for them.")
            )
        who = self.owners.get(orphan.id)
        name = who.name if who else _("Nobody")
        account = User.objects.filter(principal=who).first() if who else None
        text = _("%(name)s owns %(name2)s and cannot sign in yet.") % {"name": name, "name2": orphan.name}
        new = f"{reverse('console:account_new')}?{urlencode({'name': who.name})}" if who else ""
        url = (
            reverse("console:account", args=[account.pk])
            if account
            else new or reverse("console:account_new")
        )
        return Step(title, state, text, Action(_("Create an account"), url, "primary"))

    def _connection(self, state: str) -> Step:
        title = _("Connect the first catalog")
        if state == DONE:
            text = _("Done.") if self.connected else _("There are no catalogs to connect here.")
            return Step(title, state, text)
        text = _("A database whose rights follow the decisions here; it is tested before it is saved.")
        root = next((item for item in self.roots if item.type == "metalake"), None)
        if state != NEXT or root is None:
            return Step(title, state, text)
        owner = self.owners.get(root.id)
        if owner == self.asker:
            return Step(title, state, text, Action(_("Connect a catalog"), address(root), "primary"))
        why = (
            _("This is for %(name)s, who owns %(name2)s.")
            % {"name": terms.principal_name(owner), "name2": root.name}
            if owner
            else _("Nobody owns %(name)s yet. Name an owner first.") % {"name": root.name}
        )
        return Step(title, state, text, reason=Reason("why-not-connect", why))


def note(asker: Principal) -> Note | None:
    """A word on Home while a site is new, for who runs it."""
    first = First(asker)
    if first.done:
        return None
    undone = sum(step.state != DONE for step in first.steps())
    text = _("%(undone)s left until its data is looked after.") % {"undone": words.count(undone, "step")}
    return Note("warn", _("This site is new."), text, reverse("console:first"), _("See the steps"))


@reads
@login_required
def first_steps_page(request: Request) -> HttpResponse:
    """The four steps, for who runs the site."""
    if not site_admins.may(request):
        back = reverse("console:home")
        return site_admins.refused(request, _("You cannot set up this site"), back=back, back_words=_("Home"))
    first = First(asker_of(request))
    context = {
        "heading": _("First steps"),
        "lead": _("From an empty site to data with owners."),
        "steps": first.steps(),
        "done": first.done,
    }
    return page(request, "console/home/first_steps.html", context, section="realms", revision=revision_now())
