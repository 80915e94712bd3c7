"""The addresses of requests."""

from django.urls import path

from authzsite.console.requests import ask, object_tab, own_request, request, rules, substitutes
from authzsite.console.requests import views as requests_views
from authzsite.console.requests.deciding import bulk
from authzsite.console.requests.deciding import views as deciding_views

urlpatterns = [
    path("requests", requests_views.request_list, name="requests"),
    path("requests.csv", requests_views.as_csv, name="requests_csv"),
    path("requests/count", requests_views.count, name="requests_count"),
    path("requests/new", ask.AskView.as_view(), name="request_new"),
    path("requests/new/foresee", ask.AskView.as_view(preview_only=True), name="request_foresee"),
    path("requests/together", bulk.BulkDecideView.as_view(), name="requests_together"),
    path("requests/<number:id>", request.request_detail, name="request"),
    path("requests/<number:id>/decide", deciding_views.DecideView.as_view(), name="request_decide"),
    path("requests/<number:id>/withdraw", own_request.WithdrawView.as_view(), name="request_withdraw"),
    path("requests/<number:id>/answer", own_request.AnswerView.as_view(), name="request_answer"),
    path("requests/<number:id>/apply", own_request.ApplyView.as_view(), name="request_apply"),
    path("objects/<number:id>/requests", object_tab.object_requests, name="object_requests"),
    path("objects/<number:id>/asking", rules.RequestRulesView.as_view(), name="request_rules"),
    path("profile/away", substitutes.SubstitutesView.as_view(), name="substitutes"),
    path("profile/away/end", substitutes.call_off, name="substitute_end"),
]
