"""Two small pages: how removal works here, and the evidence of a review as an archive."""

from __future__ import annotations

import tempfile

from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from authzsite.console.kit.auth import login_required
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.http import Request
from authzsite.console.kit.methods import reads, writes
from authzsite.console.kit.page import page, say
from authzsite.console.reviews.access import get_review_or_404
from authzsite.console.reviews.results import EXPORT, may_export
from authzsite.console.reviews.worklist import SILENCE
from authzsite.downloads import review_evidence
from policies.record import access_log


@reads
@login_required
def how(request: Request, id: int) -> HttpResponse:
    """What happens to a row that is to go, in this review."""
    visit = get_review_or_404(request, id)
    review = visit.review
    later = review.stage + 1 < len(review.stages)
    context = {
        "crumbs": visit.crumbs(inner=True),
        "due": words.moment(review.due),
        "starter": review.starter.label,
        "silence": terms.lower(str(SILENCE[review.silence])),
        "unsure": _("the next round decides") if later else _("it is listed as an exception"),
        "bulk": words.number(review.bulk),
        "back": visit.url(),
    }
    return page(request, "console/reviews/how.html", context, section="reviews", realm=visit.root.name)


@writes
@login_required
def evidence(request: Request, id: int) -> HttpResponseBase:
    """The archive; for who reads the whole review and may export the history of its realm."""
    visit = get_review_or_404(request, id)
    if not visit.standing.reads:
        raise Http404
    if not may_export(visit):
        access_log.refused(visit.asker, EXPORT, visit.root, via="console")
        text = _("Exporting evidence requires a duty; ask the owner of %(name)s for it")
        say(request, text % {"name": visit.root.name})
        return redirect(visit.url("review_result"))
    access_log.looked(visit.asker, f"evidence of review {id}", visit.root, via="console")
    name = f"review-{id}.zip"
    content = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it when it is sent
    review_evidence.write(content, visit.review, name=name)
    content.seek(0)
    return FileResponse(content, as_attachment=True, filename=name)
