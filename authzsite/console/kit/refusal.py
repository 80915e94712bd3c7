"""A refusal in four parts: who cannot do what, all that is lacking, who can give it, the way to ask."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Action, Verdict
from authzsite.console.kit.http import Request
from authzsite.console.kit.page import page
from authzsite.console.objects.access import VIA, ObjectAccess
from authzsite.console.requests.links import ask
from authzsite.console.why.explanation import Words, verdict_text
from policies.decisions import ask as decisions_ask
from policies.decisions.lookups.visible_objects import owners_along
from policies.record import access_log

ASKABLE = ("read", "write", "use", "grant")
CANNOT = {
    "read": gettext_lazy("You cannot read %(name)s"),
    "write": gettext_lazy("You cannot write %(name)s"),
    "use": gettext_lazy("You cannot use %(name)s"),
    "grant": gettext_lazy("You cannot grant access to %(name)s"),
    "set_owner": gettext_lazy("You cannot set the owner of %(name)s"),
    "create_role": gettext_lazy("You cannot create roles in %(name)s"),
    "create_user": gettext_lazy("You cannot change the members of %(name)s"),
    "drop": gettext_lazy("You cannot delete %(name)s"),
    "account_permissions_mapping": gettext_lazy("You cannot see what others may do in %(name)s"),
    "account_permissions_mapping.get": gettext_lazy("You cannot see what others may do in %(name)s"),
    "Role.assignRole": gettext_lazy("You cannot assign the roles of %(name)s"),
}
OTHERWISE = gettext_lazy("You cannot do that with %(name)s")


def _asking(place: ObjectAccess, action: str) -> tuple[Action, ...]:
    """The way to ask, where what is refused can be asked for."""
    if action not in ASKABLE:
        return ()
    wanted = (place.node.type, place.node.ref.id, action)
    return (Action(_("Request access"), ask([wanted]), "primary"),)


def refused(request: Request, place: ObjectAccess, action: str) -> HttpResponse:
    """The page that says so, recorded; only its words when a part of a page had asked."""
    node = place.node
    answer = decisions_ask.answer(place.slice, action, node, now=place.now)
    access_log.refused(place.asker, answer.operation, node, via=VIA)
    explanation, speak = answer.explained(now=place.now), Words(place.asker, node, owners_along(node))
    heading = str(CANNOT.get(action, OTHERWISE)) % {"name": node.ref.full_name or node.name}
    givers = words.listed([terms.principal_name(giver) for giver in speak.givers(explanation.missing)])
    given = _("%(who)s can grant it.") % {"who": givers} if givers else ""
    text = f"{verdict_text(explanation, speak)} {given}".strip()
    if request.htmx:
        return render(request, "errors/part.html", {"heading": heading, "text": text}, status=403)
    query = {"who": str(place.asker), "action": action, "what": node.ref.id, "type": node.type}
    context = {
        "verdict": Verdict("no", heading, text, level=1),
        "actions": (
            *_asking(place, action),
            Action(_("See how this was decided"), f"{reverse('console:why')}?{urlencode(query)}"),
            Action(
                _("Back to %(name)s") % {"name": node.name},
                reverse("console:object", args=[node.id]),
                "plain",
            ),
        ),
    }
    return page(
        request,
        "errors/refused.html",
        context,
        section="catalog",
        realm=node.realm,
        revision=place.slice.revision,
        status=403,
    )
