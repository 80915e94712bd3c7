from django.urls import path

from authzsite.api.authzen import access_requests, searches, views

urlpatterns = [
    path("access/v1/evaluation", views.Evaluation.as_view(), name="authzen-evaluation"),
    path("access/v1/evaluations", views.Evaluations.as_view(), name="authzen-evaluations"),
    path("access/v1/search/subject", searches.Subjects.as_view(), name="authzen-search-subject"),
    path("access/v1/search/resource", searches.Resources.as_view(), name="authzen-search-resource"),
    path("access/v1/search/action", searches.Actions.as_view(), name="authzen-search-action"),
    path("access/v1/requests", access_requests.AccessRequests.as_view(), name="authzen-access-requests"),
    path("access/v1/requests/<str:task>", access_requests.AccessRequest.as_view()),
    path("access/v1/requests/<str:task>/cancel", access_requests.Cancelled.as_view()),
    path(".well-known/authzen-configuration", views.configuration, name="authzen-configuration"),
]
