"""The requests about one object and what lies in it, as one of its tabs."""

from __future__ import annotations

from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms
from authzsite.console.kit.display.lists import Pager
from authzsite.console.kit.display.parts import Action, Empty
from authzsite.console.kit.http import Request, number_in
from authzsite.console.kit.methods import reads
from authzsite.console.kit.page import page
from authzsite.console.objects.access import get_object_or_404
from authzsite.console.objects.header import ObjectHeader
from authzsite.console.requests import rows as requests_rows
from authzsite.console.requests.links import ask_for
from policies.models import RequestPart
from policies.requests import visibility

SHOWN = 25


@reads
@login_required
def object_requests(request: Request, id: int) -> HttpResponse:
    """Those that the viewer may see, the newest first."""
    place = get_object_or_404(request, id)
    if place.node.type in terms.ROOMS:
        query = urlencode({"tab": "all", "q": place.node.ref.id})
        return redirect(f"{reverse('console:requests')}?{query}")
    head, after = ObjectHeader(place, "object_requests"), number_in(request.GET.get("after", ""))
    about = RequestPart.objects.filter(request=OuterRef("pk"), places__overlap=[f"d{id}"])
    rows = visibility.visible_to(place.asker).filter(Exists(about)).select_related("asker", "holder", "realm")
    if after:
        rows = rows.filter(pk__lt=after)
    shown_requests = list(rows.prefetch_related("wants", "parts").order_by("-pk")[: SHOWN + 1])
    next_ = f"?after={shown_requests[SHOWN - 1].pk}" if len(shown_requests) > SHOWN else ""
    context = {
        "rows": [requests_rows.row(item, place.asker) for item in shown_requests[:SHOWN]],
        "pager": Pager(_("Newest first"), "?" if after else "", next_) if next_ or after else None,
        "rules": reverse("console:request_rules", args=[id]) if place.may_grant else "",
        "empty": Empty(
            _("No request about %(name)s that you can see") % {"name": place.node.name},
            _("All requests about it and everything inside, with their outcome."),
            actions=(Action(_("Request access"), ask_for([place.node])),),
        ),
    }
    return page(
        request,
        "console/requests/object_tab.html",
        {**head.context(), **context},
        section="catalog",
        realm=place.node.realm,
        revision=place.slice.revision,
        banner=head.banner(),
    )
