from django.urls import path, re_path

from authzsite.api.v1.access import Access
from authzsite.api.v1.audit import Audit
from authzsite.api.v1.call import unknown
from authzsite.api.v1.changed import Changed
from authzsite.api.v1.emergencies import Close, Emergencies, End, OneEmergency
from authzsite.api.v1.explain import Explain
from authzsite.api.v1.openapi import OpenApi
from authzsite.api.v1.ranges import Grants, Objects, Readings, Splits
from authzsite.api.v1.request_settings import OneSubstitute, RequestRules, Substitutes
from authzsite.api.v1.requests import (
    AnswerQuestion,
    Approve,
    AskBack,
    Foreseen,
    OneRequest,
    Refuse,
    Requests,
    Weighed,
    Withdraw,
)
from authzsite.api.v1.resolve import Resolve
from authzsite.api.v1.reviews import (
    Decisions,
    Deed,
    Effect,
    Evidence,
    Exceptions,
    OneReview,
    Paces,
    Pass,
    Reviews,
    Rows,
)
from authzsite.api.v1.runs import Runs
from authzsite.api.v1.snapshot import Snapshot
from authzsite.api.v1.uses import Uses

urlpatterns = [
    path("authz/v1/runs", Runs.as_view(), name="runs"),
    path("authz/v1/access", Access.as_view(), name="access"),
    path("authz/v1/audit", Audit.as_view(), name="audit"),
    path("authz/v1/grants", Grants.as_view(), name="grants"),
    path("authz/v1/objects", Objects.as_view(), name="objects"),
    path("authz/v1/splits", Splits.as_view(), name="splits"),
    path("authz/v1/readings", Readings.as_view(), name="readings"),
    path("authz/v1/explain", Explain.as_view(), name="explain"),
    path("authz/v1/snapshot", Snapshot.as_view(), name="snapshot"),
    path("authz/v1/resolve", Resolve.as_view(), name="resolve"),
    path("authz/v1/uses", Uses.as_view(), name="uses"),
    path("authz/v1/backends/<int:id>/changed", Changed.as_view(), name="changed"),
    path("authz/v1/reviews", Reviews.as_view(), name="reviews"),
    path("authz/v1/reviews/<int:id>", OneReview.as_view(), name="review"),
    path("authz/v1/reviews/<int:id>/rows", Rows.as_view(), name="review_rows"),
    path("authz/v1/reviews/<int:id>/rows/<int:number>/effect", Effect.as_view(), name="review_effect"),
    path("authz/v1/reviews/<int:id>/decisions", Decisions.as_view(), name="review_decisions"),
    *(
        path(f"authz/v1/reviews/<int:id>/{deed}", Deed.as_view(deed=deed), name=f"review_{deed}")
        for deed in ("close", "extend", "cancel", "repeat")
    ),
    path("authz/v1/reviews/<int:id>/pass", Pass.as_view(), name="review_pass"),
    path("authz/v1/reviews/<int:id>/exceptions", Exceptions.as_view(), name="review_exceptions"),
    path("authz/v1/reviews/<int:id>/pace", Paces.as_view(), name="review_pace"),
    path("authz/v1/reviews/<int:id>/evidence", Evidence.as_view(), name="review_evidence"),
    path("authz/v1/requests", Requests.as_view(), name="requests"),
    path("authz/v1/requests/foreseen", Foreseen.as_view(), name="request_foreseen"),
    path("authz/v1/requests/<int:id>", OneRequest.as_view(), name="request"),
    path("authz/v1/requests/<int:id>/consideration", Weighed.as_view(), name="request_weighed"),
    path("authz/v1/requests/<int:id>/approve", Approve.as_view(), name="request_approve"),
    path("authz/v1/requests/<int:id>/refuse", Refuse.as_view(), name="request_refuse"),
    path("authz/v1/requests/<int:id>/ask_back", AskBack.as_view(), name="request_ask_back"),
    path("authz/v1/requests/<int:id>/answer", AnswerQuestion.as_view(), name="request_answer"),
    path("authz/v1/requests/<int:id>/withdraw", Withdraw.as_view(), name="request_withdraw"),
    path("authz/v1/emergencies", Emergencies.as_view(), name="emergencies"),
    path("authz/v1/emergencies/<int:id>", OneEmergency.as_view(), name="emergency"),
    path("authz/v1/emergencies/<int:id>/end", End.as_view(), name="emergency_end"),
    path("authz/v1/emergencies/<int:id>/close", Close.as_view(), name="emergency_close"),
    path("authz/v1/request-rules", RequestRules.as_view(), name="request_rules"),
    path("authz/v1/substitutes", Substitutes.as_view(), name="substitutes"),
    path("authz/v1/substitutes/<int:id>", OneSubstitute.as_view(), name="substitute"),
    path("authz/v1/openapi.json", OpenApi.as_view(), name="openapi"),
    # last: what nobody above knows
    re_path(r"^(?:authz|access)/v1(?:/.*)?$", unknown),
]
