"""The addresses that Trino's `opa.policy.…` settings name."""

from django.urls import path

from authzsite.api.trino import views

urlpatterns = [
    path("v1/data/trino/allow", views.Allow.as_view()),
    path("v1/data/trino/batch", views.Batch.as_view()),
    path("v1/data/trino/rowFilters", views.NoFilters.as_view()),
    path("v1/data/trino/columnMask", views.NoMask.as_view()),
    path("v1/data/trino/batchColumnMasks", views.NoFilters.as_view()),
]
