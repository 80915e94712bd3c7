from django.urls import path

from authzsite.api.authzen import views

urlpatterns = [
    path("access/v1/evaluation", views.Evaluation.as_view(), name="authzen-evaluation"),
    path("access/v1/evaluations", views.Evaluations.as_view(), name="authzen-evaluations"),
    path(".well-known/authzen-configuration", views.configuration, name="authzen-configuration"),
]
